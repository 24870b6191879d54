"""Best-first search: grow a graph where the cheapest program may be, until it is proven.

It is AO* (Nilsson, "Principles of Artificial Intelligence", 1980) for many nodes at a time, and
under memory limits. All values are lower bounds at first, from the relaxed problem, and rise as
the graph grows. The program that they make out to be the cheapest is the cheapest once all of it
is known. Before, the search takes what it does not know for more expensive than it may be, so
that it soon has a good program (as in weighted A*), and less and less so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf

import numpy as np

from morello import engine
from morello.base import debug
from morello.ir.placements import Ints
from morello.rewrites import Rewrite
from morello.search.budget import BudgetError, Progress, Watch, clock
from morello.search.graph import Floats, SearchGraph
from morello.search.growing_graph import GrowingGraph, Snapshot
from morello.search.incumbent import Incumbent, gap_to
from morello.search.relaxed_bound import RelaxedBound
from morello.search.solved_graph import SolvedGraph, solve_graph
from morello.space.space import Space

WEIGHTS = 1.3, 1.1, 1.03, 1.0
"""The weights of what is not known, by stage of a search; the last stage proves the optimum."""

FIRST_GAPS = 2.5
"""Where a small gap is enough, the first weight is 1 and so many gaps."""

LAST_WEIGHT = 10.0
"""The weight of what is not known once it is too little to matter for the gap. Mostly these are
remainders, of which any program will do, and whose bounds may be far below their costs."""

NEAR, FAR = 0.01, 1.0
"""How far a search looks, and how far at most if there is little to expand nearby."""

TOGETHER = 15
"""How many nodes of each kind are expanded together, at least, if there are as many near."""

FEWEST = 4
"""How many nodes of each kind there should be to expand; with fewer, a search looks farther."""

GROWTH, EARLY_GROWTH = 0.06, 0.02
"""As `TOGETHER`, but a fraction of all nodes, so that a large graph grows in few steps. The second
one holds until the programs of all goals are `GOOD`: to find such, steps have to go deeper, and
each goes only one rewrite deeper, however many nodes it expands."""

GOOD = 1.05
"""A program that costs at most so many times its lower bound is a good one."""

SLACKS = 1.002, 1.008, 1.03
"""The cheapest program under limits is sought among those of at most so many times its lower bound,
one of these after the other, as the time grows fast with the cost that is allowed."""

REGROWN = 1.3
"""How many times as large a graph has to be before the cheapest program under limits is sought
again."""

DEEPER = 8
"""How many steps deeper the parts of a program under limits that are not known are expanded before
that program is sought again."""

DEEPER_SLACK = 1.02
"""That program costs at most so many times as much as the known one without limits."""

AHEAD = 1.05
"""Rewrites up to this many times a node's bound are applied together."""


@dataclass
class _Goal:
    """A goal, with a lower bound on the cost of its programs, and the cheapest found so far.

    `upper` is the cost of that program, and `root` the node of the goal. It is `settled` once the
    program that the stage of the search seeks is known, or one that is near enough to it, and has
    `ended` once its own is proven or near enough, or the goal is proven to have none; or once it
    has a program, and no `seconds` left of its own. A program under limits was last sought when the
    graph had `nodes_then` nodes, and parts of one were last expanded when it had `nodes_searched`.
    """

    root: int
    lower: float
    seconds: float
    upper: float = inf
    decisions: tuple[Rewrite, ...] = ()
    settled: bool = False
    ended: bool = False
    nodes_then: int = 0
    nodes_searched: int = 0

    @property
    def proven(self) -> bool:
        """Whether no program costs less."""
        return self.upper <= self.lower * engine.NEARLY


