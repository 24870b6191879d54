"""Products of dequantized bytes are found, stay in order, and compute the same numbers.

Numbers in bytes that nothing else reads are not made.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.graph.nodes import F32, I32, f, fixed, given

from morello.graph.graph import Graph, Node, Operator, apply, check
from morello.graph.interpreter import evaluate
from morello.graph.operators import Cast, Conv, Dot, Transpose, Where
from morello.graph.patterns.in_bytes import in_bytes
from morello.graph.patterns.rounding import without_bytes
from morello.graph.rewriting import simplified
from morello.targets.machines import X86_64_V4
from morello.targets.x86 import avx512

MACHINE = avx512(X86_64_V4, frozenset({"avx512_vnni"}))
U8, I8 = np.dtype(np.uint8), np.dtype(np.int8)
RANDOM = np.random.default_rng(5)


def dequantized(x: Node, zero: int) -> Node:
    shifted = f("subtract", apply(Cast(I32), x), fixed(zero, I32))
    return f("multiply", apply(Cast(F32), shifted), fixed(0.03125))


def quantized(x: Node, zero: int, dtype: np.dtype = U8) -> Node:
    limits = np.iinfo(dtype)
    rounded = f("add", f("round", f("divide", x, fixed(0.7))), fixed(float(zero)))
    low, high = fixed(float(limits.min)), fixed(float(limits.max))
    return apply(Cast(dtype), f("minimum", f("maximum", rounded, low), high))


def weights(*shape: int, axis: int = 0) -> Node:
    """Integers with a scale along an axis, as constants that are not folded."""
    scales = RANDOM.uniform(0.01, 0.1, [n if d == axis else 1 for d, n in enumerate(shape)])
    return f("multiply", fixed(RANDOM.integers(-127, 128, shape)), fixed(scales))


def conv(x: Node, filters: Node, stride: int = 1, padding: int = 0, **more: int) -> Node:
    rank = x.type.rank - 2
    around, steps = (padding,) * rank, (more.get("dilation", 1),) * rank
    windows = Conv((stride,) * rank, around, around, steps, more.get("groups", 1))
    bias = fixed(RANDOM.uniform(-1, 1, (filters.shape[0], *(1,) * rank)))
    return f("add", apply(windows, x, filters), bias)


def after(output: Node) -> Graph:
    """The graph of an output, rewritten; checks that its values are the same."""
    nodes = Graph((), (output,)).nodes
    inputs = tuple(node for node in nodes if not node.inputs and node.dtype in (U8, I8))
    graph = Graph(inputs, (output,))
    result = simplified(without_bytes(in_bytes(graph, MACHINE)))
    check(result)
    limits = [np.iinfo(node.dtype) for node in inputs]
    arrays = [
        RANDOM.integers(n.min, n.max, node.shape, dtype=node.dtype, endpoint=True)
        for n, node in zip(limits, inputs, strict=True)
    ]
    (expected,), (values,) = evaluate(graph, arrays), evaluate(result, arrays)
    np.testing.assert_allclose(values, expected, 1e-5, 1e-5)
    return result


def count(graph: Graph, kind: type[Operator]) -> int:
    return sum(isinstance(node.operator, kind) for node in graph.nodes)


@pytest.mark.parametrize("dtype", [U8, I8])
def test_a_network_of_convolutions_is_products_of_pixels(dtype: np.dtype) -> None:
    image = given(2, 4, 7, 6, dtype=dtype)
    x = dequantized(image, 7)
    wide = conv(x, weights(16, 4, 3, 3), stride=2, padding=1)
    first = dequantized(quantized(f("relu", wide), 0, dtype), 0)
    within = conv(first, weights(16, 16, 3, 3), padding=2, dilation=2)
    short = conv(x, weights(16, 4, 1, 1, axis=9), stride=2)
    sums = f("add", dequantized(quantized(within, 9, dtype), 9), short)
    result = after(quantized(sums, 3, dtype))
    assert (count(result, Dot), count(result, Conv)) == (3, 0)
    assert {str(n.dtype) for n in result.nodes if isinstance(n.operator, Dot)} == {"int32"}
    assert count(result, Transpose) == 2  # of the given image, and of the result
    # bytes are made for the second convolution and as the result, and of an image in i8
    casts = [n.dtype for n in result.nodes if isinstance(n.operator, Cast) and n.dtype in (U8, I8)]
    assert len(casts) == (2 if dtype == U8 else 3)
    twice = f("add", first, dequantized(quantized(wide, 0, dtype), 0))
    assert after(quantized(twice, 3, dtype)).outputs[0].dtype == dtype


def test_sequences_and_matrices_are_products_in_bytes() -> None:
    sequence = dequantized(given(1, 8, 9, dtype=U8), 100)
    assert count(after(conv(sequence, weights(16, 8, 5), padding=2)), Dot) == 1
    rows = dequantized(given(3, 5, 8, dtype=I8), 0)
    for shape, side in (((8, 6), 0), ((6, 8), 1)):
        product = apply(Dot((), ((2, side),)), rows, weights(*shape, axis=1 - side))
        assert after(product).outputs[0].inputs[0].inputs[0].dtype == I32


def test_other_products_are_left() -> None:
    x, few = (dequantized(given(1, n, 5, 5, dtype=U8), 3) for n in (8, 3))
    mixed = f("multiply", fixed(RANDOM.integers(-9, 9, (8, 8, 1, 1))), fixed(np.ones((1, 8, 1, 1))))
    for left in (
        conv(few, weights(16, 3, 3, 3)),
        conv(x, weights(8, 8, 3, 3)),
        conv(x, weights(8, 1, 3, 3), groups=8),
        conv(x, f("multiply", fixed(np.full((4, 8, 1, 1), 128)), fixed(0.5))),
        conv(x, f("multiply", fixed(np.full((4, 8, 1, 1), 0.5)), fixed(0.5))),
        conv(f("add", x, x), weights(4, 8, 1, 1)),
    ):
        assert count(after(left), Conv) == 1
    assert count(after(conv(x, mixed)), Conv) == 0  # all scales are 1
    varied = f("multiply", fixed(np.ones((4, 8, 1, 1))), fixed(RANDOM.uniform(1, 2, (1, 8, 1, 1))))
    assert count(after(conv(x, varied)), Conv) == 1
    graph = Graph((), (conv(x, weights(4, 8, 1, 1)),))
    assert in_bytes(graph, replace(MACHINE, packs=())) is graph


def test_numbers_that_no_byte_stores_keep_the_least_in_place_of_nan() -> None:
    """x > least ? x : least is the least where x is NaN."""
    x, least = given(6), fixed(-128.0)
    rounded = f("add", f("round", f("divide", x, fixed(0.5))), fixed(5.0))
    above = apply(Where(), f("greater", rounded, least), rounded, least)
    graph = Graph((x,), (dequantized(apply(Cast(I8), f("minimum", above, fixed(127.0))), 5),))
    result = simplified(without_bytes(graph))
    assert not any(node.dtype == I8 for node in result.nodes)
    arrays = [np.array([np.nan, np.inf, -np.inf, 0.2, 60.0, -70.0], np.float32)]
    (expected,), (values,) = evaluate(graph, arrays), evaluate(result, arrays)
    np.testing.assert_array_equal(values, expected)
    assert values[0] == -133 * 0.03125
