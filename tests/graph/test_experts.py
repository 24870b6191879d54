"""Rows that are multiplied by matrices taken for each of them choose these, without a copy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.graph.nodes import BF16, I64, given, names, random

from morello.graph.graph import Graph, Node, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    Broadcast,
    Concat,
    Cumulate,
    Dot,
    Gather,
    Input,
    PrimitiveOperator,
    Reshape,
    Slice,
    Where,
)
from morello.graph.partition import by_rule
from morello.graph.patterns.matching import constant, mapped
from morello.graph.rewriting import simplified

ROWS, COUNT, DEPTH, COLUMNS = 5, 3, 64, 70


def graph_of(output: Node) -> Graph:
    """The graph of an output, and of all inputs that it needs."""
    nodes = Graph((), (output,)).nodes
    return Graph(tuple(n for n in nodes if isinstance(n.operator, Input)), (output,))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_taken_matrices_are_chosen(turned: bool, first: bool) -> None:
    """They may be either factor of a batch of products; numbers outside are as in gathers."""
    shape = (COLUMNS, DEPTH) if turned else (DEPTH, COLUMNS)
    taken = apply(Gather(0), random(COUNT, *shape), given(ROWS, dtype=I64))
    row = apply(Reshape((ROWS, 1, DEPTH)), given(ROWS, DEPTH))
    depth = 2 if turned else 1
    if first:
        product = apply(Dot(((0, 0),), ((depth, 2),)), taken, row)
    else:
        product = apply(Dot(((0, 0),), ((2, depth),)), row, taken)
    graph = graph_of(product)
    simple = simplified(graph)
    kinds = {type(node.operator) for node in simple.nodes}
    assert PrimitiveOperator in kinds and not kinds & {Dot, Gather}
    numbers, rows = np.array([0, 2, -1, 7, -9]), np.random.default_rng(0).uniform(-1, 1, (5, 64))
    arrays = [numbers if node.dtype == I64 else rows for node in graph.inputs]
    (expected,), (found,) = evaluate(graph, arrays), evaluate(simple, arrays)
    np.testing.assert_allclose(found, expected, 1e-9, 1e-9)


def test_repeated_rows_are_taken_by_their_numbers() -> None:
    """Each token goes through two experts; no kernel reads a broadcast."""
    tokens, ids = given(4, DEPTH), given(8, dtype=I64)
    taken = apply(Gather(0), random(COUNT, DEPTH, COLUMNS), ids)
    twice = apply(Broadcast((4, 2, DEPTH)), apply(Reshape((4, 1, DEPTH)), tokens))
    rows = apply(Reshape((8, 1, DEPTH)), twice)
    graph = graph_of(apply(Dot(((0, 0),), ((2, 1),)), rows, taken))
    simple = simplified(graph)
    assert not by_rule(simple).left
    assert Dot not in {type(node.operator) for node in simple.nodes}
    random_numbers = np.random.default_rng(0)
    arrays = [
        random_numbers.integers(0, COUNT, 8) if n.dtype == I64 else random_numbers.random(n.shape)
        for n in graph.inputs
    ]
    (expected,), (found,) = evaluate(graph, arrays), evaluate(simple, arrays)
    np.testing.assert_allclose(found, expected, 1e-9, 1e-9)


def test_other_products_are_left() -> None:
    """Products of small matrices, of several rows with each, and with a wider result are left."""
    ids = given(ROWS, dtype=I64)
    small = apply(Gather(0), random(COUNT, 8, 8), ids)
    matrices = apply(Gather(0), random(COUNT, DEPTH, COLUMNS), ids)
    narrow = apply(Gather(0), random(COUNT, DEPTH, COLUMNS, dtype=BF16), ids)
    by_rows = Dot(((0, 0),), ((2, 1),))
    wider = Dot(((0, 0),), ((2, 1),), np.dtype(np.float32))
    for product in (
        apply(by_rows, given(ROWS, 1, 8), small),
        apply(by_rows, given(ROWS, 2, DEPTH), matrices),
        apply(wider, given(ROWS, 1, DEPTH, dtype=BF16), narrow),
    ):
        simple = simplified(graph_of(product))
        assert names(simple.outputs[0])[-1] == "dot"


@pytest.mark.parametrize("shape", [(6, 1, 1), (1, 6, 1), (1, 1, 1)])
def test_rows_in_groups_are_told_by_the_limits_of_each_group(shape: tuple[int, ...]) -> None:
    """A mask whose limits belong to rows, or to all groups at once, is none of groups."""
    ends = apply(Cumulate(0), given(max(shape), dtype=I64))
    before = apply(Slice((0,), (max(shape) - 1,), (1,)), ends)
    starts = apply(Concat(0), constant(np.zeros(1), I64), before)
    first, last = (apply(Reshape(shape), each) for each in (starts, ends))
    rows = constant(np.arange(6)[:, None], I64)
    mask = mapped("logical_and", mapped("less_equal", first, rows), mapped("less", rows, last))
    x, matrices = given(6, 4), given(6, 4, 5)
    masked = apply(Where(), mask, x, apply(Broadcast((6, 6, 4)), constant(0, x.dtype)))
    product = apply(Dot((), ((0, 0), (2, 1))), masked, matrices)
    simple = simplified(graph_of(product))
    grouped = any(isinstance(node.operator, PrimitiveOperator) for node in simple.nodes)
    assert grouped == (shape == (6, 1, 1))
