"""A graph solved by the engine: boxes of answers, and the programs read off them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from morello import engine
from morello.base import debug
from morello.ir.placements import Ints
from morello.ir.spec import Spec
from morello.memo.space_memo import SpaceMemo
from morello.rewrites import Rewrite
from morello.rewrites.rewrite import apply
from morello.search.budget import Progress
from morello.search.graph import SearchGraph
from morello.space.kind import Kind
from morello.space.space import Space

STRIDE = 1_000_000
"""Progress is reported each time so many edges were tried."""


@dataclass
class SolvedGraph:
    """A graph, and the answers for its nodes as boxes.

    `missed` marks the nodes whose memoized answers do not cover a limit that was met.
    """

    graph: SearchGraph
    boxes: engine.Boxes
    missed: Ints

    def __str__(self) -> str:
        program = f"{self.cost:,.0f} cycles" if self.cost < engine.INFINITE else "no program"
        return (
            f"{self.graph.space}, solved: {program}, {self.graph.node_count:,} "
            f"Specs, {self.tried:,} rewrites tried, {self.count:,} boxes"
        )

    @property
    def count(self) -> int:
        """The number of boxes."""
        return int(self.boxes.counts[engine.FILLED])

    @property
    def tried(self) -> int:
        """The number of edges that were tried."""
        return int(self.boxes.counts[engine.TRIED])

    @property
    def cost(self) -> float:
        """The cost of the goal's best decision, infinite if it has none."""
        return float(self.boxes.cost[self.boxes.head[0], 0])

    @property
    def last(self) -> float:
        """The cost of the last of the goal's `keeps` best decisions, infinite if it has fewer."""
        return float(self.boxes.cost[self.boxes.head[0], -1])

    def decisions(self, memo: SpaceMemo | None = None) -> list[Rewrite]:
        """The rewrites of the cheapest program, in pre-order."""
        rewrites = []
        for node, limit, edge in self._choices():
            if edge >= 0:
                rewrites.append(self.graph.rewrite(edge))
            else:
                assert memo is not None
                spec = self.graph.spec(node)
                rewrites += memoized_decisions(self.graph.space, memo, spec, limit)
        return rewrites

    def edges(self) -> list[int]:
        """The edges of the cheapest program, in pre-order; -1 for answers that came from a memo."""
        return [edge for _, _, edge in self._choices()]

    def decisions_from(self, edge: int, limit: int) -> list[Rewrite]:
        """The rewrites of the cheapest program that begins with an edge, in pre-order.

        The edge is among the best decisions of its node under the limit, and no answer of the
        graph came from a memo.
        """
        below = (choice for child in self._below(edge, limit) for choice in self._choices(*child))
        return [self.graph.rewrite(each) for each in (edge, *(edge for _, _, edge in below))]

    def _choices(self, node: int = 0, limit: int | None = None) -> Iterator[tuple[int, int, int]]:
        """The nodes of a node's cheapest program in pre-order, with their limits and edges.

        Under a limit or, for the goal, the target's.
        """
        space = self.graph.space
        todo = [(node, space.limits.pack(space.target.limits) if limit is None else limit)]
        while todo:
            node, left = todo.pop()
            edge = self._edge(node, left)
            yield node, left, edge
            if edge >= 0:
                todo += reversed(self._below(edge, left))

    def _below(self, edge: int, limit: int) -> list[tuple[int, int]]:
        """The children of an edge under a limit, each with what is left for it."""
        edges = self.graph.edges
        left = limit - int(edges.allocation[edge])
        first, last = edges.first_child[edge : edge + 2].tolist()
        return [(child, left) for child in edges.child[first:last].tolist()]

    def _edge(self, node: int, limit: int) -> int:
        """The edge of the best decision at a node, -1 if the answer came from a memo."""
        limits = self.graph.space.limits
        start, _, _, low, low_peak, low_edge = self.graph.bounds
        peak = int(low_peak[node])
        memoized = low[node] < engine.INFINITE and start[node] == start[node + 1]
        if (low_edge[node] >= 0 or memoized) and peak != limits.full and limits.fits(peak, limit):
            return int(low_edge[node])
        return int(self.boxes.edge[self._box(node, limit), 0])

    def _box(self, node: int, limit: int) -> int:
        """The box that has a node's answer under a limit, -1 if there is none."""
        limits, boxes = self.graph.space.limits, self.boxes
        box = int(boxes.head[node])
        while box >= 0 and not (
            limits.fits(int(boxes.peak[box]), limit) and limits.fits(limit, int(boxes.limit[box]))
        ):
            box = int(boxes.following[box])
        return box

    def best(
        self, node: int, limit: int, progress: Progress | None = None
    ) -> list[tuple[int, float]]:
        """A node's best decisions under a limit, found now if they were not yet: edges, costs."""
        if self._box(node, limit) < 0:
            self.solve(node, limit, progress)
        box = self._box(node, limit)
        edges, costs = self.boxes.edge[box].tolist(), self.boxes.cost[box].tolist()
        return [(e, cost) for e, cost in zip(edges, costs, strict=True) if e >= 0]

    def solve(self, node: int, limit: int, progress: Progress | None = None) -> None:
        """Find the best decisions of a node under a limit, and of the nodes that these need."""
        graph, depth = self.graph, self.graph.waves + 2
        stack = engine.stack(graph.problem, node, limit, depth, self.boxes.cost.shape[1])
        while not engine.solve(graph.problem, self.boxes, stack, self.missed, self.tried + STRIDE):
            if self.count + depth >= len(self.boxes.following):
                self.boxes = _grown(self.boxes)
            if progress is not None:
                progress(graph.node_count, graph.edge_count)

    def box_nodes(self) -> Ints:
        """The node of every box."""
        result = np.full(self.count, -1, np.int64)
        box, node = self.boxes.head.copy(), np.arange(len(self.boxes.head))
        while len(node := node[box >= 0]):
            box = box[box >= 0]
            result[box] = node
            box = self.boxes.following[box]
        return result


