"""Traced functions of columns compute the same as NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from morello.engine.codes import Code
from morello.engine.recorded import EdgeRoom, Recorded
from morello.engine.tape import Instructions, Tables, Tape
from morello.ir.tracing import UNKNOWN, Chosen, Lookup, Trace, Traced, UntraceableError

TABLE = Lookup(np.array([5, -1, 7, 100]))
SQUARE = Lookup(np.arange(12, dtype=np.int16).reshape(3, 4))
MARKS = Lookup(np.array([True, False, True, True]))
COSTS = Lookup(np.array([0.5, 1.25, 1e9, 3.0]))

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y + 3,
    "subtract": lambda x, y: 10 - x - y,
    "multiply": lambda x, y: x * y * 1,
    "divide by a constant": lambda x, y: -(-x // 4) + y,
    "floor divide": lambda x, y: x // np.where(y == 0, 1, y),
    "remainder": lambda x, y: x % np.where(y == 0, 7, y),
    "smallest": lambda x, y: np.minimum(np.maximum(x, y), 5),
    "shifts": lambda x, y: (x << 3) + (y >> 1),
    "compare": lambda x, y: (x < y) * 1 + (x <= y) * 2 + (x > y) * 4 + (x >= y) * 8,
    "equal": lambda x, y: (x == y) * 1 + (x != 3) * 2,
    "truth": lambda x, y: ((x > 0) & ~(y > 0) | (x == y) ^ (y > 2)).astype(np.int64),
    "bits": lambda x, y: (x & y) | (x ^ 5) | ~y,
    "count": lambda x, y: (x > 0).astype(np.int8) + (y > 0).astype(np.int8),
    "where": lambda x, y: np.where(x > y, x, 2 * y),
    "choose": lambda x, y: np.choose(np.maximum(x, 0) % 3, [x, y, x + y]),
    "is in": lambda x, y: np.isin(x, (1, 2, 16)) * y,
    "look up": lambda x, y: TABLE[np.maximum(x, 0) % 4] + y,
    "look up two": lambda x, y: SQUARE[np.maximum(x, 0) % 3, np.maximum(y, 0) % 4],
    "look up marks": lambda x, y: np.where(~MARKS[np.maximum(x, 0) % 4], x, y),
    "floats": lambda x, y: (COSTS[np.maximum(x, 0) % 4] * y + 0.25 * x - 1.5) / 3,
    "floats by size": lambda x, y: np.maximum(0.0, 1.5 * x - y) * (0.5 * x < y),
    "floats where": lambda x, y: np.where(x > y, 0.5 * x, 2),
    "no change": lambda x, y: (x + 0) * 1 + 0 * y,
}


def tape_of(function: Callable[..., Any], count: int) -> tuple[Tape, Tables]:
    """A tape that leaves an edge of every row, whose cost is what a function of inputs computes."""
    trace = Trace()
    result = function(*(trace.input() for _ in range(count)))
    cost = result if isinstance(result, Traced) else np.asarray(result)
    own, zero = trace.number(cost.astype(np.float64)), trace.number(0)
    empty, only = np.zeros(0, np.int32), np.zeros(1, np.int32)
    names, *operands = zip(*trace.operations, strict=True)
    instructions = Instructions(
        np.array([Code[name.upper()] for name in names], np.int16),
        np.ascontiguousarray(np.array(operands, np.int32).T),
        inputs=np.arange(count, dtype=np.int32),
        first_condition=np.array([0, 1], np.int32), first_edge=only, holds=only - 1,
        own=only + own, allocation=only + zero, first_child=np.zeros(2, np.int32), kind=empty,
        times=empty, first_word=only, words=empty,
    )  # fmt: skip
    tables = Tables([lookup.values for lookup in trace.lookups])
    return Tape(instructions, trace.constants), tables


def recorded(function: Callable[..., Any], *columns: list[int]) -> Recorded:
    """The edges of a tape of a function for these rows."""
    (tape, tables), room = tape_of(function, len(columns)), EdgeRoom()
    rows = np.arange(len(columns[0]), dtype=np.int32)
    words = np.array(columns, np.int64)
    tape.run(tables, words, rows, np.ones((1, len(rows)), np.bool_), room)
    return room.recorded


@pytest.mark.parametrize("name", FUNCTIONS)
@given(st.lists(st.tuples(st.integers(-40, 300), st.integers(-40, 300)), min_size=1, max_size=70))
@settings(max_examples=25)
def test_a_trace_computes_the_same(name: str, rows: list[tuple[int, int]]) -> None:
    x, y = zip(*rows, strict=True)
    expected = FUNCTIONS[name](np.array(x), np.array(y))
    found = recorded(FUNCTIONS[name], list(x), list(y))
    assert found.row.tolist() == list(range(len(rows)))
    assert found.own.tolist() == np.broadcast_to(expected, len(rows)).astype(float).tolist()


def test_runs_append_their_edges_to_a_room() -> None:
    (tape, tables), room = tape_of(lambda x: x + 1, 1), EdgeRoom()
    numbers = [np.arange(first, first + 3000, dtype=np.int32) for first in (5, 0, 7000)]
    for rows in numbers:  # more edges than there is room for at first
        wanted = (rows % 3 > 0)[np.newaxis]
        tape.run(tables, rows[np.newaxis].astype(np.int64), rows, wanted, room)
    room.widen(2)
    expected = np.concatenate([rows[rows % 3 > 0] for rows in numbers])
    assert room.recorded.row.tolist() == expected.tolist()
    assert room.recorded.own.tolist() == (expected + 1.0).tolist()
    assert room.runs == 3
    room.clear()
    assert room.runs == len(room.recorded.row) == 0


def test_operations_are_recorded_again_with_another_column() -> None:
    trace, table = Trace(), Lookup([3, 1, 4])
    size, tile, other = (trace.input() for _ in range(3))

    def function(column: Any) -> Any:
        return np.where(size % column == 0, size // column + 1, table[column])

    result = function(tile)
    numbers = trace.replaced(tile, other, trace.depending(tile))
    count = len(trace.operations)
    assert function(other).number == numbers[result.number] != result.number
    assert len(trace.operations) == count


def test_equal_operations_are_recorded_once() -> None:
    trace = Trace()
    x = trace.input()
    first = x * 2 + 1
    count = len(trace.operations)
    assert (x * 2 + 1).number == first.number
    assert len(trace.operations) == count
    assert (x * 3).number != (x * 2).number


@pytest.mark.parametrize(
    "function",
    [
        lambda x: bool(x > 1),
        lambda x: x[np.array([0])],
        lambda x: np.sqrt(x),
        lambda x: np.maximum.reduce(x),
        lambda x: np.unique(x),
        lambda x: x + np.arange(3),
    ],
    ids=["decision", "rows", "function", "reduction", "other", "several"],
)
def test_what_depends_on_values_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(UntraceableError):
        function(Trace().input())


def test_chosen_rows_leave_columns_as_they_are() -> None:
    x = Trace().input()
    (rows,) = (x > 2).nonzero()
    assert isinstance(rows, Chosen)
    assert x[rows] is x
    assert np.full(1, 7)[rows].tolist() == [7]


def test_what_is_unknown_is_said() -> None:
    lookup = Lookup(np.array([1, UNKNOWN, 3], np.int32))
    # the last two are outside of the table
    found = recorded(lambda x: lookup[lookup[x] - 1] * 1.0, [0, 1, 2, 3, -1])
    assert found.row.tolist() == [0, 2]
    assert found.own.tolist() == [1.0, 3.0]
    assert found.unsure_row.tolist() == [1, 3, 4]


def test_what_is_not_needed_may_be_unknown() -> None:
    lookup = Lookup(np.full(3, UNKNOWN, np.int32))
    found = recorded(lambda x: (lookup[x], x * 2 + 3)[1], [0, 1, 2])
    assert found.own.tolist() == [3.0, 5.0, 7.0]
    assert not len(found.unsure_row)
