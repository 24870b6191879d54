"""Random programs of a goal, from near the cheapest to many times its cost."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from random import Random

from morello import engine
from morello.rewrites import Rewrite
from morello.search.budget import Progress
from morello.search.graph import SearchGraph
from morello.search.pruned_space import PrunedSpace

COST_RANGE = 30.0
"""Samples cost less than this many times as much as the cheapest program."""

BINS = 20
"""The range of costs is divided into bins of equal width on a logarithmic scale."""

WALKS = 40
"""Walks per wanted sample: many end in the same bins, or without a program."""

SLACKS = (1.3, 2.0, 4.0, 8.0)
NODES = 50_000
"""The graph is expanded with ever more slack while it has fewer nodes than this."""

COLDEST, HOTTEST = 0.01, 2.0
"""The range of the walks' temperatures."""

Walk = tuple[int, ...]
"""A program of a graph: the edges (rewrites) by which a walk goes down it, in pre-order."""


def sampling_graph(
    space: PrunedSpace, cost: float, progress: Progress | None = None
) -> SearchGraph:
    """The graph of the programs that cost no more than a few times `cost` (see `SLACKS`).

    `cost` is that of the goal's cheapest program.
    """
    for slack in SLACKS:
        graph = space.graph(cost * slack, progress)
        if graph.node_count > NODES:
            break
    return graph


class Walker:
    """Random walks from a graph's root down to leaf kernels.

    A walk chooses a rewrite with a lower probability the more it costs; the lower the walk's
    temperature, the stronger this effect.
    """

    def __init__(self, graph: SearchGraph, random: Random) -> None:
        self._graph, self._random = graph, random
        self._limits = graph.space.limits
        start, order, bound, low, *_ = graph.bounds
        self._start, self._order = start.tolist(), order.tolist()
        self._bound, self._low = bound.tolist(), low.tolist()
        self._allocation, self._own = graph.edges.allocation.tolist(), graph.edges.own.tolist()
        self._first, self._child = graph.edges.first_child.tolist(), graph.edges.child.tolist()
        self._times = graph.edges.times.tolist()
        self._all = self._limits.pack(graph.space.target.limits)

    def stratified(self, cost: float, count: int) -> list[Walk]:
        """Up to `count` programs, from all bins of costs up to `COST_RANGE` times `cost`."""
        bins: list[dict[float, Walk]] = [{} for _ in range(BINS)]
        for _ in range(WALKS * count):
            walked = self.walk()
            if walked is not None and walked[0] < cost * COST_RANGE:
                number = int(BINS * log(max(walked[0] / cost, 1.0)) / log(COST_RANGE))
                bins[number].setdefault(float(f"{walked[0]:.9g}"), walked[1])
        chosen: dict[float, Walk] = {}
        while len(chosen) < count and any(bins):
            for programs in bins:
                if programs and len(chosen) < count:
                    rounded_cost = next(iter(programs))
                    chosen[rounded_cost] = programs.pop(rounded_cost)
        return [chosen[rounded_cost] for rounded_cost in sorted(chosen)]

    def walk(self) -> tuple[float, Walk] | None:
        """The cost and edges of a random program; None if no rewrite fitted the memory."""
        edges: list[int] = []
        cost = self._down(0, self._all, self._temperature(), edges)
        return None if cost is None else (cost, tuple(edges))

    def mutated(self, program: Walk) -> tuple[float, Walk] | None:
        """The program with one of its subprograms, at random, replaced by a new walk.

        Gives its cost and edges; None if no rewrite fitted the memory.
        """
        edges: list[int] = []
        at = self._random.randrange(len(program))
        cost = self._with_new_walk(0, self._all, program, 0, at, edges)
        return None if cost is None else (cost, tuple(edges))

    def edges(self, decisions: Sequence[Rewrite]) -> Walk | None:
        """The edges of these decisions; None if the graph lacks any of them."""
        edges = self._graph.edges_of(decisions)
        return None if edges is None else tuple(edges)

    def rewrites(self, edges: Walk) -> list[Rewrite]:
        """The decisions of a program, in pre-order."""
        return [self._graph.rewrite(edge) for edge in edges]

    def _temperature(self) -> float:
        return exp(self._random.uniform(log(COLDEST), log(HOTTEST)))

    def _children(self, edge: int) -> list[int]:
        nodes: list[int] = self._child[self._first[edge] : self._first[edge + 1]]
        return nodes

    def _with_new_walk(
        self, node: int, limit: int, program: Walk, place: int, at: int, edges: list[int]
    ) -> float | None:
        """Append the subprogram at `place`, in which a new walk replaces the one at `at`.

        Gives its cost, or None if no rewrite fitted the memory.
        """
        if place == at:
            return self._down(node, limit, self._temperature(), edges)
        edge = program[place]
        edges.append(edge)
        cost: float = self._own[edge]
        left, after = limit - self._allocation[edge], place + 1
        for child in range(self._first[edge], self._first[edge + 1]):
            part = self._with_new_walk(self._child[child], left, program, after, at, edges)
            if part is None:
                return None
            cost += self._times[child] * part
            after = self._end(program, after)
        return cost

    def _end(self, program: Walk, place: int) -> int:
        """The position after the subprogram that begins at `place`."""
        open_ = 1
        while open_:
            open_ += len(self._children(program[place])) - 1
            place += 1
        return place

    def _down(self, node: int, limit: int, temperature: float, edges: list[int]) -> float | None:
        """Walk from a node and append the edges; the cost, or None if nothing fitted the memory."""
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
