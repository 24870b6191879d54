"""Specs as points of a memo table: the key of their page, and their coordinates on it.

A page has the Specs of one kind whose operands are at the same memory levels. Its axes are: one
for the placements of all operands together, as one number; three for each size, which is factored
as 2^a * 3^b * r; and one for each memory limit, if there are any.
"""

from __future__ import annotations

import json
import math
from functools import cache

import numpy as np
import numpy.typing as npt

from morello.impl.operations import operation_data
from morello.ir.batch import Batch
from morello.ir.joining import NO_JOINING
from morello.ir.placements import Ints
from morello.ir.tensor import Placement
from morello.space.encoding import LEVEL_BITS, MANY_PLACEMENT_BITS
from morello.space.kind import Kind

Floats = npt.NDArray[np.float64]

_MOST_PACKED = 63 // MANY_PLACEMENT_BITS
SIZE_AXES = 3


@cache
def kind_text(kind: Kind, relaxed: bool = False) -> str:
    """The part of a page's key that names the kind, as JSON."""
    data = {
        "operation": operation_data(kind.operation),
        "dtypes": [dtype.name for dtype in kind.dtypes],
        "relaxed": relaxed,
    }
    if kind.joining != NO_JOINING:
        data["joining"] = [kind.joining.groups, kind.joining.units]
    return json.dumps(data, separators=(",", ":"))


def parts_of(batch: Batch) -> tuple[list[str], Ints]:
    """The key parts of the pages that a batch is on, and the index of each Spec's part.

    A key part lists the operands' memory levels.
    """
    code = np.zeros(len(batch), np.int64)
    for level in batch.levels:
        code = (code << LEVEL_BITS) | level
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    levels = zip(*(level[first].tolist() for level in batch.levels), strict=True)
    return [" ".join(map(str, row)) for row in levels], number.ravel()


def levels_of(part: str) -> list[int]:
    """The operands' memory levels, from a key part."""
    return [int(level) for level in part.split()]


def names_of(batch: Batch) -> tuple[Ints, tuple[str, ...]]:
    """For every Spec, the index of a text that names its operands' placements; and these texts."""
    if len(batch.codes) <= _MOST_PACKED:
        code = np.zeros(len(batch), np.int64)
        for column in batch.codes:
            code = (code << MANY_PLACEMENT_BITS) | column
        _, first, numbers = np.unique(code, return_index=True, return_inverse=True)
    else:
        codes = np.stack(batch.codes, axis=1)
        _, first, numbers = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    columns = [column[first].tolist() for column in batch.codes]
    texts = tuple(
        " ".join(_text(batch.placements[c]) for c in row) for row in zip(*columns, strict=True)
    )
    return numbers.ravel().astype(np.int64), texts


@cache
def _text(placement: Placement) -> str:
    return f"{placement.layout}/{placement.contiguous}/{int(placement.aliased)}/{placement.vector}"


def coordinates(batch: Batch) -> Ints:
    """Three columns per size 2^a * 3^b * r: a, b, and the index of r."""
    if not batch.sizes:
        return np.zeros((len(batch), 0), np.int64)
    return np.hstack([_factors(size.astype(np.int64)) for size in batch.sizes])


def _factors(sizes: Ints) -> Ints:
    result = np.zeros((len(sizes), SIZE_AXES), np.int64)
    rest = sizes.copy()
    for place, factor in enumerate((2, 3)):
        while (divisible := rest % factor == 0).any():
            result[divisible, place] += 1
            rest[divisible] //= factor
    result[:, 2] = rest // 3  # index among 1, 5, 7, 11, ..., which neither 2 nor 3 divides
    return result


def sizes_of(coordinates: Ints) -> list[Ints]:
    """The sizes with these coordinates, one column per size."""
    columns = []
    for start in range(0, coordinates.shape[1], SIZE_AXES):
        twos, threes, rest = coordinates[:, start : start + SIZE_AXES].T
        columns.append(2**twos * 3**threes * (3 * rest + 1 + rest % 2))
    return columns


def furthest(axes: int, size: int) -> Ints:
    """The largest coordinates of sizes up to `size`, along this number of axes."""
    return np.tile([size.bit_length() - 1, int(math.log(size, 3) + 1e-9), size // 3], axes // 3)


def volume(batch: Batch) -> Floats:
    result = np.ones(len(batch))
    for size in batch.sizes:
        result = result * size
    return result


def bits(cost: Floats, volume: Floats) -> tuple[Ints, Ints]:
    """The bits of costs as integers, and whether each cost is per unit of volume (1) or not (0).

    It is per unit of volume where multiplying by the volume gives the exact cost back.
    """
    per_unit = cost / volume
    scaled = per_unit * volume == cost
    return np.where(scaled, per_unit, cost).view(np.int64), scaled.astype(np.int64)


def cost_of(bits: Ints, scaled: Ints, volume: Floats) -> Floats:
    """The costs that `bits` encoded."""
    stored = np.ascontiguousarray(bits).view(np.float64)
    return stored * np.where(scaled == 1, volume, 1.0)
