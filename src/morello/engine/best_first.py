"""Passes over a graph that a best-first search is growing.

Every node has a list of the edges that are known so far, and a lower bound on all others. Passes
visit the nodes by falling rank, which every edge lowers, or the other way round, and only where
something changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from morello.base.jit import compiled
from morello.engine.arrays import INFINITE, NEARLY, Bools, Floats, Ints
from morello.engine.hypergraph import Hypergraph, peak_of
from morello.engine.limits import LimitPacking, fits, larger


class Growing(NamedTuple):
    """The edges that are known so far, which lists hold by node, and the uses of nodes as children.

    By node: `rest`, a lower bound on the costs of the edges that are not known; and the `last` of
    its edges and of its uses, -1 if it has none. `following` has the edge before each one in its
    node's list, and `following_use` the use; `user` has the node that uses a child.
    """

    edges: Hypergraph
    rest: Floats
    last: Ints
    following: Ints
    last_use: Ints
    following_use: Ints
    user: Ints


class Values(NamedTuple):
    """By node, what the passes compute; costs ignore limits, except that an edge must fit.

    `limit` is the most memory that a program leaves to the node, -1 if none reaches it. `low` is a
    lower bound on its cost, `low_edge` the edge that attains it (-1: one that is not known yet),
    and `low_peak` the peak; `complete` says that all of its program is known. `high` is the cost
    of the cheapest program that is known, with `high_edge` and `high_peak`. `estimate` is as `low`
    with all that is not known weighted, and `settled` as `complete`, for that.

    `cutoff` is the most that the node may cost in a program that is cheap enough, -1 if it has no
    part in any, and `away` is how far it is from the best program (see `open_nodes`). Where a node
    is `stale`, its values may have to be computed anew: 1 if they can only have grown, else 2.
    """

    limit: Ints
    low: Floats
    low_edge: Ints
    low_peak: Ints
    complete: Bools
    high: Floats
    high_edge: Ints
    high_peak: Ints
    estimate: Floats
    settled: Bools
    cutoff: Floats
    away: Floats
    stale: Ints


@compiled
def chain(member: Ints, first: int, last: Ints, following: Ints) -> None:
    """Append items, of which the first has the number `first`, to the lists of their members."""
    for i in range(member.shape[0]):
        following[first + i] = last[member[i]]
        last[member[i]] = first + i


@compiled
def by_falling_rank(order: Ints, new: Ints, rank: Ints) -> Ints:
    """Merge two lists of nodes that are in the order of falling rank."""
    result = np.empty(order.shape[0] + new.shape[0], np.int32)
    i = j = 0
    for place in range(result.shape[0]):
        if j == new.shape[0] or (i < order.shape[0] and rank[order[i]] >= rank[new[j]]):
            result[place] = order[i]
            i += 1
        else:
            result[place] = new[j]
            j += 1
    return result


@compiled
def pass_memory_on(
    graph: Growing, order: Ints, grown: Bools, values: Values, packing: LimitPacking
) -> None:
    """Pass on the memory that `grown` nodes leave to their children, and so on downwards.

    Nodes that get more than before become stale: more of their edges may fit.
    """
    edges, limits = graph.edges, values.limit
    for node in order:
        if not grown[node] or limits[node] < 0:
            continue
        grown[node] = False
        edge = graph.last[node]
        while edge >= 0:
            if fits(edges.allocation[edge], limits[node], packing):
                left = limits[node] - edges.allocation[edge]
                for j in range(edges.first_child[edge], edges.first_child[edge + 1]):
                    child = edges.child[j]
                    most = larger(max(limits[child], 0), left, packing)
                    if most != limits[child]:
                        limits[child] = most
                        grown[child] = True
                        values.stale[child] = 2
            edge = graph.following[edge]


@compiled
def evaluate(
    graph: Growing, order: Ints, values: Values, weight: float, packing: LimitPacking
) -> None:
    """Compute the values of stale nodes, and of those above that depend on them.

    Nodes that are not near the best program are left out as long as they can only have grown.
    What is not known weighs `weight` in estimates.
    """
    edges = graph.edges
    for position in range(order.shape[0] - 1, -1, -1):
        node = order[position]
        if values.stale[node] == 0 or (values.stale[node] == 1 and values.away[node] >= INFINITE):
            continue
        values.stale[node] = 0
        low, low_edge, high, high_edge = graph.rest[node], -1, INFINITE, -1
        estimate, likely_edge = min(graph.rest[node] * weight, INFINITE), -1
        edge = graph.last[node]
        while edge >= 0:
            if fits(edges.allocation[edge], values.limit[node], packing):
                least = most = likely = edges.own[edge]
                for j in range(edges.first_child[edge], edges.first_child[edge + 1]):
                    child, times = edges.child[j], edges.times[j]
                    least += times * values.low[child]
                    most += times * values.high[child]
                    likely += times * values.estimate[child]
                # of edges that cost the same, the lowest rule comes first; unknown ones before
                if least < low or (
                    least == low and low_edge >= 0 and edges.rule[edge] < edges.rule[low_edge]
                ):
                    low, low_edge = least, edge
                if most < high or (
                    most == high and high_edge >= 0 and edges.rule[edge] < edges.rule[high_edge]
                ):
                    high, high_edge = most, edge
                if likely < estimate:
                    estimate, likely_edge = likely, edge
            edge = graph.following[edge]
        low, high = min(low, INFINITE), min(high, INFINITE)
        complete = known_below(edges, low_edge, values.complete, values.stale)
        settled = known_below(edges, likely_edge, values.settled, values.stale)
        low_peak = high_peak = np.int64(0)
        if low_edge >= 0:
            low_peak = peak_of(edges, low_edge, values.low_peak, packing)
        if high_edge >= 0:
            high_peak = peak_of(edges, high_edge, values.high_peak, packing)
        falls = low < values.low[node] or estimate < values.estimate[node]
        same = (
            low == values.low[node] and complete == values.complete[node]
            and low_peak == values.low_peak[node] and high == values.high[node]
            and high_peak == values.high_peak[node] and estimate == values.estimate[node]
            and settled == values.settled[node]
        )  # fmt: skip
        values.low[node], values.low_edge[node], values.low_peak[node] = low, low_edge, low_peak
        values.high[node], values.high_edge[node] = high, high_edge
        values.high_peak[node] = high_peak
        values.estimate[node] = estimate
        values.complete[node], values.settled[node] = complete, settled
        if not same:
            use = graph.last_use[node]
            while use >= 0:
                user = graph.user[use]
                values.stale[user] = max(values.stale[user], 2 if falls else 1)
                use = graph.following_use[use]


@compiled
def known_below(edges: Hypergraph, edge: int, known: Bools, stale: Ints) -> bool:
    """Whether there is an edge, and all of its children are known and up to date."""
    if edge < 0:
        return False
    for j in range(edges.first_child[edge], edges.first_child[edge + 1]):
        if not known[edges.child[j]] or stale[edges.child[j]] > 0:
            return False
    return True


@compiled
def open_nodes(
    graph: Growing,
    order: Ints,
    values: Values,
    roots: Ints,
    uppers: Floats,
    farthest: float,
    weight: float,
    packing: LimitPacking,
) -> tuple[Ints, Floats]:
    """The nodes with edges to look for, as a program of a root may contain them.

    Programs of each root cost at most its upper bound. An edge is as far away as its estimate
    exceeds that of its node, as a fraction, and a node as the farthest edge on the nearest path to
    it from a root. Only nodes up to `farthest` are visited. Gives them with their distances, those
    of the edges that are not known included, and sets the cutoffs.
    """
    edges = graph.edges
    values.cutoff[order] = -1.0
    values.away[order] = INFINITE
    for i in range(roots.shape[0]):
        values.cutoff[roots[i]], values.away[roots[i]] = uppers[i], 0.0
    nodes = np.empty(order.shape[0], np.int32)
    distance = np.empty(order.shape[0])
    count = 0
    for node in order:
        away = values.away[node]
        if away >= INFINITE:
            continue
        most, estimate = values.cutoff[node] * NEARLY, max(values.estimate[node], 1 / INFINITE)
        rest = graph.rest[node]
        if rest <= most and rest < INFINITE:
            nodes[count], distance[count] = node, max(away, rest * weight / estimate - 1.0)
            if distance[count] <= farthest:
                count += 1
        edge = graph.last[node]
        while edge >= 0:
            if fits(edges.allocation[edge], values.limit[node], packing):
                cost = likely = edges.own[edge]
                for j in range(edges.first_child[edge], edges.first_child[edge + 1]):
                    child, times = edges.child[j], edges.times[j]
                    cost += times * values.low[child]
                    likely += times * values.estimate[child]
                far = max(away, likely / estimate - 1.0)
                if cost <= most and cost < INFINITE and far <= farthest:
                    pass_cutoff_on(edges, edge, values.cutoff[node], cost, values)
                    for j in range(edges.first_child[edge], edges.first_child[edge + 1]):
                        child = edges.child[j]
                        values.away[child] = min(values.away[child], far)
            edge = graph.following[edge]
    return nodes[:count], distance[:count]


@compiled
def pass_cutoff_on(
    edges: Hypergraph, edge: int, cutoff: float, cost: float, values: Values
) -> None:
    """Raise the cutoffs of an edge's children to what its node's leaves; the edge costs `cost`."""
    for j in range(edges.first_child[edge], edges.first_child[edge + 1]):
        child, times = edges.child[j], edges.times[j]
        # A child that runs 0 times (in parallel with others) costs nothing; its cutoff is the
        # parent's, so that it is pruned as well.
        share = cutoff
        if times > 0:
            share = max(share - cost, 0.0) / times + values.low[child]
        values.cutoff[child] = max(values.cutoff[child], share)


@compiled
def edges_within(
    graph: Growing, order: Ints, values: Values, root: int, upper: float, packing: LimitPacking
) -> Bools:
    """Which edges a program of a root may contain that costs at most `upper`; sets the cutoffs."""
    edges = graph.edges
    within = np.zeros(edges.rule.shape[0], np.bool_)
    values.cutoff[order] = -1.0
    values.cutoff[root] = upper
    for node in order:
        if values.cutoff[node] < 0:
            continue
        most = values.cutoff[node] * NEARLY
        edge = graph.last[node]
        while edge >= 0:
            if fits(edges.allocation[edge], values.limit[node], packing):
                cost = edges.own[edge]
                for j in range(edges.first_child[edge], edges.first_child[edge + 1]):
                    cost += edges.times[j] * values.low[edges.child[j]]
                if cost <= most and cost < INFINITE:
                    within[edge] = True
                    pass_cutoff_on(edges, edge, values.cutoff[node], cost, values)
            edge = graph.following[edge]
    return within
