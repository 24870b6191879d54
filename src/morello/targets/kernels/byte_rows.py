"""A kernel for a row of a product of bytes."""

from __future__ import annotations

from collections.abc import Iterator

from morello.ir.batch import Batch
from morello.ir.dtype import I8, I32, DType
from morello.targets.helpers.byte_rows import BLOCK
from morello.targets.kernels.conditions import flat, rows_without_gaps, unit_sizes
from morello.targets.kernels.products import sum_of_products
from morello.targets.target import Column, Condition, LeafKernel

MOST_BYTE_ROWS = 32
"""The most rows that are read side by side: with more, each takes longer."""
CALL, BLOCK_SUMS = 14.0, 16.0
"""Cycles to begin, and to bring the sums of a block to their columns and add them."""


def byte_rows(factors: DType, each: float, l2_bytes: float) -> LeafKernel:
    """Bytes times rows of signed bytes that are streamed, added to a row of sums.

    Four rows of a block take `each` cycles, and those in which L2 delivers `l2_bytes` each.
    """
    group = max(each, 4 * BLOCK / l2_bytes)

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=("k", "n"))
        k = s.size("k")
        yield Condition((k > 1) & (k <= MOST_BYTE_ROWS), f"k must be 2 to {MOST_BYTE_ROWS}")
        yield flat(s, 0)
        yield rows_without_gaps(s, 1, "n")
        yield flat(s, 2)

    def cost(s: Batch) -> Column:
        blocks = -(-s.size("n") // BLOCK)
        cycles: Column = CALL + blocks * (BLOCK_SUMS + group * -(-s.size("k") // 4))
        return cycles

    return LeafKernel(
        f"byte_rows_{factors}_i8", "MatmulAccum", (factors, I8, I32), (None,) * 3,
        f"sum_rows_{factors}_i8((const uint8_t *)&{{a}}, &{{b}}, {{b_k}}, &{{c}}, {{k}}, {{n}});",
        sum_of_products(I32), applies, cost,
        registers=20, streams=(1, 2), group="row_sums",
    )  # fmt: skip
