"""From a goal to its cheapest program: expand, bound, solve."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from math import inf

import numpy as np

from morello.errors import SearchError
from morello.ir.compose import inputs_of, maker
from morello.ir.layout import row_major
from morello.ir.spec import Spec, matmul_spec
from morello.jit import interruptible
from morello.memo import Table
from morello.memo.memory import Memory
from morello.rewrites import Bufferize, Rewrite
from morello.rewrites.rewrite import apply
from morello.search.answer import recalled, solve_graph
from morello.search.bound import Bound
from morello.search.budget import UNTIMED, Budget, BudgetError, Progress, Watch
from morello.search.deepen import FIRST, deepen, exhaust
from morello.search.graph import Pruning, Space, build, goal_sizes
from morello.search.reasons import why_none
from morello.search.space.keys import Numbering
from morello.search.space.panels import Panels
from morello.search.space.rules import seams
from morello.targets import find_target
from morello.targets.target import Target


@dataclass(frozen=True)
class Statistics:
    """Statistics of a search. `specs` and `rewrites` count the space it expanded.

    `bounded` counts the relaxed Specs solved for the lower bound, `entries` the memoized answers
    (boxes), `tried` the rewrites checked against memory limits. `measured` is how many programs
    were timed to choose the fastest, 0 if the cost model chose. If a budget ended the search,
    `gap` is the optimality gap: the program costs at most this fraction more than the cheapest;
    infinite if no bound is known. For a program for several tunings of a target, `worst` is its
    largest loss, a fraction, against the cheapest program for any of them.
    """

    seconds: float
    specs: int
    rewrites: int
    entries: int
    tried: int
    bounded: int
    exhaustive: bool
    measured: int = 0
    gap: float = 0.0
    worst: float | None = None

    @property
    def proven(self) -> bool:
        """No program is cheaper under the cost model."""
        return self.gap == 0.0

    @staticmethod
    def of_recall(seconds: float, measured: int = 0, gap: float = 0.0) -> Statistics:
        """The statistics of an answer that a table had."""
        return Statistics(seconds, 0, 0, 0, 0, 0, False, measured, gap)


@dataclass(frozen=True)
class Solution:
    """The cheapest program as decisions in pre-order, with its cost in cycles."""

    goal: Spec
    target: Target
    cost: float
    decisions: tuple[Rewrite, ...]
    statistics: Statistics


@interruptible
def search(
    goal: Spec,
    target: Target,
    *,
    everything: bool = False,
    table: Table | None = None,
    budget: Budget = UNTIMED,
    progress: Progress | None = None,
) -> Solution:
    """The cheapest program of `goal`, exactly, among all that the rules can reach.

    Goal-directed: expands only Specs that may belong to a program within a few percent of a
    lower bound, and raises that margin until there is such a program; what was pruned cannot be
    cheaper. With `everything`, nothing is pruned. Answers in the `table` are reused, and new ones
    are added to it. When the `budget` is used up, the search ends with the cheapest program so
    far (see `Statistics.gap`), or, if there is none yet, with one that it finds soon after.
    Raises `SearchError` when nothing fits the target's memory limits, or when the search does not
    fit the budget's memory.
    """
    _load_engine()
    memory = None
    if table is not None:
        _load_table()
        memory = Memory(table, target, Panels.of(goal))
    try:
        solution = find(goal, target, memory, everything, budget.start(progress))
    except BudgetError as error:
        raise SearchError(f"{goal.expression}: {error}; make the sizes smaller.") from None
    except MemoryError:
        raise SearchError(f"{goal.expression}: the search ran out of memory.") from None
    if memory is not None:
        memory.write()
    return solution


def find(
    goal: Spec,
    target: Target,
    memory: Memory | None = None,
    everything: bool = False,
    watch: Watch | None = None,
) -> Solution:
    """As `search`, but new answers are only buffered in the memory, not written to its table."""
    began = time.perf_counter()
    watch = watch or UNTIMED.start()
    space = Space(goal, target, goal_sizes(goal))
    if memory is not None:
        solution = _recall(space, memory, began)
        if solution is not None:
            return solution
    bounded = 0
    try:
        if everything:
            outcome = exhaust(space, memory, watch)
        else:
            bound = _bound(space, memory, watch)
            if bound is None:
                return _in_parts(goal, target, watch, began)
            bounded = bound.specs
            outcome = deepen(space, bound, memory, watch)
    except LookupError:  # a page of the table may be damaged
        return find(goal, target, None, everything, watch)
    if not outcome.found:
        raise SearchError(why_none(goal, target))
    statistics = Statistics(
        time.perf_counter() - began, outcome.specs, outcome.rewrites, outcome.entries,
        outcome.tried, bounded, everything, gap=outcome.gap,
    )  # fmt: skip
    return Solution(goal, target, outcome.cost, outcome.decisions, statistics)


def _bound(space: Space, memory: Memory | None, watch: Watch) -> Bound | None:
    """The lower bound; None if that exceeds the budget and the goal can be cut into parts."""
    goal, target, sizes = space.goal, space.target, space.sizes
    if not seams(goal.operation):
        return Bound(goal, target, sizes, memory, watch.untimed())
    try:
        return Bound(goal, target, sizes, memory, watch.part(FIRST))
    except (BudgetError, MemoryError):
        return None


def _in_parts(goal: Spec, target: Target, watch: Watch, began: float) -> Solution:
    """A program of a composition cut in two, with the tensor between the parts in main memory.

    Each part is searched alone, so the gap to the cheapest program of the whole is unknown.
    """
    operation, memory = goal.operation, target.levels[0].name
    tensor = seams(operation)[0]
    layout = row_major(len(maker(operation, tensor).result_dims))
    cut = Bufferize(tensor - inputs_of(operation), memory, layout)
    step = apply(cut, goal, target)
    parts = [
        find(hole.spec, target, watch=watch.part(1 / (len(step.holes) - number)))
        for number, hole in enumerate(step.holes)
    ]
    of_parts = [part.statistics for part in parts]
    statistics = Statistics(
        time.perf_counter() - began,
        specs=sum(part.specs for part in of_parts),
        rewrites=sum(part.rewrites for part in of_parts),
        entries=sum(part.entries for part in of_parts),
        tried=sum(part.tried for part in of_parts),
        bounded=sum(part.bounded for part in of_parts),
        exhaustive=False,
        gap=inf,
    )
    costs = [hole.times * part.cost for hole, part in zip(step.holes, parts, strict=True)]
    decisions = (cut, *(decision for part in parts for decision in part.decisions))
    return Solution(goal, target, step.cost + sum(costs), decisions, statistics)


@cache
def _load_engine() -> None:
    """Load the compiled engine (the first time ever, compile it) before the search is timed.

    Without a `Progress`, it is not reported.
    """
    goal = matmul_spec((1, 1), (1, 1))
    target = find_target("avx2")
    Numbering().numbers(np.zeros(1, np.int64))
    sizes = goal_sizes(goal)
    bound = Bound(goal, target, sizes)
    solve_graph(build(Space(goal, target, sizes), Pruning(bound, inf)))


@cache
def _load_table() -> None:
    """As `_load_engine`, for the compiled functions that a table needs."""
    target = find_target("avx2")
    with Table(":memory:") as table:
        for size in (1, 2):
            memory = Memory(table, target)
            find(matmul_spec((size, size), (size, 2)), target, memory)
            memory.write()


def _recall(space: Space, memory: Memory, began: float) -> Solution | None:
    """The solution, if a memory has all answers that it needs."""
    goal, target = space.goal, space.target
    limit = space.limits.pack(target.limits)
    known = memory.known(space.goal_batch())
    boxes = np.flatnonzero(known.within(limit, space.limits))
    if not len(boxes):
        return None
    try:
        decisions = tuple(recalled(space, memory, goal, limit))
    except LookupError:  # a page may be damaged
        return None
    statistics = Statistics.of_recall(time.perf_counter() - began)
    return Solution(goal, target, float(known.cost[boxes[0]]), decisions, statistics)
