"""Sizes reachable by tiling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.ir.placements import Ints
from morello.space.sizes import (
    FACTORS,
    FEWEST_ROWS,
    LARGE,
    MOST_COVERED,
    MOST_CUTS,
    CoarseSizes,
    Sizes,
    cover,
    cuts,
    divides,
    is_smooth,
    row_tile,
    steps,
    whole_cover,
)
from morello.space.traits import VECTOR

smooth_sizes = st.builds(lambda a, b: 2**a * 3**b, st.integers(0, 8), st.integers(0, 3))
sizes = st.integers(1, 5000) | smooth_sizes
widths = st.frozensets(st.sampled_from([3, 4, 16, 32, 100]), max_size=3)


@given(st.lists(sizes, min_size=1, max_size=4), widths, st.sampled_from([0, 6, 14]))
def test_every_step_leads_to_known_and_shallower_sizes(
    several: list[int], panels: frozenset[int], most: int
) -> None:
    known = Sizes(several, panels, most)
    values = known.values.tolist()
    assert len(set(values)) == len(values) == len(known)
    assert {1, *several} <= set(values)
    depth = dict(zip(values, known.depths[known.numbers(known.values)].tolist(), strict=True))
    for size in values:
        assert size == 1 or steps(size, panels, most)
        for step in steps(size, panels, most):
            for part in step:
                assert depth[part] < depth[size]
    assert depth[1] == 0
    assert known.is_smooth(known.values).tolist() == [is_smooth(size) for size in values]


@given(st.lists(sizes, min_size=1, max_size=4), st.lists(sizes, min_size=1, max_size=4))
def test_numbers_stay_as_sizes_are_added(first: list[int], more: list[int]) -> None:
    known = Sizes(first)
    before = known.values
    numbers = known.numbers(before)
    np.testing.assert_array_equal(known.values[numbers], before)
    column = np.array(more, np.int32)
    added = known.numbers(column)
    np.testing.assert_array_equal(known.values[added], column)
    np.testing.assert_array_equal(known.numbers(before), numbers)


@pytest.mark.parametrize("largest", [100, 2**31 - 1])
def test_large_sizes_are_found_as_small_ones_are(largest: int) -> None:
    known = Sizes([largest, 30])
    column = np.array([30, largest, 1, 30], np.int32)
    np.testing.assert_array_equal(known.values[known.numbers(column)], column)
    added = np.array([largest - 1, 77], np.int32)
    numbers = known.numbers(added)
    np.testing.assert_array_equal(known.values[numbers], added)


@pytest.mark.parametrize(
    "question",
    [
        lambda known, column: known.depths[known.numbers(column)],
        Sizes.is_smooth,
        lambda known, column: known.cut(column, 0),
    ],
)
def test_what_is_asked_about_is_added(question: Callable[[Sizes, Ints], Ints]) -> None:
    column = np.array([7, 24, 5])
    known = Sizes([7, 24, 5])
    np.testing.assert_array_equal(question(Sizes([2]), column), question(known, column))


@given(sizes, widths)
def test_columns_of_cuts_are_the_cuts(size: int, panels: frozenset[int]) -> None:
    known = Sizes([size], panels)
    column = np.array([size])
    found = [int(known.cut(column, rank)[0]) for rank in range(MOST_CUTS)]
    wanted = cuts(size, known.widths)
    assert len(wanted) <= known.most_cuts <= MOST_CUTS
    assert sorted(found) == [0] * (MOST_CUTS - len(wanted)) + list(wanted)


@pytest.mark.parametrize(
    ("most", "tiles"),
    [
        (0, {}),
        (6, {16: 6, 64: 6}),
        (14, {64: 14, 448: 14, 640: 10, 132: 11, 130: 13, 50: 10, 17: 9, 25: 13}),
        (14, {14: 0, 15: 0, 24: 0, 72: 0, 97: 0}),
    ],
)
def test_sizes_are_cut_to_the_rows_of_a_register_tile(most: int, tiles: dict[int, int]) -> None:
    several = [1, 6, 8, 14, 15, 16, 17, 24, 25, 32, 50, 64, 72, 97, 100, 130, 132, 448, 640]
    known = Sizes(several, rows=most)
    found = dict(zip(several, known.rows(np.array(several)).tolist(), strict=True))
    assert found == {size: row_tile(size, most) for size in several}
    assert {size: found[size] for size in tiles} == tiles
    for size, tile in found.items():
        pieces = steps(size, most_rows=most)
        assert not tile or (tile,) in pieces or (tile, size % tile) in pieces


@given(sizes, st.integers(0, 16))
def test_row_tiles_divide_or_halve_sizes_that_are_not_smooth(size: int, most: int) -> None:
    tile = row_tile(size, most)
    assert tile <= most and (tile < size or not tile)
    if tile and not is_smooth(size):
        divides = size % tile == 0 and not is_smooth(tile)
        assert tile >= FEWEST_ROWS and (divides or tile == (size + 1) // 2)
        larger = range(tile + 1 if divides else FEWEST_ROWS, min(most + 1, size))
        assert all(size % rows or is_smooth(rows) for rows in larger)


@given(sizes, st.sampled_from(FACTORS))
def test_other_sizes_are_divided_into_large_parts(size: int, factor: int) -> None:
    column = np.array([size])
    assert divides(size, factor) == Sizes([size]).divides(column, factor)[0]
    if not is_smooth(size):
        large = size >= LARGE * factor and size % (2 * VECTOR * factor) == 0
        assert divides(size, factor) == large == ((size // factor,) in steps(size))


@given(sizes)
def test_a_cut_leaves_a_loop_and_a_smaller_remainder(size: int) -> None:
    ragged = size > VECTOR and size % VECTOR != 0
    assert bool(cuts(size)) == (ragged or not is_smooth(size))
    for tile in cuts(size):
        assert 0 < tile < size
        assert is_smooth(tile) or tile % VECTOR == 0


@given(sizes, widths)
def test_a_cover_exceeds_its_size_by_little(size: int, panels: frozenset[int]) -> None:
    tile = cover(size, panels)
    assert tile == int(Sizes([size], panels).cover(np.array([size]))[0])
    if tile:
        assert 8 <= tile < size <= MOST_COVERED and not is_smooth(size) and is_smooth(tile)
        assert 0 < -size % tile <= size / 12
        assert tile not in cuts(size, panels) and (tile,) in steps(size, panels)


@pytest.mark.parametrize(
    ("size", "tile"),
    [
        (127, 64),
        (90, 48),
        (77, 16),
        (61, 32),
        (139, 48),
        (333, 0),
        (11, 0),
        (1000, 0),
        (97, 8),
        (96, 0),
        (136, 48),
        (208, 0),
    ],
)
def test_the_cover_is_the_largest_tile_that_exceeds_the_size_least(size: int, tile: int) -> None:
    assert cover(size) == tile


@given(sizes, st.sampled_from([0, 4, 8, 16, 32]))
def test_whole_registers_cover_what_would_leave_several_elements(size: int, whole: int) -> None:
    tile = whole_cover(size, whole)
    assert tile == int(Sizes([size], whole=whole).whole(np.array([size]))[0])
    if tile:
        assert tile == whole < size and size % whole > 1 and (whole,) in steps(size, whole=whole)
    elif 0 < whole < size <= MOST_COVERED:
        assert size % whole <= 1


@pytest.mark.parametrize(("size", "register", "tile"), [(132, 16, 32), (132, 8, 16), (165, 8, 32)])
def test_large_sizes_are_cut_to_two_registers_or_more(size: int, register: int, tile: int) -> None:
    assert tile in cuts(size, whole=register if register < VECTOR else 0)


@given(sizes, st.sampled_from([32, 64]))
def test_large_sizes_are_cut_to_longer_vectors_where_there_are_any(size: int, vector: int) -> None:
    known, column = Sizes([size], vector=vector), np.array([size])
    assert known.cover(column)[0] == cover(size, vector=vector)
    tiles = [int(known.cut(column, rank)[0]) for rank in range(MOST_CUTS)]
    assert sorted(filter(None, tiles)) == list(cuts(size, vector=vector))
    if size > LARGE and not is_smooth(size):
        assert any(tile % vector == 0 for tile in tiles if tile)


@given(smooth_sizes)
def test_smooth_sizes_are_divided_into_equal_parts(size: int) -> None:
    for factor in FACTORS:
        if size % factor == 0:
            assert (size // factor,) in steps(size)


@pytest.mark.parametrize("size", [1, 2, 3, 48, 2048, 1536])
def test_smooth(size: int) -> None:
    assert is_smooth(size)
    assert not is_smooth(size * 5)


@given(sizes, widths, st.sampled_from([4, 16]), st.sampled_from([1, 4, 8, 16]))
def test_coarse_sizes_have_one_tile_besides_those_of_panels_and_rows(
    size: int, panels: frozenset[int], ratio: int, vector: int
) -> None:
    known, column = CoarseSizes([size], vector, ratio, panels), np.array([size])
    tiles = [int(known.cut(column, rank)[0]) for rank in range(MOST_CUTS)]
    own = [t for rank, t in enumerate(tiles) if t and known.cuts_to_all(column, rank)[0]]
    assert len(own) == (size > 1)
    for tile in own:
        assert tile < size <= tile * ratio * max(1, vector)
    assert {*tiles} - {0, *own} <= known.widths
    assert not known.is_smooth(column)[0] and known.cover(column)[0] == 0
