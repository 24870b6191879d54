"""A search as an object: it finds a goal's cheapest program, keeps that, and gives others."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from weakref import proxy

import numpy as np

from morello import engine
from morello.base.errors import SearchError
from morello.base.memory import return_freed, uncollected
from morello.base.status import tell
from morello.ir.batch import Batch
from morello.ir.spec import Spec
from morello.memo import Table
from morello.memo.boxes import BOXES
from morello.memo.space_memo import SpaceMemo
from morello.rewrites import Rewrite
from morello.search.alternatives import in_order
from morello.search.best_first import BestFirst
from morello.search.budget import BOUND, UNTIMED, Budget, BudgetError, Progress, Watch
from morello.search.candidates import SLACKS as CANDIDATE_SLACKS
from morello.search.candidates import candidates
from morello.search.deepening import deepen, exhaust, narrow
from morello.search.graph import Floats, SearchGraph, of_spec, spec_and_decisions
from morello.search.incumbent import Incumbent, tell_best
from morello.search.parts import Parts, copies
from morello.search.pruned_space import PrunedSpace
from morello.search.reasons import why_none
from morello.search.rejected import Rejected, rejected
from morello.search.relaxed_bound import RelaxedBound
from morello.search.result import SearchResult, SearchStatistics
from morello.search.runners_up import Choice, choices
from morello.search.sample import Walker, sampling_graph
from morello.search.saved_traces import TRACE_FILE
from morello.search.solved_graph import memoized_decisions
from morello.space.space import Goal
from morello.space.traits import TilingTraits
from morello.targets.target import Target

SOON, SOON_S = 0.1, 0.4
"""The share of the time after which a plain program is sought if there is none so far, and the
least seconds: it takes some tenths of a second, in which most searches find a better one."""

POOR, PLAIN = 0.1, 0.3
"""By then, a program of a larger gap than the first of these is poor: it may cost more than a plain
one, which is sought in this share of the time left."""

EARLY = 0.4
"""The share of the time after the bound for a program of few sizes, if there is none so far."""


class Session:
    """The search for the programs of a goal.

    It keeps the search space, the lower bound, the graph of cheap programs and the result, so
    that whatever is asked next starts from there. Answers in the `table` are reused, and new ones
    are added to it by searches that prove their programs, unless an operand of the goal is not in
    main memory: answers assume that the operands of a Spec take room where they are. Nor are there
    answers for goals whose plain programs have copies that the space lacks. If the `cost` of the
    cheapest program is known already, the goal need not be solved first.

    With `others`, Specs that differ from the goal in their layouts, it searches for the cheapest
    program of any, without the table; the Spec of that program is the goal from then on.
    """

    def __init__(
        self,
        goal: Spec,
        target: Target,
        table: Table | None = None,
        cost: float | None = None,
        others: Sequence[Spec] = (),
    ) -> None:
        self.goal, self.target = goal, target
        self._table, self._cost = table, cost
        self._memo: SpaceMemo | None = None
        if table is not None and not any(goal.levels) and not others and not copies(goal):
            self._memo = SpaceMemo(table, target, TilingTraits.of(target, goal))
        self._space = PrunedSpace([(goal, *others)], target, self._memo)
        self._best_first: BestFirst | None = None
        self._graph: SearchGraph | None = None
        self._result: SearchResult | None = None

    # ---- the cheapest program

    @uncollected()
    def solve(
        self,
        budget: Budget = UNTIMED,
        progress: Progress | None = None,
        *,
        everything: bool = False,
    ) -> SearchResult:
        """The cheapest program, exactly, among all that the rules can reach.

        Goal-directed: expands only Specs that may belong to a program within a few percent of a
        lower bound, and raises that margin until there is such a program; what was pruned cannot
        be cheaper. With `everything`, nothing is pruned. When the `budget` is used up, the search
        ends with the cheapest program so far (see `SearchStatistics.gap`), or, if there is none
        yet, with one that it finds soon after. Raises `SearchError` when nothing fits the target's
        memory limits, or when the search does not fit the budget's memory. Once the budget's gap
        is reached, there is nothing left to search.

        A plain program may have copies within main memory, which the space lacks. If it costs less
        than all of these programs, it is the result, and proven to cost no more than they do.
        """
        known = self._result
        if known is not None and known.statistics.gap <= budget.gap and not everything:
            return known
        engine.LOOPS.load()  # before the search is timed, as the first time ever, they are built
        if self._table is not None:
            BOXES.load()
        return_freed()  # of other searches
        memo = self._memo
        try:
            self._result = self._solve(everything, budget.start(progress))
        except BudgetError as error:
            raise SearchError(f"{self.goal.expression}: {error}; make the sizes smaller.") from None
        except MemoryError:
            raise SearchError(f"{self.goal.expression}: the search ran out of memory.") from None
        TRACE_FILE.write()
        if memo is not None:
            memo.write()
        if len(self._specs) > 1:
            self.goal = self._result.goal
            self._space, self._best_first = self._space.of_spec(self.goal), None
        self._cost = self._result.cost
        return self._result

    @property
    def result(self) -> SearchResult:
        """The cheapest program; the goal is solved, without a time limit, if it was not so far."""
        return self._result or self.solve()

    @property
    def cost(self) -> float:
        """The cost of the cheapest program, in cycles."""
        return self.result.cost if self._cost is None else self._cost

    @property
    def decisions(self) -> tuple[Rewrite, ...]:
        """The decisions of the cheapest program, in pre-order."""
        return self.result.decisions

    def expanded_specs(self) -> list[tuple[Batch, Floats]] | None:
        """The Specs that the search expanded, with lower bounds on their costs there.

        None if it had no lower bound, or used a table.
        """
        return None if self._best_first is None else [*self._best_first.graph.expanded_specs()]

    # ---- other programs

    def graph(self, upper: float, progress: Progress | None = None) -> SearchGraph:
        """A graph that has all programs which cost at most `upper`: the last one, or a new one."""
        if self._graph is None or self._graph.nodes.cutoff[0] < upper:
            self._graph = None  # the next one needs the memory
            if self._best_first is None:
                self._graph = self._space.graph(upper, progress)
            else:
                self._graph = self._best_first.programs(upper, progress)
        return self._graph

    def alternatives(self, watch: Watch) -> Iterator[list[Rewrite]]:
        """The cheapest program of each structure, as decisions, in exact order of cost.

        Raises `BudgetError` when the watch's budget is used up, and `MemoryError`.
        """
        for alternatives, program in in_order(self.graph, self.cost, watch):
            yield alternatives.decisions(program)

    def candidates(
        self, watch: Watch, slacks: Sequence[float] = CANDIDATE_SLACKS
    ) -> Iterator[list[Rewrite]]:
        """Programs worth measuring, of different structures, as decisions; see `candidates`.

        The cheapest is one of them. They end early when the watch's budget is used up.
        """
        return candidates(self.graph, self.cost, watch, slacks)

    def runners_up(
        self, count: int = 3, slack: float = 1.1, progress: Progress | None = None
    ) -> list[Choice]:
        """The decisions of the cheapest program, each with up to `count` that come next.

        Those are of programs of the goal that cost at most `slack` times as much as the cheapest,
        which is proven first, as one found in haste may have tiles that the graph lacks.
        """
        if not self.result.statistics.proven:
            self.solve(progress=progress)
        return choices(self.graph(self.cost * slack, progress), self.decisions, count, progress)

    def rejected(self, choice: Choice, progress: Progress | None = None) -> list[Rejected]:
        """The other rewrites of one of these choices: what they need, and cost at least."""
        return rejected(self._space.space, self._space.bound(progress), choice)

    def walker(self, random: Random, progress: Progress | None = None) -> Walker:
        """Random walks among the programs that cost up to a few times as much as the cheapest."""
        graph = sampling_graph(self._space, self.cost, progress)
        TRACE_FILE.write()
        return Walker(graph, random)

    def sample(
        self, count: int, seed: int = 0, progress: Progress | None = None
    ) -> list[list[Rewrite]]:
        """The decisions of up to `count` legal programs of distinct costs, in order of cost."""
        walker = self.walker(Random(seed), progress)
        return [walker.rewrites(program) for program in walker.stratified(self.cost, count)]

    # ---- how the goal is solved

    def _solve(self, everything: bool, watch: Watch) -> SearchResult:
        """`solve`, but new answers are only buffered in the memo, not written to its table."""
        began = time.perf_counter()
        result = self._memoized(began)
        if result is not None:
            return result
        if self._memo is not None and watch.gap > 0 and not everything:
            self._leave_table()
        try:
            with watch:
                incumbent = self._incumbent(everything, watch)
        except LookupError:
            if self._memo is None:
                raise
            self._leave_table()  # a page of it may be damaged
            return self._solve(everything, watch)
        if not incumbent.found:
            raise SearchError(why_none(self.goal, self.target, watch))
        goal, decisions = spec_and_decisions(self._specs, incumbent.decisions)
        self._graph = incumbent.graph
        statistics = incumbent.statistics(time.perf_counter() - began, exhaustive=everything)
        return SearchResult(goal, self.target, incumbent.cost, decisions, statistics)

    def _leave_table(self) -> None:
        """Search without the table from now on.

        Its answers are exact, and so only a search that proves its program has some to add. One
        that may end at a gap expands far fewer Specs.
        """
        self._memo, self._space = None, PrunedSpace([(self.goal,)], self.target)

    def _incumbent(self, everything: bool, watch: Watch) -> Incumbent:
        """The cheapest program that is found.

        Once a tenth of the time, or 0.4 s, is used up without a program, those of the goal's parts
        are found first. If there is a poor one by then, it costs no more than those afterwards.
        """
        if everything:
            return exhaust(self._space.space, self._memo, watch)
        parts = Parts(self._specs, self.target)
        soon = watch.within(max(SOON * watch.left, SOON_S))
        watched = watch.after(soon, lambda: parts.plain(watch))
        tell(phase="bound")
        bound = self._bound(parts, watched)
        tell(phase="search")
        if bound is None:
            incumbent = parts.best(watch)
        elif self._memo is not None:
            incumbent = deepen(self._space.space, bound, self._memo, watched)
            if incumbent.undecided or parts.found:
                plain = parts.plain(watch)
                cheapest = min(incumbent, plain, key=lambda candidate: candidate.cost)
                incumbent = replace(cheapest, lower=min(incumbent.lower, cheapest.cost))
            incumbent = replace(incumbent, bounded=bound.specs)
        else:
            session = proxy(self)  # a cycle of references would keep the graph in memory
            improved = watch.after(soon, lambda: session._improve(parts, watch))
            search = BestFirst(self._space.space, bound, improved, soon)
            self._best_first = search
            if not parts.found:
                (incumbent,) = search.run(tell_best)
            if parts.found or incumbent.undecided:
                early = parts.soon(watch.part(EARLY))
                search.improve(early.cost, early.decisions)
                (incumbent,) = search.run(tell_best)
            if copies(parts.spec) and not watch.over:
                self._improve(parts, watch)
                (incumbent,) = search.run(tell_best)
        if incumbent.undecided:  # few sizes do not suffice
            space = self._space.of_spec(self.goal)
            narrowed = narrow(space.space, space.bound(watch.untimed()), incumbent.lower, watch)
            incumbent = replace(
                self._of_first(narrowed), lower=narrowed.lower, bounded=space.relaxed_specs
            )
        return incumbent

    def _improve(self, parts: Parts, watch: Watch) -> None:
        """If the program so far may cost more than the plain one, give the search the latter.

        So it may if it is poor, or if the plain one has copies that the space lacks.
        """
        search = self._best_first
        if search is None:
            return
        poor = search.gap > POOR
        if poor or copies(parts.spec):
            plain = parts.plain_of_all_sizes(watch.part(PLAIN if poor else SOON))
            search.improve(plain.cost, plain.decisions)

    def _of_first(self, incumbent: Incumbent) -> Incumbent:
        """A program of the goal's first Spec, as a program of the goal.

        If there are others, no lower bound is known: their programs may cost less.
        """
        if len(self._specs) == 1:
            return incumbent
        return replace(incumbent, decisions=of_spec(self._specs, 0, incumbent.decisions), lower=0.0)

    @property
    def _specs(self) -> Goal:
        """The goal's Specs: a program of any of them will do."""
        return self._space.space.goals[0]

    def _bound(self, parts: Parts, watch: Watch) -> RelaxedBound | None:
        """The lower bound; None if it is not found in time, or not worth the time."""
        if watch.timed and parts.apart(BOUND * watch.left):
            return None
        bound = self._space.bound_within(watch)
        parts.late = bound is None
        return bound

    def _memoized(self, began: float) -> SearchResult | None:
        """The result, if the memo has all answers that it needs."""
        memo, space = self._memo, self._space.space
        if memo is None:
            return None
        limit = space.limits.pack(self.target.limits)
        memoized = memo.answers(space.goal_batches()[0])
        boxes = np.flatnonzero(memoized.within(limit, space.limits))
        if not len(boxes):
            return None
        try:
            decisions = tuple(memoized_decisions(space, memo, self.goal, limit))
        except LookupError:  # a page may be damaged
            return None
        statistics = SearchStatistics.of_memoized(time.perf_counter() - began)
        return SearchResult(
            self.goal, self.target, float(memoized.cost[boxes[0]]), decisions, statistics
        )


def search(
    goal: Spec,
    target: Target,
    *,
    everything: bool = False,
    table: Table | None = None,
    budget: Budget = UNTIMED,
) -> SearchResult:
    """The cheapest program of `goal`, for those who ask for nothing else; see `Session.solve`."""
    return Session(goal, target, table).solve(budget, everything=everything)
