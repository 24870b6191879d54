"""The search space of goals, and the graphs of its cheap programs, pruned by a lower bound."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from morello.ir.kept import NONE, Kept
from morello.ir.spec import Spec
from morello.memo.space_memo import SpaceMemo
from morello.search.budget import BOUND, BudgetError, Progress, Watch
from morello.search.expansion import build
from morello.search.graph import SearchGraph
from morello.search.relaxed_bound import RelaxedBound
from morello.search.rewriting import Pruning
from morello.space.neighbours import neighbours_kept
from morello.space.sizes import Sizes
from morello.space.space import Goal, Space, goal_sizes
from morello.targets.target import Target

NEAR = 0.7
"""The share of the time for the bound after which one that keeps neighbours is given up."""


class PrunedSpace:
    """The search space of goals, and a lower bound on the costs of its Specs.

    The bound is computed, or read from the memo, when it is first needed. The `sizes` are all that
    tiling the goals can reach, unless others are given.
    """

    def __init__(
        self,
        goals: Sequence[Goal],
        target: Target,
        memo: SpaceMemo | None = None,
        sizes: Sizes | None = None,
    ) -> None:
        self.space = Space(goals, target, sizes or goal_sizes(goals, target))
        self._memo = memo
        self._bound: RelaxedBound | None = None

    def of_spec(self, spec: Spec) -> PrunedSpace:
        """The space of one of the goals' Specs, which has the same bound."""
        target, sizes = self.space.target, self.space.sizes
        result = PrunedSpace([(spec,)], target, sizes=sizes)
        result._bound = self._bound
        return result

    def bound(self, progress: Progress | None = None) -> RelaxedBound:
        """The lower bound; it keeps neighbours where that pays."""
        return self._bound or self._computed(progress, neighbours=self._kept)

    def bound_within(self, watch: Watch) -> RelaxedBound | None:
        """The lower bound, or None if there is none in its share of the time.

        If one that keeps neighbours takes too long, it is one that does not, in a share of the time
        that is left.
        """
        kept = self._kept != NONE
        with suppress(BudgetError, MemoryError):
            return self.bound(watch.part(NEAR * BOUND if kept else BOUND))
        if kept:
            with suppress(BudgetError, MemoryError):
                return self._computed(watch.part(BOUND), neighbours=NONE)
        return None

    @property
    def _kept(self) -> Kept:
        """The operands whose neighbours the bound is to keep; that of a memo keeps none."""
        return neighbours_kept(self.space.goals) if self._memo is None else NONE

    def _computed(self, progress: Progress | None, *, neighbours: Kept) -> RelaxedBound:
        space = self.space
        self._bound = RelaxedBound(
            space.goals, space.target, space.sizes, self._memo, progress, neighbours=neighbours
        )
        return self._bound

    @property
    def relaxed_specs(self) -> int:
        """How many relaxed Specs were solved for the bound so far."""
        return 0 if self._bound is None else self._bound.specs

    def lower_bound(self, progress: Progress | None = None) -> float:
        """A lower bound on the cost of the first goal; at least `INFINITE` if it has no program."""
        return float(self.bound(progress)(self.space.goal_batches()[0])[0])

    def graph(self, upper: float, progress: Progress | None = None) -> SearchGraph:
        """The graph of all programs of the first goal that cost at most `upper`."""
        return build(self.space, Pruning(self.bound(progress), upper), progress)
