"""Inputs of compiled graphs that might be constant, and segments that are given their constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morello.graph.graph import Graph
from morello.graph.interpreter import evaluate
from morello.graph.operators import Constant
from morello.importers.text import graph_of
from morello.memo.program_table import ProgramTable
from morello.models import compile_graph
from morello.models.constants import weights_among, with_constants, with_given_constants

OPTIONS: Any = {"budget": 0.1, "gap": 1.0, "fuse_seconds": 0.0, "table": ProgramTable(":memory:")}

LAYERS = "relu(f32[8,32] @ f32[32,48] + f32[48]) @ f32[48,16]"


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        (LAYERS, {1, 2, 3}),
        ("f32[8,32] @ f32[32,48] + f32[8,48]", {1}),
        ("f32[8,32] @ transpose(f32[16,32])", {1}),
        ("softmax(f32[8,32] + f32[32])", set()),
    ],
)
def test_weights_are_second_factors_and_vectors_beside_them(text: str, weights: set[int]) -> None:
    graph = graph_of(text)
    model = compile_graph(graph, **OPTIONS)
    assert weights_among(model, graph.inputs) == {graph.inputs[n] for n in weights}
    assert weights_among(model, graph.inputs[:1]) == set()


def arrays_of(graph: Graph) -> list[Any]:
    random = np.random.default_rng(0)
    return [random.standard_normal(node.shape, np.float32) for node in graph.inputs]


def test_inputs_become_constants() -> None:
    graph = graph_of(LAYERS)
    arrays = arrays_of(graph)
    constant = with_constants(graph, dict(zip(graph.inputs[1:], arrays[1:], strict=True)))
    assert constant.inputs == graph.inputs[:1]
    (result,), (expected,) = evaluate(constant, arrays[:1]), evaluate(graph, arrays)
    np.testing.assert_array_equal(result, expected)


def test_a_segment_takes_what_were_its_constants() -> None:
    graph = graph_of(LAYERS)
    x, *weights = arrays_of(graph)
    constant = with_constants(graph, dict(zip(graph.inputs[1:], weights, strict=True)))
    (segment,) = compile_graph(constant, **OPTIONS).segments
    given = with_given_constants(segment)
    assert not any(
        isinstance(view.base.operator, Constant)
        for call in given.segment.calls
        for view in call.inputs
    )
    (result,) = given.segment(x, *given.constants)
    np.testing.assert_array_equal(result, segment(x)[0])
    (other,) = given.segment(x, *(2 * each for each in given.constants))
    (expected,) = evaluate(graph, [x, *(2 * each for each in weights)])
    np.testing.assert_allclose(other, expected, 1e-4, 1e-4)
