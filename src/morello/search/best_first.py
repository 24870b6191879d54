"""Best-first search: grow a graph where the cheapest program may be, until it is proven.

It is AO* (Nilsson, "Principles of Artificial Intelligence", 1980) for many nodes at a time, and
under memory limits. All values are lower bounds at first, from the relaxed problem, and rise as
the graph grows. The program that they make out to be the cheapest is the cheapest once all of it
is known. Before, the search takes what it does not know for more expensive than it may be, so
that it soon has a good program (as in weighted A*), and less and less so.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import inf

import numpy as np

from morello import engine
from morello.base import debug
from morello.ir.placements import Ints
from morello.rewrites import Rewrite
from morello.search.budget import BudgetError, Progress, Watch
from morello.search.graph import Floats, SearchGraph
from morello.search.growing_graph import GrowingGraph, Snapshot
from morello.search.incumbent import Incumbent, gap_to
from morello.search.relaxed_bound import RelaxedBound
from morello.search.solved_graph import SolvedGraph, solve_graph
from morello.space.space import Space

WEIGHTS = 1.3, 1.1, 1.03, 1.0
"""How much weighs what is not known, stage by stage of a search; the last one proves."""

NEAR, FAR = 0.03, 1.0
"""How far a search looks, and how far at most if there is little to expand nearby."""

TOGETHER = 15
"""How many nodes of each kind are expanded together, at least, if there are as many near."""

FEWEST = 2
"""How many nodes of each kind there should be to expand; with fewer, a search looks farther."""

GROWTH = 0.06
"""As `TOGETHER`, as a fraction of all nodes, so that a large graph grows in few steps."""

SLACKS = 1.002, 1.008, 1.03
"""The cheapest program under limits is sought up to so many times the cost that it has at least,
one after the other, as the time that it takes grows fast with the most that it may cost."""

AHEAD = 1.05
"""Rewrites up to this many times a node's bound are applied together."""


