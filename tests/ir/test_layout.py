"""Layouts: how they are written, and where they put elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.ir.strategies import layouts, shapes
from tests.support import places

from morello.base.errors import SpecError
from morello.ir.layout import (
    Layout,
    column_major,
    fastest,
    odd_even,
    panels,
    parse_layout,
    row_major,
)


@given(layouts())
def test_what_is_printed_is_read_back(layout: Layout) -> None:
    assert parse_layout(str(layout), layout.rank) == layout


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (row_major(2), "{1,0}"),
        (column_major(2), "{0,1}"),
        (column_major(3), "{1,2,0}"),
        (panels(2, 1, 16), "{0,1:T(16,1)}"),
        (panels(2, 0, 8), "{1,0:T(8,1)}"),
        (panels(3, 2, 16), "{1,2,0:T(1,16,1)}"),
        (row_major(1), "{0}"),
        (odd_even(2, 32), "{1,0:E(32)}"),
        (odd_even(1, 16), "{0:E(16)}"),
        (Layout((1, 0), (1, 16), groups=2), "{0,1:T(16,2)}"),
        (Layout((0, 2, 1), (2, 32), groups=4), "{1,2,0:T(1,32,4)}"),
    ],
)
def test_it_is_written_as_xla_writes_it(layout: Layout, text: str) -> None:
    assert str(layout) == text
    assert parse_layout(text, layout.rank) == layout


def test_spaces_are_skipped() -> None:
    assert parse_layout(" { 0 , 1 :T( 16 , 1 ) } ", 2) == panels(2, 1, 16)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1,0", "cannot be read"),
        ("{1;0}", "cannot be read"),
        ("{0}", "each of the 2 dimensions once"),
        ("{0,0}", "each of the 2 dimensions once"),
        ("{2,1}", "each of the 2 dimensions once"),
        ("{1,,0}", "cannot be read"),
        ("{1 0}", "cannot be read"),
        ("{0,1:T(16)}", "exactly one dimension"),
        ("{0,1:T(16,0)}", "packs 2 dimensions"),
        ("{0,1:T(0,16)}", "packs 2 dimensions"),
        ("{0,1:T(1,1)}", "exactly one dimension"),
        ("{0,1:T(0,1)}", "exactly one dimension"),
        ("{0,1:T(,)}", "cannot be read"),
        ("{1,0:E(3)}", "does not give one even block"),
        ("{1,0:E(2)}", "does not give one even block"),
        ("{1,0:E(32,1)}", "does not give one even block"),
        ("{1,0:F(32)}", "cannot be read"),
    ],
)
def test_what_is_no_layout_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        parse_layout(text, 2)


@given(shapes.flatmap(lambda shape: layouts(len(shape)).map(lambda layout: (shape, layout))))
def test_extents_and_strides_agree_with_counting(case: tuple[tuple[int, ...], Layout]) -> None:
    shape, layout = case
    grid = np.indices(shape)
    inside = [grid[d] for d in layout.order]
    if layout.panel is not None:
        dim, width = layout.panel
        inside[layout.order.index(dim)] = grid[dim] // width
        within = grid[dim] % width
        inside.append(within // 2 + width // 2 * (within % 2) if layout.odd_even else within)
    found = sum(i * s for i, s in zip(inside, layout.strides(shape), strict=True))
    np.testing.assert_array_equal(found, places(shape, layout))
    assert np.max(found) < np.prod(layout.extents(shape))


def test_in_odd_even_blocks_the_even_elements_come_first() -> None:
    where = places((2, 8), odd_even(2, 4))
    assert where[0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    assert where[1].tolist() == [8 + place for place in where[0]]


def test_three_dimensions_are_not_packed() -> None:
    with pytest.raises(SpecError, match=r"packs 3 dimensions.*f32\[8,8,2,16,8\]"):
        parse_layout("{2,1,0:T(2,16,8)}", 3)


def test_neighbours_along_the_last_in_order_are_in_groups() -> None:
    where = places((4, 6), Layout((1, 0), (1, 3), groups=2))
    assert where[:, :3].tolist() == [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]]
    assert (where[:, 3:] == where[:, :3] + 12).all()


def test_the_fastest_dimension_is_the_last_in_order() -> None:
    assert fastest(3, 1) == Layout((0, 2, 1))
    assert fastest(3, 2) == row_major(3)
    assert (column_major(1), column_major(3)) == (row_major(1), Layout((0, 2, 1)))
