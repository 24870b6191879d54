"""Results that are written where they would be copied to, so that no kernel has to copy them.

A part of a concatenation is stored within its result, and what only an output shows is stored as
that output. What else reads such a part reads it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from morello.base.errors import SpecError
from morello.graph.graph import Node
from morello.graph.lowering import copied
from morello.graph.views import View
from morello.ir.layout import Layout
from morello.ir.spec import Spec, Strides, goal
from morello.models.schedule import Stage, StoredCall
from morello.runtime.argument import CACHE_LINE


def in_place(stage: Stage) -> Stage:
    """The stage with as few copies as can be.

    A copy is left if it reads what is stored elsewhere, or is needed by itself after the stage.
    So is one whose elements would be apart, except in runs of a cache line or more.
    """
    calls = Calls(stage.calls)
    for number, call in enumerate(stage.calls):
        if call.copies:
            _leave_out(calls, number, stage.outputs)
    return replace(stage, calls=tuple(calls))


def _leave_out(calls: Calls, number: int, kept: Sequence[Node]) -> None:
    """Take out a copy, if what it reads can be written to its place instead."""
    copy = calls[number]
    source, move = copy.inputs[0].base, Relocation.of(copy)
    written = any(calls[n].output.base is source for n in calls.near(source) if n != number)
    if move is None or source in kept or not written:
        return
    with suppress(SpecError):
        calls.move(move, without=number)


class Calls:
    """Calls of a stage by their numbers, some of which may be left out; in order, if iterated."""

    def __init__(self, calls: Sequence[StoredCall]) -> None:
        self._calls = dict(enumerate(calls))
        self._near: dict[Node, set[int]] = {}
        for number in self._calls:
            self._found(number)

    def __getitem__(self, number: int) -> StoredCall:
        return self._calls[number]

    def __iter__(self) -> Iterator[StoredCall]:
        return iter(self._calls.values())

    def near(self, node: Node) -> set[int]:
        """The numbers of those that read or write a node."""
        return self._near.get(node, set())

    def move(self, move: Relocation, without: int | None = None) -> None:
        """Have all calls find the elements where they are moved to, and leave one out.

        Raises `SpecError`, with all as it was, if a call cannot find them there.
        """
        numbers = self.near(move.source) - {without}
        moved = {number: move.call(self._calls[number]) for number in numbers}
        if without is not None:
            self._lost(without)
            del self._calls[without]
        for number, call in moved.items():
            self._lost(number)
            self._calls[number] = call
            self._found(number)

    def _found(self, number: int) -> None:
        for view in (*self._calls[number].inputs, self._calls[number].output):
            self._near.setdefault(view.base, set()).add(number)

    def _lost(self, number: int) -> None:
        for view in (*self._calls[number].inputs, self._calls[number].output):
            self._near[view.base].discard(number)


@dataclass(frozen=True)
class Run:
    """Elements at one stride in the memory of a node, and at another where they are moved to."""

    size: int
    stride: int
    to: int


@dataclass(frozen=True)
class Relocation:
    """Where the elements of `source` are stored instead: in `base`, from `offset` on.

    The runs are the dimensions of the source's memory, slowest first.
    """

    source: Node
    base: Node
    offset: int
    runs: tuple[Run, ...]

    @classmethod
    def of(cls, copy: StoredCall) -> Relocation | None:
        """The relocation that makes a copy needless; None for parts of nodes and short runs."""
        (view,) = copy.inputs
        dimensions = zip(view.shape, view.strides, copy.output.strides, strict=True)
        runs: list[Run] = []
        dense = 1
        for run in sorted((Run(*each) for each in dimensions), key=lambda run: run.stride):
            if run.size == 1:
                continue
            if run.stride != dense:
                return None
            dense *= run.size
            if runs and run.to == runs[-1].to * runs[-1].size:
                runs[-1] = replace(runs[-1], size=runs[-1].size * run.size)
            else:
                runs.append(run)
        if view.offset or dense != view.base.type.size or not runs:
            return None
        near = len(runs) == 1 or runs[0].size * view.base.dtype.itemsize >= CACHE_LINE
        if runs[0].to != 1 or not near:
            return None
        return cls(view.base, copy.output.base, copy.output.offset, tuple(reversed(runs)))

    def call(self, call: StoredCall) -> StoredCall:
        """A call that finds the elements there; raises `SpecError` if none does."""
        views = *call.inputs, call.output
        *inputs, output = map(self._view, views)
        if (*inputs, output) == views:
            return call
        if call.copies:
            lowered = copied(inputs[0], output.strides)
            return replace(call, spec=lowered.spec, inputs=lowered.inputs, output=output)
        return StoredCall(tuple(inputs), output, self._spec(call))

    def _view(self, view: View) -> View:
        if view.base is not self.source:
            return view
        strides = self._strides(view.shape, view.strides, view.offset)
        offset, rest = self.offset, view.offset
        for run in self.runs:
            count, rest = divmod(rest, run.stride)
            offset += count * run.to
        return View(self.base, view.shape, strides, offset)

    def _spec(self, call: StoredCall) -> Spec:
        spec = call.spec
        views = dict(zip(spec.arrays, (*call.inputs, call.output), strict=True))
        layouts: list[Layout] = []
        strides: list[Strides] = []
        for operand, placement in enumerate(spec.placements):
            view, shape, layout = views[spec.name(operand)], spec.shape(operand), placement.layout
            given = spec.strides[operand] if spec.strides else None
            if view.base is self.source and layout.panel is None:
                dense = dict(zip(layout.order, layout.strides(shape), strict=True))
                steps = given or tuple(dense[d] for d in range(len(shape)))
                given = moved = self._strides(shape, steps, view.offset)
                layout = Layout(tuple(sorted(layout.order, key=lambda d: -moved[d])))
            layouts.append(layout)
            strides.append(given)
        return goal(
            spec.operation, spec.sizes, spec.dtypes,
            layouts=layouts, strides=strides, names=spec.names, parallel=spec.parallel,
        )  # fmt: skip

    def _strides(
        self, shape: Sequence[int], strides: Sequence[int], offset: int
    ) -> tuple[int, ...]:
        """The strides of a view of the source once it is moved; raises `SpecError` for none."""
        last = []  # the last element of each run that the view reaches
        for run in self.runs:
            count, offset = divmod(offset, run.stride)
            last.append(count)
        moved = []
        for size, stride in zip(shape, strides, strict=True):
            if size == 1 or stride == 0:
                moved.append(stride)
                continue
            number = next(n for n, run in enumerate(self.runs) if run.stride <= stride)
            run = self.runs[number]
            last[number] += stride // run.stride * (size - 1)
            moved.append(stride // run.stride * run.to)
            if stride % run.stride or last[number] >= run.size:
                raise SpecError("a view goes on from one run to the next", "copy it")
        return tuple(moved)
