"""Lower bounds of all nodes of a hypergraph that is expanded without pruning.

Every node is expanded once, and its edges are kept together, in the order of expansion. Memory
limits depend on all parents of a node, so they are applied when everything is expanded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from morello.base.jit import compiled
from morello.engine.arrays import INFINITE, Floats, Ints
from morello.engine.limits import LimitPacking, fits, larger

_ROUNDING = 1 - 2.0**-20
"""A factor just below 1, so that no bound of an edge exceeds the exact one when it is rounded to
single precision."""


class Unsorted(NamedTuple):
    """Edges of some nodes in any order.

    By edge: the row of its node, its rule, how many children it has, its own cost, and its
    allocation. By child, in the order of the edges: its kind, and how many times it runs.
    """

    row: Ints
    rule: Ints
    arity: Ints
    own: Floats
    allocation: Ints
    kind: Ints
    times: Ints


class ByNode(NamedTuple):
    """Edges of some nodes, sorted by node.

    By node: how many edges, and how many children it has. By edge and by child as in `Unsorted`.
    `position` has the children of kind 0, then of kind 1, and so on: kind k's start at
    `first[k]`. `source` gives where each of those was in `Unsorted`.
    """

    edges: Ints
    children: Ints
    rule: Ints
    arity: Ints
    own: Floats
    allocation: Ints
    times: Ints
    first: Ints
    position: Ints
    source: Ints


class Expanded(NamedTuple):
    """A hypergraph, whose edges are sorted by node in the order of expansion.

    By node: the first of its edges and of their children, and where its edges end. By edge: its
    rule, how many children it has, its own cost, and its allocation. By child: its node, and how
    many times it runs.
    """

    first_edge: Ints
    end_edge: Ints
    first_child: Ints
    rule: Ints
    arity: Ints
    own: Floats
    allocation: Ints
    child: Ints
    times: Ints


@compiled
def by_node(given: Unsorted, nodes: int, kinds: int, limit: int, packing: LimitPacking) -> ByNode:
    """The edges that fit a limit, sorted by node, and their children by kind."""
    row, arity = given.row, given.arity
    edges, children = np.zeros(nodes + 1, np.int32), np.zeros(nodes + 1, np.int32)
    for e in range(row.shape[0]):
        if fits(given.allocation[e], limit, packing):
            edges[row[e] + 1] += 1
            children[row[e] + 1] += arity[e]
    next_edge, next_child = np.cumsum(edges), np.cumsum(children)
    edge_count, child_count = next_edge[-1], next_child[-1]
    result = ByNode(
        edges[1:], children[1:], np.empty(edge_count, np.uint8), np.empty(edge_count, np.uint8),
        np.empty(edge_count), np.empty(edge_count, np.int64), np.empty(child_count, np.int32),
        np.zeros(kinds + 1, np.int32), np.empty(child_count, np.int32),
        np.empty(child_count, np.int32),
    )  # fmt: skip
    target = np.full(given.kind.shape[0], -1, np.int32)
    j = 0
    for e in range(row.shape[0]):
        end = j + arity[e]
        if fits(given.allocation[e], limit, packing):
            to = next_edge[row[e]]
            next_edge[row[e]] += 1
            result.rule[to], result.arity[to] = given.rule[e], arity[e]
            result.own[to], result.allocation[to] = given.own[e], given.allocation[e]
            to = next_child[row[e]]
            next_child[row[e]] += arity[e]
            for k in range(j, end):
                result.times[to] = given.times[k]
                result.first[given.kind[k] + 1] += 1
                target[k] = to
                to += 1
        j = end
    for kind in range(kinds):
        result.first[kind + 1] += result.first[kind]
    fill = result.first[:-1].copy()
    for k in range(target.shape[0]):
        if target[k] >= 0:
            i = fill[given.kind[k]]
            fill[given.kind[k]] += 1
            result.position[i], result.source[i] = target[k], k
    return result


@compiled
def memory_left(
    graph: Expanded, order: Ints, roots: Ints, limit: int, packing: LimitPacking
) -> Ints:
    """The memory that is left for every node, -1 for those that no edge which fits leads to.

    All of `limit` is left for the roots. What an edge leaves, is left for its children; of the
    amounts that several edges leave for one node, the largest counts, level by level. `order` has
    every node before its children.
    """
    limits = np.full(order.shape[0], -1, np.int64)
    limits[roots] = limit
    for node in order:
        if limits[node] < 0:
            continue
        j = graph.first_child[node]
        for e in range(graph.first_edge[node], graph.end_edge[node]):
            end = j + graph.arity[e]
            if fits(graph.allocation[e], limits[node], packing):
                left = limits[node] - graph.allocation[e]
                for k in range(j, end):
                    child = graph.child[k]
                    limits[child] = larger(max(limits[child], 0), left, packing)
            j = end
    return limits


@compiled
def least_costs(
    graph: Expanded, order: Ints, limits: Ints, packing: LimitPacking
) -> tuple[Floats, Floats]:
    """Lower bounds on the costs of all nodes, and of all edges in single precision.

    An edge that exceeds its node's limit has the bound 0, and is in no program. A node without
    edges has the bound `INFINITE`, and one without a limit has none. Raises `ValueError` unless
    `order` has every node before its children.
    """
    low = np.full(order.shape[0], np.nan)
    bound = np.zeros(graph.rule.shape[0], np.float32)
    for node in order[::-1]:
        if limits[node] < 0:
            continue
        lowest = INFINITE
        j = graph.first_child[node]
        for e in range(graph.first_edge[node], graph.end_edge[node]):
            end = j + graph.arity[e]
            if fits(graph.allocation[e], limits[node], packing):
                cost = graph.own[e]
                for k in range(j, end):
                    cost += graph.times[k] * low[graph.child[k]]
                if np.isnan(cost):
                    raise ValueError("a child comes before its parent")
                bound[e] = cost * _ROUNDING if cost < INFINITE else INFINITE
                lowest = min(lowest, cost)
            j = end
        low[node] = lowest
    return low, bound


@compiled
def edges_of_groups(
    graph: Expanded, bound: Floats, start: Ints, members: Ints
) -> tuple[Ints, Ints, Floats]:
    """The edges of groups of nodes: where each group's start, their rules, and their bounds.

    `start` and `members` are the nodes by group (see `by_group`).
    """
    starts = np.zeros(start.shape[0], np.int32)
    for group in range(start.shape[0] - 1):
        starts[group + 1] = starts[group]
        for node in members[start[group] : start[group + 1]]:
            starts[group + 1] += graph.end_edge[node] - graph.first_edge[node]
    rules, bounds = np.empty(starts[-1], graph.rule.dtype), np.empty(starts[-1], bound.dtype)
    to = 0
    for node in members:
        for e in range(graph.first_edge[node], graph.end_edge[node]):
            rules[to], bounds[to] = graph.rule[e], bound[e]
            to += 1
    return starts, rules, bounds
