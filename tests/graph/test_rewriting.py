"""Rewriting keeps what graphs compute, shares what is equal, and ends."""

import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

from morello.base.errors import GraphError
from morello.graph.graph import Graph, Node, TensorType, apply, check
from morello.graph.interpreter import evaluate
from morello.graph.operators import Constant, Input, Map
from morello.graph.printing import text
from morello.graph.rewriting import rewritten, simplified
from tests.graph.random_graphs import random_graphs

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
