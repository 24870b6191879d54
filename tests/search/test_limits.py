"""Memory limits packed into one integer."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello import engine
from morello.base.errors import SearchError
from morello.engine.limits import Limits

T = TypeVar("T")
Pair = tuple[list[int], list[int]]


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Two tuples of amounts, as many as there may be levels, close to each other or not."""
    levels = draw(st.integers(1, 7))
    largest = Limits((0,) * levels).largest
    one = st.integers(0, 5) | st.integers(0, largest) | st.just(largest)
    first = draw(st.lists(one, min_size=levels, max_size=levels))
    near = [st.just(n) | st.integers(max(0, n - 1), min(largest, n + 1)) | one for n in first]
    return first, [draw(strategy) for strategy in near]


def fits(amount: int, limit: int, limits: Limits) -> bool:
    """Whether the engine lets an edge that takes an amount pass any of a limit on to its child."""
    none, number = np.zeros(1, np.uint8), np.arange(2, dtype=np.int32)
    graph = engine.Expanded(
        number, np.ones(2, np.int32), number, none, none + np.uint8(1), np.zeros(1),
        np.array([amount]), number[1:], number[1:],
    )  # fmt: skip
    left = engine.memory_left(graph, number, number[:1], limit, limits.packing)
    return bool(left[1] >= 0)


@given(pairs())
def test_packing_is_undone(pair: Pair) -> None:
    limits = Limits(tuple(pair[0]))
    assert limits.unpack(limits.pack(pair[1])) == tuple(pair[1])


@given(pairs())
def test_it_fits_if_it_fits_everywhere(pair: Pair) -> None:
    limits = Limits(tuple(pair[0]))
    amount, limit = (limits.pack(one) for one in pair)
    wanted = all(a <= b for a, b in zip(*pair, strict=True))
    assert limits.fits(amount, limit) == wanted
    assert fits(amount, limit, limits) == wanted


@given(pairs())
def test_the_larger_in_every_field(pair: Pair) -> None:
    limits = Limits(tuple(pair[0]))
    a, b = (limits.pack(one) for one in pair)
    keys, amounts = np.zeros(2, np.int64), np.array([a, b])
    _, _, (larger,), _ = engine.merge(keys, amounts, np.zeros(2), limits.packing)
    assert limits.unpack(int(larger)) == tuple(map(max, *pair))


@given(pairs())
def test_columns_pack_row_by_row(pair: Pair) -> None:
    limits = Limits(tuple(pair[0]))
    column = limits.column({i + 1: np.array(n) for i, n in enumerate(zip(*pair, strict=True))}, 2)
    assert [limits.unpack(row) for row in column.tolist()] == [tuple(one) for one in pair]


def test_a_level_that_is_not_mentioned_holds_nothing() -> None:
    limits = Limits((10, 10, 10))
    assert limits.unpack(int(limits.column({2: 7}, 1)[0])) == (0, 7, 0)


def test_what_exceeds_a_field_fits_no_smaller_limit() -> None:
    limits = Limits((10, 10, 10))
    huge = int(limits.column({2: np.array([1 << 60])}, 1)[0])
    below = limits.pack([limits.largest, limits.largest - 1, limits.largest])
    assert not limits.fits(huge, below)
    assert not fits(huge, below, limits)


def test_limits_beyond_a_field_are_refused() -> None:
    limits = Limits((1, 1, 1))
    with pytest.raises(SearchError, match="lower the capacities"):
        limits.pack([0, limits.largest + 1, 0])
