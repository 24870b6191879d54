"""An admissible lower bound: the optimum of the relaxed space, by sizes and levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from morello import engine
from morello.ir.batch import Batch
from morello.ir.kept import NONE, Kept
from morello.ir.placements import Bools, Ints, Placements
from morello.memo.space_memo import SpaceMemo
from morello.rewrites import Rewrite
from morello.search.budget import Progress
from morello.search.graph import Floats
from morello.search.relaxation import RelaxedSpace, relax
from morello.space.encoding import SpecEncoding
from morello.space.kind import Kind
from morello.space.sizes import Sizes
from morello.space.space import Goal, Space
from morello.targets.target import Target

_NEVER = 2 * engine.INFINITE
"""The bound a memo stores for Specs that have no program; `INFINITE` marks missing ones."""


@dataclass(frozen=True)
class _KindBounds:
    """The bounds of a kind's Specs, by their positions (see `SpecEncoding.positions`).

    Specs of the same sizes and levels share a position, which has the least of their bounds. If an
    operand has neighbours in all of these Specs, there is also a position for each combination of
    neighbours; `known` says of the shared position which operands these are, as bits. The last of
    the bounds, `INFINITE`, is for Specs that have none.
    """

    encoding: SpecEncoding
    slots: Ints
    positions: Ints
    bounds: Floats
    known: Ints
    sizes: int

    @staticmethod
    def of(encoding: SpecEncoding, specs: Batch, bounds: Floats) -> tuple[_KindBounds, Ints]:
        """The bounds of Specs, and their rows."""
        whole = encoding.positions(specs)
        slots, unique, lowest = engine.minima(whole, bounds)
        rows, known = engine.find(whole, slots, unique), np.zeros(len(unique), np.int64)
        every = [
            engine.minima(whole, given.astype(np.float64))[2] > 0
            for given in encoding.neighbours_of(specs) > 0
        ]
        for operand, given in enumerate(every):
            known |= given.astype(np.int64) << operand
        if known.any():
            apart = encoding.positions(specs, np.stack(every)[:, rows])
            both = np.concatenate([whole[known[rows] > 0], apart])
            costs = np.concatenate([bounds[known[rows] > 0], bounds])
            slots, unique, lowest = engine.minima(both, costs)
            masks = np.zeros(len(unique), np.int64)
            masks[engine.find(whole, slots, unique)] = known[rows]
            rows, known = engine.find(apart, slots, unique), masks
        lowest = np.append(lowest, engine.INFINITE)
        table = _KindBounds(encoding, slots, unique, lowest, known, encoding.size_count)
        return table, rows

    def __call__(self, batch: Batch) -> Floats:
        result: Floats = self.bounds[self.rows(batch)]
        return result

    def rows(self, batch: Batch) -> Ints:
        """The rows of Specs, -1 for those that it lacks."""
        rows = self.rows_of(self.encoding.positions(batch))
        known = np.where(rows >= 0, self.known[rows], 0)
        if known.any():
            bits = known >> np.arange(self.encoding.neighbours)[:, np.newaxis] & 1
            rows = self.rows_of(self.encoding.positions(batch, bits > 0))
        return rows

    def rows_of(self, positions: Ints) -> Ints:
        """The rows of these positions, -1 for those that it lacks."""
        result: Ints = engine.find(positions, self.slots, self.positions)
        return result


@dataclass(frozen=True)
class _RewriteBounds:
    """Lower bounds on the costs of all rewrites in the relaxed space.

    `first` is the number of the first row of each kind's table. `start` gives, by the number of
    a row, where its rewrites start; they have a rule, and a bound that is 0 where the rewrite was
    dropped for lack of memory.
    """

    first: Mapping[Kind, int]
    start: Ints
    rule: Ints
    bound: Floats

    @staticmethod
    def of(
        relaxed: RelaxedSpace, tables: Mapping[Kind, _KindBounds], rows: Sequence[Ints]
    ) -> _RewriteBounds:
        """The rewrites of all Specs, which have these rows in their kinds' tables."""
        ends = np.cumsum([0, *(len(table.positions) for table in tables.values())])
        first = dict(zip(tables, ends[:-1].tolist(), strict=True))
        number = np.concatenate([part + start for part, start in zip(rows, ends, strict=False)])
        start, members = engine.by_group(number, int(ends[-1]))
        nodes = np.concatenate([part for _, part in relaxed.specs.values()])[members]
        return _RewriteBounds(
            first, *engine.edges_of_groups(relaxed.graph, relaxed.bound, start, nodes)
        )


