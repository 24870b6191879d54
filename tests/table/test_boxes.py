"""Boxes against plain sets of points."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from morello.memo.boxes import Ints, all_points, count_points, find, merged

Point = tuple[int, ...]
Value = tuple[int, ...]
Points = dict[Point, set[Value]]

AXES, MOST = 4, 3
"""The first axis is that of names, and coordinates are few, so that boxes meet."""
NESTED = ((), (3,), (2, 3), (1, 2, 3))


def as_rows(boxes: Sequence[tuple[Point, Point, Value]]) -> Ints:
    width = len(boxes[0][2]) if boxes else 0
    rows = np.array([[*low, *high, *value] for low, high, value in boxes], np.int64)
    return rows.reshape(len(boxes), 2 * AXES + width)


def points_in(low: Sequence[int], high: Sequence[int]) -> set[Point]:
    return set(product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))))


def points_of(rows: Ints) -> Points:
    """The values that each point may have."""
    found: Points = defaultdict(set)
    for row in rows.tolist():
        for point in points_in(row[:AXES], row[AXES : 2 * AXES]):
            found[point].add(tuple(row[2 * AXES :]))
    return found


@st.composite
def batches(draw: st.DrawFn, width: int | None = None) -> list[Ints]:
    """Boxes that often meet, in several batches: of random corners, of one point, or of all."""
    width = draw(st.integers(0, 3)) if width is None else width
    coordinate = st.integers(0, MOST)

    def box() -> tuple[Point, Point, Value]:
        name = draw(st.integers(0, 2))
        sides = [sorted((draw(coordinate), draw(coordinate))) for _ in range(AXES - 1)]
        if draw(st.booleans()):
            sides = [[low, low] for low, _ in sides]
        value = tuple(draw(st.integers(-1, 1)) for _ in range(width))
        low, high = zip(*sides, strict=True)
        return (name, *low), (name, *high), value

    return [
        as_rows([box() for _ in range(draw(st.integers(0, 8)))]).reshape(-1, 2 * AXES + width)
        for _ in range(draw(st.integers(1, 4)))
    ]


@given(batches(), st.sampled_from(NESTED), st.permutations([1, 2, 3]))
@settings(max_examples=150)
def test_merging_changes_nothing_that_a_point_may_answer(
    parts: list[Ints], nested: tuple[int, ...], along: list[int]
) -> None:
    whole, wanted = np.concatenate(parts), points_of(np.concatenate(parts))
    at_once = merged(whole, AXES, along, nested)
    bit_by_bit = whole[:0]
    for part in parts:
        bit_by_bit = merged(np.concatenate([bit_by_bit, part]), AXES, along, nested)
    for rows in (at_once, bit_by_bit):
        assert points_of(rows) == wanted
        assert len(rows) <= len(whole)
        assert (np.diff(rows[:, 0]) >= 0).all()
    again = merged(at_once, AXES, along, nested)
    assert points_of(again) == wanted
    assert len(again) <= len(at_once)


@given(batches())
def test_merging_leaves_what_it_is_given_alone(parts: list[Ints]) -> None:
    before = parts[0].copy()
    merged(parts[0], AXES, range(1, AXES), (2, 3))
    assert (parts[0] == before).all()


@given(st.permutations(sorted(points_in((0, 0, 0), (MOST,) * 3))), st.permutations([1, 2, 3]))
@settings(max_examples=20)
def test_a_full_grid_is_one_box(grid: list[Point], along: list[int]) -> None:
    rows = as_rows([((5, *point), (5, *point), (7, 8)) for point in grid])
    assert merged(rows, AXES, along).tolist() == [[5, 0, 0, 0, 5, *(MOST,) * 3, 7, 8]]


def test_boxes_that_touch_are_joined_and_others_are_not() -> None:
    def along_an_axis(*sides: tuple[int, int], values: Sequence[int] = (0, 0)) -> list[list[int]]:
        rows = as_rows(
            [
                ((0, 1, low, 1), (0, 1, high, 1), (value,))
                for (low, high), value in zip(sides, values, strict=True)
            ]
        )
        return [[row[2], row[6]] for row in merged(rows, AXES, (1, 2, 3)).tolist()]

    assert along_an_axis((4, 6), (0, 3)) == [[0, 6]]
    assert along_an_axis((0, 5), (2, 8)) == [[0, 8]]
    assert along_an_axis((0, 8), (2, 5)) == [[0, 8]]
    assert along_an_axis((0, 3), (5, 6)) == [[0, 3], [5, 6]]
    assert along_an_axis((0, 3), (4, 6), values=(0, 1)) == [[0, 3], [4, 6]]


def test_a_box_within_another_goes_where_their_values_are_equal() -> None:
    large, small = ((0, 0, 1, 1), (0, 0, 9, 9)), ((0, 0, 2, 3), (0, 0, 4, 5))
    elsewhere = ((1, 0, 2, 3), (1, 0, 4, 5))
    for boxes in ((large, small), (small, large)):
        same = as_rows([(*box, (1,)) for box in boxes])
        assert merged(same, AXES, (), (2, 3)).tolist() == [[*large[0], *large[1], 1]]
        assert len(merged(same, AXES, (1, 2, 3))) == 2, "only where it is said"
    different = as_rows([(*large, (1,)), (*small, (2,)), (*elsewhere, (1,))])
    assert len(merged(different, AXES, (1, 2, 3), (2, 3))) == 3
    twice = as_rows([(*large, (1,)), (*large, (1,))])
    assert len(merged(twice, AXES, (), (2, 3))) == 1


@given(batches(2), st.integers(1, AXES))
@settings(max_examples=75)
def test_find_gives_all_boxes_that_a_point_is_in(parts: list[Ints], axes: int) -> None:
    """Points of fewer axes are anywhere along the others."""
    rows = merged(np.concatenate(parts), AXES, (1, 2, 3), (2, 3))
    wanted = points_of(rows)
    points = np.array(list(product(range(-1, 4), *[range(MOST + 2)] * (axes - 1))), np.int64)
    point, row = find(rows, AXES, points)
    assert (np.diff(point) >= 0).all()
    assert len({*zip(point.tolist(), row.tolist(), strict=True)}) == len(point)
    found: Points = defaultdict(set)
    for number, box in zip(point.tolist(), row.tolist(), strict=True):
        found[tuple(points[number].tolist())].add(tuple(rows[box, 2 * AXES :].tolist()))
    shortened: Points = defaultdict(set)
    for one, values in wanted.items():
        shortened[one[:axes]] |= values
    assert found == shortened


@pytest.mark.parametrize("count", [30, 100])
def test_find_has_room_for_any_number_of_boxes(count: int) -> None:
    rows = as_rows([((3, 0, 0, 0), (3, 9, 9, 9), (value,)) for value in range(count)])
    point, row = find(rows, AXES, np.array([[2, 1, 1], [3, 1, 1], [4, 1, 1]]))
    assert set(point.tolist()) == {1}
    assert row.tolist() == list(range(count))
    none = find(rows[:0], AXES, np.array([[3, 1, 1]]))
    assert [len(part) for part in none] == [0, 0]


@given(batches(1))
def test_every_point_of_every_box_is_given(parts: list[Ints]) -> None:
    rows = np.concatenate(parts)
    for axes in (AXES, AXES - 1):
        outside = [*range(axes), *range(AXES, AXES + axes)]
        points, row = all_points(rows[:, outside], axes)
        found = sorted(zip(row.tolist(), map(tuple, points.tolist()), strict=True))
        wanted = [
            (number, point)
            for number, box in enumerate(rows.tolist())
            for point in sorted(points_in(box[:axes], box[AXES : AXES + axes]))
        ]
        assert found == wanted


@given(
    batches(1),
    st.integers(1, 2),
    st.tuples(*[st.integers(MOST, 9)] * 2),
)
def test_points_are_counted_once_and_at_powers_of_two(
    parts: list[Ints], limits: int, capacities: tuple[int, int]
) -> None:
    rows = np.concatenate(parts)
    capacity = capacities[:limits]
    grids = [{0, most, *(n for n in (1, 2, 4, 8) if n < most)} for most in capacity]
    points = points_of(rows)
    inner = AXES - limits
    counted = {
        point
        for point in points
        if all(at in grid for at, grid in zip(point[inner:], grids, strict=True))
    }
    found = count_points(rows, AXES, limits, np.array(capacity))
    assert found == (len({point[:inner] for point in points}), len(counted))


@pytest.mark.parametrize("count", [1, 1000])
def test_limits_up_to_the_largest_integers_are_merged(count: int) -> None:
    """Boxes that hold up to a capacity have such limits."""
    edge = (1 << 40) // count
    rows = as_rows(
        [((0, 1, 1, edge * i), (0, 1, 1, edge * (i + 1) - 1), (3,)) for i in reversed(range(count))]
    )
    assert merged(rows, AXES, (1, 2, 3)).tolist() == [[0, 1, 1, 0, 0, 1, 1, edge * count - 1, 3]]
