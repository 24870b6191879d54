"""Kernels that copy rows of a table, or single elements, given their numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.placements import prod_columns
from morello.ir.primitives.gathering import COLUMNS, ROWS, rows_of
from morello.ir.tensor import LINE_BYTES
from morello.targets.kernels.conditions import contiguous, flat, no_panels, unit_sizes
from morello.targets.target import Column, Condition, LeafKernel

ROW, LINE = 1.0, 1.0
"""The cycles of a row from a cache, and of each of its lines: a core copies several at once."""

ELEMENT, NEAR_LINE, NEXT_LINE, NEAR_BYTES = 1.0, 6.0, 40.0, 1 << 14
"""The cycles of an element, and of each line of a table; of so many bytes, it is in the nearest
cache.
"""


def take_row(dtype: DType, index: DType) -> LeafKernel:
    """Copies the row that a number says, or a part of it; a row outside is never read."""

    def applies(s: Batch) -> Iterator[Condition]:
        ids = s.operation.operands[1].dims
        others = [d for d in s.operation.dims if d not in ids]
        yield from unit_sizes(s, but=others)
        for operand in (0, 2):
            beside = contiguous(s, operand, COLUMNS)
            yield Condition(beside, "the elements of a row must lie next to each other")
        yield no_panels(s, 0)

    def cost(s: Batch) -> Column:
        cycles: Column = ROW + LINE * -(-s.size(COLUMNS) * dtype.bytes // LINE_BYTES)
        return cycles

    size = dtype.bytes
    return LeafKernel(
        f"take_row_{dtype}_{index}", "Take", (dtype, index, dtype), (None, None, None),
        f"take_row(&{{out}}, &{{table}}, {{ids}}, {{v}}, {{table_v}} * {size}, {{d}} * {size});",
        lambda table, ids: rows_of(table, np.asarray(ids)), applies, cost,
        anywhere=(0,), group="loads",
    )  # fmt: skip


def take_elements(dtype: DType, index: DType) -> LeafKernel:
    """Copies the elements of one column that a run of numbers says; none outside is ever read."""

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=(*s.operation.operands[1].dims, ROWS))
        yield Condition(contiguous(s, 0, ROWS), "the elements must lie next to each other")
        yield no_panels(s, 0)
        yield flat(s, 1)
        yield flat(s, 2)

    def cost(s: Batch) -> Column:
        bytes_of_all = s.size(ROWS) * dtype.bytes
        count = prod_columns(s.sizes) // s.size(ROWS)
        lines = np.minimum(count, -(-bytes_of_all // LINE_BYTES))
        near = bytes_of_all <= NEAR_BYTES
        cycles: Column = ELEMENT * count + lines * np.where(near, NEAR_LINE, NEXT_LINE)
        return cycles

    return LeafKernel(
        f"take_elements_{dtype}_{index}", "Take", (dtype, index, dtype), (None, None, None),
        f"take_elements_{index}(&{{out}}, &{{table}}, &{{ids}}, {{elements}} / {{v}}, {{v}}, "
        f"{dtype.bytes});",
        lambda table, ids: rows_of(table, np.asarray(ids)), applies, cost,
        anywhere=(0,),
    )  # fmt: skip
