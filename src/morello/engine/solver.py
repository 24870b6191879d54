"""Solving a hypergraph under memory limits, by depth-first branch and bound with a memo.

The answers of a node are memoized as boxes: an answer with peak p, found under limit l, is the
answer to every limit in [p, l].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from morello.base.jit import compiled
from morello.engine.arrays import INFINITE, Floats, Ints
from morello.engine.hypergraph import Problem
from morello.engine.limits import LimitPacking, fits, larger, largest


class Boxes(NamedTuple):
    """Memoized answers: each node's are a linked list from `head` by `following`.

    A box holds as many decisions as there are columns, best first: their costs and edges. Its
    peak is the largest of theirs, and it holds for limits from the peak up to `limit`. `counts`
    has the numbers of boxes, and of edges tried to fill them.
    """

    counts: Ints
    head: Ints
    following: Ints
    cost: Floats
    edge: Ints
    peak: Ints
    limit: Ints


FILLED, TRIED = 0, 1
"""The positions in `Boxes.counts`."""


class Stack(NamedTuple):
    """The state of a depth-first search: the path from the root to the current node, a row each.

    `at` holds the current row, its node, the position of its next edge, and its limit. The rows
    before it hold the node, position, child, limit, cost and peak to resume from. `best*` are the
    best decisions so far in every row: cost, peak and edge.
    """

    at: Ints
    node: Ints
    place: Ints
    child: Ints
    limit: Ints
    cost: Floats
    peak: Ints
    best: Floats
    best_peak: Ints
    best_edge: Ints


def stack(problem: Problem, root: int, limit: int, depth: int, keeps: int) -> Stack:
    """The initial state of a search for the `keeps` best decisions of `root` under `limit`.

    `depth` is the most nodes on a path.
    """
    return Stack(
        np.array([0, root, problem.bounds.start[root], limit], np.int64),
        np.empty(depth, np.int32), np.empty(depth, np.int32), np.empty(depth, np.int32),
        np.empty(depth, np.int64), np.empty(depth), np.empty(depth, np.int64),
        np.full((depth, keeps), INFINITE), np.zeros((depth, keeps), np.int64),
        np.full((depth, keeps), -1, np.int32),
    )  # fmt: skip


SUMMED, TOO_MUCH, UNKNOWN = 0, 1, 2
"""States of adding up an edge's children: the costs of all are added, they are too large, or the
answer of the next child is not known yet."""


class Sum(NamedTuple):
    """An edge's children added up before the next `child`: the cost, and the largest peak."""

    child: int
    cost: float
    peak: int


NOT_BEGUN = Sum(-1, 0.0, 0)


@compiled
def add_children(
    problem: Problem,
    boxes: Boxes,
    missed: Ints,
    edge: int,
    limit: int,
    worst: float,
    begun: Sum,
) -> tuple[int, Sum]:
    """Add up an edge's children while the cost is less than `worst`; gives the state as well."""
    graph, bounds, packing = problem
    child, cost, peak = begun
    while child < graph.first_child[edge + 1]:
        node = graph.child[child]
        known, child_cost, child_peak = answer(problem, boxes, node, limit)
        if not known:
            if bounds.start[node] < bounds.start[node + 1]:
                return UNKNOWN, Sum(child, cost, peak)
            missed[node] = 1
        cost += graph.times[child] * child_cost
        if child_cost >= INFINITE or cost >= worst:
            return TOO_MUCH, Sum(child, cost, peak)
        peak = larger(peak, child_peak, packing)
        child += 1
    return SUMMED, Sum(child, cost, peak)


@compiled
def answer(problem: Problem, boxes: Boxes, node: int, limit: int) -> tuple[bool, float, int]:
    """Whether the answer of a node under a limit is known, and its cost and peak."""
    bounds, packing = problem.bounds, problem.packing
    low, peak = bounds.low[node], bounds.low_peak[node]
    if low >= INFINITE or (peak != largest(packing) and fits(peak, limit, packing)):
        return True, low, peak
    box = boxes.head[node]
    while box >= 0:
        if fits(boxes.peak[box], limit, packing) and fits(limit, boxes.limit[box], packing):
            return True, boxes.cost[box, 0], boxes.peak[box]
        box = boxes.following[box]
    return False, INFINITE, peak


