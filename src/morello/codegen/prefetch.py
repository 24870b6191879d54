"""Software prefetching: reduction loops prefetch the lines that later work needs.

While a loop reads a tile from memory, the address of the tile that its next iteration reads is
already known; and while an early part of an iteration runs, so is what a later part writes.
Reduction loops keep the vector units busy and the memory idle: a prefetch every few of their
iterations costs next to nothing, and its line arrives before it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from morello.codegen.statements import Prefetch
from morello.codegen.views import MemoryView, View
from morello.impl.tree import Impl
from morello.ir.batch import LINE_BYTES
from morello.rewrites import Bufferize, Move, MoveAll
from morello.targets.target import Target

SPARSE = 2
"""The fewest iterations of a reduction loop per prefetched line: denser prefetches cost time."""
SPARSER = 16
"""The same for outputs that are stored right after a reduction: such stores seldom stall."""
DENSE = 0.5
"""The same for panels, whose lines are contiguous: loops over them are bound by memory."""


@dataclass(frozen=True)
class Index:
    """A loop variable: it goes up by `step`, `times` times."""

    name: str
    step: int
    times: int

    @property
    def count(self) -> str:
        """The number of iterations so far, as a C expression."""
        return self.name if self.step == 1 else f"{self.name} / {self.step}"


@dataclass(frozen=True)
class Wish:
    """A tile to prefetch, of elements of `element` bytes; `written` if it is stored to.

    Its address is known in the body of the outermost `inside` open loops. A reduction
    loop needs at least `sparse` iterations for each line of it that it prefetches.
    """

    tile: MemoryView
    element: int
    written: bool
    inside: int
    sparse: float

    def runs(self) -> tuple[int, list[tuple[int, int]]]:
        """The lines of a contiguous run, and count and stride of the runs along each dimension."""
        (count, step), *others = self.tile.spans()
        while others and others[0][1] == count * step:
            count *= others.pop(0)[0]
        return -(-((count - 1) * step + 1) * self.element // LINE_BYTES), others

    @property
    def lines(self) -> int:
        per_run, others = self.runs()
        return per_run * math.prod(count for count, _ in others)

    def place(self, line: str) -> str:
        """The first element of line number `line`, a C expression, as a C lvalue."""
        per_run, others = self.runs()
        parts = [str(self.tile.address), f"{line} % {per_run} * {LINE_BYTES // self.element}"]
        before = per_run
        for count, step in others:
            if count > 1:
                parts.append(f"{line} / {before} % {count} * {step}")
            before *= count
        return f"{self.tile.pointer}[{' + '.join(parts)}]"

    def following(self, loop: Index, tile: MemoryView, inside: int) -> Wish:
        """The request for what the loop's next iteration reads in place of `tile`."""
        ahead = tile.address.plus(tile.address.terms[loop.name] * loop.step)
        return replace(self, tile=replace(tile, address=ahead), inside=inside)


