"""Breadth first, the relaxed space is what it is in waves of falling rank."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from tests.sampling import some
from tests.search.small_goals import GOALS
from tests.search.spaces import space_of

from morello.frontends import parse
from morello.search.expansion import build
from morello.search.graph import SearchGraph
from morello.search.relaxation import RelaxedSpace, relax
from morello.targets import find_target

LARGER = {
    "f32[8,8] @ f32[8,16]": "avx2",
    "u8[2,4] @ i8[4,8]": "avx512",
    "softmax(f32[6,16])": "neon",
    "relu(conv(f32[1,1,4,4], f32[8,1,3,3], padding=1))": "avx512",
}
CASES = {name: GOALS[name] for name in some(GOALS, 12)} | {
    text: (parse(text), find_target(name)) for text, name in LARGER.items()
}


def in_breadth(relaxed: RelaxedSpace) -> tuple[dict[object, object], Counter[object]]:
    """The limits and bounds of all Specs, and all edges that fit, however both are numbered."""
    fits, limit, low = relaxed.space.limits.fits, relaxed.limit.tolist(), relaxed.low.tolist()
    specs = {
        node: (kind, key)
        for kind, (keys, nodes) in relaxed.specs.items()
        for key, node in zip(keys.tolist(), nodes.tolist(), strict=True)
    }
    first, end, slot, rule, arity, own, allocation, child, times = (
        column.tolist() for column in relaxed.graph
    )
    edges: Counter[object] = Counter()
    for node, spec in specs.items():
        last = slot[node]
        for edge in range(first[node], end[node]):
            slots = range(last, last := last + arity[edge])
            if fits(allocation[edge], limit[node]):
                children = tuple((specs[child[n]], times[n]) for n in slots)
                edges[spec, rule[edge], own[edge], allocation[edge], children] += 1
    return {spec: (limit[node], low[node]) for node, spec in specs.items()}, edges


def in_waves(graph: SearchGraph) -> tuple[dict[object, object], Counter[object]]:
    """The same of a graph."""
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
    space = space_of(goal, target, relaxed=True)
    assert in_breadth(relax(space)) == in_waves(build(space))


def test_only_what_exceeds_a_limit_has_no_bound() -> None:
    goal, target = CASES["f32[8,8] @ f32[8,16]"]
    relaxed = relax(space_of(goal, target, relaxed=True))
    limits, graph = relaxed.space.limits, relaxed.graph
    nodes = np.concatenate([part for _, part in relaxed.specs.values()])
    edges = np.concatenate([np.arange(graph.first_edge[n], graph.end_edge[n]) for n in nodes])
    left = np.repeat(relaxed.limit[nodes], (graph.end_edge - graph.first_edge)[nodes])
    fit = limits.fits(graph.allocation[edges], left)
    assert np.count_nonzero(~np.asarray(fit)) > 100
    assert np.array_equal(relaxed.bound[edges] > 0, fit)
