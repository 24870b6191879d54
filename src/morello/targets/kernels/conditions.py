"""Conditions on the Specs that kernels close, which several of them share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from morello.ir.batch import Batch
from morello.ir.placements import Bools, prod_columns
from morello.ir.primitives.windows import begin_every_second
from morello.targets.target import Condition


def unit_sizes(s: Batch, but: Sequence[str]) -> Iterator[Condition]:
    """Every size is 1, except along the dimensions `but`."""
    result = np.ones(len(s), np.bool_)
    for dim, size in zip(s.operation.dims, s.sizes, strict=True):
        if dim not in but:
            result &= size == 1
    yield Condition(result, f"every size but {' and '.join(but) or 'none'} must be 1")


def one_run(s: Batch, width: int, partial: bool) -> Iterator[Condition]:
    """The tile fills one register along one dimension, or less than one if `partial`."""
    length = prod_columns(s.sizes)
    wanted = f"fewer than {width}" if partial else f"exactly {width}"
    fits = (length < width) if partial else (length == width)
    yield Condition(fits, f"the tile must have {wanted} elements")
    longest = reduce(np.maximum, s.sizes)
    yield Condition(longest == length, "every size but one must be 1")


def flat(s: Batch, operand: int) -> Condition:
    """The operand's elements are contiguous in memory along every dimension longer than 1."""
    shape = s.shape(operand)
    result = np.ones(len(s), np.bool_)
    for dim in range(len(shape)):
        result &= s.placements.unit_stride(s.codes[operand], shape, dim)
    name = s.operation.operands[operand].name
    return Condition(result, f"{name}'s elements must lie next to each other")


def every_second(s: Batch, width: int) -> Iterator[Condition]:
    """The image's rows are contiguous, and `width` windows along them begin two pixels apart."""
    right = begin_every_second(s.operation)
    yield Condition(np.full(len(s), right), "windows must begin two pixels apart, without padding")
    yield Condition(s.size("x") == width, f"x must be {width}")
    yield Condition(contiguous(s, 0, "x"), "pixels of a row must lie next to each other")


def one_register(s: Batch, operand: int) -> Condition:
    name = s.operation.operands[operand].name
    return Condition(s.registers(operand) == 1, f"{name} must be one register")


def no_panels(s: Batch, operand: int) -> Condition:
    """The operand's elements along each dimension are at one stride."""
    name = s.operation.operands[operand].name
    return Condition(~s.placements.paneled(s.codes[operand]), f"{name} must not be in panels")


def scan(s: Batch) -> str:
    """The dimension that is reduced or, if there is none, kept whole."""
    return (*s.operation.reduced, *s.operation.untiled)[0]


def along_run(s: Batch, *operands: int) -> Iterator[Condition]:
    """Every size but the scanned one is 1, and these operands are contiguous."""
    yield from unit_sizes(s, but=(scan(s),))
    for operand in operands:
        yield flat(s, operand)


def scanned_rows(s: Batch, width: int) -> Iterator[Condition]:
    """Rows of both operands, one for each scanned element, have at least `width` neighbours."""
    columns = prod_columns(s.sizes) // s.size(scan(s))
    beside = np.zeros(len(s), np.bool_)
    for dim in s.operation.dims:
        if dim != scan(s) and all((o, dim) in s.operation.places for o in range(2)):
            beside |= (s.size(dim) == columns) & _beside(s, 0, dim) & _beside(s, 1, dim)
    yield Condition(beside, "rows must lie along the only other dimension longer than 1")
    yield Condition(columns >= width, f"rows must have at least {width} elements")


def contiguous(s: Batch, operand: int, dim: str) -> Bools:
    """Where an operand's elements along a dimension are contiguous, perhaps in panels."""
    position, _ = s.operation.places[operand, dim]
    return s.placements.unit_stride(s.codes[operand], s.shape(operand), position)


def _beside(s: Batch, operand: int, dim: str) -> Bools:
    """Where an operand's elements along a dimension lie next to each other."""
    return contiguous(s, operand, dim) & ~s.placements.paneled(s.codes[operand])


def rows_without_gaps(s: Batch, operand: int, dim: str, panel: int = 0) -> Condition:
    """The operand's elements along a dimension are contiguous, or in panels of this width."""
    name = s.operation.operands[operand].name
    reason = f"rows of {name} along {dim} must have no gaps"
    if (operand, dim) not in s.operation.places:  # it is of size 1
        return Condition(np.ones(len(s), np.bool_), reason)
    rows = _beside(s, operand, dim)
    if panel:
        place, _ = s.operation.places[operand, dim]
        rows |= s.placements.in_panels(s.codes[operand], place, panel)
    return Condition(rows, reason)
