"""Directed hypergraphs in flat arrays, and passes over all of their nodes.

A node is a Spec; an edge is a rewrite of it, with its own cost, an allocation, and children with
multiplicities: cost(edge) = own + sum(times * cost(child)), and its peak is its allocation plus
its children's largest. Edges lead to higher node numbers only.

Amounts of memory are packed integers with a field for each level (see `Limits`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from morello.engine.arrays import INFINITE, Floats, Ints
from morello.engine.groups import by_group
from morello.engine.limits import LimitPacking
from morello.engine.loops import LOOPS


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


def bounds(
    graph: Hypergraph, memoized_cost: Floats, memoized_peak: Ints, packing: LimitPacking
) -> Bounds:
    """The bounds of all nodes of a graph.

    Nodes without edges may have a memoized answer; the memoized cost of all others is INFINITE.
    """
    nodes = len(memoized_cost)
    start, order = by_group(graph.parent, nodes)
    result = Bounds(
        start, order, np.empty(len(order)), memoized_cost.copy(), memoized_peak.copy(),
        np.full(nodes, -1, np.int32),
    )  # fmt: skip
    LOOPS.bounds(graph, nodes, packing, *result)
    return result


def most_memory(problem: Problem) -> Ints:
    """For every node, the most memory that any of its programs holds at a time."""
    most = np.zeros(len(problem.bounds.low), np.int64)
    LOOPS.most_memory(problem, len(most), most)
    return most


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
    nodes = len(problem.bounds.low)
    cost, edge = np.full((nodes, keeps), INFINITE), np.full((nodes, keeps), -1, np.int32)
    peaks, lasting = np.zeros(nodes, np.int64), np.zeros(nodes, np.uint8)
    LOOPS.unlimited(
        problem, nodes, dropped, answered, cutoff, keeps, problem.bounds.low.copy(), cost, edge,
        peaks, lasting,
    )  # fmt: skip
    return cost, edge, peaks, lasting
