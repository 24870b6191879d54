"""Families of Specs, and their Specs as integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from morello.errors import SearchError
from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.forms import Bools, Forms, Ints
from morello.ir.operation import Operation
from morello.search.sizes import Sizes

_KEY_BITS = 63
_LEVEL_BITS = 3
_FORM_BITS = 9
_OPEN_BITS = (8, 6)  # sizes, not known ahead, of an operation of up to 4 dimensions, or more
_MOST_PLACE_BITS = 12


@dataclass(frozen=True)
class Kind:
    """What the Specs of a family have in common."""

    operation: Operation
    dtypes: tuple[DType, ...]
    parallel: bool

    @staticmethod
    def of(batch: Batch) -> Kind:
        return Kind(batch.operation, batch.dtypes, batch.parallel)


class Family:
    """Packs the Specs of a kind into integers: every size, then where every operand lies.

    A *place* is a level and a form; each operand's are numbered as they are met.
    """

    def __init__(self, kind: Kind, sizes: Sizes, *, open_sizes: bool) -> None:
        self.kind, self._sizes = kind, sizes
        operands, dims = len(kind.operation.operands), len(kind.operation.dims)
        known = max(1, (len(sizes) - 1).bit_length())
        self._size_bits = _OPEN_BITS[dims > 4] if open_sizes else known
        left = _KEY_BITS - dims * self._size_bits
        self._place_bits = min(_MOST_PLACE_BITS, left // operands)
        if self._place_bits < 2:
            raise SearchError(f"{kind.operation} has too many sizes and operands to search.")
        self._numbers = np.full((operands, 1 << (_LEVEL_BITS + _FORM_BITS)), -1, np.int16)
        self._places: list[list[int]] = [[] for _ in range(operands)]

    @property
    def size_count(self) -> int:
        """How many sizes have numbers."""
        return len(self._sizes)

    @property
    def most(self) -> int:
        """The largest size that has a number."""
        return int(self._sizes.values.max())

    def has_sizes(self, batch: Batch) -> Bools:
        """The Specs of a batch whose sizes have numbers."""
        result = np.ones(len(batch), np.bool_)
        for size in batch.sizes:
            result &= self._sizes.has(size)
        return result

    def keys(self, batch: Batch) -> Ints:
        """The Specs as integers."""
        key = np.zeros(len(batch), np.int64)
        for size in batch.sizes:
            numbers = self._sizes.numbers(size)
            key = (key << self._size_bits) | numbers
        if len(self._sizes) > 1 << self._size_bits:
            raise SearchError(f"{self.kind.operation} reaches too many sizes to search.")
        for operand, (level, code) in enumerate(zip(batch.levels, batch.codes, strict=True)):
            place = (level.astype(np.int16) << _FORM_BITS) | code
            key = (key << self._place_bits) | self._number(operand, place)
        return key

    def _number(self, operand: int, place: Ints) -> Ints:
        numbers = self._numbers[operand]
        found: Ints = numbers[place]
        if len(found) and found.min() < 0:
            known = self._places[operand]
            for new in np.unique(place[found < 0]).tolist():
                numbers[new] = len(known)
                known.append(new)
            if len(known) > 1 << self._place_bits:
                raise SearchError(f"{self.kind.operation} reaches too many layouts to search.")
            found = numbers[place]
        return found

    def batch(self, keys: Ints, forms: Forms) -> Batch:
        """The Specs with these keys."""
        codes: list[Ints] = []
        levels: list[Ints] = []
        sizes: list[npt.NDArray[np.int32]] = []
        for places in reversed(self._places):
            place = np.array(places, np.int16)[keys & ((1 << self._place_bits) - 1)]
            codes.append(place & ((1 << _FORM_BITS) - 1))
            levels.append((place >> _FORM_BITS).astype(np.int8))
            keys = keys >> self._place_bits
        for _ in self.kind.operation.dims:
            sizes.append(self._sizes.values[keys & ((1 << self._size_bits) - 1)])
            keys = keys >> self._size_bits
        return Batch(
            self.kind.operation, self.kind.dtypes, forms,
            tuple(reversed(sizes)), tuple(reversed(levels)), tuple(reversed(codes)),
            self.kind.parallel,
        )  # fmt: skip

    def positions(self, batch: Batch) -> Ints:
        """The Specs as integers without their forms: sizes and levels."""
        key = np.zeros(len(batch), np.int64)
        for size in batch.sizes:
            key = (key << self._size_bits) | self._sizes.numbers(size)
        for level in batch.levels:
            key = (key << _LEVEL_BITS) | level
        return key
