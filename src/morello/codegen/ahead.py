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

from morello.codegen.views import MemoryView, View
from morello.ir.batch import LINE_BYTES
from morello.rewrites import Bufferize, Move, MoveAll
from morello.rewrites.impl import Impl
from morello.targets.target import Target

SPARSE = 4
"""Iterations of a loop of sums for each line: more lines than that are not had for nothing."""
SPARSER = 16
"""The same where sums are stored as soon as they are made: such stores hardly wait for lines."""


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
    sparse: int

    def runs(self) -> tuple[int, list[tuple[int, int]]]:
        """The lines of a gapless run, and count and step of the runs along each dimension."""
        tile = self.tile
        counts = {d: (tile.extents[i], tile.step(i)) for i, d in enumerate(tile.dims)}
        count, step = counts.pop(tile.layout.physical[-1], (1, 1))
        per_run = -(-((count - 1) * step + 1) * self.element // LINE_BYTES)
        return per_run, [counts[d] for d in reversed(tile.layout.order) if d in counts]

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


class Ahead:
    """The loops that are open, and the wishes of the parts of the program around."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._loops: list[Index] = []
        self._wishes: list[Wish] = []

    @contextmanager
    def inside(self, loop: Index) -> Iterator[None]:
        """While the body of a loop is emitted."""
        self._loops.append(loop)
        yield
        self._loops.pop()

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
        if not self._loops or impl.spec.levels[index] != 0:
            return
        loop, reads = self._loops[-1], impl.spec.operation.reads(index)
        for wish in self._wish(impl, index, view, SPARSE if reads else SPARSER):
            ahead = wish.tile.address.terms[loop.name] * loop.step if reads else 0
            yield replace(wish, tile=replace(wish.tile, address=wish.tile.address.plus(ahead)))

    def _wish(self, impl: Impl, index: int, view: View, sparse: int) -> Iterator[Wish]:
        """For an operand's tile, if each step of the innermost loop has its own."""
        if not isinstance(view, MemoryView) or view.layout.panel is not None:
            return
        if self._loops and self._loops[-1].name in view.address.terms:
            tensor, operand = impl.spec.tensor(index), impl.spec.operation.operands[index]
            yield Wish(view, tensor.dtype.bytes, operand.written, len(self._loops), sparse)

    def served(self, times: int) -> tuple[int, list[Wish]]:
        """The wishes that a loop of so many sums serves, and after how many of them each time."""
        wishes = [w for w in self._wishes if times >= w.sparse * self._share(w)]
        if not wishes:
            return times, []
        often = times / max(map(self._share, wishes))
        parts = [n for n in range(SPARSE, times + 1) if times % n == 0]
        return min(parts, key=lambda n: abs(math.log(n / often))), wishes

    def statements(self, wishes: Sequence[Wish], part: Index) -> list[str]:
        """What serves them at the beginning of each part of a loop of sums."""
        lines = []
        for wish in wishes:
            skip = max(1, part.times // self._share(wish))
            every, share = skip * part.step, -(-part.times // skip)
            number = [f"{part.name} / {every}"]
            for index in reversed(self._loops[wish.inside :]):
                number.append(f"{index.count} * {share}")
                share *= index.times
            due = f"if ({part.name} % {every} == 0) " if skip > 1 else ""
            lines += [
                f"{due}{{",
                f"  const long line = {' + '.join(number)};",
                f"  __builtin_prefetch(&{wish.place('line')}, {int(wish.written)}, 3);",
                "}",
            ]
        return lines

    def _share(self, wish: Wish) -> int:
        """Its lines that each loop of sums asks for."""
        repeats = math.prod(index.times for index in self._loops[wish.inside :])
        return -(-wish.lines // repeats)