class BestFirst:
    """A best-first search for the cheapest programs of a space's goals.

    Up to the first program of each, another watch may end it: `first`. Each goal may be given
    `seconds` of its own, which are used up by the steps that are for it, with an equal share of
    each.
    """

    def __init__(
        self,
        space: Space,
        bound: RelaxedBound,
        watch: Watch,
        first: Watch | None = None,
        seconds: Sequence[float] | None = None,
    ) -> None:
        self.graph = GrowingGraph(space, bound, first or watch)
        self._limits, self.watch = space.limits, watch
        self._weights = iter(_weights(watch.gap))
        self._weight, self._farthest = next(self._weights), NEAR
        low, roots = self.graph.values.low, self.graph.roots.tolist()
        self._goals = [
            _Goal(root, float(low[root]), own)
            for root, own in zip(roots, seconds or [inf] * len(roots), strict=True)
        ]
        self._entries = self._tried = self._steps = 0

    def __str__(self) -> str:
        graph = self.graph
        costs = [
            f"at least {goal.lower:,.0f} cycles, "
            + (f"{goal.upper:,.0f} cycles" if goal.upper < inf else "no program yet")
            for goal in self._goals
        ]
        return (
            f"{graph.space}, step {self._steps}: {graph.expanded:,} Specs, "
            f"{graph.edge_count:,} rewrites, {'; '.join(costs)}"
        )

    def run(self, report: Callable[[float, float], object] | None = None) -> list[Incumbent]:
        """The cheapest program of each goal, or the cheapest known once the watch ends the search.

        If none is known then, it may be called again, once it was given one (see `improve`). After
        each step, the sum of the goals' costs so far and that of their lower bounds is reported.
        `MORELLO_DEBUG=search` reports every step.
        """
        with suppress(BudgetError, MemoryError):
            while self._open:
                self._step()
                if report is not None:
                    lower = sum(min(goal.lower, goal.upper) for goal in self._goals)
                    report(sum(goal.upper for goal in self._goals), lower)
        if debug.shows("search"):
            debug.show("search", str(self))
        return [self._incumbent(goal) for goal in self._goals]

    def _incumbent(self, goal: _Goal) -> Incumbent:
        graph, lower = self.graph, goal.upper if goal.proven else goal.lower
        return Incumbent(
            goal.upper, goal.decisions, lower, graph.expanded, graph.edge_count, self._entries,
            self._tried, graph.bound.specs,
        )  # fmt: skip

    def improve(self, cost: float, decisions: Sequence[Rewrite], number: int = 0) -> None:
        """Take a program as the cheapest so far of the goal of this number, unless it costs more.

        It need not be in the space. If it costs less than all programs that are, it is the result.
        """
        self._improve(self._goals[number], cost, decisions)

    def _improve(self, goal: _Goal, cost: float, decisions: Sequence[Rewrite]) -> None:
        if cost <= goal.upper * engine.NEARLY:
            goal.upper, goal.decisions = cost, tuple(decisions)
            if all(each.upper < inf for each in self._goals):
                self.graph.progress = self.watch

    @property
    def gap(self) -> float:
        """The largest of the goals' gaps so far."""
        return max(gap_to(goal.lower, goal.upper) for goal in self._goals)

    def programs(self, upper: float, progress: Progress | None = None) -> SearchGraph:
        """A graph that has all programs of the first goal which cost at most `upper`."""
        graph, (goal, *_) = self.graph, self._goals
        graph.progress = progress
        graph.reweigh()
        roots, uppers = np.array([goal.root]), np.array([upper * engine.NEARLY])
        while True:
            graph.check()
            values = graph.evaluate(1.0)
            nodes, distances = graph.open_nodes(roots, uppers, engine.INFINITE, 1.0)
            if len(nodes):
                self._expand(self._nearest(nodes, distances, len(nodes) // 2))
            elif not values.stale[values.away < engine.INFINITE].any():
                return graph.snapshot(goal.root, upper).graph

    @property
    def _open(self) -> list[_Goal]:
        """The goals that have not ended."""
        return [goal for goal in self._goals if not goal.ended]

    def _step(self) -> None:
        """Grow the graph once, unless that is not needed."""
        graph, weight, began = self.graph, self._weight, clock()
        graph.check()
        values = graph.evaluate(weight)
        self._steps += 1
        for goal in self._open:
            self._update(goal, values)
        if debug.shows("search"):
            debug.show("search", str(self))
        goals = [goal for goal in self._open if not goal.settled]
        if not goals:
            if self._open:
                self._next_stage()
            return
        if self._known_enough(goals, values):
            self._reweigh(LAST_WEIGHT)
            return
        unsettled = goals
        nodes, distances = self._open_nodes(goals, self._farthest, weight)
        self._look(len(nodes))
        limited = [goal for goal in goals if values.complete[goal.root]]
        if not len(nodes) and not values.stale[values.away < engine.INFINITE].any():
            limited = goals
        if limited:
            needed = [self._under_limits(goal) for goal in limited]
            goals = [goal for goal in goals if not goal.ended]
            nodes, distances = self._open_nodes(goals, engine.INFINITE, 1.0)
        if not limited and (misfits := [goal for goal in goals if self._misfits(goal, values)]):
            self._deepen(misfits)
        else:
            nearest = self._nearest(nodes, distances, TOGETHER * graph.kind_count)
            self._expand(np.unique(np.concatenate([nearest, *needed])) if limited else nearest)
        for goal in unsettled:
            goal.seconds -= (clock() - began) / len(unsettled)
            goal.ended |= goal.seconds < 0 and goal.upper < inf

    def _update(self, goal: _Goal, values: engine.Values) -> None:
        """Take over what the graph tells of a goal by now.

        Where the program that this stage sought does not fit the memory limits, it is the cheapest
        known one that does and costs little more.
        """
        root, graph = goal.root, self.graph
        goal.lower = max(goal.lower, float(values.low[root]))
        if goal.lower >= engine.INFINITE or goal.lower > goal.upper * engine.NEARLY:
            goal.ended = True
            return
        high, fits = float(values.high[root]), self._fits(values.high_peak[root])
        if high < min(goal.upper, engine.INFINITE) and fits:
            self._improve(goal, high, graph.decisions(root))
        if values.complete[root] and self._fits(values.low_peak[root]):
            # of programs that cost the same, always the same one
            self._improve(goal, float(values.low[root]), graph.decisions(root))
            goal.ended = True
        known = values.settled[root] or self._near_enough(high, float(values.estimate[root]))
        settles = self._weight > WEIGHTS[-1] and bool(known) and not goal.settled
        goal.settled |= settles
        grown = graph.node_count > REGROWN * goal.nodes_then
        if not fits and (settles or (grown and self._near_enough(high, goal.lower))):
            goal.nodes_then = graph.node_count
            self._improve_under_limits(goal, high * SLACKS[-1])
        goal.ended |= self._near_enough(goal.upper, goal.lower)

    def _near_enough(self, cost: float, lower: float) -> bool:
        """Whether a program that costs so much is near enough to a lower bound of its cost."""
        return cost < engine.INFINITE and gap_to(lower, cost) <= self.watch.gap > 0

    def _known_enough(self, goals: Sequence[_Goal], values: engine.Values) -> bool:
        """Whether the parts of goals' programs that are not known hardly matter for the gap.

        No goal has a program yet, and the estimate of what one will cost is within the gap.
        """
        enough = 1 + self.watch.gap
        return enough < self._weight < LAST_WEIGHT and all(
            values.high[goal.root] >= engine.INFINITE
            and values.estimate[goal.root] <= goal.lower * enough
            for goal in goals
        )

    def _open_nodes(
        self, goals: Sequence[_Goal], farthest: float, weight: float
    ) -> tuple[Ints, Floats]:
        """The nodes with edges to look for in programs of goals, and their distances."""
        roots = np.array([goal.root for goal in goals], np.int64)
        uppers = np.array([goal.upper for goal in goals])
        return self.graph.open_nodes(roots, uppers, farthest, weight)

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
        """The `count` nodes with the least distances, or more if the graph is large.

        Nodes of goals that have ended do not make it large.
        """
        graph, goals = self.graph, self._open or self._goals
        good = all(graph.values.high[goal.root] <= goal.lower * GOOD for goal in goals)
        growth = GROWTH if good else EARLY_GROWTH
        growth *= graph.node_count * len(goals) / len(self._goals)
        count = min(len(nodes), max(count, int(growth)))
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

    def _next_stage(self) -> None:
        """Go on to the next stage, as the programs that this one sought are known.

        Before the last one, the cheapest known program that fits the memory limits is sought for
        goals that have none so far.
        """
        self._reweigh(next(self._weights))
        for goal in self._open:
            goal.settled = False
            if self._weight == WEIGHTS[-1] and goal.upper == inf:
                self._improve_under_limits(goal, inf)

    def _reweigh(self, weight: float) -> None:
        self._weight = weight
        self.graph.reweigh()

    def _improve_under_limits(self, goal: _Goal, upper: float) -> None:
        """Seek the cheapest known program that fits the limits, among those of at most `upper`."""
        upper = min(goal.upper, upper)
        self._take(goal, self._solved(self.graph.snapshot(goal.root, upper)))

    def _take(self, goal: _Goal, solved: SolvedGraph) -> None:
        """Take over the program of a solved graph, if there is one that costs less."""
        if solved.cost < min(goal.upper, engine.INFINITE):
            self._improve(goal, solved.cost, solved.decisions())

    def _misfits(self, goal: _Goal, values: engine.Values) -> bool:
        """Whether a goal's program is near enough to its bound, but does not fit the memory limits.

        To expand more of what is near without these limits hardly helps to find one that does fit.
        """
        near = self._near_enough(float(values.high[goal.root]), goal.lower)
        grown = self.graph.node_count > REGROWN * goal.nodes_searched
        return near and grown and not self._fits(values.high_peak[goal.root])

    def _deepen(self, goals: Sequence[_Goal]) -> None:
        """Expand what is not known of the programs under memory limits that goals may have soon."""
        graph = self.graph
        parts = np.unique(np.concatenate([self._missing_under_limits(goal) for goal in goals]))
        self._expand(parts)
        uppers = np.full(len(parts), engine.INFINITE)
        for _ in range(DEEPER if len(parts) else 0):
            graph.check()
            graph.evaluate(self._weight)
            nodes, distances = graph.open_nodes(parts, uppers, engine.INFINITE, self._weight)
            self._expand(self._nearest(nodes, distances, TOGETHER * len(parts)))

    def _missing_under_limits(self, goal: _Goal) -> Ints:
        """The nodes of a program under memory limits whose edges are not known.

        It costs little more than the known one without limits, and has few such nodes: what is not
        known weighs much. If there are none, it is a program of the goal. If there is no such
        program, the graph has to grow before another is sought.
        """
        upper = min(goal.upper, float(self.graph.values.high[goal.root]) * DEEPER_SLACK)
        snapshot = self.graph.snapshot(goal.root, upper, LAST_WEIGHT)
        solved = self._solved(snapshot)
        missing = _missing(snapshot, solved) if solved.cost < engine.INFINITE else _NO_NODES
        if not len(missing):
            goal.nodes_searched = self.graph.node_count
            self._take(goal, solved)
        return missing

    def _under_limits(self, goal: _Goal) -> Ints:
        """The nodes of the cheapest program under memory limits whose edges are not known.

        If there are none, the program is proven, or there is none, and the goal has ended.
        """
        for cap in (*(goal.lower * slack for slack in SLACKS), inf):
            upper = min(goal.upper, cap)
            snapshot = self.graph.snapshot(goal.root, upper, 1.0)
            solved = self._solved(snapshot)
            if solved.cost <= upper:
                break
            goal.lower = max(goal.lower, upper)
            if self._near_enough(goal.upper, goal.lower):
                goal.ended = True
                return _NO_NODES
        goal.lower = max(goal.lower, solved.cost)
        if solved.cost >= engine.INFINITE:
            goal.ended = True
            return _NO_NODES
        missing = _missing(snapshot, solved)
        if not len(missing):
            self._improve(goal, solved.cost, solved.decisions())
            goal.ended = True
        return missing

    def _solved(self, snapshot: Snapshot) -> SolvedGraph:
        solved = solve_graph(snapshot.graph, progress=self.graph.progress)
        self._entries, self._tried = self._entries + solved.count, self._tried + solved.tried
        return solved

    def _fits(self, peak: int) -> bool:
        return bool(self._limits.fits(int(peak), self.graph.limit))


_NO_NODES: Ints = np.empty(0, np.int32)


def _missing(snapshot: Snapshot, solved: SolvedGraph) -> Ints:
    """The nodes of a solved snapshot's program whose edges are not known."""
    parents = snapshot.graph.edges.parent
    unknown = {int(parents[edge]) for edge in solved.edges() if edge >= snapshot.known}
    nodes: Ints = snapshot.nodes[sorted(unknown)]
    return nodes


def _weights(gap: float) -> tuple[float, ...]:
    """The weights of a search's stages.

    The program that a stage seeks costs at most so many times as much as the cheapest. So where a
    small gap is enough, the second stage is the last, if its program fits the memory limits.
    """
    first = 1 + FIRST_GAPS * gap
    return (first, 1 + gap, WEIGHTS[-1]) if 1 < first < WEIGHTS[0] else WEIGHTS
