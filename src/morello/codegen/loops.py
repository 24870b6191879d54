"""The C loops over a program's tiles along one dimension, merged into as few as possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from morello.codegen.views import MemoryView, RegisterView, View
from morello.impl.tree import Impl, ImplNode
from morello.ir.operation import Operation
from morello.ir.spec import Spec
from morello.rewrites import Overlap, Split, Tile

Loop = Tile | Overlap | Split
"""The rewrites that are loops over tiles along one dimension."""

LONG = 32
"""Iterations from which on compilers keep a loop rather than unroll it."""

CHUNK = 8
"""The iterations of a chunk of a long loop whose number of iterations has no smaller divisor."""


@dataclass(frozen=True)
class MergedLoop:
    """A loop over `size` elements of a dimension of a Spec, `step` at a time, from its views on.

    If steps do not fit, the last one overlaps the one before (see `statements.For`).
    """

    spec: Spec
    views: Sequence[View]
    dim: str
    size: int
    step: int
    body: ImplNode

    @property
    def times(self) -> int:
        return -(-self.size // self.step)

    @property
    def overlaps(self) -> bool:
        return self.size % self.step != 0

    @property
    def accumulates_in_registers(self) -> bool:
        """Whether the loop is of a reduction, and its accumulators are in registers."""
        operation = self.spec.operation
        return self.dim in operation.reduced and any(
            operand.written and isinstance(view, RegisterView)
            for operand, view in zip(operation.operands, self.views, strict=True)
        )

    def tiles(self, variable: str | None) -> list[View]:
        """The operands' tiles in an iteration, by the loop variable; those of the first if None."""
        return cut(self.spec, self.body.impl.spec, self.views, self.dim, 0, variable)

    def in_chunks(self) -> list[MergedLoop]:
        """A long loop as one of whole chunks, and one of the rest, if no chunks divide it.

        Prefetches are spread evenly over chunks. All at once, they wait for one another: a sum of
        863 products took 1.09 times as long.
        """
        whole = self.times // CHUNK * CHUNK * self.step
        divided = any(self.times % chunk == 0 for chunk in range(2, CHUNK + 1))
        if self.overlaps or self.times < LONG or divided:
            return [self]
        spec = replace(self.spec, sizes=with_size(self.spec, self.dim, self.size - whole))
        views = cut(self.spec, spec, self.views, self.dim, whole)
        first, rest = replace(self, size=whole), replace(self, size=self.size - whole)
        rest = replace(rest, spec=spec, views=views)
        return [first, rest] if _continues(first, rest) else [self]

    def strides(self) -> list[int]:
        """The elements from one iteration to the next, of each operand in memory."""
        tiles = [view for view in self.tiles("step") if isinstance(view, MemoryView)]
        return [view.address.terms.get("step", 0) * self.step for view in tiles]

    def starts(self) -> list[int]:
        """The constant offset of the first iteration, in elements, of each operand in memory."""
        return [view.address.constant for view in self.views if isinstance(view, MemoryView)]


def loops(node: ImplNode, views: Sequence[View], dim: str) -> list[MergedLoop]:
    """The loops of a node along a dimension, in order.

    A loop nested in another over the same dimension is collapsed with it, if the inner one is
    long: compilers keep such loops nested, and the exit of each inner one is mispredicted, while
    short ones are unrolled. A loop is merged with one that continues where it ends and has the
    same body.
    """
    merged: list[MergedLoop] = []
    for loop in _nested(node, views, dim):
        if merged and _continues(merged[-1], loop):
            merged[-1] = replace(merged[-1], size=merged[-1].size + loop.size)
        else:
            merged.append(loop)
    return merged


def _nested(node: ImplNode, views: Sequence[View], dim: str) -> Iterator[MergedLoop]:
    loop = node
    while emits_nothing(loop.impl):
        (loop,) = loop.children
    spec, rewrite = loop.impl.spec, loop.impl.rewrite
    if not isinstance(rewrite, Loop) or rewrite.dim != dim:
        yield MergedLoop(spec, views, dim, spec.size(dim), spec.size(dim), node)
        return
    body, *others = loop.children
    times = loop.impl.children[0].times
    if times == 1:
        yield from loops(body, cut(spec, body.impl.spec, views, dim, 0), dim)
    else:
        size = min(times * rewrite.size, spec.size(dim))
        yield _collapsed(MergedLoop(spec, views, dim, size, rewrite.size, body))
    for rest in others:
        start = spec.size(dim) // rewrite.size * rewrite.size
        yield from loops(rest, cut(spec, rest.impl.spec, views, dim, start), dim)


def _collapsed(loop: MergedLoop) -> MergedLoop:
    """A loop and the loop that is its body as a single one, if that is possible."""
    inner, *others = loops(loop.body, loop.tiles(None), loop.dim)
    if others or inner.times < LONG or loop.overlaps or inner.overlaps:
        return loop
    single = replace(loop, step=inner.step, body=inner.body)
    per_outer = [stride * inner.times for stride in inner.strides()]
    if loop.strides() != per_outer or single.strides() != inner.strides():
        return loop  # strides differ from panel to panel and within one
    return single


def _continues(loop: MergedLoop, other: MergedLoop) -> bool:
    """Whether the other begins where the first ends, and has the same body."""
    if loop.overlaps or loop.step != other.step or loop.body.impl != other.body.impl:
        return False
    strides = loop.strides()
    ends = [
        start + stride * loop.times for start, stride in zip(loop.starts(), strides, strict=True)
    ]
    return strides == other.strides() and ends == other.starts()


def emits_nothing(impl: Impl) -> bool:
    """Whether the code of an Impl is that of its only child."""
    return impl.rewrite is not None and impl.rewrite.silent


def cut(
    spec: Spec,
    inner: Spec,
    views: Sequence[View],
    dim: str,
    start: int,
    variable: str | None = None,
) -> list[View]:
    """Every operand's tile along one of the operation's dimensions."""
    places = spec.operation.places
    tiles: list[View] = []
    for operand, view in enumerate(views):
        if (operand, dim) not in places:
            tiles.append(view)
            continue
        position, stride = places[operand, dim]
        size = inner.shape(operand)[position]
        tiles.append(view.cut(position, size, start, variable or None, stride))
    return tiles


def cut_each(
    spec: Spec, views: Sequence[View], sizes: Sequence[tuple[str, int]], variables: Sequence[str]
) -> Sequence[View]:
    """Every operand's tile of these sizes along several dimensions, by their loop variables."""
    for (dim, size), variable in zip(sizes, variables, strict=True):
        inner = replace(spec, sizes=with_size(spec, dim, size))
        views, spec = cut(spec, inner, views, dim, 0, variable), inner
    return views


def over_registers(operation: Operation, dim: str, views: Sequence[View]) -> bool:
    """Whether a loop runs over registers: they have no addresses, so it must be unrolled."""
    return any(
        isinstance(view, RegisterView) and (operand, dim) in operation.places
        for operand, view in enumerate(views)
    )


def with_size(spec: Spec, dim: str, size: int) -> tuple[int, ...]:
    """The sizes of a Spec with that of `dim` replaced."""
    return tuple(
        size if d == dim else n for d, n in zip(spec.operation.dims, spec.sizes, strict=True)
    )
