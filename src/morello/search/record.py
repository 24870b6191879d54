"""Recording the exact answers of a solved graph in a memo table."""

from __future__ import annotations

import numpy as np

from morello import engine
from morello.ir.placements import Bools, Ints
from morello.memo.memory import Answers, SpaceMemo
from morello.search.answer import Answer


def record(answer: Answer, memory: SpaceMemo) -> None:
    """Add every exact answer to the memory: those that cost at most their Spec's budget.

    Pruning removes neither a program that costs at most its Spec's budget, nor any part of it.
    So the cheapest program found within the budget is the cheapest that exists.
    """
    graph = answer.graph
    node, peak, limit, edge, cost = _unlimited_answers(answer)
    boxed = _limited_answers(answer)
    node, peak, limit, edge, cost = (
        np.concatenate(columns)
        for columns in zip((node, peak, limit, edge, cost), boxed, strict=True)
    )
    rule = np.where(edge >= 0, graph.rule[np.maximum(edge, 0)].astype(np.int64), -1)
    for number, family in enumerate(graph.space.families):
        if family.kind.parallel:
            continue
        rows = np.flatnonzero(graph.families[node] == number)
        if len(rows):
            batch = graph.batch(node[rows])
            rules = graph.space.rewrites(family.kind)
            answers = Answers(batch, peak[rows], limit[rows], rule[rows], cost[rows])
            memory.add(answers, rules)


def _unlimited_answers(answer: Answer) -> tuple[Ints, Ints, Ints, Ints, np.ndarray]:
    """Answers for nodes whose programs no memory limit constrains.

    They hold up to the node's limit in the graph or, if more memory would change nothing, up to
    the target's capacities. Gives nodes, peaks, limits, edges and costs.
    """
    graph, limits = answer.graph, answer.graph.space.limits
    nodes = len(graph.keys)
    capacity = limits.pack(graph.space.target.limits)
    answered = np.zeros(nodes, np.uint8)
    answered[graph.known.spec] = 1
    answered[graph.known.spec[limits.fits(capacity, graph.known.limit)]] = 2
    low_peak = graph.bounds.low_peak
    keeps = answer.boxes.cost.shape[1]
    cost, edge, peak, free = engine.unlimited(
        graph.problem, graph.dropped.least(nodes), answered, graph.budget, keeps
    )
    limit = np.where(free == 1, capacity, graph.limit)
    solved = (answered == 0) & (cost[:, 0] < engine.INFINITE)
    # The best decision alone may need less memory than all decisions of an answer, and parents
    # use the best only. So it is an answer of its own.
    alone = np.flatnonzero(solved & (peak != low_peak))
    node = np.concatenate([np.flatnonzero(solved), alone])
    peak, edge, cost = np.append(peak[solved], low_peak[alone]), edge[node], cost[node]
    first = len(node) - len(alone)
    edge[first:, 1:], cost[first:, 1:] = -1, engine.INFINITE
    kept = limits.fits(peak, limit[node])
    return node[kept], peak[kept], limit[node[kept]], edge[kept].astype(np.int64), cost[kept]


def _limited_answers(answer: Answer) -> tuple[Ints, Ints, Ints, Ints, np.ndarray]:
    """Answers that the engine found under binding memory limits, in the same columns."""
    count, boxes = answer.count, answer.boxes
    cost, edge = boxes.cost[:count], boxes.edge[:count]
    node = answer.box_nodes()
    budget = answer.graph.budget[node]
    peak = boxes.peak[:count]
    exact: Bools = cost <= budget[:, None]
    edge = np.where(exact, edge, -1).astype(np.int64)
    cost = np.where(exact, cost, engine.INFINITE)
    kept = np.flatnonzero(edge[:, 0] >= 0)
    return node[kept], peak[kept], boxes.limit[kept], edge[kept], cost[kept]
