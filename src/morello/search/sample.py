"""Random programs of a goal, from near the cheapest to many times its cost."""

from __future__ import annotations

from math import exp, log
from random import Random

from morello.ir.spec import Spec
from morello.rewrites import Rewrite
from morello.search import engine
from morello.search.bound import Bound
from morello.search.budget import Progress
from morello.search.graph import Graph, Pruning, Space, build, goal_sizes
from morello.targets.target import Target

SPREAD = 30.0
"""How many times the cheapest program's cost the samples may cost."""

BINS = 20
"""The costs are divided into so many parts, alike on a logarithmic scale, each sampled alike."""

WALKS = 40
"""Walks for every sample that is wanted: many end in the same parts, or nowhere."""

SLACKS = (1.3, 2.0, 4.0, 8.0)
NODES = 50_000
"""The graph is expanded with ever more slack while it has fewer nodes than this."""

COLDEST, HOTTEST = 0.01, 2.0


def sample(
    goal: Spec,
    target: Target,
    cost: float,
    count: int,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[list[Rewrite]]:
    """The decisions of up to `count` legal programs, no two of the same cost, in its order.

    `cost` is that of the goal's cheapest program. A walk takes rewrites at random, the rarer
    the more they cost; how much rarer, its temperature says.
    """
    walker = _Walker(_graph(goal, target, cost, progress), Random(seed))
    bins: list[dict[float, list[int]]] = [{} for _ in range(BINS)]
    for _ in range(WALKS * count):
        walked = walker.walk()
        if walked is not None and walked[0] < cost * SPREAD:
            part = int(BINS * log(max(walked[0] / cost, 1.0)) / log(SPREAD))
            bins[part].setdefault(float(f"{walked[0]:.9g}"), walked[1])
    chosen: dict[float, list[int]] = {}
    while len(chosen) < count and any(bins):
        for some in bins:
            if some and len(chosen) < count:
                one = next(iter(some))
                chosen[one] = some.pop(one)
    return [walker.rewrites(chosen[one]) for one in sorted(chosen)]


def _graph(goal: Spec, target: Target, cost: float, progress: Progress | None) -> Graph:
    sizes = goal_sizes(goal)
    bound = Bound(goal, target, sizes, progress=progress)
    space = Space(goal, target, sizes)
    for slack in SLACKS:
        graph = build(space, Pruning(bound, cost * slack), progress)
        if len(graph.keys) > NODES:
            break
    return graph


class _Walker:
    """Walks at random from a graph's first node down to kernels."""

    def __init__(self, graph: Graph, random: Random) -> None:
        self._graph, self._random = graph, random
        self._limits = graph.space.limits
        start, order, bound, low, *_ = graph.bounds
        self._start, self._order = start.tolist(), order.tolist()
        self._bound, self._low = bound.tolist(), low.tolist()
        self._allocation, self._own = graph.allocation.tolist(), graph.own.tolist()
        self._first, self._child = graph.first_child.tolist(), graph.child.tolist()
        self._times = graph.times.tolist()

    def walk(self) -> tuple[float, list[int]] | None:
        """The cost of a program and its edges in pre-order; None where memory ran out."""
        temperature = exp(self._random.uniform(log(COLDEST), log(HOTTEST)))
        edges: list[int] = []
        limit = self._limits.pack(self._graph.space.target.limits)
        cost = self._down(0, limit, temperature, edges)
        return None if cost is None else (cost, edges)

    def rewrites(self, edges: list[int]) -> list[Rewrite]:
        return [self._graph.rewrite(edge) for edge in edges]

    def _down(self, node: int, limit: int, temperature: float, edges: list[int]) -> float | None:
        fitting, weights = [], []
        for place in range(self._start[node], self._start[node + 1]):
            edge, bound = self._order[place], self._bound[place]
            if bound < engine.INFINITE and self._limits.fits(self._allocation[edge], limit):
                ratio = max(self._low[node], 1e-9) / max(bound, 1e-9)
                fitting.append(edge)
                weights.append(ratio ** (1 / temperature))
        if not fitting or sum(weights) == 0.0:
            return None
        (edge,) = self._random.choices(fitting, weights)
        edges.append(edge)
        cost: float = self._own[edge]
        for place in range(self._first[edge], self._first[edge + 1]):
            left = limit - self._allocation[edge]
            part = self._down(self._child[place], left, temperature, edges)
            if part is None:
                return None
            cost += self._times[place] * part
        return cost