@compiled
def insert(stack: Stack, row: int, edge: int, cost: float, peak: int) -> None:
    """Insert a decision among a row's best, the last of which it displaces."""
    place = stack.best.shape[1] - 1
    while place > 0 and stack.best[row, place - 1] > cost:
        stack.best[row, place] = stack.best[row, place - 1]
        stack.best_edge[row, place] = stack.best_edge[row, place - 1]
        stack.best_peak[row, place] = stack.best_peak[row, place - 1]
        place -= 1
    stack.best[row, place], stack.best_edge[row, place] = cost, edge
    stack.best_peak[row, place] = peak


@compiled
def push(stack: Stack, row: int, node: int, place: int, limit: int, begun: Sum) -> None:
    """Keep the state of a row to resume from, and clear the next one."""
    stack.node[row], stack.place[row], stack.limit[row] = node, place, limit
    stack.child[row], stack.cost[row], stack.peak[row] = begun.child, begun.cost, begun.peak
    stack.best[row + 1], stack.best_edge[row + 1], stack.best_peak[row + 1] = INFINITE, -1, 0


@compiled
def memoize(
    boxes: Boxes, box: int, stack: Stack, row: int, node: int, limit: int, packing: LimitPacking
) -> None:
    """Make the best decisions of a row a box of its node."""
    boxes.following[box], boxes.head[node] = boxes.head[node], box
    boxes.limit[box], boxes.peak[box] = limit, 0
    for place in range(boxes.cost.shape[1]):
        boxes.cost[box, place] = stack.best[row, place]
        boxes.edge[box, place] = stack.best_edge[row, place]
        boxes.peak[box] = larger(boxes.peak[box], stack.best_peak[row, place], packing)


@compiled
def solve(problem: Problem, boxes: Boxes, stack: Stack, missed: Ints, upto: int) -> bool:
    """Run or resume a depth-first branch and bound for a node's cheapest decisions.

    Answers are memoized in boxes, which follow those that are given. Returns True when the
    search is complete; returns False, to be called again, once `upto` edges were tried or there
    may be no room for more boxes. Sets `missed` for nodes without edges whose memoized
    answers do not cover a limit that was met: then the result is invalid.
    """
    graph, bounds, packing = problem
    last = boxes.cost.shape[1] - 1
    room = boxes.following.shape[0] - stack.node.shape[0]
    count, tried = boxes.counts[FILLED], boxes.counts[TRIED]
    row, node, place, limit = stack.at[0], stack.at[1], stack.at[2], stack.at[3]
    begun = NOT_BEGUN
    while True:
        state, inner = SUMMED, limit
        while place < bounds.start[node + 1]:
            edge = bounds.order[place]
            if begun.child < 0:
                if bounds.bound[place] >= stack.best[row, last]:
                    break
                if tried >= upto or count >= room:
                    stack.at[0], stack.at[1], stack.at[2], stack.at[3] = row, node, place, limit
                    boxes.counts[FILLED], boxes.counts[TRIED] = count, tried
                    return False
                tried += 1
                if not fits(graph.allocation[edge], limit, packing):
                    place += 1
                    continue
                begun = Sum(np.int64(graph.first_child[edge]), graph.own[edge], np.int64(0))
            inner = limit - graph.allocation[edge]
            worst = stack.best[row, last]
            state, begun = add_children(problem, boxes, missed, edge, inner, worst, begun)
            if state == UNKNOWN:
                break
            if state == SUMMED:
                insert(stack, row, edge, begun.cost, begun.peak + graph.allocation[edge])
            place += 1
            begun = NOT_BEGUN
        if state == UNKNOWN:
            push(stack, row, node, place, limit, begun)
            row += 1
            node, limit = np.int64(graph.child[begun.child]), inner
            place, begun = np.int64(bounds.start[node]), NOT_BEGUN
            continue
        memoize(boxes, count, stack, row, node, limit, packing)
        count += 1
        if row == 0:
            boxes.counts[FILLED], boxes.counts[TRIED] = count, tried
            return True
        row -= 1
        node, place, limit = np.int64(stack.node[row]), np.int64(stack.place[row]), stack.limit[row]
        begun = Sum(np.int64(stack.child[row]), stack.cost[row], stack.peak[row])


@compiled
def link(node: Ints, head: Ints, following: Ints) -> None:
    """Add the first boxes to the lists of these nodes, one box for each entry."""
    for box in range(node.shape[0]):
        following[box], head[node[box]] = head[node[box]], box
