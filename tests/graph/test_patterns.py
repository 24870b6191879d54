"""Patterns of products, views and rows fire, keep the values, and leave near misses alone."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.graph.nodes import BF16, F32, I32, I64, after, f, fixed, given, names, random, wide

from morello.graph.graph import Graph, Node, Operator, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    ArgReduce,
    Broadcast,
    Cast,
    Concat,
    Constant,
    Conv,
    Cumulate,
    Dot,
    Gather,
    Iota,
    Map,
    Pad,
    Pooling,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    Transpose,
    Where,
)
from morello.graph.rewriting import simplified
from morello.importers.gaps import transposed_convolution


def test_what_only_depends_on_constants_is_computed() -> None:
    x = given(4, 8)
    scale = f("sqrt", fixed(64.0))
    assert names(after(f("divide", x, apply(Broadcast((4, 8)), scale)))) == ["multiply"]
    ones = apply(Cast(F32), apply(Iota(TensorType((8,), I32), 0)))
    numbers = after(f("add", x, ones)).inputs[1].operator
    assert isinstance(numbers, Constant)
    np.testing.assert_array_equal(numbers.array, np.arange(8, dtype=np.float32))


def test_constants_are_rounded_as_their_dtype_rounds() -> None:
    third = f("divide", fixed(1.0, BF16), fixed(3.0, BF16))
    result = after(third, tolerance=0.01).operator
    assert isinstance(result, Constant)
    assert result.array.item() == ml_dtypes.bfloat16(1 / 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("add", 0), ("subtract", 0), ("multiply", 1), ("divide", 1), ("power", 1),
        ("maximum", -np.inf), ("minimum", np.inf),
    ],
)  # fmt: skip
def test_functions_that_return_their_argument_go(name: str, value: float) -> None:
    x = given(4, 8)
    assert after(f(name, x, value)) is x
    assert names(after(f(name, x, 0.3))) == [name if name != "subtract" else "add"]
    if name in ("add", "maximum", "minimum", "multiply"):
        assert after(f(name, value, x)) is x
    row = given(8)
    wider = apply(Map(name), row, apply(Broadcast((4, 8)), fixed(value)))
    assert names(after(wider)) == ["broadcast"]


@pytest.mark.parametrize("limit", [np.inf, -np.inf])
def test_comparisons_with_infinity_are_with_the_last_number(limit: float) -> None:
    x = given(6)
    outside = ("greater_equal", "less") if limit > 0 else ("greater", "less_equal")
    graph = Graph((x,), tuple(f(name, x, limit) for name in ("equal", *outside)))
    result = simplified(graph)
    least = np.finfo(np.float32).min
    numbers = np.array([-np.inf, least, 0, -least, np.inf, np.nan], np.float32)
    for value, expected in zip(
        evaluate(result, [numbers]), evaluate(graph, [numbers]), strict=True
    ):
        np.testing.assert_array_equal(value, expected)
    known = [n.operator.array for n in result.nodes if isinstance(n.operator, Constant)]
    assert not any(np.isinf(each).any() for each in known)


def test_views_of_views_are_one() -> None:
    x = given(2, 3, 4)
    turned = apply(Transpose((1, 2, 0)), apply(Transpose((1, 2, 0)), x))
    assert after(turned).operator == Transpose((2, 0, 1))
    assert after(apply(Transpose((1, 2, 0)), turned)) is x
    flat = apply(Reshape((6, 4)), apply(Reshape((24,)), x))
    assert names(after(flat)) == ["reshape"]
    assert after(apply(Reshape((2, 3, 4)), flat)) is x
    row = given(4)
    wider = apply(Broadcast((3, 4)), apply(Broadcast((1, 4)), apply(Reshape((1, 4)), row)))
    assert names(after(wider)) == ["broadcast"]
    heads = apply(Broadcast((1, 3, 5, 4)), apply(Reshape((1, 1, 5, 4)), given(5, 4)))
    bare = after(apply(Reshape((3, 5, 4)), heads))
    assert names(bare) == ["broadcast"] and bare.inputs[0].shape == (5, 4)
    whole = apply(Slice((0, 0, 0), (2, 3, 4), (1, 1, 1)), x)
    assert after(apply(Concat(1), whole)) is x
    part = apply(Slice((0, 0, 0), (2, 3, 3), (1, 1, 1)), x)
    assert after(part) is part
    repeated = apply(Broadcast((6, 5, 4)), apply(Reshape((5, 1)), given(5)))
    some = apply(Slice((1, 1, 2), (5, 4, 4), (2, 2, 1)), repeated)
    assert names(after(f("square", some))) == ["reshape", "slice", "square", "broadcast"]
    assert names(after(apply(Slice((1,), (3,), (1,)), wide(given(), 9)))) == ["broadcast"]
    assert names(after(apply(Transpose((1, 0, 2)), given(1, 3, 4)))) == ["reshape"]


def test_parts_without_elements_are_left_out() -> None:
    x, y = given(2, 3), given(2, 4)
    nothing = apply(Slice((0, 3), (2, 3), (1, 1)), x)
    assert after(apply(Concat(1), nothing, x, nothing)) is x
    assert after(apply(Concat(1), x, nothing, y)).inputs == (x, y)
    assert after(apply(Concat(1), nothing, nothing)).type.size == 0


def test_images_without_pixels_are_convolved_as_they_are() -> None:
    """Their elements have no places that could show one several times."""
    conv = Conv(strides=(1, 1), before=(1, 1), after=(1, 1), dilations=(1, 1))
    result = after(apply(conv, given(1, 2, 3, 0), given(4, 2, 3, 2)))
    assert names(result) == ["conv"]


def test_casts_of_casts_are_one_if_the_first_is_exact() -> None:
    x, b = given(4), given(4, dtype=BF16)
    up = apply(Cast(F32), b)
    assert after(apply(Cast(BF16), up)) is b
    assert names(after(apply(Cast(np.dtype(np.float64)), up))) == ["cast"]
    rounded = apply(Cast(F32), apply(Cast(BF16), x))
    assert names(simplified(Graph((x,), (rounded,))).outputs[0]) == ["cast", "cast"]


@pytest.mark.parametrize("left", [np.int8, np.uint8])
def test_products_of_widened_bytes_are_those_of_bytes(left: type) -> None:
    """If the second ones are signed, and the sums have 32 bits."""
    a, b = given(3, 4, dtype=np.dtype(left)), given(5, 4, dtype=np.dtype(np.int8))
    dot = Dot((), ((1, 1),))
    product = after(apply(dot, apply(Cast(I32), a), apply(Cast(I32), b)))
    assert product.operator == Dot((), ((1, 1),), I32) and product.inputs == (a, b)
    unsigned = given(5, 4, dtype=np.dtype(np.uint8))
    wrapped = apply(Cast(np.dtype(np.int8)), unsigned)
    for x, y, kind in ((a, unsigned, I32), (a, wrapped, I32), (a, b, F32)):
        narrow = after(apply(dot, apply(Cast(kind), x), apply(Cast(kind), y))).inputs[1]
        assert narrow.dtype == (np.int8 if y is wrapped else kind)


def test_lower_bits_of_sums_are_sums_of_lower_bits() -> None:
    """The length of a mask is then known in 32 bits; a quotient needs all bits of its operands."""
    mask = given(2, 9, dtype=I64)
    length = f("subtract", apply(Reduce("sum", (1,), True), mask), 1)
    result = after(apply(Cast(I32), length))
    assert [node.dtype for node in Graph((), (result,)).nodes if node.dtype == I64] == [I64]
    assert sorted(names(result)) == ["cast", "reduce", "subtract"]
    large = apply(Cast(I32), f("maximum", mask, mask))
    assert after(large) is large
    once = apply(Cast(np.dtype(np.int16)), f("add", mask, mask))
    assert after(once) is once


def test_what_follows_a_reshape_comes_before_it() -> None:
    x, w = given(6, 4), given(4, 8)
    heads = apply(Reshape((2, 3, 8)), apply(Dot((), ((1, 0),)), x, w))
    result = after(f("tanh", f("add", heads, random(1, 1, 8))))
    assert names(result) == ["dot", "add", "tanh", "reshape"]
    image = apply(Reshape((2, 3, 8, 1)), given(2, 3, 8))
    assert names(after(f("add", image, random(3, 1, 1)))) == ["add", "reshape"]
    flat = apply(Reshape((2, 3, 8)), given(2, 3, 8, 1))
    assert names(after(f("multiply", flat, random(2, 3, 1)))) == ["multiply", "reshape"]
    split = apply(Reshape((2, 3, 4)), given(2, 12))
    assert names(after(f("multiply", split, random(3, 1)))) == ["reshape", "multiply"]


def test_a_known_condition_chooses() -> None:
    x, y = given(4, 8), given(4, 8)
    count = f("subtract", fixed(512.0), apply(Cast(F32), fixed(0, I32)))
    condition = apply(Broadcast((4, 8)), f("greater", count, fixed(0.0)))
    nan = apply(Broadcast((4, 8)), fixed(np.nan))
    assert after(apply(Where(), condition, x, nan)) is x
    unknown = apply(Where(), f("greater", x, y), x, y)
    assert names(after(unknown)) == ["greater", "where"]


@pytest.mark.parametrize(
    "operator", [Softmax(1), Reduce("sum", (1,)), ArgReduce("max", 1, np.dtype(int)), Cumulate(1)]
)
def test_nothing_is_combined_along_a_dimension_of_one_element(operator: Operator) -> None:
    result = after(apply(operator, given(4, 1, 6)))
    assert not any(node.operator.heavy for node in Graph((), (result,)).nodes)


def test_equal_nodes_become_one() -> None:
    x = given(4, 8)
    total = f("add", f("exp", x), f("exp", x))
    assert names(after(total)) == ["exp", "add"]
    assert names(after(f("subtract", f("exp", x), f("tanh", x)))) == ["exp", "tanh", "subtract"]


def test_products_read_transposed_inputs_as_they_lie() -> None:
    q, k = given(2, 5, 3, 8), given(2, 7, 3, 8)
    heads = apply(Transpose((0, 2, 1, 3)), q)
    keys = apply(Transpose((0, 2, 3, 1)), k)
    product = apply(Dot(((0, 0), (1, 1)), ((3, 2),)), heads, keys)
    assert after(product).operator == Dot(((0, 0), (2, 2)), ((3, 3),))
    free = apply(Transpose((1, 0, 2, 3)), q)
    left = apply(Dot((), ((3, 0),)), free, given(8, 4))
    assert names(after(left)) == ["transpose", "dot"]


def test_a_convolution_pads_itself() -> None:
    x, w = given(1, 2, 6, 6), given(3, 2, 3, 3)
    padded = apply(Pad((0, 0, 1, 0), (0, 0, 1, 2)), x, fixed(0.0))
    conv = Conv((1, 1), (0, 1), (0, 0), (1, 1))
    assert after(apply(conv, padded, w)).operator == Conv((1, 1), (1, 1), (1, 2), (1, 1))
    ones = apply(Pad((0, 0, 1, 0), (0, 0, 1, 2)), x, fixed(1.0))
    assert names(after(apply(conv, ones, w))) == ["pad", "conv"]
    channels = apply(Pad((0, 1, 0, 0), (0, 0, 0, 0)), given(1, 1, 6, 6), fixed(0.0))
    assert names(after(apply(conv, channels, w))) == ["pad", "conv"]


def test_windows_lose_dimensions_in_which_there_is_one() -> None:
    x, w = given(2, 3, 7, 1), given(4, 3, 3, 1)
    conv = Conv((2, 1), (1, 0), (0, 0), (1, 2))
    sequence = after(apply(conv, x, w))
    assert names(sequence) == ["reshape", "reshape", "conv", "reshape"]
    assert sequence.inputs[0].operator == Conv((2,), (1,), (0,), (1,))
    pool = Pooling("mean", (1, 2), (1, 1), (0, 1), (0, 0), (1, 1), counts_padding=True)
    pooled = after(apply(pool, given(2, 3, 1, 7))).inputs[0].operator
    assert pooled == Pooling("mean", (2,), (1,), (1,), (0,), (1,), counts_padding=True)
    single = apply(Conv((1, 1), (0, 0), (0, 0), (1, 1)), given(1, 3, 1, 1), given(4, 3, 1, 1))
    padded = apply(Conv((1, 1), (1, 1), (1, 1), (1, 1)), x, given(4, 3, 3, 3))
    assert after(single) is single
    assert after(padded) is padded


@pytest.mark.parametrize("kind", ["max", "mean"])
def test_a_window_that_no_image_fills_has_all_of_its_pixels(kind: str) -> None:
    x, ones = given(2, 3, 5, 6), (1, 1)
    around = Pooling(kind, (2560, 9), (2560, 2), (0, 2), (2555, 1), ones)
    result = after(apply(around, x))
    assert result.operator == Pooling(kind, (5, 6), ones, (0, 0), (0, 0), ones)
    beside = Pooling(kind, (7, 2), (2, 2), (1, 0), (1, 0), ones)
    assert after(apply(beside, x)).operator == Pooling(kind, (5, 2), (1, 2), (0, 0), (0, 0), ones)
    for kept in (
        Pooling(kind, (7, 2), (2, 1), (3, 0), (0, 0), ones),
        Pooling(kind, (7, 2), (2, 1), (1, 0), (3, 0), ones),
        Pooling("mean", (7, 2), (2, 1), (1, 0), (1, 0), ones, counts_padding=True),
    ):
        whole = apply(kept, x)
        assert after(whole) is whole


def test_pixels_that_are_apart_are_copied_for_many_filters() -> None:
    """Computed images are copied; a filter of more pixels needs the pixels in between."""
    x = apply(Map("relu"), given(1, 2, 5, 4))
    conv = Conv((2, 3), (0, 0), (0, 0), (1, 1))
    copied = after(apply(conv, x, given(128, 2, 1, 1)))
    assert copied.operator == Conv((1, 1), (0, 0), (0, 0), (1, 1))
    assert copied.inputs[0].operator == Slice((0, 0, 0, 0), (1, 2, 5, 4), (1, 1, 2, 3), dense=True)
    for image, filters in (
        (x, given(127, 2, 1, 1)), (x, given(128, 2, 2, 1)), (x.inputs[0], given(128, 2, 1, 1)),
    ):  # fmt: skip
        assert after(apply(conv, image, filters)).operator == conv


def one_hot(ids: Node, table: Node, first: int = 0) -> Node:
    """A product as Keras and JAX have an embedding."""
    places = fixed(np.arange(first, first + table.shape[0]), ids.dtype)
    compared = apply(Map("equal"), apply(Reshape((*ids.shape, 1)), ids), places)
    return apply(Dot((), ((ids.type.rank, 0),)), apply(Cast(F32), compared), table)


@pytest.mark.parametrize("dtype", [np.dtype(np.int32), np.dtype(np.uint8)])
def test_products_with_one_hot_rows_take_rows(dtype: np.dtype) -> None:
    """A number outside of the table takes zeros, of which functions are computed as well."""
    numbers = np.array([[0, 2, 3, 5], [1, 4, 200, 255]]).astype(dtype)
    if dtype == np.int32:
        numbers[1] = [-1, -5, 2**31 - 1, -(2**31)]
    ids, table, bias = given(2, 4, dtype=dtype), random(5, 3), random(3, seed=1)
    graph = Graph((ids,), (f("relu", f("add", one_hot(ids, table), bias)),))
    simple = simplified(graph)
    assert names(simple.outputs[0])[-1] == "gather"
    (expected,), (values,) = evaluate(graph, [numbers]), evaluate(simple, [numbers])
    np.testing.assert_array_equal(values, expected.astype(np.float32))


def test_other_products_with_rows_of_zeros_and_ones_are_left() -> None:
    ids, table = given(2, 4, dtype=np.dtype(np.int32)), random(5, 3)
    wide = given(2, 4, dtype=np.dtype(np.int64))
    infinite = fixed(np.where(np.arange(15) == 7, np.inf, 1.0).reshape(5, 3))
    for other in (one_hot(ids, table, 1), one_hot(wide, table), one_hot(ids, infinite)):
        (left,) = simplified(Graph((ids, wide), (other,))).outputs
        assert names(left)[-1] == "dot"


def test_functions_of_rows_are_computed_in_small_tables() -> None:
    ids, table = given(8, dtype=np.dtype(np.int32)), random(7, 3)
    rows = apply(Gather(0), table, ids)
    assert names(after(f("exp", rows))) == ["gather"]
    assert names(after(f("add", rows, random(8, 3, seed=1)))) == ["gather", "add"]
    assert names(after(f("add", f("exp", rows), rows))) == ["gather", "exp", "add"]
    assert names(after(f("exp", apply(Gather(0), random(9, 3), ids)))) == ["gather", "exp"]


def test_known_places_are_slices() -> None:
    """Among them numbers below 0, and one beyond the end, which is taken as the last."""
    x, ids = given(4, 7, 3), fixed([-6, 3, 9], I32)
    taken = after(apply(Gather(1), x, fixed([[0, 2], [4, -1]], I32)))
    assert names(taken) == ["slice", "reshape"]
    assert taken.inputs[0].operator == Slice((0, 0, 0), (4, 7, 3), (1, 2, 1))
    assert names(after(apply(Gather(2), x, fixed(1, I32)))) == ["slice", "reshape"]
    assert names(after(apply(Gather(1), x, fixed([2, 1, 0], I32)))) == ["gather"]
    assert names(after(apply(Gather(1), x, ids))) == ["gather"]


def test_known_places_in_one_run_and_few_others_are_slices() -> None:
    x = given(5, 40, 3)  # few elements at each place
    mirrored = after(apply(Gather(1), x, fixed(np.pad(np.arange(40), (1, 2), "reflect"), I32)))
    assert [names(part) for part in mirrored.inputs] == [["slice"], [], ["slice", "gather"]]
    assert mirrored.inputs[0].operator == Slice((0, 1, 0), (5, 2, 3), (1, 1, 1))
    rolled = after(apply(Gather(1), x, fixed(np.roll(np.arange(40), 15), I32)))
    assert [part.shape for part in rolled.inputs] == [(5, 15, 3), (5, 25, 3)]
    wide = fixed(np.pad(np.arange(40), (0, 9), "reflect"), I32)
    assert len(after(apply(Gather(1), given(8, 40, 8), wide)).inputs) == 10
    few = after(apply(Gather(1), x, wide))
    assert [names(part) for part in few.inputs] == [[], ["slice", "gather"]]
    assert few.inputs[1].inputs[0].shape == (5, 9, 3)


def test_places_without_a_long_run_are_taken() -> None:
    x = given(40, 3)
    for places in ([0, 1, 2, 0, 1], np.tile(np.arange(9), 3), np.arange(40)[::-1]):
        assert names(after(apply(Gather(0), x, fixed(places, I32)))) == ["gather"]


@pytest.mark.parametrize(
    "places", [[3, 1, 2, 3, 4, 5, 6, 2], [[5, 0, 1], [2, 3, 9]], [0, 1, 2, 3, 4, 3, 2, -1, 0]]
)
@pytest.mark.parametrize("axis", [0, 1])
def test_runs_have_the_elements_of_the_places(places: Any, axis: int) -> None:
    x = given(7, 8)
    node = apply(Gather(axis), x, fixed(places, I32))
    array = np.random.default_rng(0).random((7, 8), np.float32)
    changed = Graph((x,), (after(node),))
    assert "gather" not in names(changed.outputs[0])[-1:]
    np.testing.assert_array_equal(
        evaluate(changed, [array])[0], evaluate(Graph((x,), (node,)), [array])[0]
    )


def test_rows_taken_several_times_are_taken_once() -> None:
    ids, table = given(1, 5, dtype=I32), random(7, 3)
    taken = after(apply(Gather(0), table, apply(Broadcast((2, 5)), ids)))
    assert names(taken) == ["gather", "broadcast"]
    assert taken.inputs[0].shape == (1, 5, 3)


def test_parts_of_parts_are_slices_of_what_they_are_from() -> None:
    x, y = given(4, 6), given(4, 3)
    joined = apply(Concat(1), x, y)
    part = apply(Slice((1, 0), (4, 8), (2, 1)), joined)
    again = apply(Slice((0, 1), (2, 5), (1, 1)), part)
    assert after(again).operator == Slice((1, 1), (4, 5), (2, 1))
    assert after(again).inputs[0] is x
    longer = after(apply(Concat(1), part, apply(Slice((1, 0), (4, 1), (2, 1)), x)))
    assert [source.shape for source in longer.inputs] == [(2, 6), (2, 2), (2, 1)]


def per_channel(x: Node, seed: int) -> Node:
    """A constant for each channel of an image, as [1, c, 1, 1] broadcast."""
    channels = random(x.shape[1], seed=seed)
    return apply(Broadcast(x.shape), apply(Reshape((1, x.shape[1], 1, 1)), channels))


def batch_norm(x: Node) -> Node:
    average, variance, gamma, beta = (per_channel(x, seed) for seed in range(4))
    deviation = f("sqrt", f("add", variance, 1e-5))
    return f("add", f("multiply", f("divide", f("subtract", x, average), deviation), gamma), beta)


def test_a_batch_norm_becomes_part_of_the_convolution_before_it() -> None:
    x, w = given(2, 3, 6, 6), random(4, 3, 3, 3, seed=9)
    conv = apply(Conv((1, 1), (1, 1), (1, 1), (1, 1)), x, w)
    assert names(after(batch_norm(conv), 1e-4)) == ["conv", "add"]
    biased = f("add", conv, per_channel(conv, 7))
    assert names(after(f("maximum", batch_norm(biased), 0.0), 1e-4)) == ["conv", "add", "relu"]


def test_a_batch_norm_alone_is_one_multiply_add() -> None:
    x = given(2, 3, 6, 6)
    assert names(after(batch_norm(x), 1e-4)) == ["multiply", "add"]
    variable = apply(Conv((1, 1), (1, 1), (1, 1), (1, 1)), x, given(4, 3, 3, 3))
    assert names(after(batch_norm(variable), 1e-4)) == ["conv", "multiply", "add"]


def test_factors_of_factors_are_one() -> None:
    x = given(4, 8)
    for scaled in (
        f("multiply", f("divide", x, 6.0), 0.7),
        f("multiply", f("multiply", x, 3.0), 0.7),
        f("divide", f("divide", x, 3.0), 0.7),
    ):
        assert names(after(scaled)) == ["multiply"]
        assert names(after(f("add", scaled, 1.0))) == ["multiply", "add"]
    assert names(after(f("divide", f("add", x, 1.0), 3.0))) == ["add", "divide"]


def test_factors_stay_apart_where_one_would_round_otherwise() -> None:
    x = given(4, 8)
    moved = f("multiply", f("divide", f("add", x, 1.0), 3.0), 0.7)
    assert names(after(moved)) == ["add", "divide", "multiply"]
    overflows = f("multiply", f("multiply", x, 1e30), 1e30)
    assert names(after(overflows)) == ["multiply", "multiply"]
    vanishes = f("multiply", f("multiply", x, 1e-30), 1e-30)
    assert names(after(vanishes)) == ["multiply", "multiply"]
    third = f("divide", x, 3.0)
    read_twice = f("multiply", f("multiply", third, 0.7), f("tanh", third))
    assert "divide" in names(after(read_twice))


@pytest.mark.parametrize("side", [0, 1])
def test_factors_become_part_of_the_weights_of_products(side: int) -> None:
    x, w = given(2, 5, 6), random(2, 6, 4, seed=1)
    product = apply(Dot(((0, 0),), ((2, 1),)), x, w)
    if side == 0:
        product = apply(Dot(((0, 0),), ((1, 2),)), w, x)
    channels = (4,) if side else (4, 1)
    y = f("add", f("multiply", product, random(*channels, seed=2)), random(*channels, seed=3))
    assert names(after(y, 1e-4)) == ["dot", "add"]
    rows = (5, 1) if side else (5,)
    other = f("multiply", product, random(*rows, seed=4))
    assert names(after(other, 1e-4)) == ["dot", "multiply"]


def test_weights_of_products_with_other_readers_are_left() -> None:
    x, w = given(2, 3, 6, 6), random(4, 3, 3, 3, seed=9)
    conv = apply(Conv((1, 1), (1, 1), (1, 1), (1, 1)), x, w)
    swish = f("multiply", conv, f("tanh", f("add", f("multiply", conv, per_channel(conv, 1)), 3.0)))
    assert names(after(swish)).count("conv") == 1
    graph = Graph((x,), (conv, f("multiply", conv, per_channel(conv, 1))))
    result = simplified(graph)
    assert result.outputs[1].inputs[0] is result.outputs[0]


def test_rotary_embeddings_are_computed_by_halves() -> None:
    x, c, s = given(2, 3, 5, 8), random(5, 8), random(2, 1, 5, 8, seed=1)
    a, b = (apply(Slice((0, 0, 0, n), (2, 3, 5, n + 4), (1,) * 4), x) for n in (0, 4))
    turned = apply(Concat(3), f("neg", b), a)
    graph = Graph((x,), (f("add", f("multiply", turned, s), f("multiply", x, c)),))
    simple = simplified(graph)
    (result,) = simple.outputs
    assert result.operator == Concat(3)
    assert {str(node.operator) for node in result.inputs} == {"add", "subtract"}
    arrays = [np.random.default_rng(0).random(x.shape)]
    np.testing.assert_allclose(evaluate(simple, arrays)[0], evaluate(graph, arrays)[0], 1e-12)
    wrong = apply(Concat(3), f("neg", a), b)
    other = Graph((x,), (f("add", f("multiply", wrong, s), f("multiply", x, c)),))
    assert simplified(other).outputs[0].operator == Map("add")


def phases(filters: int, groups: int = 1) -> Node:
    """A transposed convolution by 2 x 2 windows that are 2 pixels apart, cropped by one pixel."""
    weight = random(8, filters // groups, 2, 2)
    conv = Conv((2, 2), (1, 1), (0, 0), (1, 1), groups)
    return transposed_convolution(given(1, 8, 5, 5), weight, conv)


@pytest.mark.parametrize("groups", [1, 2])
def test_functions_of_phases_are_taken_before_they_are_put_in_their_places(groups: int) -> None:
    image = phases(6, groups)
    normed = f("add", f("multiply", image, random(6, 1, 1)), random(1, 6, 1, 1))
    result = after(f("multiply", f("sigmoid", normed), normed))
    assert names(result) == ["conv", "add", "silu", "reshape", "transpose", "reshape", "slice"]


def test_choices_by_phases_are_made_before_they_are_put_in_their_places() -> None:
    image = phases(6)
    chosen = apply(Where(), f("greater", image, 0.0), image, f("expm1", image))
    functions = ["greater", "expm1", "where"]
    assert names(after(chosen)) == ["conv", *functions, "reshape", "transpose", "reshape", "slice"]


def test_functions_of_pixels_are_taken_where_these_are() -> None:
    image = phases(6)
    result = after(f("add", image, random(*image.shape)))
    assert isinstance(result.operator, Map)
    tokens = apply(Transpose((0, 2, 1)), apply(Reshape((1, 6, 81)), image))
    assert isinstance(after(f("add", tokens, random(1, 81, 1))).operator, Map)
