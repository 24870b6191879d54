"""Specs of a space, numbered as they are reached, and put in an order that anyone can derive."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import numpy as np

from morello.impl.operations import operation_data
from morello.ir.batch import Batch
from morello.ir.placements import Ints, Placements
from morello.ir.tensor import Placement
from morello.space.kind import Kind
from morello.space.ranks import common_rank
from morello.space.space import Space


def table_of(batch: Batch) -> Ints:
    """The Specs of a batch as rows: sizes, levels, and codes of placements."""
    columns = [*batch.sizes, *batch.levels, *batch.codes]
    return np.ascontiguousarray(np.array(columns, np.int32).T)


def batch_of(kind: Kind, table: Ints, space: Space) -> Batch:
    """The Specs that `table_of` gave as these rows."""
    operands, dims = len(kind.operation.operands), len(kind.operation.dims)
    columns = np.ascontiguousarray(table.T)
    return Batch(
        kind.operation, kind.dtypes, space.placements,
        tuple(columns[:dims]),
        tuple(columns[dims : dims + operands].astype(np.int8)),
        tuple(columns[dims + operands :].astype(np.int16)),
        kind.parallel, kind.joining,
    )  # fmt: skip


def as_bytes(table: Ints) -> list[bytes]:
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
        return as_bytes(table_of(replace(batch, codes=tuple(own[codes] for codes in batch.codes))))


@dataclass
class _OfKind:
    """The Specs of a kind: their numbers by row, and the rows in the order of their numbers."""

    numbers: dict[bytes, int] = field(default_factory=dict)
    tables: list[Ints] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    taken: int = 0

    @property
    def table(self) -> Ints:
        """All rows."""
        if len(self.tables) > 1:
            self.tables = [np.concatenate(self.tables)]
        return self.tables[0]


class Numbered:
    """The Specs of a space that were reached. Their numbers are given as they come."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.kinds: dict[Kind, _OfKind] = {}
        self.count = 0

    def numbers(self, batch: Batch) -> Ints:
        """The numbers of Specs; new ones get the next."""
        if not len(batch):
            return np.empty(0, np.int32)  # and no kind is reached
        known = self.kinds.setdefault(Kind.of(batch), _OfKind())
        table = table_of(batch)
        numbers, new = [], []
        for row, key in enumerate(as_bytes(table)):
            number = known.numbers.get(key)
            if number is None:
                number = known.numbers[key] = self.count
                self.count += 1
                known.nodes.append(number)
                new.append(row)
            numbers.append(number)
        if new:
            known.tables.append(table[new])
        return np.array(numbers, np.int32)

    def take(self, kind: Kind) -> tuple[Ints, Ints]:
        """The numbers and rows of all Specs of a kind that were not taken before."""
        known = self.kinds[kind]
        start, known.taken = known.taken, len(known.nodes)
        return np.array(known.nodes[start:], np.int32), known.table[start:]

    @property
    def waiting(self) -> list[Kind]:
        """The kinds that have Specs which were not taken."""
        return [kind for kind, known in self.kinds.items() if known.taken < len(known.nodes)]

    def ranks(self, kind: Kind, table: Ints) -> Ints:
        """The last part of the ranks of a kind's Specs: how far they are from done."""
        space, dims = self.space, len(kind.operation.dims)
        operands = len(kind.operation.operands)
        result: Ints = np.zeros(len(table), np.int64)
        for column in table.T[:dims]:
            result += space.sizes.depths[space.sizes.numbers(column)]
        for column in table.T[dims : dims + operands]:
            result += space.target.registers - column
        return result

    def all_ranks(self) -> Ints:
        """The ranks of all Specs as integers: a rewrite leaves only Specs of lower rank."""
        common = sorted({common_rank(kind) for kind in self.kinds})
        ranks = {kind: self.ranks(kind, known.table) for kind, known in self.kinds.items()}
        most = 1 + max(int(each.max()) for each in ranks.values())
        result = np.empty(self.count, np.int64)
        for kind, known in self.kinds.items():
            result[known.nodes] = common.index(common_rank(kind)) * most + ranks[kind]
        return result

    def in_order(self) -> Ints:
        """The numbers of all Specs in canonical order: by kind, then by row."""
        kinds = sorted(self.kinds, key=kind_text)
        return np.concatenate(
            [np.array(known.nodes, np.int32)[row_order(known.table, kind, self.space)]
             for kind in kinds for known in [self.kinds[kind]]]
        )  # fmt: skip


def kind_text(kind: Kind) -> str:
    """A text that only one kind has."""
    joining = kind.joining
    names = [dtype.name for dtype in kind.dtypes]
    parts = operation_data(kind.operation), names, kind.parallel, joining.groups, joining.units
    return json.dumps(parts, sort_keys=True)


def placement_text(placement: Placement) -> str:
    """A text that only one placement has."""
    numbers = placement.contiguous, placement.aliased, placement.vector
    return " ".join(map(str, (placement.layout, *numbers)))


def row_order(table: Ints, kind: Kind, space: Space) -> Ints:
    """The canonical order of Specs of a kind: by sizes, levels, and placements as texts."""
    first = len(kind.operation.dims) + len(kind.operation.operands)
    keys = list(table.T[:first])
    codes = np.unique(table[:, first:])
    ordered = sorted(codes.tolist(), key=lambda code: placement_text(space.placements[code]))
    place = np.zeros(int(codes.max()) + 1, np.int64)
    place[ordered] = np.arange(len(ordered))
    keys += list(place[table[:, first:]].T)
    result: Ints = np.lexsort(keys[::-1])
    return result
