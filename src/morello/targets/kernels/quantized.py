"""Kernels for products with weights of 8 or 4 bits, in groups that have a scale each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import F32, DType
from morello.ir.primitives.quantized import BLOCK, LONGEST, dequantized
from morello.targets.helpers.quantized import ROWS, WEIGHTS
from morello.targets.kernels.conditions import no_panels, rows_without_gaps
from morello.targets.target import Column, Condition, Group, LeafKernel

ROUNDED = 20.0
"""Cycles to round a block of x."""
TOTAL = 16.0
"""Cycles of a row of weights beside its blocks, for each row of x."""


def quantized_product(
    weights: DType,
    scales: DType,
    way: str,
    unpacked: float,
    multiplied: float,
    streamed: float,
    *,
    slower: float,
) -> LeafKernel:
    """A few rows of x times rows of weights, prefetched in one of the ways of `FETCHED`.

    A block of weights takes `unpacked` cycles, and `multiplied` more for each row of x. Weights and
    scales come at `streamed` bytes a cycle. All of it takes `slower` times as long in this way.
    """
    group: Group = "dots_l2" if way else "dots"

    def applies(s: Batch) -> Iterator[Condition]:
        k, bytes_, groups = s.size("k"), s.size("j"), s.size("g")
        yield Condition(s.size("m") <= ROWS, f"m must be at most {ROWS}")
        yield Condition(s.size("m") * k <= LONGEST, f"m times k must be at most {LONGEST}")
        group = k // groups
        sized = (group * groups == k) & (group % BLOCK == 0) & ((group & (group - 1)) == 0)
        yield Condition(sized, f"groups must be of {BLOCK} times a power of two")
        packed = bytes_.astype(np.int64) * BLOCK == k.astype(np.int64) * WEIGHTS[weights.name]
        yield Condition(packed, f"{BLOCK} numbers must be {WEIGHTS[weights.name]} bytes")
        for operand in range(3):
            yield rows_without_gaps(s, operand, "kjg"[operand])
        yield no_panels(s, 3)

    def cost(s: Batch) -> Column:
        m, blocks = s.size("m"), s.size("k") / BLOCK
        bytes_ = s.size("j") + s.size("g") * float(scales.bytes)
        row = np.maximum((unpacked + multiplied * m) * blocks, bytes_ / streamed)
        cycles: Column = 100.0 + ROUNDED * m * blocks + s.size("n") * (row + TOTAL * m)
        return slower * cycles

    rows = "&{x}, {x_m}, &{weights}, {weights_n}, &{scales}, {scales_n}"
    return LeafKernel(
        f"quantized_{way}{weights}_{scales}",
        "QuantizedMatmul",
        (F32, weights, scales, F32),
        (None, None, None, None),
        f"quantized_{way}{weights}_{scales}({rows}, &{{out}}, {{out_m}}, {{out_n}}, {{m}}, {{n}}, "
        "{k}, {g});",
        lambda x, w, factors: x @ dequantized(w, factors.astype(x.dtype), x.shape[1]).T,
        applies,
        cost,
        anywhere=(0, 1, 2, 3),
        group=group,
    )
