"""Graphs of programs: one node a step, edges as the Impl has them, and costs that add up."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rewrites.rewritten import SEARCH_ONLY, kinds

from morello.frontends.text import parse
from morello.learn.features import (
    KERNEL_FEATURES,
    NODE_FEATURES,
    OPCODES,
    REWRITES,
    TERMS,
    Featurizer,
    ProgramGraph,
)
from morello.rewrites import Select, Tile
from morello.rewrites.impl import Impl
from morello.search.reconstruct import reconstruct
from morello.search.sample import sample
from morello.search.solve import search
from morello.targets.catalog import find_target
from morello.targets.target import Target

EXPRESSIONS = (
    "f32[24,40] @ f32[40,48]",
    "softmax(f32[4,96])",
    "relu(f32[16,32] @ f32[32,16] + f32[16])",
    "conv(f32[1,8,10,10], f32[16,8,3,3])",
    "bf16[16,32] @ bf16[32,32]",
    "max(f32[16,64], axis=0)",
)


def programs(target: Target, expression: str, count: int = 5) -> list[Impl]:
    goal = parse(expression)
    found = search(goal, target)
    drawn = sample(goal, target, found.cost, count)
    return [reconstruct(goal, target, one) for one in (found.decisions, *drawn)]


@pytest.fixture(params=["avx2", "avx512"])
def target(request: pytest.FixtureRequest) -> Target:
    return find_target(request.param)


def test_all_rewrites_have_an_opcode() -> None:
    assert set(REWRITES) == kinds() - {"Select"} - SEARCH_ONLY
    assert len(set(OPCODES)) == len(OPCODES)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_graphs_are_the_programs(target: Target, expression: str) -> None:
    featurizer = Featurizer(target)
    for impl in programs(target, expression):
        graph = featurizer.graph(impl)
        steps = list(impl.walk())
        assert graph.nodes.shape == (len(steps), len(NODE_FEATURES))
        assert graph.kernel.shape == (len(KERNEL_FEATURES),) and np.isfinite(graph.kernel).all()
        assert np.isfinite(graph.nodes).all() and np.abs(graph.nodes).max() < 1e3
        assert graph.terms.sum() == pytest.approx(impl.cost, rel=1e-6)
        assert (graph.terms >= 0).all() and len(graph.terms) == len(TERMS)
        inner = [pair[1] for pair in graph.nesting.tolist()]
        assert sorted(inner) == list(range(1, len(steps)))  # a tree whose root is the first
        assert all(a < b for a, b in graph.nesting.tolist() + graph.flow.tolist())
        for step, opcode in zip(steps, graph.opcodes.tolist(), strict=True):
            if not isinstance(step.rewrite, Select):
                assert OPCODES[opcode] == type(step.rewrite).__name__
        column = graph.nodes[:, NODE_FEATURES.index("own_share")]
        assert column.sum() == pytest.approx(1.0, rel=1e-4)


def column(graph: ProgramGraph, name: str) -> list[float]:
    values: list[float] = graph.nodes[:, NODE_FEATURES.index(name)].tolist()
    return values


def test_loops_tell_their_trips_and_what_they_move(target: Target) -> None:
    (impl, *_) = programs(target, EXPRESSIONS[0], 1)
    graph = Featurizer(target).graph(impl)
    loops = [
        (n, step) for n, step in enumerate(impl.walk())
        if isinstance(step.rewrite, Tile) and step.spec.operation.name.startswith("Matmul")
    ]  # fmt: skip
    assert loops
    for n, step in loops:
        assert isinstance(step.rewrite, Tile)
        assert 2 ** column(graph, "trips")[n] - 1 == pytest.approx(step.children[0].times)
        moves = [column(graph, f"moves_{operand}")[n] for operand in range(3)]
        assert moves == {"m": [1, 0, 1], "n": [0, 1, 1]}[step.rewrite.dim]


def test_a_copy_is_read_by_what_follows_it(target: Target) -> None:
    (impl, *_) = programs(target, "softmax(f32[4,96])", 1)
    graph = Featurizer(target).graph(impl)
    assert len(graph.flow) > 0
    parent = {b: a for a, b in graph.nesting.tolist()}
    assert all(parent[a] == parent[b] for a, b in graph.flow.tolist())
