"""Lines that operands touch, counted row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.ir.batch import Batch
from morello.ir.dtype import BF16, F32, DType
from morello.ir.layout import row_major
from morello.ir.placements import Placements
from morello.ir.primitives import move
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES, Placement, aliased_at, gapless
from morello.targets.kernels.crossing import LOAD_ACROSS, crossing

ROWS = LINE_BYTES
"""After so many rows, each place in a line has been met equally often."""


def rows(width: int, columns: int, dtype: DType) -> Batch:
    """Rows of so many elements, cut from rows of `columns`."""
    cut = Placement(row_major(2), 1, aliased=aliased_at(columns * dtype.bytes))
    placements = (cut, gapless(row_major(2)))
    spec = Spec(move(2), (ROWS, width), (0, 0), placements, (dtype, dtype))
    return Batch.of([spec], Placements())


def lines_of_rows(width: int, columns: int, dtype: DType) -> list[int]:
    starts = [row * columns * dtype.bytes for row in range(ROWS)]
    ends = [start + width * dtype.bytes - 1 for start in starts]
    return [
        end // LINE_BYTES - start // LINE_BYTES + 1 for start, end in zip(starts, ends, strict=True)
    ]


@given(st.integers(1, 300), st.integers(2, 2000), st.sampled_from((F32, BF16)))
def test_lines_are_counted_where_rows_begin(width: int, columns: int, dtype: DType) -> None:
    width = min(width, columns - 1)
    found = rows(width, columns, dtype).touched(0)
    assert found == pytest.approx(sum(lines_of_rows(width, columns, dtype)))


@given(st.sampled_from((4, 8, 16)), st.integers(17, 2000))
def test_loads_cross_lines_as_often_as_rows_do(width: int, columns: int) -> None:
    crossed = sum(lines > 1 for lines in lines_of_rows(width, columns, F32))
    found = crossing(rows(width, columns, F32), 0, width)
    assert found == pytest.approx(LOAD_ACROSS * crossed / ROWS)
