"""Solving a directed hypergraph in flat arrays under memory limits. It knows nothing of tensors.

A node is a Spec; an edge is a rewrite of it, with its own cost, an allocation, and
children with multiplicities: cost(edge) = own + sum(times * cost(child)), and its peak
is its allocation plus its children's largest. Edges lead to higher node numbers only.

A node's answers are memoized as boxes: an answer with peak p, found under limit l, is the
answer to every limit in [p, l].

Amounts of memory are packed integers with a field for each level (see `Limits`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from morello.jit import compiled

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]

INFINITE = 1e30


class LimitPacking(NamedTuple):
    """How amounts of memory are packed: the guard bits of all fields, and a field's width."""

    guard: int
    field: int


@compiled
def fits(amount: int, limit: int, packing: LimitPacking) -> bool:
    """Whether amount <= limit in every field."""
    return (((limit | packing.guard) - amount) & packing.guard) == packing.guard


@compiled
def larger(a: int, b: int, packing: LimitPacking) -> int:
    """The maximum of both, field by field."""
    wins = ((a | packing.guard) - b) & packing.guard
    ones = wins - (wins >> (packing.field - 1))
    return (a & ones) | (b & ~ones & largest(packing))


@compiled
def largest(packing: LimitPacking) -> int:
    """The largest value in every field."""
    return packing.guard - (packing.guard >> (packing.field - 1))


@compiled
def home(key: int, size: int) -> int:
    """The first slot to probe for a key in a hash table of `size` slots (a power of two)."""
    mixed: Any = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    slot: int = np.int64(mixed) & (size - 1)
    return slot


@compiled
def merge(
    keys: Ints, limit: Ints, budget: Floats, packing: LimitPacking
) -> tuple[Ints, Ints, Ints, Floats]:
    """Deduplicate keys: each unique one with the largest limits and budget of all its copies.

    Returns the unique keys in order of first occurrence, the position there of every key, and
    the limits and budgets of the unique keys.
    """
    n = keys.shape[0]
    size = 16
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    inverse = np.empty(n, np.int32)
    unique = np.empty(n, np.int64)
    limits = np.empty(n, np.int64)
    budgets = np.empty(n)
    count = 0
    for i in range(n):
        key = keys[i]
        slot = home(key, size)
        while True:
            entry = slots[slot]
            if entry < 0:
                slots[slot] = count
                unique[count], limits[count], budgets[count] = key, limit[i], budget[i]
                inverse[i] = count
                count += 1
                break
            if unique[entry] == key:
                inverse[i] = entry
                limits[entry] = larger(limits[entry], limit[i], packing)
                budgets[entry] = max(budgets[entry], budget[i])
                break
            slot = (slot + 1) & (size - 1)
    return unique[:count].copy(), inverse, limits[:count].copy(), budgets[:count].copy()


@compiled
def least(keys: Ints, values: Floats) -> tuple[Ints, Ints, Floats]:
    """A hash table of the unique keys, each with its least value: slots, keys, values.

    A slot holds a position in keys and values, or -1.
    """
    n = keys.shape[0]
    size = 16
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    unique = np.empty(n, np.int64)
    lowest = np.empty(n)
    count = 0
    for i in range(n):
        slot = home(keys[i], size)
        while slots[slot] >= 0 and unique[slots[slot]] != keys[i]:
            slot = (slot + 1) & (size - 1)
        entry = slots[slot]
        if entry < 0:
            slots[slot] = count
            unique[count], lowest[count] = keys[i], values[i]
            count += 1
        else:
            lowest[entry] = min(lowest[entry], values[i])
    return slots, unique[:count].copy(), lowest[:count].copy()


@compiled
def find(wanted: Ints, slots: Ints, keys: Ints) -> Ints:
    """The positions of the `wanted` keys in a table made by `least`, -1 for missing ones."""
    size = slots.shape[0]
    result = np.empty(wanted.shape[0], np.int32)
    for i in range(wanted.shape[0]):
        slot = home(wanted[i], size)
        while slots[slot] >= 0 and keys[slots[slot]] != wanted[i]:
            slot = (slot + 1) & (size - 1)
        result[i] = slots[slot]
    return result


@compiled
def by_group(group: Ints, count: int) -> tuple[Ints, Ints]:
    """The members of `count` groups: where each group's start, and the members, in order."""
    start = np.zeros(count + 1, np.int32)
    for i in range(group.shape[0]):
        start[group[i] + 1] += 1
    for number in range(count):
        start[number + 1] += start[number]
    fill = start[:-1].copy()
    members = np.empty(group.shape[0], np.int32)
    for i in range(group.shape[0]):
        members[fill[group[i]]] = i
        fill[group[i]] += 1
    return start, members


@compiled
def rules_within(
    group: Ints, budget: Floats, start: Ints, rule: Ints, bound: Floats, rules: int
) -> Bools:
    """Which of `rules` rules have a member within the budget, by rule and row.

    Each row has a group, or -1, and a budget; each member, a rule and a bound.
    """
    result = np.zeros((rules, group.shape[0]), np.bool_)
    for row in range(group.shape[0]):
        if group[row] >= 0:
            for member in range(start[group[row]], start[group[row] + 1]):
                if bound[member] <= budget[row]:
                    result[rule[member], row] = True
    return result


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
