"""One search for several goals, which share the lower bound and whatever they have in common."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from morello import engine
from morello.base.memory import return_freed, uncollected
from morello.base.status import tell
from morello.search.best_first import BestFirst
from morello.search.budget import Budget, Progress
from morello.search.graph import spec_and_decisions
from morello.search.incumbent import tell_best
from morello.search.parts import Parts
from morello.search.pruned_space import PrunedSpace
from morello.search.result import SearchResult
from morello.search.saved_traces import TRACE_FILE
from morello.space.space import Goal
from morello.targets.target import Target

FIRST = 0.5
"""The share of the time after the bound after which goals that have no program get an early one."""

EARLY = 0.5
"""The share of what is left for these."""


@uncollected()
def search_together(
    goals: Sequence[Goal],
    target: Target,
    budgets: Sequence[Budget],
    progress: Progress | None = None,
) -> list[SearchResult | None]:
    """The cheapest program of each goal; None if there is none, or none was found in the budget.

    Each goal has a budget, and they have its gap and its share of the memory in common. The bound
    may take what all have; after it, what some do not need is not for the others. If the search
    ends before its time, as a goal has not even a plain program, the others are those that are near
    enough to the cheapest.

    The goals are of one family (see `Family`), and their panels have the same widths, so that each
    has the programs that it has alone. The statistics of each are an equal share of the whole
    search's, with the goal's own gap. Raises `SearchError` if the goals have too many sizes for one
    search.
    """
    engine.LOOPS.load()
    return_freed()  # of other searches
    began = time.perf_counter()
    seconds = [each.left for each in budgets]
    whole = replace(budgets[0], seconds=sum(seconds), used=0.0)
    space, watch = PrunedSpace(goals, target), whole.start(progress)
    with watch:
        tell(phase="bound")
        bound = space.bound_within(watch)
        if bound is None:
            return [None] * len(goals)
        tell(phase="search")
        search = BestFirst(space.space, bound, watch, watch.part(FIRST), seconds)
        incumbents = search.run(tell_best)
        undecided = [n for n, each in enumerate(incumbents) if each.undecided]
        if undecided and not watch.over:
            for number in undecided:
                early = Parts(goals[number], target).soon(watch.part(EARLY / len(undecided)))
                search.improve(early.cost, early.decisions, number)
            incumbents = search.run(tell_best)
    TRACE_FILE.write()
    unproven = any(each.undecided for each in incumbents) and not watch.over
    taken = time.perf_counter() - began
    results: list[SearchResult | None] = []
    for goal, incumbent in zip(goals, incumbents, strict=True):
        result = None
        if incumbent.found and (not unproven or incumbent.gap <= whole.gap):
            spec, decisions = spec_and_decisions(goal, incumbent.decisions)
            statistics = incumbent.statistics(taken).share(len(goals))
            result = SearchResult(spec, target, incumbent.cost, decisions, statistics)
        results.append(result)
    return results
