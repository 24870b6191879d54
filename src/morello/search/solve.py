"""From a goal to its cheapest program: expand, bound, solve."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from morello.errors import SearchError
from morello.ir.spec import Spec, matmul_spec
from morello.rewrites import Rewrite
from morello.search import engine
from morello.search.answer import Answer, recalled, solve_graph
from morello.search.bound import Bound
from morello.search.graph import (
    GoalSizes,
    Progress,
    Pruning,
    Space,
    build,
    grow,
    panel_widths,
)
from morello.search.memory import Memory
from morello.search.record import record
from morello.table import Table
from morello.targets import find_target
from morello.targets.target import Target

SLACKS = (1.0, 1.05, 1.12, 1.25, 1.5, 2.0, 3.0, np.inf)
"""How far above the lower bound programs may be, attempt by attempt."""


@dataclass(frozen=True)
class Statistics:
    """What a search did. `specs` and `rewrites` count the space it expanded.

    `bounded` counts the relaxed Specs solved for the lower bound, `entries` the answers
    (boxes) remembered, `tried` the rewrites weighed against limits. `measured` is how many
    programs were timed to choose the fastest, 0 if the model chose.
    """

    seconds: float
    specs: int
    rewrites: int
    entries: int
    tried: int
    bounded: int
    exhaustive: bool
    measured: int = 0

    @staticmethod
    def of_recall(seconds: float, measured: int = 0) -> Statistics:
        """Those of an answer that a table had."""
        return Statistics(seconds, 0, 0, 0, 0, 0, False, measured)


@dataclass(frozen=True)
class Solution:
    """The cheapest program as decisions in pre-order, with its cost in cycles."""

    goal: Spec
    target: Target
    cost: float
    decisions: tuple[Rewrite, ...]
    statistics: Statistics


def search(
    goal: Spec,
    target: Target,
    *,
    everything: bool = False,
    table: Table | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The cheapest program of `goal`, exactly, among all that the rules can reach.

    Goal-directed: expands only what may belong to a program within a few percent of a
    lower bound, and allows more until there is one; what was left out cannot beat it.
    `everything` leaves nothing out. What a `table` has of the Specs on the way is not worked
    out again, and what was found of others is added to it. Raises `SearchError` when nothing
    fits the target's memory limits.
    """
    _load_engine()
    memory = None
    if table is not None:
        _load_table()
        memory = Memory(table, target, panel_widths(goal))
    solution = find(goal, target, memory, everything, progress)
    if memory is not None:
        memory.write()
    return solution


def find(
    goal: Spec,
    target: Target,
    memory: Memory | None = None,
    everything: bool = False,
    progress: Progress | None = None,
) -> Solution:
    """As `search`; what was found is noted in the memory, and not written yet."""
    began = time.perf_counter()
    sizes = GoalSizes.of(goal, target)
    bounded = 0
    space = Space(goal, target, sizes)
    if memory is not None:
        solution = _recall(space, memory, began)
        if solution is not None:
            return solution
    if everything:
        answer = _solved(space, None, memory, progress)
    else:
        bound = Bound(goal, target, sizes, memory)
        bounded = bound.specs
        answer = _deepen(space, bound, memory, progress)
    if answer.cost >= engine.INFINITE:
        raise SearchError(f"{goal.expression}: no program fits the memory of {target.name}.")
    graph = answer.graph
    try:
        decisions = tuple(answer.decisions(memory))
    except LookupError:  # pages of a table may be damaged
        return find(goal, target, None, everything, progress)
    if memory is not None:
        record(answer, memory)
    statistics = Statistics(
        time.perf_counter() - began, len(graph.keys), len(graph.parent), answer.boxes,
        answer.tried, bounded, everything,
    )  # fmt: skip
    return Solution(goal, target, answer.cost, decisions, statistics)


@cache
def _load_engine() -> None:
    """Have the compiled engine loaded (the first time ever, compiled) before time is taken."""
    one = matmul_spec((1, 1), (1, 1))
    target = find_target("avx2")
    sizes = GoalSizes.of(one, target)
    bound = Bound(one, target, sizes)
    solve_graph(build(Space(one, target, sizes), Pruning(bound, np.inf)))


@cache
def _load_table() -> None:
    """As `_load_engine`, for what a table needs."""
    target = find_target("avx2")
    with Table(":memory:") as table:
        for size in (1, 2):
            memory = Memory(table, target)
            find(matmul_spec((size, size), (size, 2)), target, memory)
            memory.write()


def _recall(space: Space, memory: Memory, began: float) -> Solution | None:
    """The solution, if a memory has all of it."""
    goal, target = space.goal, space.target
    limit = space.limits.pack(target.limits)
    known = memory.known(space.goal_batch())
    here = np.flatnonzero(known.within(limit, space.limits))
    if not len(here):
        return None
    try:
        decisions = tuple(recalled(space, memory, goal, limit))
    except LookupError:  # a page may be damaged
        return None
    statistics = Statistics.of_recall(time.perf_counter() - began)
    return Solution(goal, target, float(known.cost[here[0]]), decisions, statistics)


def _deepen(space: Space, bound: Bound, memory: Memory | None, progress: Progress | None) -> Answer:
    """Solve with ever more slack over the lower bound, until the answers are within it."""
    least = float(bound(space.goal_batch())[0])
    found = np.inf
    for slack in SLACKS:
        upper = min(least * slack, found)
        answer = _solved(space, Pruning(bound, upper), memory, progress)
        last = float(answer.box_cost[answer.head[0], -1]) if answer.boxes else answer.cost
        if last <= upper * (1 + 1e-9):
            break
        if last < engine.INFINITE:
            found = last
    return answer


def _solved(
    space: Space, pruning: Pruning | None, memory: Memory | None, progress: Progress | None
) -> Answer:
    """Solve, using what is known; where that is of other limits than are met, expand after all."""
    if memory is None:
        return solve_graph(build(space, pruning, progress))
    graph = build(space, pruning, progress, memory.known)
    while True:
        answer = solve_graph(graph, memory.table.keeps)
        missed = np.flatnonzero(answer.missed)
        if not len(missed):
            return answer
        graph = grow(graph, missed, pruning, progress)
