"""Solving a directed hypergraph in flat arrays under memory limits. It knows nothing of tensors.

A node is a Spec; an edge is a rewrite of it, with its own cost, an allocation, and
children with multiplicities: cost(edge) = own + sum(times * cost(child)), and its peak
is its allocation plus its children's largest. Edges lead to higher node numbers only.

A node's answers are memoized as boxes: an answer with peak p, found under limit l, is the
answer to every limit in [p, l].

Amounts of memory are packed integers with a field for each level; `guard` has the guard bits of
all fields, and `field` is a field's width in bits (see `Limits`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from morello.jit import compiled

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]

INFINITE = 1e30


@compiled
def fits(amount: int, limit: int, guard: int) -> bool:
    """Whether amount <= limit in every field."""
    return (((limit | guard) - amount) & guard) == guard


@compiled
def larger(a: int, b: int, guard: int, field: int) -> int:
    """The maximum of both, field by field."""
    wins = ((a | guard) - b) & guard
    ones = wins - (wins >> (field - 1))
    return (a & ones) | (b & ~ones & (guard - (guard >> (field - 1))))


@compiled
def home(key: int, size: int) -> int:
    """The first slot to probe for a key in a hash table of `size` slots (a power of two)."""
    mixed: Any = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    slot: int = np.int64(mixed) & (size - 1)
    return slot


@compiled
def merge(
    keys: Ints, limit: Ints, budget: Floats, guard: int, field: int
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
                limits[entry] = larger(limits[entry], limit[i], guard, field)
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
def look_up(wanted: Ints, slots: Ints, keys: Ints, values: Floats) -> Floats:
    """The values of the `wanted` keys in a table made by `least`, INFINITE for missing ones."""
    size = slots.shape[0]
    result = np.empty(wanted.shape[0])
    for i in range(wanted.shape[0]):
        slot = home(wanted[i], size)
        while slots[slot] >= 0 and keys[slots[slot]] != wanted[i]:
            slot = (slot + 1) & (size - 1)
        result[i] = values[slots[slot]] if slots[slot] >= 0 else INFINITE
    return result


@compiled
def bounds(
    nodes: int,
    parent: Ints,
    own: Floats,
    allocation: Ints,
    first_child: Ints,
    child: Ints,
    times: Ints,
    known_cost: Floats,
    known_peak: Ints,
    guard: int,
    field: int,
) -> tuple[Ints, Ints, Floats, Floats, Ints, Ints]:
    """Sort every node's edges by their cost without memory limits, which is a lower bound.

    Nodes without edges may have a known answer (the known cost of all others is INFINITE).

    Returns `(start, order, bound, low, low_peak, low_edge)`. By node: the position at which its
    edges start; its lower bound, and the peak and edge that attain it. By position: the edge and
    its bound. A peak that exceeds its field becomes the largest value in every field, and
    counts as unknown.
    """
    edges = parent.shape[0]
    full = guard - (guard >> (field - 1))
    start = np.zeros(nodes + 1, np.int32)
    for e in range(edges):
        start[parent[e] + 1] += 1
    for node in range(nodes):
        start[node + 1] += start[node]
    fill = start[:-1].copy()
    order = np.empty(edges, np.int32)
    for e in range(edges):
        order[fill[parent[e]]] = e
        fill[parent[e]] += 1
    low, low_peak = known_cost.copy(), known_peak.copy()
    low_edge = np.full(nodes, -1, np.int32)
    bound = np.empty(edges, np.float64)
    for node in range(nodes - 1, -1, -1):
        begin = start[node]
        for i in range(begin, start[node + 1]):
            e = order[i]
            cost = float(own[e])
            peak = np.int64(0)
            for j in range(first_child[e], first_child[e + 1]):
                cost += times[j] * low[child[j]]
                peak = larger(peak, low_peak[child[j]], guard, field)
            cost = min(cost, INFINITE)
            if cost < low[node]:
                room = fits(allocation[e], full - peak, guard)
                low[node], low_edge[node] = cost, e
                low_peak[node] = peak + allocation[e] if room else full
            j = i
            while j > begin and bound[j - 1] > cost:
                bound[j], order[j] = bound[j - 1], order[j - 1]
                j -= 1
            bound[j], order[j] = cost, e
    return start, order, bound, low, low_peak, low_edge


class Problem(NamedTuple):
    """A graph for the solver.

    By node: the position at which its edges start, its lower bound, and the peak that attains
    it. By position: an edge and its bound. By edge: its own cost, its allocation, and where its
    children start. By child: its node, and how many times it runs.
    """

    start: Ints
    order: Ints
    bound: Floats
    low: Floats
    low_peak: Ints
    own: Floats
    allocation: Ints
    first_child: Ints
    child: Ints
    times: Ints


class Boxes(NamedTuple):
    """Memoized answers: each node's are a linked list from `head` by `following`.

    A box holds as many decisions as there are columns, best first: their costs and edges. Its
    peak is the largest of theirs, and it holds for limits from the peak up to `limit`.
    """

    head: Ints
    following: Ints
    cost: Floats
    edge: Ints
    peak: Ints
    limit: Ints


class Stack(NamedTuple):
    """The state of a depth-first search: the path from the root to the current node, a row each.

    `at` holds the current row, its node, the position of its next edge, its limit, and the
    numbers of boxes and of edges tried. The rows before it hold the node, position, child,
    limit, cost and peak to resume from. `best*` are the best decisions so far in every row:
    cost, peak and edge.
    """

    at: Ints
    node: Ints
    edge: Ints
    child: Ints
    limit: Ints
    cost: Floats
    peak: Ints
    best: Floats
    best_peak: Ints
    best_edge: Ints


AT_BOXES, AT_TRIED = 4, 5
"""The positions in `Stack.at` of the number of boxes, and of the edges tried."""


def stack(problem: Problem, root: int, limit: int, given: int, depth: int, keeps: int) -> Stack:
    """The initial state of a search for the `keeps` best decisions of `root` under `limit`.

    `given` is the number of boxes there are already, `depth` the most nodes on a path.
    """
    return Stack(
        np.array([0, root, problem.start[root], limit, given, 0], np.int64),
        np.empty(depth, np.int32), np.empty(depth, np.int32), np.empty(depth, np.int32),
        np.empty(depth, np.int64), np.empty(depth), np.empty(depth, np.int64),
        np.full((depth, keeps), INFINITE), np.zeros((depth, keeps), np.int64),
        np.full((depth, keeps), -1, np.int32),
    )  # fmt: skip


@compiled
def solve(
    problem: Problem, boxes: Boxes, stack: Stack, missed: Ints, upto: int, guard: int, field: int
) -> bool:
    """Run or resume a depth-first branch and bound for a node's cheapest decisions.

    Answers are memoized in boxes, which follow those that are given. Returns True when the
    search is complete; returns False, to be called again, once `upto` edges were tried or there
    may be no room for more boxes. Sets `missed` for nodes without edges whose known answers do
    not cover a limit that was met: then the result is invalid.
    """
    start, order, bound, low, low_peak, own, allocation, first_child, child, times = problem
    head, following, box_cost, box_edge, box_peak, box_limit = boxes
    at, at_node, at_edge, at_child, at_limit, at_cost, at_peak, best, best_peak, best_edge = stack
    keeps = box_cost.shape[1]
    last = keeps - 1
    room = following.shape[0] - at_node.shape[0]
    full = guard - (guard >> (field - 1))
    sp, node, i, limit, count, tried = at[0], at[1], at[2], at[3], at[4], at[5]
    j = np.int32(-1)  # the next child of the current edge; -1: the edge was not started
    cost = 0.0
    peak = np.int64(0)
    while True:
        descend = False
        wanted = np.int32(0)
        inner = limit
        end = start[node + 1]
        while i < end:
            e = order[i]
            if j < 0:
                if bound[i] >= best[sp, last]:
                    break
                if tried >= upto or count >= room:
                    at[0], at[1], at[2], at[3], at[4], at[5] = sp, node, i, limit, count, tried
                    return False
                tried += 1
                if not fits(allocation[e], limit, guard):
                    i += 1
                    continue
                j = first_child[e]
                cost = np.float64(own[e])
                peak = np.int64(0)
            inner = limit - allocation[e]
            possible = True
            while j < first_child[e + 1]:
                wanted = child[j]
                known = low[wanted] >= INFINITE
                child_cost = low[wanted]
                child_peak = low_peak[wanted]
                if not known:
                    known = child_peak != full and fits(child_peak, inner, guard)
                box = head[wanted]
                while not known and box >= 0:
                    if fits(box_peak[box], inner, guard) and fits(inner, box_limit[box], guard):
                        known = True
                        child_cost, child_peak = box_cost[box, 0], box_peak[box]
                        break
                    box = following[box]
                if not known and start[wanted] == start[wanted + 1]:
                    missed[wanted] = 1
                    known, child_cost = True, INFINITE
                if not known:
                    descend = True
                    break
                if child_cost >= INFINITE:
                    possible = False
                    break
                cost += times[j] * child_cost
                if cost >= best[sp, last]:
                    possible = False
                    break
                peak = larger(peak, child_peak, guard, field)
                j += 1
            if descend:
                break
            if possible:
                place = last
                while place > 0 and best[sp, place - 1] > cost:
                    best[sp, place] = best[sp, place - 1]
                    best_edge[sp, place] = best_edge[sp, place - 1]
                    best_peak[sp, place] = best_peak[sp, place - 1]
                    place -= 1
                best[sp, place], best_edge[sp, place] = cost, e
                best_peak[sp, place] = peak + allocation[e]
            i += 1
            j = np.int32(-1)
        if descend:
            at_node[sp], at_edge[sp], at_child[sp], at_limit[sp] = node, i, j, limit
            at_cost[sp], at_peak[sp] = cost, peak
            sp += 1
            best[sp], best_edge[sp], best_peak[sp] = INFINITE, -1, 0
            node, limit = np.int64(wanted), inner
            i = np.int64(start[node])
            j = np.int32(-1)
            continue
        following[count], head[node] = head[node], count
        box_limit[count], box_peak[count] = limit, 0
        for place in range(keeps):
            box_cost[count, place] = best[sp, place]
            box_edge[count, place] = best_edge[sp, place]
            box_peak[count] = larger(box_peak[count], best_peak[sp, place], guard, field)
        count += 1
        if sp == 0:
            at[4], at[5] = count, tried
            return True
        sp -= 1
        node, i, j, limit = np.int64(at_node[sp]), np.int64(at_edge[sp]), at_child[sp], at_limit[sp]
        cost, peak = at_cost[sp], at_peak[sp]


@compiled
def link(node: Ints, head: Ints, following: Ints) -> None:
    """Add the first boxes to the lists of these nodes, one box for each entry."""
    for box in range(node.shape[0]):
        following[box], head[node[box]] = head[node[box]], box


@compiled
def unlimited(
    start: Ints,
    order: Ints,
    bound: Floats,
    low: Floats,
    low_peak: Ints,
    dropped: Floats,
    answered: Ints,
    own: Floats,
    allocation: Ints,
    first_child: Ints,
    child: Ints,
    times: Ints,
    budget: Floats,
    keeps: int,
    guard: int,
    field: int,
) -> tuple[Floats, Ints, Ints, Ints]:
    """Each node's cheapest decisions within its budget, where no memory limit binds.

    Returns their costs and edges (a column per decision), their largest peak, and whether they
    would be the same with more memory than was allowed. For nodes without decisions, this says
    whether they would exceed their budget even then. It holds if the rewrites `dropped` for lack
    of memory cost more (`dropped` is a lower bound by node), and so does everything built from
    them. `answered` is 0, or, for nodes whose answer was known, 2 if this holds for them, else 1.
    """
    nodes = low.shape[0]
    cost = np.full((nodes, keeps), INFINITE)
    edge = np.full((nodes, keeps), -1, np.int32)
    peaks = np.zeros(nodes, np.int64)
    free = np.zeros(nodes, np.uint8)
    least = low.copy()  # lower bounds with more memory than was allowed
    full = guard - (guard >> (field - 1))
    for node in range(nodes - 1, -1, -1):
        begin, end = start[node], start[node + 1]
        if answered[node] > 0:
            free[node] = answered[node] == 2
            if free[node] == 0:
                least[node] = 0.0
            continue
        count = 0
        while count < keeps and begin + count < end:
            i = begin + count
            e = order[i]
            if bound[i] > budget[node] or bound[i] >= INFINITE:
                break
            peak = np.int64(0)
            for j in range(first_child[e], first_child[e + 1]):
                peak = larger(peak, low_peak[child[j]], guard, field)
            if peak == full or not fits(allocation[e], full - peak, guard):
                break
            cost[node, count], edge[node, count] = bound[i], e
            peaks[node] = larger(peaks[node], peak + allocation[e], guard, field)
            count += 1
        worst = cost[node, count - 1] if count > 0 else budget[node]
        settled = True
        least[node] = min(dropped[node], budget[node])
        for i in range(begin, end):
            e = order[i]
            lowest = own[e]
            for j in range(first_child[e], first_child[e + 1]):
                lowest += times[j] * least[child[j]]
                settled = settled and (i - begin >= count or free[child[j]] == 1)
            least[node] = min(least[node], lowest)
            settled = settled and (i - begin < count or lowest >= worst)
        free[node] = settled and dropped[node] >= worst
    return cost, edge, peaks, free
