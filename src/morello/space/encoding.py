"""Specs of one kind as integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.base.errors import SearchError
from morello.engine.keys import Keys
from morello.ir.batch import Batch
from morello.ir.facts import NEIGHBOUR_BITS
from morello.ir.placements import Bools, Ints, Placements
from morello.space.kind import Kind
from morello.space.sizes import Sizes
from morello.targets.target import Target

_SIZE_BITS = 8
LEVEL_BITS = 3
MANY_DIMS = 5
PLACEMENT_BITS, MANY_PLACEMENT_BITS = 9, 14
"""The bits of placements of tensors of fewer dimensions, and of many: no code has more."""

FEWEST_LAYOUTS = 1 << PLACEMENT_BITS
"""So many layouts are not too many for any kind."""


class SpecEncoding:
    """Packs the Specs of a kind into integers: all sizes, then each operand's level and placement.

    Placements get more bits if the kind has `MANY_DIMS`, or any tensor in the search has: there are
    more layouts of more dimensions.

    The *position* of a Spec has its sizes and levels, and of as many operands as `neighbours`
    counts, all or none, also the dimension along which neighbours are in memory, if it is given.
    """

    def __init__(self, kind: Kind, sizes: Sizes, many_dims: bool, neighbours: bool) -> None:
        self.kind, self._sizes = kind, sizes
        operands, dims = len(kind.operation.operands), len(kind.operation.dims)
        position = [_SIZE_BITS] * dims + [LEVEL_BITS] * operands
        self.neighbours = operands if neighbours else 0
        self.position_keys = Keys(position + [NEIGHBOUR_BITS] * self.neighbours)
        many = many_dims or dims >= MANY_DIMS
        self._placement_bits = MANY_PLACEMENT_BITS if many else PLACEMENT_BITS
        self.spec_keys = Keys([*position, *[self._placement_bits] * operands])

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

    @property
    def words(self) -> int:
        """How many words a Spec's key is made of (see `engine.keys.Keys`)."""
        return self.spec_keys.words

    def keys(self, batch: Batch) -> Ints:
        """The Specs as integers. Raises `SearchError` if there are too many sizes or layouts."""
        return self.join(self.words_of(batch), batch.placements)

    def words_of(self, batch: Batch) -> list[Any]:
        """The words of the Specs' keys."""
        return self.spec_keys.words_of([*self._numbers(batch), *batch.levels, *batch.codes])

    def join(self, words: Sequence[Ints], placements: Placements) -> Ints:
        """The keys of Specs with these words. Raises `SearchError` as `keys`."""
        self.check_layouts(placements)
        return self.spec_keys.join(words)

    def make_room(self, count: int) -> bool:
        """Make room for the keys of so many Specs that C joins.

        Gives whether there is room for more than keys have numbers for, so that `check` may raise.
        """
        large = [numbering.make_room(count) for numbering in self.spec_keys.numberings]
        return any(large)

    def check(self) -> None:
        """Raises `SearchError` as `keys`, after C joined keys."""
        for numbering in self.spec_keys.numberings:
            numbering.check()

    def check_layouts(self, placements: Placements) -> None:
        """Raises `SearchError` if there are too many layouts."""
        if len(placements.placements) > 1 << self._placement_bits:
            raise SearchError(f"{self.kind.operation} reaches too many layouts to search.")

    def split(self, keys: Ints) -> list[Ints]:
        """The words of these keys."""
        return self.spec_keys.split(keys)

    def batch(self, keys: Ints, placements: Placements) -> Batch:
        """The Specs with these keys."""
        return self.batch_of_words(self.split(keys), placements)

    def batch_of_words(self, words: Sequence[Any], placements: Placements) -> Batch:
        """The Specs whose keys have these words."""
        columns = iter(self.spec_keys.columns_of(words))
        operands = self.kind.operation.operands
        return Batch(
            self.kind.operation, self.kind.dtypes, placements,
            tuple(self._sizes.by_number[next(columns)] for _ in self.kind.operation.dims),
            tuple(next(columns).astype(np.int8) for _ in operands),
            tuple(next(columns).astype(np.int16) for _ in operands),
            self.kind.parallel, self.kind.joining,
        )  # fmt: skip

    def positions(self, batch: Batch, known: Bools | None = None) -> Ints:
        """The positions of Specs; neighbours are those `known`, by operand and row, if any."""
        columns = [*self._numbers(batch), *batch.levels]
        if known is None:
            columns += [np.zeros(len(batch), np.int64)] * self.neighbours
        else:
            columns += [*np.where(known, self.neighbours_of(batch), 0)]
        return self.position_keys.pack(columns)

    def neighbours_of(self, batch: Batch) -> Ints:
        """The dimensions of neighbours as numbers, by operand and row (see `Placements`)."""
        codes = batch.codes[: self.neighbours]
        result = np.empty((len(codes), len(batch)), np.int64)
        for operand, code in enumerate(codes):
            result[operand] = batch.placements.neighbours[code]
        return result

    def positions_of(self, keys: Ints, placements: Placements) -> Ints:
        """The positions of the Specs with these keys, of which no neighbours are known."""
        if self.spec_keys.words == 1 and not self.neighbours:
            return keys >> (self._placement_bits * len(self.kind.operation.operands))
        return self.positions(self.batch(keys, placements))

    def ideal(self, keys: Ints, placements: Placements) -> Bools:
        """Whether all placements of the Specs with these keys are ideal, of all."""
        columns = self.spec_keys.unpack(keys)[-len(self.kind.operation.operands) :]
        result: Bools = np.logical_and.reduce([placements.ideal(codes) for codes in columns])
        return result

    def extents(self, keys: Ints, target: Target) -> Ints:
        """The last part of the ranks of the Specs with these keys (see `ranks`)."""
        columns = iter(self.spec_keys.unpack(keys))
        result: Ints = np.zeros(len(keys), np.int64)
        for _ in self.kind.operation.dims:
            result += self._sizes.depths[next(columns)]
        for _ in self.kind.operation.operands:
            result += target.registers - next(columns)
        return result

    def _numbers(self, batch: Batch) -> list[Ints]:
        numbers = [self._sizes.numbers(size) for size in batch.sizes]
        if len(self._sizes) > 1 << _SIZE_BITS:
            raise SearchError(f"{self.kind.operation} reaches too many sizes to search.")
        return numbers
