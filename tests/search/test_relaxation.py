"""Breadth first, the relaxed space is what it is in waves of falling rank."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from tests.search.small_goals import GOALS

from morello.frontends import parse
from morello.rewrites import expand
from morello.search.expansion import build
from morello.search.graph import SearchGraph
from morello.search.relaxation import relax
from morello.space.kind import Kind
from morello.space.space import Space, goal_sizes
from morello.targets import find_target

LARGER = {
    "f32[8,8] @ f32[8,16]": "avx2",
    "u8[2,4] @ i8[4,8]": "avx512",
    "softmax(f32[6,16])": "neon",
    "relu(conv(f32[1,1,4,4], f32[8,1,3,3], padding=1))": "avx512",
}
CASES = {name: GOALS[name] for name in [*GOALS][::2]} | {
    text: (parse(text), find_target(name)) for text, name in LARGER.items()
}


def described(graph: SearchGraph) -> tuple[dict[object, object], Counter[object]]:
    """The limits and bounds of all Specs, and all edges, however both are numbered."""
    nodes = list(zip(graph.nodes.kind.tolist(), graph.nodes.key.tolist(), strict=True))
    labels = zip(graph.nodes.limit.tolist(), graph.bounds.low.tolist(), strict=True)
    parent, rule, own, allocation, first_child, child, times = (c.tolist() for c in graph.edges)
    children = [
        tuple((nodes[child[slot]], times[slot]) for slot in range(first, last))
        for first, last in pairwise(first_child)
    ]
    parents = [nodes[number] for number in parent]
    edges = zip(parents, rule, own, allocation, children, strict=True)
    return dict(zip(nodes, labels, strict=True)), Counter(edges)


@pytest.mark.parametrize("name", CASES)
def test_both_reach_the_same(name: str) -> None:
    goal, target = CASES[name]
    space = Space([(goal,)], target, goal_sizes([(goal,)], target), relaxed=True)
    graph, waves = relax(space), build(space)
    assert described(graph) == described(waves)
    assert graph.node_count == waves.node_count
    assert graph.spec(0) == waves.spec(0)


def test_only_what_exceeds_a_limit_is_dropped() -> None:
    goal, target = CASES["f32[8,8] @ f32[8,16]"]
    graph = relax(Space([(goal,)], target, goal_sizes([(goal,)], target), relaxed=True))
    space, dropped = graph.space, graph.dropped
    assert len(dropped.parent) > 100
    for parent, rule in list(zip(dropped.parent.tolist(), dropped.rule.tolist(), strict=True))[::9]:
        batch = graph.batch(np.array([parent]))
        (edges,) = expand(space.rewrites(Kind.of(batch))[rule], batch, target)
        needed = space.limits.column(edges.allocation, 1)
        assert not np.any(space.limits.fits(needed, graph.nodes.limit[parent]))
