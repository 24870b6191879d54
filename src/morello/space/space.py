"""The search space of a goal: its sizes, its rules, and the kinds of its Specs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from morello.engine.limits import Limits
from morello.engine.recorded import EdgeRoom
from morello.ir.batch import Batch
from morello.ir.joining import NO_JOINING, joining_of
from morello.ir.kept import NONE, Kept
from morello.ir.operation import Operation
from morello.ir.placements import Placements
from morello.ir.spec import Spec
from morello.ir.tracing import Lookup
from morello.rewrites import Rewrite
from morello.space.encoding import MANY_DIMS, SpecEncoding
from morello.space.family import Family
from morello.space.guards import Rules
from morello.space.kind import Kind
from morello.space.sizes import CoarseSizes, Sizes
from morello.space.traits import RuleTraits, TilingTraits, widest_vector
from morello.targets.target import Target

Goal = tuple[Spec, ...]
"""A goal of a search, as Specs that differ in their layouts: a program of any of them will do."""


class Space:
    """The search space of goals: its rules, sizes, and kinds of Specs.

    A relaxed space keeps the `neighbours` of these operands in sums of products (see
    `space.neighbours`). If of none, its bounds hold for other goals, too, whatever their layouts.

    Sizes that tiling does not reach (the windows of convolutions, say) are added as they are met.
    """

    def __init__(
        self,
        goals: Sequence[Goal],
        target: Target,
        sizes: Sizes,
        *,
        relaxed: bool = False,
        neighbours: Kept = NONE,
    ) -> None:
        self.goals, self.target, self.sizes, self.relaxed = tuple(goals), target, sizes, relaxed
        self.limits = Limits(target.limits)
        self.placements = Placements()
        self.room = EdgeRoom()  # of the edges that were recorded last
        traits = RuleTraits.of(target, *chain.from_iterable(goals))
        many_dims = any(_rank(goal[0].operation) >= MANY_DIMS for goal in goals)
        self.family = Family(target, traits, relaxed, sizes.most_cuts, many_dims, neighbours)
        self.encodings: list[SpecEncoding] = []  # by the number of the kind
        self._numbers: dict[Kind, int] = {}
        self._encodings: dict[Kind, SpecEncoding] = {}
        self._rules: dict[Kind, list[Rules]] = {}
        self._rewrites: dict[Kind, list[Rewrite]] = {}

    def __str__(self) -> str:
        others = len(self.goals) - 1
        return self.goal.expression + (f" and {others} more" if others else "")

    @property
    def goal(self) -> Spec:
        """The first Spec of the first goal."""
        return self.goals[0][0]

    def number(self, kind: Kind) -> int:
        """The number of a kind; a new one gets the next."""
        if kind not in self._numbers:
            self._numbers[kind] = len(self.encodings)
            self.encodings.append(self.encoding_of(kind))
        return self._numbers[kind]

    def kind_number(self, batch: Batch) -> int:
        """The number of the kind of a batch's Specs."""
        return self.number(Kind.of(batch))

    def encoding(self, batch: Batch) -> SpecEncoding:
        """The encoding of a batch's Specs."""
        return self.encoding_of(Kind.of(batch))

    def encoding_of(self, kind: Kind) -> SpecEncoding:
        """The encoding of Specs of a kind, which need not have a number."""
        if kind not in self._encodings:
            self._encodings[kind] = self.family.encoding(kind, self.sizes)
        return self._encodings[kind]

    def table(self, lookup: Lookup) -> Lookup:
        """The table that has in this space the role of one in another space of the family."""
        if lookup.role is None:
            return lookup
        own = self.sizes.tables.get(lookup.role)
        return self.placements.table(lookup.role) if own is None else own

    def rules(self, kind: Kind) -> list[Rules]:
        """The rules for Specs of a kind."""
        if kind not in self._rules:
            self._rules[kind] = self.family.rules(kind, self.sizes)
        return self._rules[kind]

    def rewrites(self, kind: Kind) -> list[Rewrite]:
        """All rewrites tried on Specs of a kind; an edge's rule is a position in this list."""
        if kind not in self._rewrites:
            groups = self.rules(kind)
            self._rewrites[kind] = [rewrite for group in groups for rewrite in group.rewrites]
        return self._rewrites[kind]

    def goal_batches(self) -> list[Batch]:
        """The Specs of each goal; in a relaxed space, a single one stands for all of them.

        That has ideal placements, but for a goal of one Spec whose dimensions are to be joined.
        """
        batches = [self._joined(goal) for goal in self.goals]
        return [self._relaxed(batch) for batch in batches] if self.relaxed else batches

    def _relaxed(self, goal: Batch) -> Batch:
        if len(goal) > 1:
            first = goal[np.zeros(1, np.int64)]
            return replace(first, codes=tuple(map(self.placements.relaxed, first.codes)))
        if goal.joining != NO_JOINING:
            return goal
        return goal.relaxed(kept=self.family.kept(Kind.of(goal)))

    def batch_of(self, spec: Spec) -> Batch:
        """A Spec of the space as a batch; the dimensions of goals are to be joined first."""
        is_goal = any(spec in goal for goal in self.goals)
        return self._joined([spec]) if is_goal else Batch.of([spec], self.placements)

    def _joined(self, specs: Sequence[Spec]) -> Batch:
        """Specs of a goal, whose dimensions are to be joined."""
        return replace(Batch.of(specs, self.placements), joining=joining_of(specs[0]))


def _rank(operation: Operation) -> int:
    """The most dimensions of any tensor of an operation, its intermediates included."""
    tensors = [operand.dims for operand in operation.operands]
    tensors += [component.result_dims for component in operation.components]
    return max(len(dims) for dims in tensors)


def goal_sizes(goals: Sequence[Goal], target: Target) -> Sizes:
    """All sizes that tiling goals can reach."""
    sizes = [size for goal in goals for size in goal[0].sizes]
    tiling = TilingTraits.of(target, *chain.from_iterable(goals))
    return Sizes(sizes, tiling.widths, target.rows, tiling.vector, tiling.whole)


def coarse_sizes(goals: Sequence[Spec], target: Target, ratio: int) -> Sizes:
    """A few of the sizes that tiling goals can reach, for programs that are found soon."""
    sizes = [size for goal in goals for size in goal.sizes]
    vector, widths = widest_vector(target, *goals), TilingTraits.of(target, *goals).widths
    return CoarseSizes(sizes, vector, ratio, widths, target.rows)
