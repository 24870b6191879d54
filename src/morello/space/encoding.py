"""Specs of one kind as integers."""

from __future__ import annotations

import numpy as np

from morello.base.errors import SearchError
from morello.engine.keys import Keys
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints, Placements
from morello.space.kind import Kind
from morello.space.sizes import Sizes

_SIZE_BITS = 8
_LEVEL_BITS = 3
_PLACEMENT_BITS, _MANY_PLACEMENT_BITS = 9, 14  # of tensors of up to four dimensions, and of more
_FEW_DIMS = 4


class SpecEncoding:
    """Packs the Specs of a kind into integers: all sizes, then each operand's level and placement.

    `rank` is the largest number of dimensions of any tensor in the search; the bits for placements
    depend on it, as there are more layouts of more dimensions.
    """

    def __init__(self, kind: Kind, sizes: Sizes, rank: int) -> None:
        self.kind, self._sizes = kind, sizes
        operands, dims = len(kind.operation.operands), len(kind.operation.dims)
        position = [_SIZE_BITS] * dims + [_LEVEL_BITS] * operands
        self._positions = Keys(position)
        few = max(dims, rank) <= _FEW_DIMS
        self._placement_bits = _PLACEMENT_BITS if few else _MANY_PLACEMENT_BITS
        self._keys = Keys([*position, *[self._placement_bits] * operands])

    @property
    def size_count(self) -> int:
        """How many sizes are numbered so far."""
        return len(self._sizes)

    @property
    def largest_size(self) -> int:
        """The largest size that is numbered."""
        return int(self._sizes.values.max())

    def has_sizes(self, batch: Batch) -> Bools:
        """Which Specs of a batch have only sizes that are numbered."""
        result = np.ones(len(batch), np.bool_)
        for size in batch.sizes:
            result &= self._sizes.has(size)
        return result

    def keys(self, batch: Batch) -> Ints:
        """The Specs as integers. Raises `SearchError` if there are too many sizes or layouts."""
        if len(batch.placements.placements) > 1 << self._placement_bits:
            raise SearchError(f"{self.kind.operation} reaches too many layouts to search.")
        return self._keys.pack([*self._numbers(batch), *batch.levels, *batch.codes])

    def batch(self, keys: Ints, placements: Placements) -> Batch:
        """The Specs with these keys."""
        columns = iter(self._keys.unpack(keys))
        operands = self.kind.operation.operands
        return Batch(
            self.kind.operation, self.kind.dtypes, placements,
            tuple(self._sizes.values[next(columns)] for _ in self.kind.operation.dims),
            tuple(next(columns).astype(np.int8) for _ in operands),
            tuple(next(columns).astype(np.int16) for _ in operands),
            self.kind.parallel,
        )  # fmt: skip

    def positions(self, batch: Batch) -> Ints:
        """The Specs as integers, without their placements: sizes and levels only."""
        return self._positions.pack([*self._numbers(batch), *batch.levels])

    def _numbers(self, batch: Batch) -> list[Ints]:
        numbers = [self._sizes.numbers(size) for size in batch.sizes]
        if len(self._sizes) > 1 << _SIZE_BITS:
            raise SearchError(f"{self.kind.operation} reaches too many sizes to search.")
        return numbers
