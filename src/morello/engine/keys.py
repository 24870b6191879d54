"""Packing rows of small integers into one 63-bit key each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from morello.base.errors import SearchError
from morello.base.jit import compiled
from morello.engine.arrays import Ints
from morello.engine.hashing import first_slot

_KEY_BITS = 63
_NUMBER_BITS = 24


class Keys:
    """Packs columns of fixed bit widths into one integer key per row.

    When the next column does not fit, the key packed so far is replaced by its number in a
    `Numbering`. So any number of columns can be packed.
    """

    def __init__(self, bits: Sequence[int]) -> None:
        self._columns: list[tuple[int, Numbering | None]] = []
        used = 0
        for width in bits:
            full = used + width > _KEY_BITS
            used = width + (_NUMBER_BITS if full else used)
            self._columns.append((width, Numbering() if full else None))

    def pack(self, columns: Sequence[Ints]) -> Ints:
        """The key of every row. Raises `SearchError` if too many partial keys need numbers."""
        key: Ints = np.zeros(len(columns[0]), np.int64)
        for column, (width, numbering) in zip(columns, self._columns, strict=True):
            if numbering is not None:
                key = numbering.numbers(key)
            key = (key << width) | column
        return key

    def unpack(self, keys: Ints) -> list[Ints]:
        """The columns of the rows with these keys."""
        columns: list[Ints] = []
        for width, numbering in reversed(self._columns):
            columns.append(keys & ((1 << width) - 1))
            keys = keys >> width
            if numbering is not None:
                keys = numbering.values[keys]
        return columns[::-1]


class Numbering:
    """Numbers distinct integers from 0, in the order in which they are first seen."""

    def __init__(self) -> None:
        self._slots = np.empty(0, np.int32)
        self._values = np.empty(0, np.int64)
        self._count = 0

    @property
    def values(self) -> Ints:
        """The integers that have a number, in the order of their numbers."""
        return self._values[: self._count]

    def numbers(self, column: Ints) -> Ints:
        """The number of each integer; adds new ones. Raises `SearchError` if there are too many."""
        most = self._count + len(column)
        if most > len(self._values):
            size = 1 << (2 * most).bit_length()
            self._slots = np.full(2 * size, -1, np.int32)
            self._values = np.concatenate([self.values, np.empty(size - self._count, np.int64)])
            _number(self.values, self._slots, self._values, 0)
        result, self._count = _number(column, self._slots, self._values, self._count)
        if self._count > 1 << _NUMBER_BITS:
            raise SearchError("the goal has too many sizes and operands to search.")
        return result


@compiled
def _number(column: Ints, slots: Ints, values: Ints, count: int) -> tuple[Ints, int]:
    """The number of each integer, and the count of numbers after adding new integers.

    `slots` is a hash table of numbers with open addressing, in which -1 marks an empty slot.
    """
    size = slots.shape[0]
    numbers = np.empty(column.shape[0], np.int64)
    for i in range(column.shape[0]):
        slot = first_slot(column[i], size)
        while slots[slot] >= 0 and values[slots[slot]] != column[i]:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot], values[count] = count, column[i]
            count += 1
        numbers[i] = slots[slot]
    return numbers, count
