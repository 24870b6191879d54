"""Solving a directed hypergraph in flat arrays under memory limits. It knows nothing of tensors.

A node is a Spec; an edge is a rewrite of it, with its own cost, an allocation, and
children with multiplicities: cost(edge) = own + sum(times * cost(child)), and its peak
is its allocation plus its children's largest. Edges lead to higher node numbers only.

A node's answers are memoized as boxes: an answer with peak p, found under limit l, is the
answer to every limit in [p, l].

Amounts of memory are packed integers with a field for each level (see `Limits`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from morello.base.jit import compiled
from morello.engine.arrays import INFINITE, Bools, Floats, Ints
from morello.engine.hashing import by_group
from morello.engine.limits import LimitPacking, fits, larger, largest


class Hypergraph(NamedTuple):
    """Edges, and their children, in flat arrays.

    By edge: the node it is a rewrite of, its own cost, its allocation, and where its children
    start. By child: its node, and how many times it runs.
    """

    parent: Ints
    own: Floats
    allocation: Ints
    first_child: Ints
    child: Ints
    times: Ints


class Bounds(NamedTuple):
    """Every node's edges, sorted by their cost without memory limits, which is a lower bound.

    By node: the position at which its edges start; its lower bound, and the peak and edge that
    attain it. By position: the edge and its bound. A peak that exceeds its field becomes the
    largest value in every field, and counts as unknown.
    """

    start: Ints
    order: Ints
    bound: Floats
    low: Floats
    low_peak: Ints
    low_edge: Ints


class Problem(NamedTuple):
    """A graph for the solver."""

    graph: Hypergraph
    bounds: Bounds
    packing: LimitPacking


@compiled
def bounds(
    graph: Hypergraph, rule: Ints, known_cost: Floats, known_peak: Ints, packing: LimitPacking
) -> tuple[Ints, Ints, Floats, Floats, Ints, Ints]:
    """The columns of `Bounds`; of a node's edges that cost the same, the lowest rule comes first.

    Nodes without edges may have a known answer (the known cost of all others is INFINITE).
    """
    edges, nodes = graph.parent.shape[0], known_cost.shape[0]
    start, order = by_group(graph.parent, nodes)
    low, low_peak = known_cost.copy(), known_peak.copy()
    low_edge = np.full(nodes, -1, np.int32)
    bound = np.empty(edges, np.float64)
    for node in range(nodes - 1, -1, -1):
        begin, end = start[node], start[node + 1]
        for i in range(begin, end):
            e = order[i]
            cost = float(graph.own[e])
            for j in range(graph.first_child[e], graph.first_child[e + 1]):
                cost += graph.times[j] * low[graph.child[j]]
            cost = min(cost, INFINITE)
            j = i
            while j > begin and (
                bound[j - 1] > cost or (bound[j - 1] == cost and rule[order[j - 1]] > rule[e])
            ):
                bound[j], order[j] = bound[j - 1], order[j - 1]
                j -= 1
            bound[j], order[j] = cost, e
        if begin < end and bound[begin] < low[node]:
            low[node], low_edge[node] = bound[begin], order[begin]
            low_peak[node] = peak_of(graph, order[begin], low_peak, packing)
    return start, order, bound, low, low_peak, low_edge


@compiled
def peak_of(graph: Hypergraph, edge: int, peaks: Ints, packing: LimitPacking) -> int:
    """The peak of an edge whose children have these peaks, by node; at most the largest value."""
    peak = np.int64(0)
    for j in range(graph.first_child[edge], graph.first_child[edge + 1]):
        peak = larger(peak, peaks[graph.child[j]], packing)
    full = largest(packing)
    room = fits(graph.allocation[edge], full - peak, packing)
    return peak + graph.allocation[edge] if room else full


@compiled
def memory_left(
    graph: Hypergraph, start: Ints, edges: Ints, limit: int, packing: LimitPacking
) -> tuple[Ints, Bools]:
    """The most memory that any program of the first node leaves every node under this limit.

    It is -1 for nodes that are in no program that fits. Also gives the edges that fit. `edges` has
    those of the first node, then of the second, and so on; each node's begin at its `start`.
    """
    limits = np.full(start.shape[0] - 1, -1, np.int64)
    fit = np.zeros(edges.shape[0], np.bool_)
    limits[0] = limit
    for node in range(limits.shape[0]):
        if limits[node] < 0:
            continue
        for i in range(start[node], start[node + 1]):
            edge = edges[i]
            if fits(graph.allocation[edge], limits[node], packing):
                fit[edge] = True
                left = limits[node] - graph.allocation[edge]
                for j in range(graph.first_child[edge], graph.first_child[edge + 1]):
                    child = graph.child[j]
                    limits[child] = larger(max(limits[child], 0), left, packing)
    return limits, fit


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
"""What came of adding up an edge's children: all costs were known, or were too large, or one of
them is not known yet."""


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
    may be no room for more boxes. Sets `missed` for nodes without edges whose known answers do
    not cover a limit that was met: then the result is invalid.
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


@compiled
def unlimited(
    problem: Problem, dropped: Floats, answered: Ints, budget: Floats, keeps: int
) -> tuple[Floats, Ints, Ints, Ints]:
    """Each node's cheapest decisions within its budget, where no memory limit binds.

    Returns their costs and edges (a column per decision), their largest peak, and whether they
    would be the same with more memory than was allowed. For nodes without decisions, this says
    whether they would exceed their budget even then. It holds if the rewrites `dropped` for lack
    of memory cost more (`dropped` is a lower bound by node), and so does everything built from
    them. `answered` is 0, or, for nodes whose answer was known, 2 if this holds for them, else 1.
    """
    graph, bounds, packing = problem
    nodes = bounds.low.shape[0]
    cost = np.full((nodes, keeps), INFINITE)
    edge = np.full((nodes, keeps), -1, np.int32)
    peaks = np.zeros(nodes, np.int64)
    free = np.zeros(nodes, np.uint8)
    least = bounds.low.copy()  # lower bounds with more memory than was allowed
    for node in range(nodes - 1, -1, -1):
        begin, end = bounds.start[node], bounds.start[node + 1]
        if answered[node] > 0:
            free[node] = answered[node] == 2
            if free[node] == 0:
                least[node] = 0.0
            continue
        count = 0
        while count < keeps and begin + count < end:
            e, lowest = bounds.order[begin + count], bounds.bound[begin + count]
            peak = peak_of(graph, e, bounds.low_peak, packing)
            if lowest > budget[node] or lowest >= INFINITE or peak == largest(packing):
                break
            cost[node, count], edge[node, count] = lowest, e
            peaks[node] = larger(peaks[node], peak, packing)
            count += 1
        worst = cost[node, count - 1] if count > 0 else budget[node]
        settled = True
        least[node] = min(dropped[node], budget[node])
        for i in range(begin, end):
            e = bounds.order[i]
            lowest = graph.own[e]
            for j in range(graph.first_child[e], graph.first_child[e + 1]):
                lowest += graph.times[j] * least[graph.child[j]]
                settled = settled and (i - begin >= count or free[graph.child[j]] == 1)
            least[node] = min(least[node], lowest)
            settled = settled and (i - begin < count or lowest >= worst)
        free[node] = settled and dropped[node] >= worst
    return cost, edge, peaks, free


@compiled
def most_memory(problem: Problem) -> Ints:
    """For every node, the most memory that any of its programs holds at a time."""
    graph, bounds, packing = problem
    nodes = bounds.low.shape[0]
    most = np.zeros(nodes, np.int64)
    for node in range(nodes - 1, -1, -1):
        for i in range(bounds.start[node], bounds.start[node + 1]):
            peak = peak_of(graph, bounds.order[i], most, packing)
            most[node] = larger(most[node], peak, packing)
    return most
