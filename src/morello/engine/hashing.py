"""Hash tables of integers in flat arrays."""

from __future__ import annotations

import numpy as np

from morello.engine.arrays import Floats, Ints
from morello.engine.limits import LimitPacking
from morello.engine.loops import LOOPS


def empty_slots(count: int) -> Ints:
    """Slots for so many keys, at least twice as many, all empty: -1."""
    return np.full(max(16, 1 << (2 * count - 1).bit_length()), -1, np.int32)


def merge(
    keys: Ints, limit: Ints, cutoff: Floats, packing: LimitPacking
) -> tuple[Ints, Ints, Ints, Floats]:
    """Deduplicate keys: each unique one with the largest limits and cutoff of all its copies.

    Returns the unique keys in order of first occurrence, the position there of every key, and
    the limits and cutoffs of the unique keys.
    """
    n = len(keys)
    slots, inverse = empty_slots(n), np.empty(n, np.int32)
    unique, limits, cutoffs = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    count = LOOPS.merge(
        keys, limit, cutoff, n, packing, slots, len(slots), unique, inverse, limits, cutoffs
    )
    return unique[:count].copy(), inverse, limits[:count].copy(), cutoffs[:count].copy()


def minima(keys: Ints, values: Floats) -> tuple[Ints, Ints, Floats]:
    """A hash table of the unique keys, each with its least value: slots, keys, values.

    A slot holds a position in keys and values, or -1.
    """
    n = len(keys)
    slots, unique, lowest = empty_slots(n), np.empty(n, np.int64), np.empty(n)
    count = LOOPS.minima(keys, values, n, slots, len(slots), unique, lowest)
    return slots, unique[:count].copy(), lowest[:count].copy()


def find(wanted: Ints, slots: Ints, keys: Ints) -> Ints:
    """The positions of the `wanted` keys in a table made by `minima`, -1 for missing ones."""
    result = np.empty(len(wanted), np.int32)
    LOOPS.find(wanted, len(wanted), slots, len(slots), keys, result)
    return result
