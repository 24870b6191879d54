"""Packing rows of small integers into one 63-bit key each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.base.errors import SearchError
from morello.engine.arrays import Ints
from morello.engine.loops import LOOPS
from morello.native.loops import address

_KEY_BITS = 63
_NUMBER_BITS = 24


class Keys:
    """Packs columns of fixed bit widths into one integer key per row.

    The columns are packed into *words*. If there are several, each one but the last is replaced
    by its number in a `Numbering` and becomes the first part of the next. So any number of columns
    can be packed.
    """

    def __init__(self, bits: Sequence[int]) -> None:
        self._words: list[list[int]] = [[]]
        self.numberings: list[Numbering] = []
        used = 0
        for width in bits:
            if used + width > _KEY_BITS:
                self._words.append([])
                self.numberings.append(Numbering())
                used = _NUMBER_BITS
            self._words[-1].append(width)
            used += width
        befores = [0, *(address(numbering.record) for numbering in self.numberings)]
        words = [(sum(each), before) for each, before in zip(self._words, befores, strict=True)]
        parts = [
            (place, sum(widths[number + 1 :]), (1 << width) - 1)
            for place, widths in enumerate(self._words)
            for number, width in enumerate(widths)
        ]
        self._tables = np.array(words, np.int64), np.array(parts, np.int64)
        self.record = np.array([len(words), len(parts), *map(address, self._tables)], np.int64)
        """The struct `Keys` of keys.c."""

    @property
    def words(self) -> int:
        """The number of words."""
        return len(self._words)

    def pack(self, columns: Sequence[Ints]) -> Ints:
        """The key of every row. Raises `SearchError` if too many partial keys need numbers."""
        return self.join(self.words_of(columns))

    def unpack(self, keys: Ints) -> list[Ints]:
        """The columns of the rows with these keys."""
        return self.columns_of(self.split(keys))

    def words_of(self, columns: Sequence[Any]) -> list[Any]:
        """The words of rows, without the numbers of those before."""
        words, remaining = [], iter(columns)
        for widths in self._words:
            word = next(remaining).astype(np.int64)
            for width in widths[1:]:
                word = (word << width) | next(remaining)
            words.append(word)
        return words

    def columns_of(self, words: Sequence[Any]) -> list[Any]:
        """The columns of rows with these words."""
        columns = []
        for widths, word in zip(self._words, words, strict=True):
            shift = sum(widths)
            for width in widths:
                shift -= width
                columns.append((word >> shift) & ((1 << width) - 1))
        return columns

    def join(self, words: Sequence[Ints]) -> Ints:
        """The keys of rows with these words. Raises `SearchError` as `pack`."""
        key = words[0]
        for numbering, widths, word in zip(
            self.numberings, self._words[1:], words[1:], strict=True
        ):
            key = (numbering.numbers(key) << sum(widths)) | word
        return key

    def split(self, keys: Ints) -> list[Ints]:
        """The words of the rows with these keys."""
        words: list[Ints] = []
        for numbering, widths in zip(self.numberings[::-1], self._words[:0:-1], strict=True):
            words.append(keys & ((1 << sum(widths)) - 1))
            keys = numbering.values[keys >> sum(widths)]
        return [keys, *words[::-1]]


class Numbering:
    """Numbers distinct integers from 0, in the order in which they are first seen."""

    def __init__(self) -> None:
        self._slots = np.empty(0, np.int32)
        self._values = np.empty(0, np.int64)
        self.record = np.zeros(4, np.int64)
        """The struct `Numbering` of keys.c, which stays where it is."""

    @property
    def values(self) -> Ints:
        """The integers that have a number, in the order of their numbers."""
        return self._values[: self.record[3]]

    def numbers(self, column: Ints) -> Ints:
        """The number of each integer; adds new ones. Raises `SearchError` if there are too many."""
        self.make_room(len(column))
        result = self._numbers(np.ascontiguousarray(column))
        self.check()
        return result

    def make_room(self, count: int) -> bool:
        """Make room for so many more integers.

        Gives whether there is room for more than there are numbers. Then whoever adds integers
        without `numbers` checks after.
        """
        most = int(self.record[3]) + count
        if most > len(self._values):
            known, size = self.values, 1 << (2 * most).bit_length()
            self._slots, self._values = np.full(2 * size, -1, np.int32), np.empty(size, np.int64)
            self.record[:] = address(self._slots), 2 * size, address(self._values), 0
            self._numbers(known)
        return len(self._values) > 1 << _NUMBER_BITS

    def check(self) -> None:
        """Raises `SearchError` if there are more integers than keys have numbers for."""
        if self.record[3] > 1 << _NUMBER_BITS:
            raise SearchError("the goal has too many sizes and operands to search.")

    def _numbers(self, column: Ints) -> Ints:
        numbers = np.empty(len(column), np.int64)
        LOOPS.number(column, len(column), self.record, numbers)
        return numbers