class Ahead:
    """The open loops, and the prefetches that the enclosing parts of the program requested."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._loops: list[Index] = []
        self._wishes: list[Wish] = []

    @contextmanager
    def inside(self, loop: Index, tiles: Sequence[View] = ()) -> Iterator[None]:
        """Context for emitting the body of a loop, which works on these tiles of the operands."""
        self._loops.append(loop)
        saved, self._wishes = self._wishes, [self._retargeted(wish, tiles) for wish in self._wishes]
        yield
        self._wishes = saved
        self._loops.pop()

    def _retargeted(self, wish: Wish, tiles: Sequence[View]) -> Wish:
        """Inside a loop over pieces of the tile, prefetch its next piece: it is needed sooner.

        Unchanged if a loop in between walks the whole tile in every iteration.
        """
        loop, inside = self._loops[-1], len(self._loops)
        if wish.inside < inside - 1 or wish.written:
            return wish
        pieces = (tile for tile in tiles if isinstance(tile, MemoryView))
        for piece in pieces:
            if piece.pointer == wish.tile.pointer and loop.name in piece.address.terms:
                return wish.following(loop, piece, inside)
        return wish

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Context for emitting the body of a reduction loop, which serves no further requests."""
        saved, self._wishes = self._wishes, []
        yield
        self._wishes = saved

    @contextmanager
    def wishing(self, wishes: Iterable[Wish]) -> Iterator[None]:
        """Context for emitting a part of the program that may serve these requests."""
        saved = self._wishes
        self._wishes = [*saved, *wishes]
        yield
        self._wishes = saved

    def next_tiles(self, impl: Impl, views: Sequence[View]) -> Iterator[Wish]:
        """Tiles that the innermost loop's next iteration reads from memory, or this one writes."""
        rewrite = impl.rewrite
        if not isinstance(rewrite, Move | MoveAll) or rewrite.level != self.target.levels[1].name:
            return
        for index, operand in enumerate(impl.spec.operation.operands):
            if isinstance(rewrite, MoveAll) or rewrite.operand == operand.name:
                yield from self._upcoming_tile(impl, index, views[index])

    def next_copies(self, impl: Impl, views: Sequence[View]) -> Iterator[Wish]:
        """The tile that the innermost loop's next iteration copies from memory."""
        rewrite = impl.rewrite
        if not isinstance(rewrite, Move):
            return
        for index, operand in enumerate(impl.spec.operation.operands):
            if rewrite.operand == operand.name and not operand.written:
                yield from self._upcoming_tile(impl, index, views[index])

    def later(self, impl: Impl, views: Sequence[View]) -> Iterator[Wish]:
        """The tiles that the second part of a composition writes to memory."""
        if not isinstance(impl.rewrite, Bufferize):
            return
        sparse = SPARSER if impl.rewrite.vector else SPARSE
        first, *others = (set(child.wires) for child in impl.children)
        for index in sorted(set().union(*others) - first):
            written = index < len(views) and impl.spec.operation.operands[index].written
            if written and impl.spec.levels[index] == 0:
                yield from self._wish(impl, index, views[index], sparse)

    def _upcoming_tile(self, impl: Impl, index: int, view: View) -> Iterator[Wish]:
        """For an operand in memory: its next tile if it is read, else the tile it writes now."""
        if not self._loops or impl.spec.levels[index] != 0 or not isinstance(view, MemoryView):
            return
        if not impl.spec.operation.reads(index):
            yield from self._wish(impl, index, view, SPARSER)
            return
        for wish in self._wish(impl, index, view, DENSE if view.in_panels else SPARSE):
            yield wish.following(self._loops[-1], wish.tile, wish.inside)

    def _wish(self, impl: Impl, index: int, view: View, sparse: float) -> Iterator[Wish]:
        """For an operand's tile, if each iteration of the innermost loop has a tile of its own."""
        if not isinstance(view, MemoryView):
            return
        if self._loops and self._loops[-1].name in view.address.terms:
            tensor, operand = impl.spec.tensor(index), impl.spec.operation.operands[index]
            yield Wish(view, tensor.dtype.bytes, operand.written, len(self._loops), sparse)

    def served(self, times: int) -> tuple[int, list[Wish]]:
        """The iterations between prefetches in a loop of `times`, and the requests it serves."""
        wishes = [
            wish
            for wish in self._wishes
            if times >= max(SPARSE, wish.sparse * self._lines_per_loop(wish))
        ]
        if not wishes:
            return times, []
        often = times / max(map(self._lines_per_loop, wishes))
        parts = [n for n in range(SPARSE, times + 1) if times % n == 0]
        return min(parts, key=lambda n: abs(math.log(n / often))), wishes

    def statements(self, wishes: Sequence[Wish], part: Index) -> list[Prefetch]:
        """The prefetch instructions at the start of each chunk of a reduction loop."""
        return [self._prefetch(wish, part) for wish in wishes]

    def _prefetch(self, wish: Wish, part: Index) -> Prefetch:
        """Prefetch the tile's lines in turn: one every few chunks, or several in each chunk."""
        lines = self._lines_per_loop(wish)
        skip = max(1, part.times // lines)
        times = -(-part.times // skip)
        at_once = -(-lines // times)
        number = [f"{part.name} / {skip * part.step}"]
        for index in reversed(self._loops[wish.inside :]):
            number.append(f"{index.count} * {times}")
            times *= index.times
        due = f"if ({part.name} % {skip * part.step} == 0) " if skip > 1 else ""
        first = " + ".join(number)
        place, locality = wish.place("line"), self._locality(wish)
        ask = f"__builtin_prefetch(&{place}, {int(wish.written)}, {locality});"
        if at_once == 1:
            text = [f"{due}{{", f"  const long line = {first};", f"  {ask}", "}"]
            return Prefetch(1.0 / skip, text)
        text = [
            f"for (long more = 0; more < {at_once}; ++more) {{",
            f"  const long line = ({first}) * {at_once} + more;",
            f"  {ask}",
            "}",
        ]
        return Prefetch(float(at_once), text)

    def _locality(self, wish: Wish) -> int:
        """The locality argument in C: 3 fetches into L1, 2 into L2 if L1 has no room for panels.

        Rows always go into L1: they lie on many pages, and prefetches into L2 are then often lost.
        """
        room = self.target.levels[self.target.nearest].capacity
        return 2 if wish.tile.in_panels and wish.lines > room // 2 else 3

    def _lines_per_loop(self, wish: Wish) -> int:
        """The lines of the tile that each execution of the reduction loop prefetches."""
        repeats = math.prod(index.times for index in self._loops[wish.inside :])
        return -(-wish.lines // repeats)