class RelaxedBound:
    """A lower bound on the cost of every program of a Spec.

    The bound is infinite for Specs that have no program in the relaxed space. Bounds are stored
    for all Specs reachable from the goals together: if the memo has the first goal's, all are read
    from it; otherwise, all are computed and added to it. `specs` counts the relaxed Specs expanded
    for that. Pages of a memo may be damaged, so Specs missing from it get the bound 0. Bounds that
    keep `neighbours` are nearer, and may take several times as long (see `space.neighbours`); a
    memo has none of these.
    """

    def __init__(
        self,
        goals: Sequence[Goal],
        target: Target,
        sizes: Sizes,
        memo: SpaceMemo | None = None,
        progress: Progress | None = None,
        *,
        neighbours: Kept = NONE,
    ) -> None:
        assert memo is None or neighbours == NONE
        self.space = Space(goals, target, sizes, relaxed=True, neighbours=neighbours)
        self.specs = 0
        self._memo = memo
        self._tables: dict[Kind, _KindBounds] = {}
        self._rewrites: _RewriteBounds | None = None
        self._rules: dict[Kind, Ints] = {}
        first, *_ = self.space.goal_batches()
        if memo is None or not self._stored(memo, first) < engine.INFINITE:
            self._memo = None
            self._compute(memo, progress)

    def __call__(self, batch: Batch) -> Floats:
        kind = Kind.of(batch)
        table = self._tables.get(kind)
        if self._memo is not None:
            encoding = self.space.encoding(batch)
            encoding.positions(batch)  # numbers sizes that are new
            if table is None or table.sizes < encoding.size_count:
                table = self._load(self._memo, batch)
        result = np.full(len(batch), engine.INFINITE) if table is None else table(batch)
        return result if self._memo is None else np.where(result == engine.INFINITE, 0.0, result)

    def of(self, encoding: SpecEncoding, keys: Ints, placements: Placements) -> Floats:
        """The bounds of the Specs with these keys."""
        if self._memo is not None:
            return self(encoding.batch(keys, placements))
        table = self._tables.get(encoding.kind)
        if table is None:
            return np.full(len(keys), engine.INFINITE)
        result: Floats = table.bounds[self._rows(table, encoding, keys, placements)]
        return result

    def _rows(
        self, table: _KindBounds, encoding: SpecEncoding, keys: Ints, placements: Placements
    ) -> Ints:
        """The rows in a table of Specs that have these keys in the space that is searched.

        Both spaces number sizes alike.
        """
        if encoding.words == 1 and not table.encoding.neighbours:
            return table.rows_of(encoding.positions_of(keys, placements))
        return table.rows(encoding.batch(keys, placements))

    def affordable(
        self, encoding: SpecEncoding, keys: Ints, placements: Placements, cutoffs: Floats,
        rewrites: Sequence[Rewrite],
    ) -> Bools | None:  # fmt: skip
        """Which rewrites of each Spec may begin a program that costs at most its cutoff.

        By rewrite and row; None if it is not known, as bounds were read from a memo. `rewrites`
        are all of the Specs' kind.
        """
        if self._rewrites is None:
            return None
        kind, groups = encoding.kind, np.full(len(keys), -1, np.int32)
        table = self._tables.get(kind)
        if table is not None:
            rows = self._rows(table, encoding, keys, placements)
            groups = np.where(rows >= 0, rows + self._rewrites.first[kind], -1)
        above = np.full(len(keys), -np.inf)
        allowed, _ = self.between(kind, groups, above, cutoffs, rewrites)
        return allowed

    def positions(self, kind: Kind) -> engine.PositionBounds | None:
        """The bounds of a kind by position, with the groups that `between` takes, if it has any.

        Not for bounds that were read from a memo.
        """
        known, table = self._rewrites, self._tables.get(kind)
        assert known is not None
        if table is None:
            return None
        return engine.PositionBounds(
            table.encoding.position_keys, table.slots, table.positions, table.bounds, table.known,
            known.first[kind],
        )  # fmt: skip

    def between(
        self,
        kind: Kind,
        groups: Ints,
        above: Floats,
        upto: Floats,
        rewrites: Sequence[Rewrite],
    ) -> tuple[Bools, Floats]:
        """Which rewrites of each Spec have a bound above one and up to another, by rewrite and row.

        Groups are those of the Specs' positions, -1 for Specs that have none. `rewrites` are all of
        their kind. Gives also the least bound of all others beyond. Not for bounds that were read
        from a memo.
        """
        known = self._rewrites
        assert known is not None
        finite = np.minimum(upto, engine.INFINITE / 2)  # no cutoff allows what has no program
        allowed, beyond = engine.rules_between(
            groups, above, finite, known.start, known.rule, known.bound,
            len(self.space.rewrites(kind)),
        )  # fmt: skip
        return allowed[self._relaxed_numbers(kind, rewrites)], beyond

    def _relaxed_numbers(self, kind: Kind, rewrites: Sequence[Rewrite]) -> Ints:
        """The numbers of the relaxed rules of `rewrites`, which are all of the kind."""
        if kind not in self._rules:
            numbers = {rewrite: n for n, rewrite in enumerate(self.space.rewrites(kind))}
            kept = self.space.family.kept(kind)
            self._rules[kind] = np.array(
                [numbers[rewrite.relaxed(kept=kept)] for rewrite in rewrites]
            )
        return self._rules[kind]

    def _compute(self, memo: SpaceMemo | None, progress: Progress | None) -> None:
        """Solve the relaxed space, and add the bounds to the memo."""
        relaxed = relax(self.space, progress)
        rows = []
        for kind, (keys, nodes) in relaxed.specs.items():
            self.specs += len(keys)
            encoding = self.space.encodings[kind]
            specs = encoding.batch(keys, self.space.placements)
            table, here = _KindBounds.of(encoding, specs, relaxed.low[nodes])
            self._tables[encoding.kind] = table
            rows.append(here)
            if memo is not None and not encoding.kind.parallel:
                positions = encoding.positions(specs)
                positions, first = np.unique(positions, return_index=True)
                batch, bounds = specs[first], table.bounds[table.rows_of(positions)]
                memo.add_bounds(batch, np.where(bounds < engine.INFINITE, bounds, _NEVER))
        self._rewrites = _RewriteBounds.of(relaxed, self._tables, rows)

    def _stored(self, memo: SpaceMemo, batch: Batch) -> float:
        """The bound that a memo has of one relaxed Spec, infinite if it has none."""
        table = self._load(memo, batch)
        return engine.INFINITE if table is None else float(table(batch)[0])

    def _load(self, memo: SpaceMemo, batch: Batch) -> _KindBounds | None:
        """Load all bounds that a memo has of the relaxed Specs of a batch's kind."""
        kind = Kind.of(batch)
        if kind.parallel:
            return None
        encoding = self.space.encoding(batch)
        memoized = memo.bounds(kind, self.space.placements, encoding.largest_size)
        if memoized is None:
            return None
        specs, bounds = memoized
        inside = encoding.has_sizes(specs)
        self._tables[kind], _ = _KindBounds.of(encoding, specs[inside], bounds[inside])
        return self._tables[kind]
