"""What solving a graph gives: boxes of answers, and the programs that they make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from morello.ir.batch import Batch
from morello.ir.forms import Ints
from morello.ir.spec import Spec
from morello.rewrites import Rewrite
from morello.rewrites.rewrite import apply
from morello.search import engine
from morello.search.family import Kind
from morello.search.graph import Floats, Graph, Space
from morello.search.memory import Memory


@dataclass
class Answer:
    """The boxes that solving a graph left, with as many decisions each as there are columns."""

    graph: Graph
    cost: float
    head: Ints
    following: Ints
    box_cost: Floats
    box_edge: Ints
    box_peak: Ints
    box_limit: Ints
    boxes: int
    tried: int
    missed: Ints

    def decisions(self, memory: Memory | None = None) -> list[Rewrite]:
        """The rewrites of the cheapest program, in pre-order."""
        space = self.graph.space
        found = []
        todo = [(0, space.limits.pack(space.target.limits))]
        while todo:
            node, limit = todo.pop()
            edge = self._edge(node, limit)
            if edge < 0:
                assert memory is not None
                found += recalled(space, memory, self.graph.spec(node), limit)
                continue
            found.append(self.graph.rewrite(edge))
            inner = limit - int(self.graph.allocation[edge])
            first, last = self.graph.first_child[edge : edge + 2].tolist()
            todo += [(int(self.graph.child[j]), inner) for j in range(last - 1, first - 1, -1)]
        return found

    def _edge(self, node: int, limit: int) -> int:
        """The best decision at a node, -1 where it is known from elsewhere."""
        limits = self.graph.space.limits
        start, _, _, low, low_peak, low_edge = self.graph.bounds
        peak = int(low_peak[node])
        known = low[node] < engine.INFINITE and start[node] == start[node + 1]
        if (low_edge[node] >= 0 or known) and peak != limits.full and limits.fits(peak, limit):
            return int(low_edge[node])
        box = int(self.head[node])
        while not (
            limits.fits(int(self.box_peak[box]), limit)
            and limits.fits(limit, int(self.box_limit[box]))
        ):
            box = int(self.following[box])
        return int(self.box_edge[box, 0])

    def box_nodes(self) -> Ints:
        """The node of every box."""
        result = np.full(self.boxes, -1, np.int64)
        box, node = self.head.copy(), np.arange(len(self.head))
        while len(node := node[box >= 0]):
            box = box[box >= 0]
            result[box] = node
            box = self.following[box]
        return result


def recalled(space: Space, memory: Memory, spec: Spec, limit: int) -> list[Rewrite]:
    """The rewrites of the cheapest program that a memory has of a Spec, in pre-order.

    Raises `LookupError` if it has not all of it.
    """
    batch = Batch.of([spec], space.forms)
    known = memory.known(batch)
    here = np.flatnonzero(known.within(limit, space.limits))
    if not len(here):
        raise LookupError(f"{spec} is not known.")
    rewrite = space.rewrites(Kind.of(batch))[int(known.rule[here[0]])].concrete(spec)
    step = apply(rewrite, spec, space.target)
    inner = limit - int(space.limits.column(step.allocation, 1)[0])
    found = [rewrite]
    for hole in step.holes:
        found += recalled(space, memory, hole.spec, inner)
    return found


def solve_graph(graph: Graph, keeps: int = 1) -> Answer:
    """Solve a graph's first node under the target's limits: its `keeps` best decisions."""
    limits, known = graph.space.limits, graph.known
    nodes = len(graph.keys)
    start, order, bound, low, low_peak, _ = graph.bounds
    limit = limits.pack(graph.space.target.limits)
    given = len(known.spec)
    room = (1 << 16) + given
    while True:
        head, missed = np.full(nodes, -1, np.int32), np.zeros(nodes, np.uint8)
        following = np.empty(room, np.int32)
        cost, edge = np.empty((room, keeps)), np.empty((room, keeps), np.int32)
        peak, upto = np.empty(room, np.int64), np.empty(room, np.int64)
        cost[:given], edge[:given] = engine.INFINITE, -1
        cost[:given, 0] = known.cost
        peak[:given], upto[:given] = known.peak, known.limit
        engine.link(known.spec, head, following)
        boxes, tried = engine.solve(
            0, limit, given, graph.waves + 2, start, order, bound, low, low_peak,
            graph.own, graph.allocation, graph.first_child, graph.child, graph.times,
            limits.guard, limits.field, head, following, cost, edge, peak, upto, missed,
        )  # fmt: skip
        if boxes >= 0:
            break
        room *= 4
    best = float(cost[head[0], 0])
    return Answer(graph, best, head, following, cost, edge, peak, upto, boxes, tried, missed)
