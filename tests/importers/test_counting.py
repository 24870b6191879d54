"""Integers of few values are put in order without comparing them with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.importers.aten_programs import compared, random

from morello.graph.graph import Graph, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import Input
from morello.importers.counting import at_places, places_by_value

torch = pytest.importorskip("torch")

SIZE = 500


@pytest.mark.parametrize("descending", [False, True])
def test_a_long_vector_of_few_values(descending: bool) -> None:
    """Equal ones keep their order; no tensor has an element for each pair."""

    def program(x: Any) -> Any:
        few = (3 * x).round().long().clamp(-4, 7)
        return torch.sort(few, stable=True, descending=descending)

    graph = compared(program, random(SIZE), tolerance=0)
    assert max(node.type.size for node in graph.nodes) < SIZE * SIZE


def test_truth_values() -> None:
    compared(lambda x: torch.sort((x > 0).int(), stable=True).indices, random(300), tolerance=0)


def test_rows_at_their_places() -> None:
    """Numbers of no group come anywhere, and the others in order."""
    generator = np.random.default_rng(0)
    numbers = generator.integers(0, 6, 40)
    rows = generator.uniform(-1, 1, (40, 3))
    ids = apply(Input(TensorType((40,), np.dtype(np.int32))))
    x = apply(Input(TensorType((40, 3), np.dtype(np.float32))))
    places = places_by_value(ids, 6)
    sorted_rows, found = evaluate(Graph((ids, x), (at_places(x, places), places)), [numbers, rows])
    order = np.argsort(numbers, kind="stable")
    np.testing.assert_array_equal(sorted_rows, rows[order])
    np.testing.assert_array_equal(order[found], np.arange(40))
