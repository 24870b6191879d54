"""Hash tables of integers in flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from morello.base.jit import compiled
from morello.engine.arrays import Floats, Ints
from morello.engine.limits import LimitPacking, larger


@compiled
def first_slot(key: int, size: int) -> int:
    """The first slot to probe for a key in a hash table of `size` slots (a power of two)."""
    mixed: Any = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    slot: int = np.int64(mixed) & (size - 1)
    return slot


@compiled
def merge(
    keys: Ints, limit: Ints, cutoff: Floats, packing: LimitPacking
) -> tuple[Ints, Ints, Ints, Floats]:
    """Deduplicate keys: each unique one with the largest limits and cutoff of all its copies.

    Returns the unique keys in order of first occurrence, the position there of every key, and
    the limits and cutoffs of the unique keys.
    """
    n = keys.shape[0]
    size = 16
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    inverse = np.empty(n, np.int32)
    unique = np.empty(n, np.int64)
    limits = np.empty(n, np.int64)
    cutoffs = np.empty(n)
    count = 0
    for i in range(n):
        key = keys[i]
        slot = first_slot(key, size)
        while True:
            entry = slots[slot]
            if entry < 0:
                slots[slot] = count
                unique[count], limits[count], cutoffs[count] = key, limit[i], cutoff[i]
                inverse[i] = count
                count += 1
                break
            if unique[entry] == key:
                inverse[i] = entry
                limits[entry] = larger(limits[entry], limit[i], packing)
                cutoffs[entry] = max(cutoffs[entry], cutoff[i])
                break
            slot = (slot + 1) & (size - 1)
    return unique[:count].copy(), inverse, limits[:count].copy(), cutoffs[:count].copy()


@compiled
def minima(keys: Ints, values: Floats) -> tuple[Ints, Ints, Floats]:
    """A hash table of the unique keys, each with its least value: slots, keys, values.

    A slot holds a position in keys and values, or -1.
    """
    n = keys.shape[0]
    size = 16
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    unique = np.empty(n, np.int64)
    lowest = np.empty(n)
    count = 0
    for i in range(n):
        slot = first_slot(keys[i], size)
        while slots[slot] >= 0 and unique[slots[slot]] != keys[i]:
            slot = (slot + 1) & (size - 1)
        entry = slots[slot]
        if entry < 0:
            slots[slot] = count
            unique[count], lowest[count] = keys[i], values[i]
            count += 1
        else:
            lowest[entry] = min(lowest[entry], values[i])
    return slots, unique[:count].copy(), lowest[:count].copy()


@compiled
def find(wanted: Ints, slots: Ints, keys: Ints) -> Ints:
    """The positions of the `wanted` keys in a table made by `minima`, -1 for missing ones."""
    size = slots.shape[0]
    result = np.empty(wanted.shape[0], np.int32)
    for i in range(wanted.shape[0]):
        slot = first_slot(wanted[i], size)
        while slots[slot] >= 0 and keys[slots[slot]] != wanted[i]:
            slot = (slot + 1) & (size - 1)
        result[i] = slots[slot]
    return result
