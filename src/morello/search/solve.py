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
from morello.search.bound import Bound
from morello.search.graph import GoalSizes, Graph, Progress, Pruning, Space, build
from morello.targets import find_target
from morello.targets.target import Target

SLACKS = (1.0, 1.05, 1.12, 1.25, 1.5, 2.0, 3.0, np.inf)
"""How far above the lower bound programs may be, attempt by attempt."""


@dataclass(frozen=True)
class Statistics:
    """What a search did. `specs` and `rewrites` count the space it expanded.

    `bounded` counts the relaxed Specs solved for the lower bound, `entries` the answers
    (boxes) remembered, `tried` the rewrites weighed against limits.
    """

    seconds: float
    specs: int
    rewrites: int
    entries: int
    tried: int
    bounded: int
    exhaustive: bool


@dataclass(frozen=True)
class Solution:
    """The cheapest program as decisions in pre-order, with its cost in cycles."""

    goal: Spec
    target: Target
    cost: float
    decisions: tuple[Rewrite, ...]
    statistics: Statistics


@dataclass
class Answer:
    """The boxes that solving a graph left."""

    graph: Graph
    cost: float
    low_peak: np.ndarray
    low_edge: np.ndarray
    head: np.ndarray
    following: np.ndarray
    box_edge: np.ndarray
    box_peak: np.ndarray
    box_limit: np.ndarray
    boxes: int
    tried: int

    def decisions(self) -> list[Rewrite]:
        """The rewrites of the cheapest program, in pre-order."""
        limits = self.graph.space.limits
        found = []
        todo = [(0, limits.pack(self.graph.space.target.limits))]
        while todo:
            node, limit = todo.pop()
            edge = self._edge(node, limit)
            found.append(self.graph.rewrite(edge))
            inner = limit - int(self.graph.allocation[edge])
            first, last = self.graph.first_child[edge : edge + 2].tolist()
            todo += [(int(self.graph.child[j]), inner) for j in range(last - 1, first - 1, -1)]
        return found

    def _edge(self, node: int, limit: int) -> int:
        limits = self.graph.space.limits
        peak = int(self.low_peak[node])
        if self.low_edge[node] >= 0 and peak != limits.full and limits.fits(peak, limit):
            return int(self.low_edge[node])
        box = int(self.head[node])
        while not (
            limits.fits(int(self.box_peak[box]), limit)
            and limits.fits(limit, int(self.box_limit[box]))
        ):
            box = int(self.following[box])
        return int(self.box_edge[box])


def solve_graph(graph: Graph) -> Answer:
    """Solve a graph's first node under the target's limits."""
    limits = graph.space.limits
    nodes = len(graph.keys)
    start, order, bound, low, low_peak, low_edge = graph.bounds()
    limit = limits.pack(graph.space.target.limits)
    room = 1 << 16
    while True:
        head = np.full(nodes, -1, np.int32)
        following, box_edge = np.empty(room, np.int32), np.empty(room, np.int32)
        cost = np.empty(room)
        peak, upto = np.empty(room, np.int64), np.empty(room, np.int64)
        boxes, tried = engine.solve(
            0, limit, graph.waves + 2, start, order, bound, low, low_peak,
            graph.own, graph.allocation, graph.first_child, graph.child, graph.times,
            limits.guard, limits.field, head, following, cost, box_edge, peak, upto,
        )  # fmt: skip
        if boxes >= 0:
            break
        room *= 4
    best = float(cost[head[0]])
    return Answer(
        graph, best, low_peak, low_edge, head, following, box_edge, peak, upto, boxes, tried
    )


def search(
    goal: Spec, target: Target, *, everything: bool = False, progress: Progress | None = None
) -> Solution:
    """The cheapest program of `goal`, exactly, among all that the rules can reach.

    Goal-directed: expands only what may belong to a program within a few percent of a
    lower bound, and allows more until there is one; what was left out cannot beat it.
    `everything` leaves nothing out. Raises `SearchError` when nothing fits the target's
    memory limits.
    """
    _load_engine()
    began = time.perf_counter()
    sizes = GoalSizes.of(goal, target)
    bounded = 0
    if everything:
        answer = solve_graph(build(Space(goal, target, sizes), None, progress))
    else:
        bound = Bound(goal, target, sizes)
        bounded = len(bound.graph.keys)
        answer = _deepen(goal, target, sizes, bound, progress)
    if answer.cost >= engine.INFINITE:
        raise SearchError(f"{goal.expression}: no program fits the memory of {target.name}.")
    graph = answer.graph
    statistics = Statistics(
        time.perf_counter() - began, len(graph.keys), len(graph.parent), answer.boxes,
        answer.tried, bounded, everything,
    )  # fmt: skip
    return Solution(goal, target, answer.cost, tuple(answer.decisions()), statistics)


@cache
def _load_engine() -> None:
    """Have the compiled engine loaded (the first time ever, compiled) before time is taken."""
    one = matmul_spec((1, 1), (1, 1))
    target = find_target("avx2")
    sizes = GoalSizes.of(one, target)
    bound = Bound(one, target, sizes)
    solve_graph(build(Space(one, target, sizes), Pruning(bound, np.inf)))


def _deepen(
    goal: Spec, target: Target, sizes: GoalSizes, bound: Bound, progress: Progress | None
) -> Answer:
    """Solve with ever more slack over the lower bound, until the answer is within it."""
    space = Space(goal, target, sizes)
    least = float(bound(space.goal_batch())[0])
    found = np.inf
    for slack in SLACKS:
        upper = min(least * slack, found)
        answer = solve_graph(build(space, Pruning(bound, upper), progress))
        if answer.cost <= upper * (1 + 1e-9):
            break
        if answer.cost < engine.INFINITE:
            found = answer.cost
    return answer
