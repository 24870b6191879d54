"""Rewriting keeps what graphs compute, shares what is equal, and ends."""

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from tests.graph.random_graphs import random_graphs

from morello.base.errors import GraphError
from morello.graph.graph import Graph, Node, TensorType, apply, check
from morello.graph.interpreter import evaluate
from morello.graph.operators import Constant, Input, Map
from morello.graph.patterns import RULES
from morello.graph.patterns.matching import Rule
from morello.graph.printing import text
from morello.graph.rewriting import rewritten, simplified

F32 = np.dtype(np.float32)


@settings(max_examples=150, deadline=None, suppress_health_check=[*HealthCheck])
@given(random_graphs())
def test_random_graphs_compute_the_same_after_it(graph: Graph) -> None:
    note(text(graph))
    after = simplified(graph)
    note(text(after))
    check(after)
    assert after.inputs == graph.inputs
    assert [node.type for node in after.outputs] == [node.type for node in graph.outputs]
    generator = np.random.default_rng(0)
    arrays = [generator.uniform(-1, 1, node.shape).astype(F32) for node in graph.inputs]
    for expected, result in zip(evaluate(graph, arrays), evaluate(after, arrays), strict=True):
        scale = np.abs(expected[np.isfinite(expected)], dtype=np.float64).max(initial=1)
        known = np.isfinite(expected)
        np.testing.assert_allclose(result[known], expected[known], 1e-4, 1e-5 * scale)
    again = simplified(after)
    assert len(again.nodes) <= len(after.nodes)


_EVERY_RULE = dict.fromkeys(rule for rules in RULES.values() for rule in rules)


@pytest.mark.parametrize("rule", _EVERY_RULE)
def test_a_rule_shows_what_it_does(rule: Rule) -> None:
    assert "->" in (rule.__doc__ or "")


def test_large_graphs_take_work_in_proportion() -> None:
    calls = [calls_to_simplify(layers) for layers in (200, 400)]
    assert calls[1] < 2.1 * calls[0]


def calls_to_simplify(layers: int) -> int:
    """The calls of functions for a chain of layers that each read the one before three times."""
    x = apply(Input(TensorType((4, 8), F32)))
    node = x
    for _ in range(layers):
        scaled = apply(Map("multiply"), node, apply(Constant(np.full((4, 8), 0.5, F32))))
        node = apply(Map("add"), apply(Map("tanh"), scaled), apply(Map("add"), node, node))
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        after = simplified(Graph((x,), (node,)))
    finally:
        sys.setprofile(None)
    check(after)
    assert len(after.nodes) == layers * 4 + 2
    return calls


def test_inputs_stay_whether_they_are_read_or_not() -> None:
    x, unused = (apply(Input(TensorType((4,), F32))) for _ in range(2))
    unit = apply(Constant(np.ones((), F32)))
    graph = Graph((x, unused), (apply(Map("multiply"), x, unit), x))
    assert simplified(graph) == Graph((x, unused), (x, x))


def test_rules_that_undo_one_another_are_an_error() -> None:
    x = apply(Input(TensorType((4, 8), F32)))
    other = {"exp": "tanh", "tanh": "exp"}

    def swapped(node: Node) -> Node:
        return apply(Map(other[str(node.operator)]), x)

    with pytest.raises(GraphError, match="undo one another"):
        rewritten(Graph((x,), (apply(Map("exp"), x),)), {Map: (swapped,)})


def test_a_rule_may_not_change_the_type() -> None:
    x = apply(Input(TensorType((4, 8), F32)))

    def wrong(node: Node) -> Node:
        return apply(Input(TensorType((8, 4), F32)))

    with pytest.raises(GraphError, match=r"wrong made f32\[8,4\] of f32\[4,8\]"):
        rewritten(Graph((x,), (apply(Map("exp"), x),)), {Map: (wrong,)})


def test_constants_too_large_for_the_free_memory_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("morello.graph.interpreter.allocatable", lambda: 1 << 20)
    numbers = apply(Constant(np.arange(1 << 17, dtype=F32)))
    with pytest.raises(GraphError, match=r"constants of exp takes .*; make them smaller"):
        simplified(Graph((), (apply(Map("exp"), numbers),)))
