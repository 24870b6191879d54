"""Kernels that add rows, streamed from beyond the nearest cache, times a scalar each."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.targets.helpers.row_sums import RowReading
from morello.targets.kernels.conditions import flat, rows_without_gaps, unit_sizes
from morello.targets.kernels.crossing import crossed, crossing, rows_collide, rows_cross_lines
from morello.targets.kernels.products import BOUND_LOAD, MULTIPLY_ADD, sum_of_products
from morello.targets.target import Column, Condition, Group, LeafKernel

MOST_ROWS = 64
"""The most rows of c in a block sum: with more, packing b into panels soon pays off."""
SAME_SET = 5.0
"""Extra cycles per row and register if all rows of c share the same sets (conflict misses)."""
UPDATE_ACROSS = 5.0
"""Extra cycles to load a register of c in two cache lines from beyond the nearest, and store it."""
UNKNOWN_ACROSS = 0.5
"""The share of registers of c in rows that are in two lines, at least: not all arrays begin with
lines, and a Spec does not say it.
"""
LAST_COLUMNS = 10.0
"""Cycles of a row of c for the last columns, which fill no register."""
SHORT_ROW = 0.5
"""Cycles of a line of b in rows shorter than the prefetch distance, with prefetches into L2: these
end with a panel.
"""

_ROW_SUMS: dict[str, Group] = {"": "row_sums", "L1": "row_sums_ahead", "L2": "row_sums_l2"}
_BLOCK_SUMS: dict[str, Group] = {"L1": "block_sums_ahead", "L2": "block_sums_l2"}
"""Groups, by where rows are prefetched to."""

_STREAMED = {"": 0.896, "L1": 1.152, "L2": 1.088}
"""Cycles to stream a line of rows from an L2 of one line a cycle, by where it is prefetched to.

Below 1 where part of the line is still in the nearest cache.
"""

_PER_REGISTER = {False: {"": 0.5, "L1": 0.5, "L2": 0.5}, True: {"": 0.96, "L1": 0.8, "L2": 1.12}}
"""Cycles to compute with a register, by whether rows are converted and where prefetched to."""


PAIRS_REST = 10.0
"""Cycles more of up to two registers at the end of rows that are read in pairs."""

ACROSS = 0.75
"""Cycles more for a register of rows that begin inside of lines, most of whose registers cross.

