"""The pass that plans software prefetching: which reduction loops prefetch which tiles.

While a loop reads a tile from memory, the address of the tile that its next iteration reads is
already known; and while an early part of an iteration runs, so is what a later part writes.
Reduction loops keep the vector units busy and the memory idle: a prefetch every few of their
iterations costs next to nothing, and its line arrives before it is needed.

The pass walks the Impl with views of its operands, as the emitter does. Nodes on the way down
request prefetches, and the first reduction loop that has enough iterations serves them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from morello.codegen.conv import matmul_views, merged_rows
from morello.codegen.lines import Lines
from morello.codegen.loops import (
    MergedLoop,
    cut,
    cut_each,
    emits_nothing,
    loops,
    over_registers,
)
from morello.codegen.views import (
    MemoryView,
    View,
    buffer_view,
    centered,
    operand_views,
    register_view,
)
from morello.impl.tree import Impl
from morello.ir.tensor import TensorSpec
from morello.rewrites import (
    Bufferize,
    Move,
    MoveAll,
    PadFirst,
    Parallel,
    ParallelSplit,
    Pointwise,
    Rewrite,
    Select,
    SpatialSplit,
    Split,
    Tile,
)

ITERATIONS_PER_LINE = 2
"""The fewest iterations of a reduction loop per prefetched line: denser prefetches cost time."""
ITERATIONS_PER_STORED_LINE = 16
"""The same for outputs that are stored right after a reduction: such stores seldom stall."""
ITERATIONS_PER_PANEL_LINE = 0.5
"""The same for panels, whose lines are contiguous: loops over them are bound by memory."""


@dataclass(frozen=True)
class LoopVariable:
    """The variable of the loop along `dim` around a node; it goes up by `step`, `times` times.

    Nodes are known by their `id`.
    """

    node: int
    dim: str
    step: int
    times: int

    @property
    def name(self) -> str:
        """What it is called in addresses during the pass."""
        return f"{self.dim}@{self.node}"


@dataclass(frozen=True)
class PrefetchRequest:
    """A tile to prefetch: what is `ahead` elements after an operand of a node.

    `around` are the loops, inside the node, around the reduction loop that serves it: each
    iteration of theirs prefetches other lines of the tile. A reduction loop needs at least
    `iterations_per_line` iterations for each line that it prefetches.
    """

    node: int
    operand: int
    name: str
    tile: MemoryView
    element: int
    written: bool
    iterations_per_line: float
    ahead: int = 0
    around: tuple[LoopVariable, ...] = ()

    @property
    def lines(self) -> int:
        """The lines that each execution of the reduction loop prefetches."""
        repeats = math.prod(loop.times for loop in self.around)
        return -(-Lines(self.tile, self.element).count // repeats)

    def of_next(self, loop: LoopVariable) -> PrefetchRequest:
        """The request for what the loop's next iteration reads in place of the tile."""
        return replace(self, ahead=self.tile.address.terms[loop.name] * loop.step)

    def inside(self, loop: LoopVariable, tiles: Sequence[View]) -> PrefetchRequest:
        """The request within a loop, which works on these tiles of the operands.

        If these are pieces of the tile, it is for the loop's next piece, which is needed sooner,
        unless a loop in between walks the whole tile in every iteration.
        """
        if not self.around and not self.written:
            for operand, piece in enumerate(tiles):
                if (
                    isinstance(piece, MemoryView)
                    and piece.pointer == self.tile.pointer
                    and loop.name in piece.address.terms
                ):
                    return replace(self, node=loop.node, operand=operand, tile=piece).of_next(loop)
        return replace(self, around=(*self.around, loop))


@dataclass(frozen=True)
class Pace:
    """How a reduction loop spreads a request: `lines` at the start of every `chunks` chunks.

    `times` is how often that is in one execution of the loop.
    """

    lines: int
    chunks: int
    times: int


