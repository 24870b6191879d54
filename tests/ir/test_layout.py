"""Layouts: how they are written, and where they put elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.ir.strategies import layouts, shapes
from tests.support import places

from morello.errors import SpecError
from morello.ir.layout import Layout, column_major, panels, parse_layout, row_major


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
        ("{0,1:T(16,8)}", "exactly one dimension"),
        ("{0,1:T(1,1)}", "exactly one dimension"),
        ("{0,1:T(0,1)}", "exactly one dimension"),
        ("{0,1:T(,)}", "cannot be read"),
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
        inside.append(grid[dim] % width)
    found = sum(i * s for i, s in zip(inside, layout.strides(shape), strict=True))
    np.testing.assert_array_equal(found, places(shape, layout))
    assert np.max(found) < np.prod(layout.extents(shape))
