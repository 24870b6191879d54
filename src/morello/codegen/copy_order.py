"""The pass that orders the loops of a large copy: from statements to statements.

Costs do not tell in which order the rows of a copy are written. In that of the source, each row is
written to another page; in that of the destination, each is read from another one. Blocks of a few
rows that follow each other in the destination, taken in the order of the source, are as near as
possible to both: they take 0.5 to 0.8 of the time if they bypass the caches (Zen 4). Lines that two
rows share are written at once, as one that is written in parts, or not only past the caches, is
read first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from morello.codegen.bypass import RUN, bypasses_caches
from morello.codegen.statements import (
    Call,
    For,
    ParallelFor,
    Program,
    Statement,
    walk,
    with_bodies,
)
from morello.codegen.views import Address, MemoryView, View, buffer_view
from morello.ir.layout import row_major
from morello.ir.primitives import move
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES, Placement
from morello.targets.helpers.bypassing import PAST
from morello.targets.target import Target

ROWS = 8
"""The least number of rows in a block. Each is read from another place."""
LONG = 512
"""The fewest bytes of rows whose ends are worth the time to join them."""


def with_blocks_of_rows(program: Program, goal: Spec, target: Target) -> Program:
    """The program of a goal, with its loops in another order if it is a copy of large rows."""
    operation = goal.operation
    if not (operation.copies and bypasses_caches(goal, operation.output, target)):
        return program
    return replace(program, body=_ordered(program.body))


def _ordered(statements: Sequence[Statement]) -> list[Statement]:
    result: list[Statement] = []
    for statement in statements:
        new = _in_blocks(statement) if isinstance(statement, For) else None
        if new is None and isinstance(statement, For | ParallelFor):
            new = with_bodies(statement, [_ordered(statement.body)])
        result.append(new or statement)
    return result


@dataclass(frozen=True)
class _Axis:
    """A loop, its number of iterations, and the strides between these in both operands."""

    loop: For
    times: int
    source: int
    destination: int

    def continues(self, inner: _Axis) -> bool:
        """Whether both loops are one, of which this is the outer part."""
        return (self.source, self.destination) == (
            inner.source * inner.times,
            inner.destination * inner.times,
        )


def _in_blocks(nest: For) -> Statement | None:
    """A nest of loops of a copy in blocks of rows; None if it copies no long rows."""
    loops, unit = _nest(nest)
    calls = [s for s in walk(unit) if isinstance(s, Call)]
    if not calls or not all(map(_copies_runs, walk(unit))):
        return None
    axes = _joined([_axis(loop, calls[0]) for loop in loops])
    row = _elements(unit)
    if not _are_neighbours(unit, row):
        return None
    along: list[_Axis] = []
    while following := [a for a in axes if a.source == a.destination == row]:
        along += following
        axes.remove(following[0])
        row *= following[0].times
    blocked = [a for a in axes if a.destination == row]
    row_bytes = row * calls[0].spec.dtypes[-1].bytes
    if not blocked or row_bytes < LINE_BYTES:
        return None
    rows = blocked[0]
    count = min(rows.times, max(ROWS, -(-RUN // row_bytes)))
    block = f"{rows.loop.variable}.row"
    places = {axis.loop.variable: axis.loop for axis in (*axes, *along)} | {block: rows.loop}
    body = _placed(unit, {loop.variable for loop in loops}, places)
    if row_bytes >= LONG and calls[0].spec.dtypes[0] is calls[0].spec.dtypes[-1]:
        gone = {axis.loop.variable for axis in along} | {block, *_loops(unit)}
        body = [_joined_rows(body, gone, count, row, rows.source)]
    else:
        for axis in along:  # innermost first
            body = [For(axis.loop.variable, axis.times, 1, body, node=axis.loop.node)]
        body = [For(block, count, 1, body, node=rows.loop.node)]
    for axis in sorted(axes, key=lambda a: a.source):
        step = count if axis is rows else 1
        body = [For(axis.loop.variable, axis.times, step, body, node=axis.loop.node)]
    return body[0]


def _joined_rows(
    unit: Sequence[Statement], gone: Collection[str], count: int, row: int, distance: int
) -> Call:
    """The call that copies so many rows past the caches, which are such a distance apart.

    The unit copies a part of each; `gone` are the variables along rows, and from one to the next.
    """
    calls = [s for s in walk(unit) if isinstance(s, Call)]
    first, *_ = calls
    bytes_ = first.spec.dtypes[-1].bytes

    def of_rows(operand: int, stride: int) -> MemoryView:
        views = [v for v in (call.views[operand] for call in calls) if isinstance(v, MemoryView)]
        start = min(view.address.constant for view in views)
        terms = {name: n for name, n in views[0].address.terms.items() if name not in gone}
        view = buffer_view(views[0].pointer, row_major(2), (count, row), (stride, 1))
        return replace(view, address=Address(terms, start))

    placements = tuple(Placement(row_major(2), contiguous) for contiguous in (1, 2))
    spec = replace(
        first.spec, operation=move(2), sizes=(count, row), placements=placements, strides=()
    )
    kernel = replace(
        first.kernel,
        name="copy_rows",
        c=f"{PAST}rows(&{{dst}}, &{{src}}, {{i}}, {bytes_} * {{j}}, {bytes_} * {{src_i}});",
        masked=False,
    )
    return replace(first, kernel=kernel, spec=spec, views=(of_rows(0, distance), of_rows(1, row)))


def _are_neighbours(unit: Sequence[Statement], count: int) -> bool:
    """Whether statements copy so many elements, neighbours in both operands, each to its place."""
    loops = _loops(unit)
    ends, distances = [], []
    for call in (s for s in walk(unit) if isinstance(s, Call)):
        source, destination = (v.address for v in call.views if isinstance(v, MemoryView))
        steps = {name: destination.terms.get(name, 0) for name in loops}
        if steps != {name: source.terms.get(name, 0) for name in loops}:
            return False
        distances.append(destination.constant - source.constant)
        last = sum(step * loops[name].last for name, step in steps.items())
        ends += [destination.constant, destination.constant + last + prod(call.spec.shape(0))]
    return len({*distances}) == 1 and max(ends) - min(ends) == count


def _loops(statements: Sequence[Statement]) -> dict[str, For]:
    """The loops among statements, by their variables."""
    return {s.variable: s for s in walk(statements) if isinstance(s, For)}


def _nest(statement: For) -> tuple[list[For], Sequence[Statement]]:
    """Loops around each other, with nothing beside them, and what is in the innermost."""
    loops = []
    body: Sequence[Statement] = [statement]
    while len(body) == 1 and isinstance(body[0], For) and not (body[0].start or body[0].overlaps):
        loops.append(body[0])
        body = body[0].body
    return loops, body


def _copies_runs(statement: Statement) -> bool:
    """Whether a statement copies a register or a part of it, or is a loop that starts at 0."""
    if isinstance(statement, For):
        return not statement.start
    return isinstance(statement, Call) and statement.kernel.group == "copies"


def _axis(loop: For, call: Call) -> _Axis:
    source, destination = (_step(view, loop) for view in call.views)
    return _Axis(loop, loop.times, source, destination)


def _step(view: View, loop: For) -> int:
    """The distance in elements between the places of a view in two iterations of a loop."""
    assert isinstance(view, MemoryView)
    return view.address.terms.get(loop.variable, 0) * loop.step


def _placed(
    statements: Sequence[Statement], gone: Collection[str], loops: Mapping[str, For]
) -> list[Statement]:
    """Statements in other loops: each variable goes as far as an iteration of a loop did."""

    def placed(view: View) -> View:
        assert isinstance(view, MemoryView)
        old = view.address.terms
        terms = {name: factor for name, factor in old.items() if name not in gone}
        terms |= {name: _step(view, loop) for name, loop in loops.items()}
        return replace(view, address=Address(terms, view.address.constant))

    result: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Call):
            statement = replace(statement, views=[*map(placed, statement.views)])
        elif isinstance(statement, For):
            statement = replace(statement, body=_placed(statement.body, gone, loops), views=())
        result.append(statement)
    return result


def _joined(axes: Sequence[_Axis]) -> list[_Axis]:
    """The axes, of which those that are parts of one are joined."""
    result: list[_Axis] = []
    for axis in sorted(axes, key=lambda a: (-a.source, -a.times)):
        if result and result[-1].continues(axis):
            axis = replace(axis, times=axis.times * result.pop().times)
        result.append(axis)
    return result


def _elements(statements: Sequence[Statement]) -> int:
    """How many elements statements copy."""
    total = 0
    for statement in statements:
        if isinstance(statement, For):
            total += statement.size * _elements(statement.body) // statement.step
        elif isinstance(statement, Call):
            total += prod(statement.spec.shape(0))
    return total
