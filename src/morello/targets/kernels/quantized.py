"""Kernels for products with weights of 8 or 4 bits, in groups that have a scale each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import F32, DType
from morello.ir.primitives.quantized import BLOCK, LONGEST, dequantized
from morello.targets.helpers.quantized import ROWS, WEIGHTS
from morello.targets.helpers.quantized_tiles import SIDE
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

    def applies(s: Batch) -> Iterator[Condition]:
        m = s.size("m")
        yield Condition(m <= ROWS, f"m must be at most {ROWS}")
        yield Condition(m * s.size("k") <= LONGEST, f"m times k must be at most {LONGEST}")
        yield from _in_blocks(s, weights)

    def cost(s: Batch) -> Column:
        each = _cycles_of_row(s, scales, unpacked + multiplied * s.size("m"), streamed)
        rows = s.size("n") * (each + TOTAL * s.size("m"))
        cycles: Column = slower * (_cycles_to_round(s) + rows)
        return cycles

    name = f"quantized_{way}{weights}_{scales}"
    call = f"{name}({_INPUTS}, &{{out}}, {{out_m}}, {{out_n}}, {{m}}, {{n}}, {{k}}, {{g}});"
    return _kernel(name, call, (weights, scales), applies, cost, "dots_l2" if way else "dots")


def quantized_tiles(
    weights: DType, scales: DType, unpacked: float, multiplied: float, streamed: float
) -> LeafKernel:
    """5 to 16 rows of x times rows of weights, of which there are a multiple of 16.

    With fewer rows of x, memory is what limits, and 16 rows of weights far apart come slower.

    The cycles are as those of `quantized_product`.
    """

    def applies(s: Batch) -> Iterator[Condition]:
        m = s.size("m")
        yield Condition((m > ROWS) & (m <= SIDE), f"m must be from {ROWS + 1} to {SIDE}")
        yield Condition(s.size("n") % SIDE == 0, f"n must be a multiple of {SIDE}")
        yield from _in_blocks(s, weights)
        yield rows_without_gaps(s, 3, "n")

    def cost(s: Batch) -> Column:
        each = _cycles_of_row(s, scales, unpacked + multiplied * s.size("m"), streamed)
        cycles: Column = _cycles_to_round(s) + s.size("n") * each
        return cycles

    name = f"quantized_tiles_{weights}_{scales}"
    call = f"{name}({_INPUTS}, &{{out}}, {{out_m}}, {{m}}, {{n}}, {{k}}, {{g}});"
    return _kernel(name, call, (weights, scales), applies, cost, "dots_l2")


_INPUTS = "&{x}, {x_m}, &{weights}, {weights_n}, &{scales}, {scales_n}"


def _kernel(
    name: str,
    call: str,
    stored: tuple[DType, DType],
    applies: Callable[[Batch], Iterable[Condition]],
    cost: Callable[[Batch], Column],
    group: Group,
) -> LeafKernel:
    """A product by weights and scales of these dtypes, which may lie in any memory."""
    return LeafKernel(
        name,
        "QuantizedMatmul",
        (F32, *stored, F32),
        (None, None, None, None),
        call,
        lambda x, w, factors: x @ dequantized(w, factors.astype(x.dtype), x.shape[1]).T,
        applies,
        cost,
        anywhere=(0, 1, 2, 3),
        group=group,
    )


def _in_blocks(s: Batch, weights: DType) -> Iterator[Condition]:
    """Rows are of whole groups, and nothing has gaps or is in panels."""
    k, bytes_, groups = s.size("k"), s.size("j"), s.size("g")
    group = k // groups
    sized = (group * groups == k) & (group % BLOCK == 0) & ((group & (group - 1)) == 0)
    yield Condition(sized, f"groups must be of {BLOCK} times a power of two")
    packed = bytes_.astype(np.int64) * BLOCK == k.astype(np.int64) * WEIGHTS[weights.name]
    yield Condition(packed, f"{BLOCK} numbers must be {WEIGHTS[weights.name]} bytes")
    for operand in range(3):
        yield rows_without_gaps(s, operand, "kjg"[operand])
    yield no_panels(s, 3)


def _cycles_to_round(s: Batch) -> Column:
    cycles: Column = 100.0 + ROUNDED * s.size("m") * (s.size("k") / BLOCK)
    return cycles


def _cycles_of_row(s: Batch, scales: DType, block: Column, streamed: float) -> Column:
    """A row of weights, whose blocks take so many cycles each, unless memory takes longer."""
    bytes_ = s.size("j") + s.size("g") * float(scales.bytes)
    cycles: Column = np.maximum(block * (s.size("k") / BLOCK), bytes_ / streamed)
    return cycles
