"""Directed hypergraphs in flat arrays, and passes over all of their nodes.

A node is a Spec; an edge is a rewrite of it, with its own cost, an allocation, and children with
multiplicities: cost(edge) = own + sum(times * cost(child)), and its peak is its allocation plus
its children's largest. Edges lead to higher node numbers only.

Amounts of memory are packed integers with a field for each level (see `Limits`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from morello.base.jit import compiled
from morello.engine.arrays import INFINITE, Floats, Ints
from morello.engine.groups import by_group
from morello.engine.limits import LimitPacking, fits, larger, largest


class Hypergraph(NamedTuple):
    """Edges, and their children, in flat arrays.

    By edge: the node it is a rewrite of, the number of the rewrite among the node's rules, its own
    cost, its allocation, and where its children start (with the last one's end). By child: its
    node, and how many times it runs.
    """

    parent: Ints
    rule: Ints
    own: Floats
    allocation: Ints
    first_child: Ints
    child: Ints
    times: Ints


class Bounds(NamedTuple):
    """Every node's edges, sorted by their cost without memory limits, which is a lower bound.

    By node: the position at which its edges start; its lower bound, and the peak and edge that
    attain it. By position: the edge and its bound. Of edges that cost the same, the lowest rule
    comes first. A peak that exceeds its field becomes the largest value in every field, and
    counts as unknown.
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
    graph: Hypergraph, memoized_cost: Floats, memoized_peak: Ints, packing: LimitPacking
) -> Bounds:
    """The bounds of all nodes of a graph.

    Nodes without edges may have a memoized answer; the memoized cost of all others is INFINITE.
    """
    edges, nodes = graph.parent.shape[0], memoized_cost.shape[0]
    start, order = by_group(graph.parent, nodes)
    low, low_peak = memoized_cost.copy(), memoized_peak.copy()
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
                bound[j - 1] > cost
                or (bound[j - 1] == cost and graph.rule[order[j - 1]] > graph.rule[e])
            ):
                bound[j], order[j] = bound[j - 1], order[j - 1]
                j -= 1
            bound[j], order[j] = cost, e
        if begin < end and bound[begin] < low[node]:
            low[node], low_edge[node] = bound[begin], order[begin]
            low_peak[node] = peak_of(graph, order[begin], low_peak, packing)
    return Bounds(start, order, bound, low, low_peak, low_edge)


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


@compiled
def unlimited(
    problem: Problem, dropped: Floats, answered: Ints, cutoff: Floats, keeps: int
) -> tuple[Floats, Ints, Ints, Ints]:
    """The cheapest decisions of every node for which no memory limit binds, and how long they last.

    Gives, by node, the costs and the edges of up to `keeps` decisions within the node's cutoff (a
    column each), their largest peak, and 1 if more memory than the limits allow would change
    nothing, else 0. A node may have no decision: with 1, it has none within its cutoff then,
    either.

    More memory allows the rewrites that exceeded a limit. `dropped` has a lower bound on those of
    each node: they change nothing if they, and what is built from them, cost more. `answered` is 0
    for nodes that were expanded. For those whose answer was memoized instead, it is 2 if that
    lasts, else 1.
    """
    graph, bounds, packing = problem
    nodes = bounds.low.shape[0]
    cost = np.full((nodes, keeps), INFINITE)
    edge = np.full((nodes, keeps), -1, np.int32)
    peaks = np.zeros(nodes, np.int64)
    lasting = np.zeros(nodes, np.uint8)
    lowest = bounds.low.copy()  # lower bounds with more memory than was allowed
    for node in range(nodes - 1, -1, -1):
        begin, end = bounds.start[node], bounds.start[node + 1]
        if answered[node] > 0:
            lasting[node] = answered[node] == 2
            if lasting[node] == 0:
                lowest[node] = 0.0
            continue
        count = 0
        while count < keeps and begin + count < end:
            e, bound = bounds.order[begin + count], bounds.bound[begin + count]
            peak = peak_of(graph, e, bounds.low_peak, packing)
            if bound > cutoff[node] or bound >= INFINITE or peak == largest(packing):
                break
            cost[node, count], edge[node, count] = bound, e
            peaks[node] = larger(peaks[node], peak, packing)
            count += 1
        worst = cost[node, count - 1] if count > 0 else cutoff[node]
        settled = True
        lowest[node] = min(dropped[node], cutoff[node])
        for i in range(begin, end):
            e = bounds.order[i]
            bound = graph.own[e]
            for j in range(graph.first_child[e], graph.first_child[e + 1]):
                bound += graph.times[j] * lowest[graph.child[j]]
                settled = settled and (i - begin >= count or lasting[graph.child[j]] == 1)
            lowest[node] = min(lowest[node], bound)
            settled = settled and (i - begin < count or bound >= worst)
        lasting[node] = settled and dropped[node] >= worst
    return cost, edge, peaks, lasting
