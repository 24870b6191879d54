"""A goal's search space, and the graphs of its cheap programs, pruned by a lower bound."""

from __future__ import annotations

from collections.abc import Sequence

from morello.ir.spec import Spec
from morello.memo.space_memo import SpaceMemo
from morello.search.budget import Progress
from morello.search.expansion import build
from morello.search.graph import SearchGraph
from morello.search.relaxed_bound import RelaxedBound
from morello.search.rewriting import Pruning
from morello.space.sizes import Sizes
from morello.space.space import Space, goal_sizes
from morello.targets.target import Target


class PrunedSpace:
    """The search space of a goal, and a lower bound on the costs of its Specs.

    The bound is computed, or read from the memo, when it is first needed. With `others`, it is the
    space of several goals that differ in their layouts. The `sizes` are all that tiling the goals
    can reach, unless others are given.
    """

    def __init__(
        self,
        goal: Spec,
        target: Target,
        memo: SpaceMemo | None = None,
        others: Sequence[Spec] = (),
        sizes: Sizes | None = None,
    ) -> None:
        self.space = Space(goal, target, sizes or goal_sizes(goal, target, others), others=others)
        self._memo = memo
        self._bound: RelaxedBound | None = None

    def of_goal(self, goal: Spec) -> PrunedSpace:
        """The space of one of several goals, which have the same bound."""
        result = PrunedSpace(goal, self.space.target)
        result.space, result._bound = Space(goal, self.space.target, self.space.sizes), self._bound
        return result

    def bound(self, progress: Progress | None = None) -> RelaxedBound:
        """The lower bound."""
        if self._bound is None:
            space = self.space
            self._bound = RelaxedBound(space.goal, space.target, space.sizes, self._memo, progress)
        return self._bound

    @property
    def relaxed_specs(self) -> int:
        """How many relaxed Specs were solved for the bound so far."""
        return 0 if self._bound is None else self._bound.specs

    def lower_bound(self, progress: Progress | None = None) -> float:
        """A lower bound on the cost of the goal; at least `INFINITE` if it has no program."""
        return float(self.bound(progress)(self.space.goal_batch())[0])

    def graph(self, upper: float, progress: Progress | None = None) -> SearchGraph:
        """The graph of all programs of the goal that cost at most `upper`."""
        return build(self.space, Pruning(self.bound(progress), upper), progress)
