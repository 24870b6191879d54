"""Asking ahead: while sums are made, lines that later work needs are fetched.

A tile that is brought from memory inside a loop comes again at the loop's next step, from where
that step will read it; and what a later part of a step writes is known while an earlier one runs.
Loops of sums keep the vector units busy and the memory idle, so that a line asked for there, with
every few of their iterations, costs next to nothing and is waited for by nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from morello.codegen.statements import Prefetch
from morello.codegen.views import MemoryView, View
from morello.ir.batch import LINE_BYTES
from morello.rewrites import Bufferize, Move, MoveAll
from morello.rewrites.impl import Impl
from morello.targets.target import Target

SPARSE = 2
"""Iterations of a loop of sums for each line: more lines than that are not had for nothing."""
SPARSER = 16
"""The same where sums are stored as soon as they are made: such stores hardly wait for lines."""
DENSE = 0.5
"""The same for panels, whose lines follow each other: memory is what such loops wait for."""


@dataclass(frozen=True)
class Index:
    """A loop's variable, which goes up by `step`, so many times."""

    name: str
    step: int
    times: int

    @property
    def count(self) -> str:
        """The steps so far, in C."""
        return self.name if self.step == 1 else f"{self.name} / {self.step}"


@dataclass(frozen=True)
class Wish:
    """A tile to ask for: of elements of so many bytes, known inside so many loops.

    It is not worth more than a line for every `sparse` sums.
    """

    tile: MemoryView
    element: int
    written: bool
    inside: int
    sparse: float

    def runs(self) -> tuple[int, list[tuple[int, int]]]:
        """The lines of a gapless run, and count and step of the runs along each dimension."""
        (count, step), *others = self.tile.spans()
        while others and others[0][1] == count * step:
            count *= others.pop(0)[0]
        return -(-((count - 1) * step + 1) * self.element // LINE_BYTES), others

    @property
    def lines(self) -> int:
        per_run, others = self.runs()
        return per_run * math.prod(count for count, _ in others)

    def place(self, line: str) -> str:
        """The line of that number, as a C lvalue."""
        per_run, others = self.runs()
        parts = [str(self.tile.address), f"{line} % {per_run} * {LINE_BYTES // self.element}"]
        before = per_run
        for count, step in others:
            if count > 1:
                parts.append(f"{line} / {before} % {count} * {step}")
            before *= count
        return f"{self.tile.pointer}[{' + '.join(parts)}]"

    def following(self, loop: Index, tile: MemoryView, inside: int) -> Wish:
        """The same for what the loop's next step reads where this one reads that tile."""
        ahead = tile.address.plus(tile.address.terms[loop.name] * loop.step)
        return replace(self, tile=replace(tile, address=ahead), inside=inside)


class Ahead:
    """The loops that are open, and the wishes of the parts of the program around."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._loops: list[Index] = []
        self._wishes: list[Wish] = []

    @contextmanager
    def inside(self, loop: Index, tiles: Sequence[View] = ()) -> Iterator[None]:
        """While the body of a loop is emitted, which has these tiles of the operands."""
        self._loops.append(loop)
        saved, self._wishes = self._wishes, [self._nearer(wish, tiles) for wish in self._wishes]
        yield
        self._wishes = saved
        self._loops.pop()

    def _nearer(self, wish: Wish, tiles: Sequence[View]) -> Wish:
        """A loop that goes through the tile asks for its own next piece, which is needed sooner.

        Not within a loop that goes through the whole tile with every step.
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
        """While the body of a loop of sums is emitted."""
        saved, self._wishes = self._wishes, []
        yield
        self._wishes = saved

    @contextmanager
    def wishing(self, wishes: Iterable[Wish]) -> Iterator[None]:
        """While the part of the program is emitted that may serve these wishes."""
        saved = self._wishes
        self._wishes = [*saved, *wishes]
        yield
        self._wishes = saved

    def next_tiles(self, impl: Impl, views: Sequence[View]) -> Iterator[Wish]:
        """What the innermost loop's next step reads from memory, and what this one writes there."""
        rewrite = impl.rewrite
        if not isinstance(rewrite, Move | MoveAll) or rewrite.level != self.target.levels[1].name:
            return
        for index, operand in enumerate(impl.spec.operation.operands):
            if isinstance(rewrite, MoveAll) or rewrite.operand == operand.name:
                yield from self._coming(impl, index, views[index])

    def next_copies(self, impl: Impl, views: Sequence[View]) -> Iterator[Wish]:
        """What the innermost loop's next step copies from memory."""
        rewrite = impl.rewrite
        if not isinstance(rewrite, Move):
            return
        for index, operand in enumerate(impl.spec.operation.operands):
            if rewrite.operand == operand.name and not operand.written:
                yield from self._coming(impl, index, views[index])

    def later(self, impl: Impl, views: Sequence[View]) -> Iterator[Wish]:
        """What a composition's second part writes to memory."""
        if not isinstance(impl.rewrite, Bufferize):
            return
        sparse = SPARSER if impl.rewrite.vector else SPARSE
        first, *others = (set(child.wires) for child in impl.children)
        for index in sorted(set().union(*others) - first):
            written = index < len(views) and impl.spec.operation.operands[index].written
            if written and impl.spec.levels[index] == 0:
                yield from self._wish(impl, index, views[index], sparse)

    def _coming(self, impl: Impl, index: int, view: View) -> Iterator[Wish]:
        """For an operand in memory: the next tile if it is read, or else the one to be written."""
        if not self._loops or impl.spec.levels[index] != 0 or not isinstance(view, MemoryView):
            return
        if not impl.spec.operation.reads(index):
            yield from self._wish(impl, index, view, SPARSER)
            return
        for wish in self._wish(impl, index, view, DENSE if view.in_panels else SPARSE):
            yield wish.following(self._loops[-1], wish.tile, wish.inside)

    def _wish(self, impl: Impl, index: int, view: View, sparse: float) -> Iterator[Wish]:
        """For an operand's tile, if each step of the innermost loop has its own."""
        if not isinstance(view, MemoryView):
            return
        if self._loops and self._loops[-1].name in view.address.terms:
            tensor, operand = impl.spec.tensor(index), impl.spec.operation.operands[index]
            yield Wish(view, tensor.dtype.bytes, operand.written, len(self._loops), sparse)

    def served(self, times: int) -> tuple[int, list[Wish]]:
        """The wishes that a loop of so many sums serves, and after how many of them each time."""
        wishes = [w for w in self._wishes if times >= max(SPARSE, w.sparse * self._share(w))]
        if not wishes:
            return times, []
        often = times / max(map(self._share, wishes))
        parts = [n for n in range(SPARSE, times + 1) if times % n == 0]
        return min(parts, key=lambda n: abs(math.log(n / often))), wishes

    def statements(self, wishes: Sequence[Wish], part: Index) -> list[Prefetch]:
        """The prefetch instructions at the start of each chunk of a reduction loop."""
        return [self._asking(wish, part) for wish in wishes]

    def _asking(self, wish: Wish, part: Index) -> Prefetch:
        """For the tile's lines in turn: one with every so many parts, or several with each."""
        share = self._share(wish)
        skip = max(1, part.times // share)
        times = -(-part.times // skip)
        at_once = -(-share // times)
        number = [f"{part.name} / {skip * part.step}"]
        for index in reversed(self._loops[wish.inside :]):
            number.append(f"{index.count} * {times}")
            times *= index.times
        due = f"if ({part.name} % {skip * part.step} == 0) " if skip > 1 else ""
        first = " + ".join(number)
        ask = f"__builtin_prefetch(&{wish.place('line')}, {int(wish.written)}, {self._near(wish)});"
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

    def _near(self, wish: Wish) -> int:
        """How near to fetch a tile, as C says it: into L1 (3), or L2 (2) if L1 has no room.

        Not if it lies in rows: fetched into L2 alone, what lies in many pages often is not.
        """
        room = self.target.levels[self.target.nearest].capacity
        return 2 if wish.tile.in_panels and wish.lines > room // 2 else 3

    def _share(self, wish: Wish) -> int:
        """Its lines that each loop of sums asks for."""
        repeats = math.prod(index.times for index in self._loops[wish.inside :])
        return -(-wish.lines // repeats)