def memoized_decisions(space: Space, memo: SpaceMemo, spec: Spec, limit: int) -> list[Rewrite]:
    """The rewrites of a Spec's cheapest program, in pre-order, looked up in a memo.

    Raises `LookupError` if a part of the program is not there.
    """
    batch = space.batch_of(spec)
    memoized = memo.answers(batch)
    here = np.flatnonzero(memoized.within(limit, space.limits))
    if not len(here):
        raise LookupError(f"{spec} is not memoized.")
    rewrite = space.rewrites(Kind.of(batch))[int(memoized.rule[here[0]])].concrete(spec)
    step = apply(rewrite, spec, space.target)
    inner = limit - int(space.limits.column(step.allocation, 1)[0])
    rewrites = [rewrite]
    for hole in step.holes:
        rewrites += memoized_decisions(space, memo, hole.spec, inner)
    return rewrites


def solve_graph(
    graph: SearchGraph, keeps: int = 1, progress: Progress | None = None
) -> SolvedGraph:
    """Find the `keeps` best decisions of a graph's first node under the target's limits."""
    began = time.perf_counter()
    nodes, memoized = graph.node_count, graph.memoized
    given = len(memoized.spec)
    boxes = _boxes(nodes, given, (1 << 16) + given + graph.waves + 2, keeps)
    boxes.cost[:given], boxes.edge[:given] = engine.INFINITE, -1
    boxes.cost[:given, 0] = memoized.cost
    boxes.peak[:given], boxes.limit[:given] = memoized.peak, memoized.limit
    engine.link(memoized.spec, boxes.head, boxes.following)
    solved = SolvedGraph(graph, boxes, np.zeros(nodes, np.uint8))
    solved.solve(0, graph.space.limits.pack(graph.space.target.limits), progress)
    if progress is not None and debug.shows("search"):
        debug.show("search", f"{solved}, {1e3 * (time.perf_counter() - began):.1f} ms")
    return solved


def _boxes(nodes: int, given: int, room: int, keeps: int) -> engine.Boxes:
    """Arrays for `room` boxes; so many of them are given."""
    return engine.Boxes(
        np.array([given, 0]), np.full(nodes, -1, np.int32), np.empty(room, np.int32),
        np.empty((room, keeps)), np.empty((room, keeps), np.int32),
        np.empty(room, np.int64), np.empty(room, np.int64),
    )  # fmt: skip


def _grown(boxes: engine.Boxes) -> engine.Boxes:
    """Boxes in arrays four times as long."""
    columns = (
        np.concatenate([column, np.empty_like(column, shape=(3 * len(column), *column.shape[1:]))])
        for column in boxes[2:]
    )
    return engine.Boxes(boxes.counts, boxes.head, *columns)
