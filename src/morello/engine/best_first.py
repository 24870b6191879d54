"""Passes over a graph that a best-first search is growing.

Every node has a list of the edges that are known so far, and a lower bound on all others. Passes
visit the nodes by falling rank, which every edge lowers, or the other way round, and only where
something changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from morello.engine.arrays import INFINITE, Bools, Floats, Ints
from morello.engine.hypergraph import Hypergraph
from morello.engine.limits import LimitPacking
from morello.engine.loops import LOOPS


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
    """The values of the passes, by node; costs ignore limits, except that an edge must fit.

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


def by_falling_rank(order: Ints, new: Ints, rank: Ints) -> Ints:
    """Merge two lists of nodes that are in the order of falling rank."""
    result = np.empty(len(order) + len(new), np.int32)
    LOOPS.by_falling_rank(order, len(order), new, len(new), rank, result)
    return result


def pass_memory_on(
    graph: Growing, order: Ints, grown: Bools, values: Values, packing: LimitPacking
) -> None:
    """Pass on the memory that `grown` nodes leave to their children, and so on downwards.

    Nodes that get more than before become stale: more of their edges may fit.
    """
    LOOPS.pass_memory_on(graph, order, len(order), grown, values, packing)


def evaluate(
    graph: Growing, order: Ints, values: Values, weight: float, packing: LimitPacking
) -> None:
    """Compute the values of stale nodes, and of those above that depend on them.

    Nodes that are not near the best program are left out as long as they can only have grown.
    What is not known weighs `weight` in estimates.
    """
    LOOPS.evaluate(graph, order, len(order), values, weight, packing)


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
    values.cutoff[:], values.away[:] = -1.0, INFINITE
    values.cutoff[roots], values.away[roots] = uppers, 0.0
    nodes, distance = np.empty(len(order), np.int32), np.empty(len(order))
    count = LOOPS.open_nodes(
        graph, order, len(order), values, farthest, weight, packing, nodes, distance
    )
    return nodes[:count], distance[:count]


def edges_within(
    graph: Growing, order: Ints, values: Values, root: int, upper: float, packing: LimitPacking
) -> Bools:
    """Which edges a program of a root may contain that costs at most `upper`; sets the cutoffs."""
    within = np.zeros(len(graph.edges.rule), np.bool_)
    values.cutoff[:] = -1.0
    values.cutoff[root] = upper
    LOOPS.edges_within(graph, order, len(order), values, packing, within)
    return within