@dataclass(frozen=True)
class LoopPrefetches:
    """The prefetches of a reduction loop, which is cut into `chunks` of some `iterations` each.

    Chunks begin with prefetches. `node` is the first of the rewrites that make the loop.
    """

    node: int
    iterations: int
    chunks: int
    requests: tuple[PrefetchRequest, ...]

    def pace(self, request: PrefetchRequest) -> Pace:
        lines = request.lines
        skipped = max(1, self.chunks // lines)
        times = -(-self.chunks // skipped)
        return Pace(-(-lines // times), skipped, times)

    def words(self, request: PrefetchRequest) -> str:
        pace = self.pace(request)
        lines = "one line" if pace.lines == 1 else f"{pace.lines} lines"
        often = pace.chunks * self.iterations
        return f"prefetches {request.name}, {lines} every {often} iterations"


Plan = Mapping[int, LoopPrefetches]
"""What reduction loops prefetch, by the `id` of the node that is the loop's body."""


def plan(impl: Impl) -> Plan:
    """Plan the prefetches of a complete Impl, whose nodes must not be shared."""
    planner = _Planner(impl)
    names = {array: array for array in impl.spec.arrays}
    planner.visit(impl, operand_views(impl.spec, names), _Scope())
    return planner.plan


def notes(impl: Impl) -> dict[int, list[str]]:
    """What the loops of a complete Impl prefetch, in words, by the `id` of the loop's node."""
    texts: dict[int, list[str]] = defaultdict(list)
    for loop in plan(impl).values():
        texts[loop.node] += map(loop.words, loop.requests)
    return texts


@dataclass(frozen=True)
class _Scope:
    """What encloses a node: the innermost loop that is no reduction loop, and all requests."""

    loop: LoopVariable | None = None
    requests: tuple[PrefetchRequest, ...] = ()

    def inside(self, loop: LoopVariable, tiles: Sequence[View] = ()) -> _Scope:
        """The body of a loop, which works on these tiles of the operands."""
        return _Scope(loop, tuple(request.inside(loop, tiles) for request in self.requests))

    def requesting(self, requests: Iterable[PrefetchRequest]) -> _Scope:
        """A part of the program that may serve these requests as well."""
        return _Scope(self.loop, (*self.requests, *requests))

    def in_reduction(self) -> _Scope:
        """The body of a reduction loop, which serves no requests from outside."""
        return _Scope(self.loop)


class _Planner:
    """Gathers the prefetches of an Impl's reduction loops."""

    def __init__(self, goal: Impl) -> None:
        self.plan: dict[int, LoopPrefetches] = {}
        self._goal = goal.spec
        self._target = goal.target

    def visit(self, impl: Impl, views: Sequence[View], scope: _Scope) -> None:
        if emits_nothing(impl):
            requests = self._next_tiles(impl, views, scope.loop)
            self.visit(impl.children[0].impl, views, scope.requesting(requests))
            return
        assert impl.rewrite is not None
        visitor = VISITORS.get(type(impl.rewrite), _Planner._sequence)
        visitor(self, impl, impl.rewrite, views, scope)

    # ---- the walk

    def _loops(
        self, impl: Impl, rewrite: Tile | Split, views: Sequence[View], scope: _Scope
    ) -> None:
        spec, dim = impl.spec, rewrite.dim
        if over_registers(spec.operation, dim, views):  # unrolled
            starts = (0, spec.size(dim) // rewrite.size * rewrite.size)
            for start, child in zip(starts, impl.children, strict=False):
                self.visit(child.impl, cut(spec, child.impl.spec, views, dim, start), scope)
            return
        for loop in loops(impl, views, dim):
            self._loop(impl, loop, scope)

    def _loop(self, impl: Impl, loop: MergedLoop, scope: _Scope) -> None:
        if loop.times == 1:
            self.visit(loop.body, loop.tiles(None), scope)
            return
        variable = LoopVariable(id(loop.body), loop.dim, loop.step, loop.times)
        tiles = loop.tiles(variable.name)
        if not loop.accumulates_in_registers:
            self.visit(loop.body, tiles, scope.inside(variable, tiles))
            return
        if prefetches := _served(impl, scope.requests, loop.times):
            self.plan[id(loop.body)] = prefetches
        self.visit(loop.body, tiles, scope.in_reduction())

    def _pointwise(
        self, impl: Impl, rewrite: Pointwise, views: Sequence[View], scope: _Scope
    ) -> None:
        operation = impl.spec.operation
        rows = matmul_views(operation, merged_rows(operation, views))
        self.visit(impl.children[0].impl, rows, scope)

    def _spatial_split(
        self, impl: Impl, rewrite: SpatialSplit, views: Sequence[View], scope: _Scope
    ) -> None:
        spec, operation, child = impl.spec, impl.spec.operation, impl.children[0].impl
        pixels = [LoopVariable(id(child), dim, 1, spec.size(dim)) for dim in "pq"]
        names = [pixel.name if pixel.times > 1 else "" for pixel in pixels]
        tiles = cut_each(spec, views, [(pixel.dim, 1) for pixel in pixels], names)
        for pixel in pixels:
            if pixel.times > 1:
                scope = scope.inside(pixel)
        self.visit(child, matmul_views(operation, tiles), scope)

    def _parallel(
        self, impl: Impl, rewrite: Parallel, views: Sequence[View], scope: _Scope
    ) -> None:
        spec, body, *rest = impl.spec, *impl.children
        names = [f"{dim}@{id(body.impl)}" for dim, _ in rewrite.tiles]
        self.visit(body.impl, cut_each(spec, views, rewrite.tiles, names), _Scope())
        for last in rest:
            dim, size = rewrite.tiles[0]
            start = spec.size(dim) // size * size
            self.visit(last.impl, cut(spec, last.impl.spec, views, dim, start), _Scope())

    def _parallel_split(
        self, impl: Impl, rewrite: ParallelSplit, views: Sequence[View], scope: _Scope
    ) -> None:
        spec, (body, merge) = impl.spec, impl.children
        pieces = cut(spec, body.impl.spec, views, rewrite.dim, 0, f"{rewrite.dim}@{id(body.impl)}")
        parts = []
        for position, output in enumerate(spec.operation.outputs):
            parts.append(self._place(f"{output}@{id(impl)}", merge.impl.spec.tensor(position)))
            pieces[output] = self._place(f"{output}@{id(impl)}", body.impl.spec.tensor(output))
        self.visit(body.impl, pieces, _Scope())
        outputs = [views[output] for output in spec.operation.outputs]
        self.visit(merge.impl, [*parts, *outputs], scope)

    def _kernel(self, impl: Impl, rewrite: Select, views: Sequence[View], scope: _Scope) -> None:
        """Nothing is below a kernel."""

    def _sequence(self, impl: Impl, rewrite: Rewrite, views: Sequence[View], scope: _Scope) -> None:
        tensors = dict(enumerate(views))
        for number, child in enumerate(impl.children):
            spec = child.impl.spec
            used = []
            for position, wire in enumerate(child.tensors or range(len(views))):
                tensor = spec.tensor(position)
                if wire not in tensors:
                    tensors[wire] = self._place(f"{wire}@{id(impl)}", tensor)
                before = impl.spec.dtypes[wire] if wire < len(views) else tensor.dtype
                view = tensors[wire]
                if tensor.dtype.lanes > before.lanes:
                    assert isinstance(view, MemoryView)
                    groups = f"{view.pointer}@{id(child.impl)}"
                    view = view.grouped(tensor.dtype.lanes // before.lanes, groups)
                if isinstance(impl.rewrite, PadFirst):
                    view = centered(view, tensor.shape)
                used.append(view)
            requests = self._next_copies if number else self._later_outputs
            self.visit(child.impl, used, scope.requesting(requests(impl, views, scope.loop)))

    def _place(self, name: str, tensor: TensorSpec) -> View:
        placement = tensor.placement
        if tensor.level == self._target.registers:
            return register_view(name, placement.layout, tensor.shape, placement.vector)
        return buffer_view(name, placement.layout, tensor.shape)

    # ---- requests

    def _next_tiles(
        self, impl: Impl, views: Sequence[View], loop: LoopVariable | None
    ) -> Iterator[PrefetchRequest]:
        """Tiles that the innermost loop's next iteration reads from memory, or this one writes."""
        rewrite = impl.rewrite
        if not isinstance(rewrite, Move | MoveAll) or rewrite.level != self._target.levels[1].name:
            return
        for index, operand in enumerate(impl.spec.operation.operands):
            if isinstance(rewrite, MoveAll) or rewrite.operand == operand.name:
                yield from self._next_tile(impl, index, views[index], loop)

    def _next_copies(
        self, impl: Impl, views: Sequence[View], loop: LoopVariable | None
    ) -> Iterator[PrefetchRequest]:
        """The tile that the innermost loop's next iteration copies from memory."""
        rewrite = impl.rewrite
        if not isinstance(rewrite, Move):
            return
        for index, operand in enumerate(impl.spec.operation.operands):
            if rewrite.operand == operand.name and not operand.written:
                yield from self._next_tile(impl, index, views[index], loop)

    def _later_outputs(
        self, impl: Impl, views: Sequence[View], loop: LoopVariable | None
    ) -> Iterator[PrefetchRequest]:
        """The tiles that the second part of a composition writes to memory."""
        if not isinstance(impl.rewrite, Bufferize):
            return
        often = ITERATIONS_PER_STORED_LINE if impl.rewrite.vector else ITERATIONS_PER_LINE
        first, *others = (set(child.tensors) for child in impl.children)
        for index in sorted(set().union(*others) - first):
            if index < len(views) and impl.spec.operation.operands[index].written:
                yield from self._request(impl, index, views[index], loop, often)

    def _next_tile(
        self, impl: Impl, index: int, view: View, loop: LoopVariable | None
    ) -> Iterator[PrefetchRequest]:
        """For an operand in memory: its next tile if it is read, else the tile it writes now."""
        if loop is None or not isinstance(view, MemoryView):
            return
        if not impl.spec.operation.reads(index):
            yield from self._request(impl, index, view, loop, ITERATIONS_PER_STORED_LINE)
            return
        often = ITERATIONS_PER_PANEL_LINE if view.in_panels else ITERATIONS_PER_LINE
        for request in self._request(impl, index, view, loop, often):
            yield request.of_next(loop)

    def _request(
        self, impl: Impl, index: int, view: View, loop: LoopVariable | None, often: float
    ) -> Iterator[PrefetchRequest]:
        """For an operand's tile in main memory, if each iteration of the loop has its own."""
        spec = impl.spec
        if loop is None or spec.levels[index] != 0 or not isinstance(view, MemoryView):
            return
        if loop.name in view.address.terms:
            tensor, operand = spec.tensor(index), spec.operation.operands[index]
            name = self._goal.names_in(spec.operation).get(operand.name, operand.name)
            yield PrefetchRequest(
                id(impl), index, name, view, tensor.dtype.bytes, operand.written, often
            )


VISITORS: dict[type[Rewrite], Callable[..., None]] = {
    Tile: _Planner._loops,
    Split: _Planner._loops,
    Select: _Planner._kernel,
    Parallel: _Planner._parallel,
    ParallelSplit: _Planner._parallel_split,
    SpatialSplit: _Planner._spatial_split,
    Pointwise: _Planner._pointwise,
}
"""What follows the views of rewrites that are not just a sequence of steps, as `EMITTERS` does."""


def _served(impl: Impl, requests: Sequence[PrefetchRequest], times: int) -> LoopPrefetches | None:
    """The prefetches of a reduction loop of so many iterations."""
    served = tuple(
        request
        for request in requests
        if times >= max(ITERATIONS_PER_LINE, request.iterations_per_line * request.lines)
    )
    if not served:
        return None
    often = times / max(request.lines for request in served)
    divisors = [n for n in range(2, times + 1) if times % n == 0]
    iterations = min(divisors, key=lambda n: abs(math.log(n / often)))
    return LoopPrefetches(id(impl), iterations, times // iterations, served)