class BestFirst:
    """A best-first search for the cheapest program of a space's goal.

    Up to its first program, another watch may end it: `first`.
    """

    def __init__(
        self, space: Space, bound: RelaxedBound, watch: Watch, first: Watch | None = None
    ) -> None:
        self.graph = GrowingGraph(space, bound, first or watch)
        self._limits, self.watch = space.limits, watch
        self._weights = iter(WEIGHTS)
        self._weight, self._farthest = next(self._weights), NEAR
        self._lower, self._upper = float(self.graph.values.low[0]), inf
        self._decisions: tuple[Rewrite, ...] = ()
        self._entries = self._tried = self._steps = 0

    def __str__(self) -> str:
        graph = self.graph
        upper = f"{self._upper:,.0f} cycles" if self._upper < inf else "no program yet"
        return (
            f"{graph.space.goal.expression}, step {self._steps}: {graph.expanded:,} Specs, "
            f"{graph.edge_count:,} rewrites, at least {self._lower:,.0f} cycles, {upper}"
        )

    def run(self) -> Incumbent:
        """The cheapest program, or the cheapest that is known once the watch ends the search.

        If none is known then, it may be called again, once it was given one (see `improve`).
        `MORELLO_DEBUG=search` reports every step.
        """
        with suppress(BudgetError, MemoryError):
            while not self._step():
                pass
        if debug.shows("search"):
            debug.show("search", str(self))
        graph, proven = self.graph, self._upper <= self._lower * engine.NEARLY
        return Incumbent(
            self._upper, self._decisions, self._upper if proven else self._lower, graph.expanded,
            graph.edge_count, self._entries, self._tried, graph.bound.specs,
        )  # fmt: skip

    def improve(self, cost: float, decisions: Sequence[Rewrite]) -> None:
        """Take a program for the cheapest one so far, unless it costs more.

        It need not be in the space.
        """
        if cost <= self._upper * engine.NEARLY:
            self._upper, self._decisions = cost, tuple(decisions)
            self.graph.progress = self.watch

    def programs(self, upper: float, progress: Progress | None = None) -> SearchGraph:
        """A graph that has all programs which cost at most `upper`, and all parts of these."""
        graph = self.graph
        graph.progress = progress
        graph.reweigh()
        while True:
            graph.check()
            values = graph.evaluate(1.0)
            nodes, distances = graph.open_nodes(upper * engine.NEARLY, engine.INFINITE, 1.0)
            if len(nodes):
                self._expand(self._nearest(nodes, distances, len(nodes) // 2))
            elif not values.stale[values.away < engine.INFINITE].any():
                return graph.snapshot(upper, optimistic=False).graph

    def _step(self) -> bool:
        """Grow the graph once; gives whether the search is complete instead."""
        graph, weight = self.graph, self._weight
        graph.check()
        values = graph.evaluate(weight)
        self._lower = max(self._lower, float(values.low[0]))
        self._steps += 1
        if debug.shows("search"):
            debug.show("search", str(self))
        if self._lower >= engine.INFINITE or self._lower > self._upper * engine.NEARLY:
            return True
        if values.high[0] < min(self._upper, engine.INFINITE) and self._fits(values.high_peak[0]):
            self.improve(float(values.high[0]), graph.decisions())
        if values.complete[0] and self._fits(values.low_peak[0]):
            # of programs that cost the same, always the same one
            self.improve(float(values.low[0]), graph.decisions())
            return True
        if self._upper < inf and gap_to(self._lower, self._upper) <= self.watch.gap > 0:
            return True
        if values.settled[0] and weight > 1.0:
            self._next_stage(self._fits(values.high_peak[0]))
            return False
        if values.complete[0]:
            return self._step_under_limits()
        nodes, distances = graph.open_nodes(self._upper, self._farthest, weight)
        self._look(len(nodes))
        if len(nodes):
            self._expand(self._nearest(nodes, distances, TOGETHER * graph.kind_count))
        elif not values.stale[values.away < engine.INFINITE].any():
            return self._step_under_limits()
        return False

    def _step_under_limits(self) -> bool:
        """As `_step`, when only limits keep the program that seems the cheapest from being it."""
        needed = self._under_limits()
        if not len(needed):
            return True
        nodes, distances = self.graph.open_nodes(self._upper, engine.INFINITE, 1.0)
        nearest = self._nearest(nodes, distances, TOGETHER * self.graph.kind_count)
        self._expand(np.union1d(nearest, needed))
        return False

    def _look(self, count: int) -> None:
        """Set how far the next step looks, as this one has so many nodes near.

        A step takes its time for each kind of nodes, however few they are.
        """
        wanted = FEWEST * self.graph.kind_count
        if count < wanted:
            self._farthest = min(2 * self._farthest, FAR)
        elif count > 4 * wanted:
            self._farthest = max(self._farthest / 2, NEAR)

    def _nearest(self, nodes: Ints, distances: Floats, count: int) -> Ints:
        """So many of the nodes, or more if the graph is large: those with the least distances."""
        count = min(len(nodes), max(count, int(GROWTH * self.graph.node_count)))
        if count == len(nodes):
            return nodes
        nearest: Ints = nodes[distances <= np.partition(distances, count - 1)[count - 1]]
        return nearest

    def _expand(self, nodes: Ints) -> None:
        """Apply more rewrites to nodes: the next ones by their bounds."""
        graph = self.graph
        values, rest = graph.values, graph.rest(nodes)
        ahead = np.minimum(np.maximum(rest, values.low[nodes]) * AHEAD, values.cutoff[nodes])
        graph.expand(nodes, np.maximum(ahead, rest))

    def _next_stage(self, fits: bool) -> None:
        """Go on to the next stage, as the program that this one sought is known.

        If it does not fit the memory limits, the cheapest known program that does is sought: one
        that costs little more or, before the last stage if there is none so far, any.
        """
        if not fits:
            self._improve_under_limits(float(self.graph.values.high[0]) * SLACKS[-1])
        self._weight = next(self._weights)
        if self._weight == WEIGHTS[-1] and self._upper == inf:
            self._improve_under_limits(inf)
        self.graph.reweigh()

    def _improve_under_limits(self, upper: float) -> None:
        """Seek the cheapest known program that fits the limits, among those of at most `upper`."""
        solved = self._solved(self.graph.snapshot(min(self._upper, upper), optimistic=False))
        if solved.cost < min(self._upper, engine.INFINITE):
            self.improve(solved.cost, solved.decisions())

    def _under_limits(self) -> Ints:
        """The nodes of the cheapest program under memory limits whose edges are not known.

        If there are none, the program is proven.
        """
        for cap in (*(self._lower * slack for slack in SLACKS), inf):
            upper = min(self._upper, cap)
            snapshot = self.graph.snapshot(upper, optimistic=True)
            solved = self._solved(snapshot)
            if solved.cost <= upper:
                break
            self._lower = max(self._lower, upper)
        self._lower = max(self._lower, solved.cost)
        if solved.cost >= engine.INFINITE:
            return np.empty(0, np.int32)
        unknown = {
            int(snapshot.graph.edges.parent[edge])
            for edge in solved.edges()
            if edge >= snapshot.known
        }
        if not unknown:
            self.improve(solved.cost, solved.decisions())
        nodes: Ints = snapshot.nodes[sorted(unknown)]
        return nodes

    def _solved(self, snapshot: Snapshot) -> SolvedGraph:
        solved = solve_graph(snapshot.graph, progress=self.graph.progress)
        self._entries, self._tried = self._entries + solved.count, self._tried + solved.tried
        return solved

    def _fits(self, peak: int) -> bool:
        return bool(self._limits.fits(int(peak), self.graph.limit))
