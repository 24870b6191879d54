"""Graphs of text: they compute what the Spec of the text does."""

import numpy as np
import pytest

from morello.base.errors import GraphError
from morello.frontends import parse
from morello.graph.graph import check
from morello.graph.interpreter import evaluate
from morello.graph.partition import by_rule
from morello.importers.text import graph_of
from morello.ir.semantics import evaluate as evaluate_operation


@pytest.mark.parametrize(
    "text",
    [
        "x = f32[8,4]; relu(x @ f32[4,8] + f32[8]) @ x",
        "f32[4,8]{0,1} @ transpose(f32[16,8])",
        "layer_norm(f32[3,8], f32[8], f32[8]) * 2",
        "attention(f32[8,4], f32[6,4], f32[6,5])",
        "relu(conv(f32[1,4,8,8], f32[4,4,3,3], padding=1))",
        "max(cast(bf16[4,4] @ bf16[4,8], bf16), axis=0)",
    ],
)
def test_a_graph_computes_what_its_text_says(text: str) -> None:
    graph, spec = graph_of(text), parse(text)
    check(graph)
    generator = np.random.default_rng(0)
    stored = [generator.uniform(-1, 1, node.shape) for node in graph.inputs]
    # an input of another layout is given as it lies in memory
    layouts = [spec.placements[number].layout for number in spec.arrays.values()]
    logical = [a.transpose(np.argsort(p.order)) for a, p in zip(stored, layouts, strict=False)]
    (expected,) = evaluate_operation(spec.operation, spec.per_operand(logical), spec.sizes)
    np.testing.assert_allclose(evaluate(graph, stored)[0], expected, 1e-9, 1e-9)


PRODUCT = "f32[2,4] @ f32[4,4]"


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        (
            "relu(f32[4,4] @ f32[4,4]) @ f32[4,4]",
            ["relu(f32[4,4] @ f32[4,4])", "f32[4,4] @ f32[4,4]"],
        ),
        ("exp(relu(f32[4,4]))", ["exp(relu(f32[4,4]))"]),
        ("relu(f32[4,4]) @ f32[4,4]", ["relu(f32[4,4])", "f32[4,4] @ f32[4,4]"]),
        ("softmax(f32[4,4] @ f32[4,4] * 2)", ["f32[4,4] @ f32[4,4] * 2", "softmax(f32[4,4])"]),
        (
            "f32[4,4] @ transpose(f32[4,4] @ f32[4,4])",
            ["f32[4,4] @ f32[4,4]", "f32[4,4] @ f32[4,4]{0,1}"],
        ),
        ("transpose(f32[4,4] @ f32[4,4])", ["f32[4,4] @ f32[4,4] -> f32[4,4]{0,1}"]),
        (
            "x = f32[4,4] @ f32[4,4]; x * sigmoid(x)",
            ["t2 = f32[4,4] @ f32[4,4]; t2 * sigmoid(t2)"],
        ),
    ],
)
def test_the_rule(text: str, specs: list[str]) -> None:
    groups = by_rule(graph_of(text)).groups
    assert [group.lowered.spec.expression for group in groups] == specs


def test_inputs_with_gaps_are_refused() -> None:
    with pytest.raises(GraphError, match="has gaps"):
        graph_of("relu(f32[4,4]S(8,1))")