Those of narrower elements do so the less often.
"""


def row_sums(
    dtypes: tuple[DType, DType, DType],
    width: int,
    reading: RowReading,
    l2_bytes: float,
    *,
    scalar_is_a: bool,
    pairs: float = 0.0,
) -> LeafKernel:
    """A few scalars times rows streamed from beyond the nearest cache, added to a row of c there.

    Scalars of a multiply rows of b, along n; scalars of b multiply columns of a, along m. The
    bottleneck is the vector units, or the cache, which delivers `l2_bytes` a cycle. With `pairs`,
    two rows of bf16 are multiplied by one instruction, which takes so many multiply-adds.
    """
    along, vector = ("n", 1) if scalar_is_a else ("m", 0)
    scalars, rows, result = dtypes[1 - vector], dtypes[vector], dtypes[2]
    count = reading.rows
    name = f"{'row' if scalar_is_a else 'column'}_{'pairs' if pairs else 'sums'}"
    x, y = ("a", "b") if scalar_is_a else ("b", "a")
    operands = f"&{{{x}}}, &{{{y}}}, {{{y}_k}}, &{{c}}, {{{along}}}"
    helper = f"sum_pairs_{rows}" if pairs else f"sum_rows{reading.name}_{scalars}_{rows}"
    streamed = rows.bytes * _STREAMED[reading.fetched] / l2_bytes
    converted, fewer = rows is not result, rows.bytes / result.bytes
    computed = _PER_REGISTER[converted and not pairs][reading.fetched]
    each = count * max(streamed, max(computed, 0.5 * MULTIPLY_ADD * pairs) / width) + 0.06

    def applies(s: Batch) -> Iterable[Condition]:
        yield from unit_sizes(s, but=("k", along))
        yield Condition(s.size("k") == count, f"k must be {count}")
        yield flat(s, 1 - vector)
        yield rows_without_gaps(s, vector, along)
        yield flat(s, 2)

    def cost(s: Batch) -> Column:
        n, whole = s.size(along), width * reading.registers(rows.name, width)
        across = count * fewer / width * ACROSS * rows_cross_lines(s, vector, along)
        rest = PAIRS_REST * np.ceil(n % whole / (2 * width)) if pairs else 0.5 * count * (n % whole)
        cycles: Column = 14.0 + (each + across) * n + rest
        return cycles

    return LeafKernel(
        f"{name}{reading.name}_{rows}" + (f"_{scalars}" if scalars is not rows else ""),
        "MatmulAccum",
        dtypes,
        (None, None, None),
        f"{helper}({operands});",
        sum_of_products(result),
        applies,
        cost,
        registers=17 if pairs else 14,
        streams=(vector, 2),
        # machines have factors for streams of prefetched rows, and conversions are no faster
        group="row_sums" if converted and reading.fetched == "L1" else _ROW_SUMS[reading.fetched],
    )


def block_sums(
    dtypes: tuple[DType, DType, DType], width: int, reading: RowReading, broadcast: float
) -> LeafKernel:
    """A few rows of a times rows of b that are streamed, added to rows of c.

    c is in the cache beyond the nearest, in rows or panels. Each broadcast of an element of a
    serves only one register, so nothing hides its `broadcast` cycles, and loads are the
    bottleneck: one for each multiply-add, one of c, and one of each row of b.
    """
    scalars, rows, result = dtypes
    into_l2 = reading.fetched == "L2"
    slower, short_row = (0.3, SHORT_ROW) if into_l2 else (0.0, 0.0)

    def applies(s: Batch) -> Iterable[Condition]:
        yield from unit_sizes(s, but=("m", "k", "n"))
        yield Condition(s.size("k") == reading.rows, f"k must be {reading.rows}")
        few = (s.size("m") > 1) & (s.size("m") <= MOST_ROWS)
        yield Condition(few, f"m must be from 2 to {MOST_ROWS}")
        yield Condition(s.size("n") >= width, f"n must be at least {width}")
        yield rows_without_gaps(s, 0, "k")
        yield rows_without_gaps(s, 1, "n")
        yield rows_without_gaps(s, 2, "n", panel=width)

    def cost(s: Batch) -> Column:
        products = (reading.rows + 1) * BOUND_LOAD + reading.rows * broadcast
        in_rows = s.placements.in_rows_across(s.codes[2], 0)
        across = UPDATE_ACROSS * np.maximum(crossed(s, 2, width), UNKNOWN_ACROSS * in_rows)
        row = products + SAME_SET * rows_collide(s, 2, "n") + across
        short = s.size("n") * rows.bytes < reading.ahead
        rows_of_b = reading.rows * (BOUND_LOAD + short_row * short + crossing(s, 1, width))
        each = slower + s.size("m") * row + rows_of_b
        last = LAST_COLUMNS * s.size("m") * (s.size("n") % width > 0)
        cycles: Column = 4.0 + last + s.size("n") / width * each
        return cycles

    places = "&{a}, {a_m}, &{b}, {b_k}, &{c}, {c_m}, {c_n}, {m}, {n}"
    return LeafKernel(
        f"block_sums{reading.name}_{rows}" + (f"_{scalars}" if scalars is not rows else ""),
        "MatmulAccum",
        dtypes,
        (None, None, None),
        f"sum_block{reading.name}_{scalars}_{rows}({places});",
        sum_of_products(result),
        applies,
        cost,
        registers=14,
        panel=(width, MOST_ROWS),
        streams=(1, 2),
        group=_BLOCK_SUMS[reading.fetched],
    )
