"""The engine against plain recursion, on random graphs that mean nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from morello import engine
from morello.engine.limits import Limits

Amounts = tuple[int, ...]


@dataclass(frozen=True)
class Edge:
    parent: int
    own: float
    allocation: Amounts
    children: tuple[tuple[int, int], ...]  # a node, and how many times


@dataclass(frozen=True)
class Case:
    nodes: int
    edges: tuple[Edge, ...]
    limits: Amounts


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Graphs whose edges lead to higher nodes only, with limits from tight to the largest."""
    levels = draw(st.integers(1, 4))
    largest = Limits((0,) * levels).largest
    limit = st.integers(0, 12) | st.integers(largest - 3, largest)
    limits = tuple(draw(limit) for _ in range(levels))
    nodes = draw(st.integers(1, 8))
    edges = []
    for parent in range(nodes):
        for _ in range(draw(st.integers(0, 4))):
            held = tuple(draw(st.integers(0, min(n, 6)) | st.integers(0, n)) for n in limits)
            child = st.integers(parent + 1, nodes - 1)
            many = st.lists(st.tuples(child, st.integers(1, 3)), max_size=3)
            children = draw(many) if parent + 1 < nodes else []
            edges.append(Edge(parent, float(draw(st.integers(0, 9))), held, tuple(children)))
    return Case(nodes, tuple(edges), limits)


def brute(case: Case, node: int, limits: Amounts) -> float:
    """The least cost of a node, tried edge by edge."""
    best = inf
    for edge in case.edges:
        left = tuple(n - a for n, a in zip(limits, edge.allocation, strict=True))
        if edge.parent == node and min(left) >= 0:
            best = min(best, edge.own + sum(t * brute(case, c, left) for c, t in edge.children))
    return best


def solve(
    case: Case, keeps: int = 1, room: int = 1 << 12, stride: int = 1 << 20
) -> tuple[list[float], float]:
    """The engine's best costs of node 0, and what the best would be without limits."""
    limits = Limits(case.limits)
    edges = case.edges
    slots = [slot for edge in edges for slot in edge.children]
    first_child = np.cumsum([0, *(len(edge.children) for edge in edges)]).astype(np.int32)
    own = np.array([edge.own for edge in edges], np.float64)
    allocation = np.array([limits.pack(edge.allocation) for edge in edges], np.int64)
    parent = np.array([edge.parent for edge in edges], np.int32)
    child = np.array([c for c, _ in slots], np.int32)
    times = np.array([t for _, t in slots], np.int32)
    rules = np.zeros(len(parent), np.uint8)
    graph = engine.Hypergraph(parent, rules, own, allocation, first_child, child, times)
    costs, peaks = np.full(case.nodes, engine.INFINITE), np.zeros(case.nodes, np.int64)
    bounds = engine.bounds(graph, costs, peaks, limits.packing)
    problem = engine.Problem(graph, bounds, limits.packing)
    depth = case.nodes + 1
    boxes = engine.Boxes(
        np.zeros(2, np.int64), np.full(case.nodes, -1, np.int32), np.empty(room, np.int32),
        np.empty((room, keeps)), np.empty((room, keeps), np.int32),
        np.empty(room, np.int64), np.empty(room, np.int64),
    )  # fmt: skip
    stack = engine.stack(problem, 0, limits.pack(case.limits), depth, keeps)
    missed = np.zeros(case.nodes, np.uint8)
    upto = stride
    while not engine.solve(problem, boxes, stack, missed, upto):
        assert boxes.counts[engine.TRIED] == upto
        upto += stride
    assert 0 < boxes.counts[engine.FILLED] <= room
    assert not missed.any()
    return boxes.cost[boxes.head[0]].tolist(), float(bounds.low[0])


def finite(cost: float) -> float:
    return inf if cost >= engine.INFINITE else cost


@given(cases())
@settings(max_examples=400)
def test_the_engine_finds_what_recursion_finds(case: Case) -> None:
    (cost,), low = solve(case)
    wanted = brute(case, 0, case.limits)
    assert finite(cost) == wanted
    assert finite(low) <= wanted


@given(cases(), st.integers(1, 3), st.integers(1, 3))
def test_a_search_may_stop_and_go_on(case: Case, keeps: int, stride: int) -> None:
    assert solve(case, keeps, stride=stride) == solve(case, keeps)


@given(cases())
@settings(max_examples=100)
def test_the_bound_is_the_truth_where_nothing_is_limited(case: Case) -> None:
    free = Case(
        case.nodes,
        tuple(Edge(e.parent, e.own, (0,) * len(e.allocation), e.children) for e in case.edges),
        case.limits,
    )
    (cost,), low = solve(free)
    assert cost == low
    assert finite(low) == brute(free, 0, free.limits)


def test_peaks_beyond_a_field_fit_nowhere() -> None:
    """Three rewrites, one inside the other, that each take all there is of one level."""
    most = Limits((0, 0, 0)).largest
    held = (most, 0, 0)
    edges = (
        Edge(0, 0.0, (0, 0, 0), ((1, 1),)),
        Edge(1, 0.0, held, ((2, 1),)),
        Edge(2, 0.0, held, ((3, 1),)),
        Edge(3, 1.0, held, ()),
    )
    (cost,), _ = solve(Case(4, edges, (most, 5, 5)))
    assert finite(cost) == inf


@given(cases(), st.integers(2, 4))
def test_the_best_decisions_are_those_of_recursion(case: Case, keeps: int) -> None:
    costs, _ = solve(case, keeps)
    wanted = []
    for edge in case.edges:
        left = tuple(n - a for n, a in zip(case.limits, edge.allocation, strict=True))
        if edge.parent == 0 and min(left) >= 0:
            wanted.append(edge.own + sum(t * brute(case, c, left) for c, t in edge.children))
    wanted = sorted(cost for cost in wanted if cost < inf)[:keeps]
    assert [cost for cost in costs if finite(cost) < inf] == wanted


def test_of_edges_that_cost_the_same_the_lowest_rule_comes_first() -> None:
    cost, rules = np.array([2.0, 1.0, 2.0, 1.0, 1.0]), np.array([0, 7, 3, 2, 5], np.uint8)
    none = np.zeros(6, np.int32)
    graph = engine.Hypergraph(
        none[:5], rules, cost, np.zeros(5, np.int64), none, none[:0], none[:0]
    )
    unknown, peaks = np.full(1, engine.INFINITE), np.zeros(1, np.int64)
    bounds = engine.bounds(graph, unknown, peaks, Limits((1, 1)).packing)
    assert bounds.order.tolist() == [3, 4, 1, 0, 2]
    assert (bounds.low_edge[0], bounds.low[0]) == (3, 1.0)
