"""Kernels that combine rows with the rows of a table of their numbers, or with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import F32, I32, I64, DType
from morello.ir.primitives.gathering import COLUMNS, ROWS
from morello.ir.primitives.scattering import GIVEN, KINDS, combined
from morello.ir.tensor import LINE_BYTES
from morello.targets.kernels.conditions import contiguous, no_panels, unit_sizes
from morello.targets.target import Column, Condition, LeafKernel

COPIED, COPIED_FAR, NEAR_BYTES = 3.0, 6.0, 1 << 20
"""The cycles of each cache line of the table, which is copied in order: of a table of up to so many
bytes, and of a larger one.
"""

ROW, LINE = 0.5, 3.0
"""The cycles of each row that is combined with one of the table, and of each of its cache lines."""

ADDED, ADDED_LINE = 0.5, 1.3
"""The cycles of each row that is added to a segment, and of each of its cache lines."""


def scatters() -> tuple[LeafKernel, ...]:
    """Kernels that scatter rows, and add rows to segments, of f32 and i32."""
    dtypes = [(dtype, index) for dtype in (F32, I32) for index in (I32, I64)]
    return (
        *(_scatter(kind, *each) for kind in KINDS for each in dtypes),
        *(_segment_sum(*each) for each in dtypes),
    )


def _scatter(kind: str, dtype: DType, index: DType) -> LeafKernel:
    def applies(s: Batch) -> Iterator[Condition]:
        return _in_rows(s, (0, 2, 3))

    def cost(s: Batch) -> Column:
        lines = -(-s.size(COLUMNS) * dtype.bytes // LINE_BYTES)
        table = lines * s.size(ROWS)
        copied = np.where(table * LINE_BYTES <= NEAR_BYTES, COPIED, COPIED_FAR)
        cycles: Column = copied * table + (ROW + LINE * lines) * s.size(GIVEN)
        return cycles

    name = f"scatter_{kind}_{dtype}_{index}"
    return LeafKernel(
        name, f"Scatter{kind.capitalize()}", (dtype, index, dtype, dtype), (None,) * 4,
        f"{name}(&{{out}}, &{{table}}, &{{ids}}, &{{rows}}, {{v}}, {{e}}, {{d}}, {{out_v}}, "
        f"{{table_v}}, {{ids_e}}, {{rows_e}});",
        _semantics(kind, dtype), applies, cost, anywhere=(0, 1, 2, 3), group="loads",
    )  # fmt: skip


def _segment_sum(dtype: DType, index: DType) -> LeafKernel:
    """Adds to sums that may lie in any memory; the rows were made just before."""

    def applies(s: Batch) -> Iterator[Condition]:
        return _in_rows(s, (0, 2))

    def cost(s: Batch) -> Column:
        lines = -(-s.size(COLUMNS) * dtype.bytes // LINE_BYTES)
        cycles: Column = (ADDED + ADDED_LINE * lines) * s.size(GIVEN)
        return cycles

    name = f"combine_sum_{dtype}_{index}"
    combine = _semantics("sum", dtype)
    return LeafKernel(
        f"segment_sum_{dtype}_{index}", "SegmentSumAccum", (dtype, index, dtype), (None,) * 3,
        f"{name}(&{{out}}, &{{ids}}, &{{rows}}, {{v}}, {{e}}, {{d}}, {{out_v}}, {{ids_e}}, "
        "{rows_e});",
        lambda rows, ids, out: combine(out, ids, rows), applies, cost, anywhere=(1, 2),
        group="loads",
    )  # fmt: skip


def _in_rows(s: Batch, operands: Sequence[int]) -> Iterator[Condition]:
    """Rows of these operands are contiguous, and nothing lies in panels."""
    yield from unit_sizes(s, but=s.operation.dims)
    for operand in operands:
        name = s.operation.operands[operand].name
        beside = contiguous(s, operand, COLUMNS)
        yield Condition(beside, f"the elements of a row of {name} must lie next to each other")
    for operand in range(len(s.operation.operands)):
        yield no_panels(s, operand)


def _semantics(kind: str, dtype: DType) -> Callable[..., Any]:
    def semantics(table: Any, ids: Any, rows: Any) -> Any:
        result = combined(kind, np.asarray(table), np.asarray(ids), np.asarray(rows))
        return result if dtype.is_float else result.astype(dtype.np)

    return semantics
