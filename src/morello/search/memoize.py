"""Adds the exact answers of a solved graph to a memo table."""

from __future__ import annotations

import numpy as np

from morello import engine
from morello.ir.placements import Bools, Ints
from morello.memo.answers import ExactAnswers
from morello.memo.space_memo import SpaceMemo
from morello.search.solved_graph import SolvedGraph


def memoize(solved: SolvedGraph, memo: SpaceMemo) -> None:
    """Add every exact answer to the memo: those that cost at most their Spec's cutoff.

    Pruning removes neither a program that costs at most its Spec's cutoff, nor any part of it.
    So the cheapest program found within the cutoff is the cheapest that exists.
    """
    graph = solved.graph
    node, peak, limit, edge, cost = _unlimited_answers(solved)
    limited = _limited_answers(solved)
    node, peak, limit, edge, cost = (
        np.concatenate(columns)
        for columns in zip((node, peak, limit, edge, cost), limited, strict=True)
    )
    rule = np.where(edge >= 0, graph.edges.rule[np.maximum(edge, 0)].astype(np.int64), -1)
    for number, encoding in enumerate(graph.space.encodings):
        if encoding.kind.parallel:
            continue
        rows = np.flatnonzero(graph.nodes.kind[node] == number)
        if len(rows):
            batch = graph.batch(node[rows])
            rules = graph.space.rewrites(encoding.kind)
            answers = ExactAnswers(batch, peak[rows], limit[rows], rule[rows], cost[rows])
            memo.add(answers, rules)


def _unlimited_answers(solved: SolvedGraph) -> tuple[Ints, Ints, Ints, Ints, np.ndarray]:
    """Answers for nodes whose programs no memory limit constrains.

    They hold up to the node's limit in the graph or, if more memory would change nothing, up to
    the target's capacities. Gives nodes, peaks, limits, edges and costs.
    """
    graph, limits = solved.graph, solved.graph.space.limits
    nodes = graph.node_count
    capacity = limits.pack(graph.space.target.limits)
    answered = np.zeros(nodes, np.uint8)
    answered[graph.memoized.spec] = 1
    answered[graph.memoized.spec[limits.fits(capacity, graph.memoized.limit)]] = 2
    low_peak = graph.bounds.low_peak
    keeps = solved.boxes.cost.shape[1]
    cost, edge, peak, lasting = engine.unlimited(
        graph.problem, graph.dropped.lowest_bounds(nodes), answered, graph.nodes.cutoff, keeps
    )
    limit = np.where(lasting == 1, capacity, graph.nodes.limit)
    unlimited = (answered == 0) & (cost[:, 0] < engine.INFINITE)
    # The best decision alone may need less memory than all decisions of an answer, and parents
    # use the best only. So it is an answer of its own.
    alone = np.flatnonzero(unlimited & (peak != low_peak))
    node = np.concatenate([np.flatnonzero(unlimited), alone])
    peak, edge, cost = np.append(peak[unlimited], low_peak[alone]), edge[node], cost[node]
    first = len(node) - len(alone)
    edge[first:, 1:], cost[first:, 1:] = -1, engine.INFINITE
    kept = limits.fits(peak, limit[node])
    return node[kept], peak[kept], limit[node[kept]], edge[kept].astype(np.int64), cost[kept]


def _limited_answers(solved: SolvedGraph) -> tuple[Ints, Ints, Ints, Ints, np.ndarray]:
    """Answers that the engine found under binding memory limits, in the same columns."""
    count, boxes = solved.count, solved.boxes
    cost, edge = boxes.cost[:count], boxes.edge[:count]
    node = solved.box_nodes()
    cutoff = solved.graph.nodes.cutoff[node]
    peak = boxes.peak[:count]
    exact: Bools = cost <= cutoff[:, None]
    edge = np.where(exact, edge, -1).astype(np.int64)
    cost = np.where(exact, cost, engine.INFINITE)
    kept = np.flatnonzero(edge[:, 0] >= 0)
    return node[kept], peak[kept], boxes.limit[kept], edge[kept], cost[kept]
