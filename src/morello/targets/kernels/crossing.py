"""Where rows of an operand begin inside of cache lines or share their sets, and what that costs.

A register that lies in two lines takes two accesses, and the rows take up to one line more than
the search reserves for them, so that blocks that fill the nearest cache do not stay there. Where
all fits, such loads are hidden. Where blocks fill it, each takes about a cycle: with 12x2 and 8x3
registers, products of 504x1152x1536 reach 0.69 of the peak of a Sapphire Rapids with rows of b
where they lie, and 0.78 with rows that are copied next to each other.
"""

from __future__ import annotations

import numpy as np

from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints
from morello.ir.tensor import LINE_BYTES, Placement
from morello.targets.target import Column

LOAD_ACROSS = 1.0
"""Cycles more of a load that crosses lines."""


def crossing(batch: Batch, operand: int, width: int) -> Column:
    """The mean cycles more for each register of `width` elements of an operand, by row."""
    cycles: Column = LOAD_ACROSS * crossed(batch, operand, width)
    return cycles


def crossed(batch: Batch, operand: int, width: int) -> Column:
    """The share of registers of `width` elements of an operand that lie in two lines, by row.

    Runs begin at multiples of `Placement.step`, at each as often as at others.
    """
    held = width * batch.dtypes[operand].bytes
    step = batch.placements.step(batch.codes[operand], most=held)
    share: Column = (held - step) / LINE_BYTES
    return share


def rows_cross_lines(batch: Batch, operand: int, dim: str) -> Bools:
    """Where rows of an operand along a dimension begin inside of lines."""
    placements, codes = batch.placements, batch.codes[operand]
    whole = _row_bytes(batch, operand, dim) % LINE_BYTES == 0
    side_by_side = placements.where(codes, _is_gapless) & whole
    crosses: Bools = ~(side_by_side | placements.where(codes, _begins_with_lines))
    return crosses


def rows_collide(batch: Batch, operand: int, dim: str) -> Bools:
    """Where rows of an operand along a dimension share the same sets of a first-level cache."""
    return batch.placements.rows_collide(batch.codes[operand], _row_bytes(batch, operand, dim))


def _row_bytes(batch: Batch, operand: int, dim: str) -> Ints:
    return batch.size(dim).astype(np.int64) * batch.dtypes[operand].bytes


def _is_gapless(placement: Placement) -> bool:
    return placement.gapless


def _begins_with_lines(placement: Placement) -> bool:
    """Whether panels, or rows with gaps between them, begin with lines."""
    apart = not placement.gapless and placement.step == LINE_BYTES
    return apart or placement.layout.panel is not None
