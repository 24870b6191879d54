"""Lower bounds of all nodes of a hypergraph that is expanded without pruning.

Every node is expanded once, and its edges are kept together, in the order of expansion. Memory
limits depend on all parents of a node, so they are applied when everything is expanded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from morello.engine.arrays import Floats, Ints
from morello.engine.limits import LimitPacking
from morello.engine.loops import LOOPS
from morello.engine.recorded import RecordedEdges


class ByNode(NamedTuple):
    """Edges of some nodes, sorted by node.

    By node: how many edges, and how many children it has. By edge as in `Recorded`. By child: how
    many times it runs, and its node.
    """

    edges: Ints
    children: Ints
    rule: Ints
    arity: Ints
    own: Floats
    allocation: Ints
    times: Ints
    child: Ints


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


def by_node(
    given: RecordedEdges, child: Ints, nodes: int, limit: int, packing: LimitPacking
) -> ByNode:
    """The edges that fit a limit, sorted by node, which is their row; `child` as of `Reached`."""
    edges, slots = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32)
    LOOPS.count_by_node(given.struct, limit, packing, edges, slots)
    next_edge = np.cumsum(edges, dtype=np.int32) - edges
    next_slot = np.cumsum(slots, dtype=np.int32) - slots
    edge_count, slot_count = int(edges.sum()), int(slots.sum())
    result = ByNode(
        edges, slots, np.empty(edge_count, np.uint8), np.empty(edge_count, np.uint8),
        np.empty(edge_count), np.empty(edge_count, np.int64), np.empty(slot_count, np.int32),
        np.empty(slot_count, np.int32),
    )  # fmt: skip
    LOOPS.by_node(given.struct, child, limit, packing, next_edge, next_slot, result)
    return result


def memory_left(
    graph: Expanded, order: Ints, roots: Ints, limit: int, packing: LimitPacking
) -> Ints:
    """The memory that is left for every node, -1 for those that no edge which fits leads to.

    All of `limit` is left for the roots. What an edge leaves, is left for its children; of the
    amounts that several edges leave for one node, the largest counts, level by level. `order` has
    every node before its children.
    """
    limits = np.full(len(order), -1, np.int64)
    limits[roots] = limit
    LOOPS.memory_left(graph, order, len(order), packing, limits)
    return limits


def least_costs(
    graph: Expanded, order: Ints, limits: Ints, packing: LimitPacking
) -> tuple[Floats, Floats]:
    """Lower bounds on the costs of all nodes, and of all edges in single precision.

    An edge that exceeds its node's limit has the bound 0, and is in no program. A node without
    edges has the bound `INFINITE`, and one without a limit has none. Raises `ValueError` unless
    `order` has every node before its children.
    """
    low, bound = np.full(len(order), np.nan), np.zeros(len(graph.rule), np.float32)
    if not LOOPS.least_costs(graph, order, len(order), limits, packing, low, bound):
        raise ValueError("a child comes before its parent")
    return low, bound


def edges_of_groups(
    graph: Expanded, bound: Floats, start: Ints, members: Ints
) -> tuple[Ints, Ints, Floats]:
    """The edges of groups of nodes: where each group's start, their rules, and their bounds.

    `start` and `members` are the nodes by group (see `by_group`).
    """
    counts = (graph.end_edge - graph.first_edge)[members]
    ends = np.concatenate([np.zeros(1, np.int32), np.cumsum(counts, dtype=np.int32)])
    rules, bounds = np.empty(ends[-1], np.uint8), np.empty(ends[-1], np.float32)
    LOOPS.edges_of_nodes(graph, bound, members, len(members), rules, bounds)
    return ends[start], rules, bounds
