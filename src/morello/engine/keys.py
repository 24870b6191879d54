"""Packing rows of small integers into one 63-bit key each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.base.errors import SearchError
from morello.engine.arrays import Ints
from morello.engine.loops import LOOPS

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
        self._numberings: list[Numbering] = []
        used = 0
        for width in bits:
            if used + width > _KEY_BITS:
                self._words.append([])
                self._numberings.append(Numbering())
                used = _NUMBER_BITS
            self._words[-1].append(width)
            used += width

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
            self._numberings, self._words[1:], words[1:], strict=True
        ):
            key = (numbering.numbers(key) << sum(widths)) | word
        return key

    def split(self, keys: Ints) -> list[Ints]:
        """The words of the rows with these keys."""
        words: list[Ints] = []
        for numbering, widths in zip(self._numberings[::-1], self._words[:0:-1], strict=True):
            words.append(keys & ((1 << sum(widths)) - 1))
            keys = numbering.values[keys >> sum(widths)]
        return [keys, *words[::-1]]


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
            self._number(self.values, 0)
        result, self._count = self._number(column, self._count)
        if self._count > 1 << _NUMBER_BITS:
            raise SearchError("the goal has too many sizes and operands to search.")
        return result

    def _number(self, column: Ints, count: int) -> tuple[Ints, int]:
        """The number of each integer, where `count` have one; and how many have one then."""
        column, numbers = np.ascontiguousarray(column), np.empty(len(column), np.int64)
        count = LOOPS.number(
            column, len(column), self._slots, len(self._slots), self._values, count, numbers
        )
        return numbers, count
