"""Iterative deepening: search ever larger parts of a space until the optimum is proven."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from morello import engine
from morello.memo.space_memo import SpaceMemo
from morello.search.budget import BudgetError, Progress, Watch
from morello.search.expansion import build, grow
from morello.search.incumbent import Incumbent, tell_best
from morello.search.memoize import memoize
from morello.search.relaxed_bound import RelaxedBound
from morello.search.rewriting import Pruning
from morello.search.solved_graph import SolvedGraph, solve_graph
from morello.space.space import Space

SLACKS = (1.0, 1.05, 1.12, 1.25, 1.5, 2.0, 3.0, inf)
"""How much programs may cost, relative to the lower bound, attempt by attempt."""

FEW = 50_000
"""A space of fewer Specs expands so fast that saving attempts matters more than its size."""

WIDTHS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 1 << 30)
"""How many rewrites of each Spec a narrowed space keeps, attempt by attempt; at last all."""

FIRST = 0.6
"""The share of the time after which a search ends if there is no program yet."""


def exhaust(space: Space, memo: SpaceMemo | None, watch: Watch) -> Incumbent:
    """The cheapest program, by expanding the whole space."""
    return _proven(_solved(space, None, memo, watch), memo)


def deepen(space: Space, bound: RelaxedBound, memo: SpaceMemo | None, watch: Watch) -> Incumbent:
    """The cheapest program, by iterative deepening over the slack above the lower bound.

    Once a space of fewer than `FEW` Specs has a program, the next attempt allows its whole cost,
    and is the last. If the watch ends the search, or its gap is reached, this gives the cheapest
    program found so far, if there is any.
    """
    relaxed = float(bound(space.goal_batches()[0])[0])
    best = Incumbent(inf, (), relaxed, 0, 0, 0, 0)
    lower, enough = relaxed, inf
    small, early = True, watch.part(FIRST)
    for slack in SLACKS:
        upper = enough if small and enough < inf else min(relaxed * slack, enough)
        try:
            solved = _solved(space, Pruning(bound, upper), memo, watch if best.found else early)
        except (BudgetError, MemoryError):
            break
        if solved.last <= upper * engine.NEARLY:
            return _proven(solved, memo)
        lower, small = upper, solved.graph.node_count < FEW
        if solved.cost < engine.INFINITE:
            best = Incumbent.of(solved, lower, memo)
            tell_best(best.cost, best.lower)
            if watch.gap > 0 and best.gap <= watch.gap:
                break
        if solved.last < engine.INFINITE:
            enough = solved.last
        del solved  # the next attempt needs the memory
    return replace(best, lower=min(lower, best.cost))


def narrow(space: Space, bound: RelaxedBound, lower: float, watch: Watch) -> Incumbent:
    """The cheapest program of a narrowed space, which is widened while there is time.

    `lower` is a lower bound on the cost of all programs. Raises `BudgetError` or `MemoryError` if
    the memory does not suffice to find any program.
    """
    best = Incumbent(inf, (), lower, 0, 0, 0, 0)
    for width in WIDTHS:
        progress = watch if best.found else watch.untimed()
        try:
            graph = build(space, Pruning(bound, best.cost, width), progress)
            incumbent = Incumbent.of(solve_graph(graph, progress=progress), lower)
        except (BudgetError, MemoryError):
            if best.found:
                break
            raise
        best = min(best, incumbent, key=lambda candidate: candidate.cost)
        if best.found and best.gap <= watch.gap:
            break
    return best


def _proven(solved: SolvedGraph, memo: SpaceMemo | None) -> Incumbent:
    """The cheapest program, from a graph that has it; the graph's answers are memoized."""
    incumbent = Incumbent.of(solved, solved.cost, memo)
    if memo is not None:
        memoize(solved, memo)
    return incumbent if len(solved.graph.memoized.spec) else replace(incumbent, graph=solved.graph)


def _solved(
    space: Space, pruning: Pruning | None, memo: SpaceMemo | None, progress: Progress
) -> SolvedGraph:
    """Solve a space with memoized answers.

    Specs whose memoized answers do not cover a limit that is met are expanded after all.
    """
    if memo is None:
        return solve_graph(build(space, pruning, progress), progress=progress)
    graph = build(space, pruning, progress, memo.answers)
    while True:
        solved = solve_graph(graph, memo.table.keeps, progress)
        missed = np.flatnonzero(solved.missed)
        if not len(missed):
            return solved
        graph = grow(graph, missed, pruning, progress)
