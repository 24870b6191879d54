"""Specs of a space, numbered as they are reached, and put in an order that anyone can derive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from morello.impl.operations import operation_data
from morello.ir.batch import Batch
from morello.ir.placements import Ints, Placements
from morello.ir.tensor import Placement
from morello.space.kind import Kind
from morello.space.ranks import SpecRank, common_rank
from morello.space.space import Space


def table_of(batch: Batch) -> Ints:
    """The Specs of a batch as rows: sizes, levels, and codes of placements."""
    columns = [*batch.sizes, *batch.levels, *batch.codes]
    return np.ascontiguousarray(np.array(columns, np.int32).T)


def _as_bytes(table: Ints) -> list[bytes]:
    """Each row of a table as a key of dictionaries."""
    table = np.ascontiguousarray(table)
    result: list[bytes] = table.view(f"V{table.itemsize * table.shape[1]}").ravel().tolist()
    return result


class SpecKeys:
    """Keys of Specs that may be from different spaces, in which placements have other codes."""

    def __init__(self) -> None:
        self._placements = Placements()

    def __call__(self, batch: Batch) -> list[bytes]:
        """The keys of a batch's Specs, which Specs of the same kind have only if they are equal."""
        own = np.array(self._placements.codes(batch.placements.placements))
        return _as_bytes(table_of(replace(batch, codes=tuple(own[codes] for codes in batch.codes))))


class Tier(NamedTuple):
    """All Specs of one rank and kind."""

    rank: SpecRank
    kind: Kind

    @property
    def order(self) -> tuple[SpecRank, str]:
        """The sort key of tiers: the highest rank first, then by kind."""
        return tuple(-part for part in self.rank), kind_text(self.kind)


@dataclass
class _OfKind:
    """The Specs of a kind: their numbers by row, and rows and numbers in ascending order.

    `tiers` has the places of their tiers by the last part of the rank.
    """

    numbers: dict[bytes, int] = field(default_factory=dict)
    tables: list[Ints] = field(default_factory=list)
    nodes: list[Ints] = field(default_factory=list)
    tiers: dict[int, int] = field(default_factory=dict)


class Numbered:
    """The Specs of a space that were reached. Their numbers are given as they come."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.kinds: dict[Kind, _OfKind] = {}
        self.tiers: list[Tier] = []
        self._tiers: list[Ints] = []
        self.count = 0

    def numbers(self, batch: Batch) -> Ints:
        """The numbers of Specs; new ones get the next."""
        if not len(batch):
            return np.empty(0, np.int32)  # and no kind is reached
        kind = Kind.of(batch)
        known = self.kinds.setdefault(kind, _OfKind())
        table = table_of(batch)
        keys, numbers = _as_bytes(table), known.numbers
        new = {key: row for row, key in enumerate(keys) if key not in numbers}
        if new:
            nodes = np.arange(self.count, self.count + len(new), dtype=np.int32)
            self.count += len(new)
            numbers.update(zip(new, nodes.tolist(), strict=True))
            known.tables.append(table[[*new.values()]])
            known.nodes.append(nodes)
            self._tiers.append(self._tiers_of(batch[np.array([*new.values()])]))
        return np.fromiter(map(numbers.__getitem__, keys), np.int32, len(keys))

    def nodes(self, kind: Kind) -> Ints:
        """The numbers of all Specs of a kind, in ascending order."""
        return _joined(self.kinds[kind].nodes)

    def batch(self, kind: Kind, nodes: Ints) -> Batch:
        """The Specs of a kind that have these numbers."""
        rows = _joined(self.kinds[kind].tables)[np.searchsorted(self.nodes(kind), nodes)]
        dims, operands = len(kind.operation.dims), len(kind.operation.operands)
        columns = np.ascontiguousarray(rows.T)
        return Batch(
            kind.operation, kind.dtypes, self.space.placements,
            tuple(columns[:dims]),
            tuple(columns[dims : dims + operands].astype(np.int8)),
            tuple(columns[dims + operands :].astype(np.int16)),
            kind.parallel, kind.joining,
        )  # fmt: skip

    def tier_of(self, nodes: Ints) -> Ints:
        """The places of Specs' tiers among the `tiers`."""
        result: Ints = _joined(self._tiers)[nodes]
        return result

    def by_rank(self) -> list[tuple[int, Ints]]:
        """The places of all tiers with the numbers of their Specs, the highest rank first."""
        return sorted(by_tier(_joined(self._tiers)), key=lambda pair: self.tiers[pair[0]].order)

    def _tiers_of(self, batch: Batch) -> Ints:
        """The places of the tiers of Specs, which are added if they are new.

        The last part of a rank is how far a Spec is from done.
        """
        space, kind, ranks = self.space, Kind.of(batch), np.zeros(len(batch), np.int64)
        for sizes in batch.sizes:
            ranks += space.sizes.depths[space.sizes.numbers(sizes)]
        for levels in batch.levels:
            ranks += space.target.registers - levels
        distinct, place = np.unique(ranks, return_inverse=True)
        tiers = self.kinds[kind].tiers
        for rank in distinct.tolist():
            if rank not in tiers:
                tiers[rank] = len(self.tiers)
                self.tiers.append(Tier((*common_rank(kind), rank), kind))
        return np.array([tiers[rank] for rank in distinct.tolist()], np.int32)[place]


def by_tier(tiers: Ints) -> Iterator[tuple[int, Ints]]:
    """Each tier with the rows that have it, in ascending order."""
    order = np.argsort(tiers, kind="stable")
    starts = np.flatnonzero(np.diff(tiers[order], prepend=-1))
    if len(starts):
        yield from zip(tiers[order][starts].tolist(), np.split(order, starts[1:]), strict=True)


def _joined(parts: list[Ints]) -> Ints:
    """All parts as one array, which takes their place in the list."""
    if len(parts) > 1:
        parts[:] = [np.concatenate(parts)]
    return parts[0]


@cache
def kind_text(kind: Kind) -> str:
    """A text that only one kind has."""
    joining = kind.joining
    names = [dtype.name for dtype in kind.dtypes]
    parts = operation_data(kind.operation), names, kind.parallel, joining.groups, joining.units
    return json.dumps(parts, sort_keys=True)


def _placement_text(placement: Placement) -> str:
    """A text that only one placement has."""
    numbers = placement.contiguous, placement.aliased, placement.vector
    return " ".join(map(str, (placement.layout, *numbers)))


def in_order(batch: Batch) -> Ints:
    """The canonical order of Specs of a kind: by sizes, levels, and placements as texts."""
    codes = np.unique(np.array(batch.codes))
    ordered = sorted(codes.tolist(), key=lambda code: _placement_text(batch.placements[code]))
    place = np.zeros(int(codes.max()) + 1, np.int64)
    place[ordered] = np.arange(len(ordered))
    keys = [*batch.sizes, *batch.levels, *(place[column] for column in batch.codes)]
    result: Ints = np.lexsort(keys[::-1])
    return result
