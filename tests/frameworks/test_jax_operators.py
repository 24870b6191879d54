"""Operators in JAX compute what they do in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.graph.nodes import given
from tests.sampling import some

pytest.importorskip("jax")

from morello.frameworks.jax_operators import MAPS, computed
from morello.graph.graph import Graph, Node, Operator, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    ArgReduce,
    Attention,
    Broadcast,
    Cast,
    Concat,
    Conv,
    Cumulate,
    Dot,
    Gather,
    Iota,
    LayerNorm,
    Map,
    Pad,
    Pooling,
    Reduce,
    Reshape,
    RmsNorm,
    Slice,
    Softmax,
    Transpose,
    Where,
)
from morello.graph.operators.elementwise import COMPARISONS, NUMPY
from morello.ir.functions import BINARY, ONLY_INTEGERS

F32, I32, BOOL = (np.dtype(each) for each in (np.float32, np.int32, bool))


X, Y = given(4, 6), given(4, 6)
IMAGE = given(2, 4, 7, 6)
HEADS = given(2, 4, 5, 8), given(2, 2, 6, 8), given(2, 2, 6, 3), given(5, 6)

NODES: list[tuple[Operator, tuple[Node, ...]]] = [
    (ArgReduce("max", 1, I32), (X,)),
    (ArgReduce("min", 0, I32, True), (X,)),
    (Attention(0.25), HEADS),
    (Attention(0.25, causal=True), HEADS[:3]),
    (Attention(0.25, cap=0.5), HEADS),
    (Broadcast((3, 4, 6)), (X,)),
    (Cast(I32), (X,)),
    (Concat(1), (X, Y)),
    (Conv((2, 1), (1, 0), (0, 1), (1, 2), 2), (IMAGE, given(8, 2, 3, 2))),
    (Conv((3,), (1,), (0,), (2,)), (given(2, 4, 9), given(5, 4, 3))),
    (Cumulate(1), (X,)),
    (Dot(((0, 1),), ((2, 0),)), (given(2, 3, 4), given(4, 2, 5))),
    (Gather(1), (X, given(2, 3, dtype=I32))),
    (Iota(TensorType((3, 4), F32), 1), ()),
    (LayerNorm(1e-3), (X, given(6), given(6))),
    (Pad((1, 0), (2, 3)), (X, given())),
    (Pooling("max", (3, 2), (2, 1), (1, 0), (1, 1), (1, 2)), (IMAGE,)),
    (Pooling("mean", (3, 2), (2, 1), (1, 0), (1, 1), (1, 2)), (IMAGE,)),
    (Pooling("mean", (3, 2), (2, 1), (1, 0), (1, 1), (1, 2), True), (IMAGE,)),
    *((Reduce(kind, (1,)), (X,)) for kind in ("max", "mean", "min", "prod", "sum")),
    (Reduce("sum", (0, 1), True), (X,)),
    (Reshape((3, 8)), (X,)),
    (RmsNorm(1e-3), (X, given(6))),
    (Slice((1, 0), (4, 5), (1, 2)), (X,)),
    (Softmax(0), (X,)),
    (Transpose((2, 0, 3, 1)), (IMAGE,)),
    (Where(), (given(4, 6, dtype=BOOL), X, given(6))),
]


def agree(node: Node) -> None:
    generator = np.random.default_rng(0)
    arrays = []
    for source in node.inputs:
        values: np.ndarray = generator.uniform(0.1, 2, source.shape)
        if source.dtype == I32:
            values = generator.integers(-9, 9, source.shape)
        if source.dtype == BOOL:
            values = generator.integers(0, 2, source.shape)
        arrays.append(np.asarray(values, source.dtype))
    (expected,) = evaluate(Graph(node.inputs, (node,)), arrays)
    result = computed(node, list(arrays), {})
    assert (result.shape, result.dtype) == (node.shape, node.dtype)
    np.testing.assert_allclose(result, expected, 1e-5, 1e-5)


@pytest.mark.parametrize("number", some(range(len(NODES)), 2), ids=lambda n: str(NODES[n][0]))
def test_an_operator_computes_in_jax_what_it_does_in_numpy(number: int) -> None:
    operator, inputs = NODES[number]
    agree(apply(operator, *inputs))


@pytest.mark.parametrize("name", some(sorted(set(NUMPY) - {"cast"}), 2))
def test_a_function_computes_in_jax_what_it_does_in_numpy(name: str) -> None:
    assert name in MAPS
    dtype = BOOL if name.startswith("logical") else I32 if name in ONLY_INTEGERS else F32
    two = name in {*BINARY, *COMPARISONS, "power", "remainder"} or name[-3:] in (
        "and",
        "_or",
        "xor",
    )
    agree(apply(Map(name), *[given(4, 6, dtype=dtype) for _ in range(1 + two)]))


def test_rows_far_from_zero_are_normalized_in_jax_as_in_numpy() -> None:
    rows = np.random.default_rng(0).normal(1000, 1, (4, 64)).astype(np.float32)
    node = apply(LayerNorm(1e-5), given(4, 64), given(64), given(64))
    ones, zeros = np.ones(64, np.float32), np.zeros(64, np.float32)
    wanted = LayerNorm(1e-5).evaluate(rows.astype(np.float64), ones, zeros)
    np.testing.assert_allclose(computed(node, [rows, ones, zeros], {}), wanted, atol=1e-3)


@pytest.mark.parametrize("name", ["divide", "remainder"])
def test_integers_are_divided_in_jax_as_in_numpy(name: str) -> None:
    agree(apply(Map(name), given(4, 6, dtype=I32), given(6, dtype=I32)))
