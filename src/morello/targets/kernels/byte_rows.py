"""A kernel for a row of a product of bytes."""

from __future__ import annotations

from collections.abc import Iterator

from morello.ir.batch import Batch
from morello.ir.dtype import I8, I32, DType
from morello.targets.helpers.byte_rows import BLOCK
from morello.targets.kernels.conditions import flat, rows_without_gaps, unit_sizes
from morello.targets.kernels.crossing import rows_collide
from morello.targets.kernels.products import sum_of_products
from morello.targets.target import Column, Condition, LeafKernel

MOST_BYTE_ROWS = 32
"""The most rows that are read side by side: with more, each takes longer."""
CALL, BLOCK_SUMS = 14.0, 5.0
"""Cycles to begin, and to bring the sums of a block to their columns and add them."""
PAGES, APART = 16, 8
"""The pages that rows may be on, and the rows that may share the same sets: prefetchers of a core
follow no more.
"""
NOT_FOLLOWED = 6.0
"""Cycles more of four rows where there are more."""


def byte_rows(factors: DType, each: float) -> LeafKernel:
    """Bytes times rows of signed bytes that are streamed, added to a row of sums.

    Four rows of a block take `each` cycles, which is longer than L2 takes to deliver them.
    """

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=("k", "n"))
        k = s.size("k")
        yield Condition((k > 1) & (k <= MOST_BYTE_ROWS), f"k must be 2 to {MOST_BYTE_ROWS}")
        yield flat(s, 0)
        yield rows_without_gaps(s, 1, "n")
        yield flat(s, 2)

    def cost(s: Batch) -> Column:
        k, blocks = s.size("k"), -(-s.size("n") // BLOCK)
        beyond = ((k > APART) & rows_collide(s, 1, "n")) | (s.pages_of_terms(1) > PAGES)
        groups = -(-k // 4) * (each + NOT_FOLLOWED * beyond)
        cycles: Column = CALL + blocks * (BLOCK_SUMS + groups)
        return cycles

    return LeafKernel(
        f"byte_rows_{factors}_i8", "MatmulAccum", (factors, I8, I32), (None,) * 3,
        f"sum_rows_{factors}_i8((const uint8_t *)&{{a}}, &{{b}}, {{b_k}}, &{{c}}, {{k}}, {{n}});",
        sum_of_products(I32), applies, cost,
        registers=20, streams=(1, 2), group="row_sums",
    )  # fmt: skip
