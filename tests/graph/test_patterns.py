"""Patterns fire on the forms that frameworks emit, keep the values, and leave near misses alone."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from morello.graph.graph import Graph, Node, Operator, TensorType, apply, check
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
    Input,
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
from morello.graph.rewriting import simplified

F32, BF16, I32 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16), np.dtype(np.int32)


def given(*shape: int, dtype: np.dtype = F32) -> Node:
    return apply(Input(TensorType(shape, dtype)))


def fixed(array: object, dtype: np.dtype = F32) -> Node:
    return apply(Constant(np.asarray(array).astype(dtype)))


def random(*shape: int, seed: int = 0, dtype: np.dtype = F32) -> Node:
    return fixed(np.random.default_rng(seed).uniform(0.5, 1.5, shape), dtype)


def f(name: str, *inputs: Node | float) -> Node:
    """A function; numbers become constants that are broadcast, as JAX and torch emit them."""
    node = next(source for source in inputs if isinstance(source, Node))
    return apply(Map(name), *(
        source if isinstance(source, Node)
        else apply(Broadcast(node.shape), fixed(source, node.dtype))
        for source in inputs
    ))  # fmt: skip


def wide(x: Node, *shape: int) -> Node:
    """As broadcast_in_dim from [n] or [n,1]: a reshape, and a broadcast."""
    kept = apply(Reshape((*x.shape, *(1,) * (len(shape) - x.type.rank))), x)
    return apply(Broadcast(shape), kept)


def after(output: Node, tolerance: float = 1e-5) -> Node:
    """What an output becomes; its values must stay."""
    inputs = tuple(n for n in Graph((), (output,)).nodes if isinstance(n.operator, Input))
    graph = Graph(inputs, (output,))
    result = simplified(graph)
    check(result)
    assert result.outputs[0].type == output.type
    generator = np.random.default_rng(1)
    arrays = [generator.uniform(-2, 2, node.shape).astype(node.dtype) for node in inputs]
    (expected,), (values,) = evaluate(graph, arrays), evaluate(result, arrays)
    np.testing.assert_allclose(values, expected, tolerance, tolerance)
    return result.outputs[0]


def names(output: Node) -> list[str]:
    """The operators of a graph that compute something, each after its inputs."""
    nodes = Graph((), (output,)).nodes
    operators = (n.operator for n in nodes if not isinstance(n.operator, Input | Constant))
    return [o.name if isinstance(o, Map) else type(o).__name__.lower() for o in operators]


# folding and views


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
    whole = apply(Slice((0, 0, 0), (2, 3, 4), (1, 1, 1)), x)
    assert after(apply(Concat(1), whole)) is x
    part = apply(Slice((0, 0, 0), (2, 3, 3), (1, 1, 1)), x)
    assert after(part) is part
    assert names(after(apply(Transpose((1, 0, 2)), given(1, 3, 4)))) == ["reshape"]


def test_casts_of_casts_are_one_if_the_first_is_exact() -> None:
    x, b = given(4), given(4, dtype=BF16)
    up = apply(Cast(F32), b)
    assert after(apply(Cast(BF16), up)) is b
    assert names(after(apply(Cast(np.dtype(np.float64)), up))) == ["cast"]
    rounded = apply(Cast(F32), apply(Cast(BF16), x))
    assert names(simplified(Graph((x,), (rounded,))).outputs[0]) == ["cast", "cast"]


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


def test_pixels_that_are_apart_are_copied_for_many_filters() -> None:
    """Of what is computed; a filter of more pixels needs those in between."""
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


# functions


def gelu_erf(x: Node, root: float = np.sqrt(0.5)) -> Node:
    return f("add", f("erf", f("multiply", x, root)), 1.0)


def cubic(x: Node, factor: float = 0.044715, root: float = np.sqrt(2 / np.pi)) -> Node:
    cube = f("multiply", f("multiply", x, x), x)
    return f("multiply", root, f("add", x, f("multiply", factor, cube)))


def plus_tanh(u: Node) -> Node:
    return f("add", 1.0, f("tanh", u))


FORMS: dict[str, list[Callable[[Node], Node]]] = {
    "relu": [lambda x: f("maximum", x, 0.0), lambda x: f("maximum", 0.0, x)],
    "square": [lambda x: f("multiply", x, x), lambda x: f("power", x, 2.0)],
    "sigmoid": [
        lambda x: f("divide", 1.0, f("add", 1.0, f("exp", f("neg", x)))),
        lambda x: f("reciprocal", f("add", f("exp", f("multiply", x, -1.0)), 1.0)),
        lambda x: f("multiply", 0.5, plus_tanh(f("multiply", 0.5, x))),
    ],
    "silu": [
        lambda x: f("multiply", x, f("divide", 1.0, f("add", 1.0, f("exp", f("neg", x))))),
        lambda x: f("divide", x, f("add", 1.0, f("exp", f("neg", x)))),
        lambda x: f("multiply", f("sigmoid", x), x),
    ],
    "gelu": [
        lambda x: f("multiply", f("multiply", 0.5, x), gelu_erf(x)),
        lambda x: f("multiply", 0.5, f("multiply", x, gelu_erf(x))),
        lambda x: f("multiply", f("multiply", x, gelu_erf(x)), 0.5),
        lambda x: f("multiply", x, f("multiply", gelu_erf(x), 0.5)),
        lambda x: f("divide", f("multiply", gelu_erf(x), x), 2.0),
        lambda x: f("multiply", x, f("add", 0.5, f("multiply", 0.5, f(
            "erf", f("divide", x, 2**0.5))))),
        lambda x: f("multiply", f("multiply", 0.5, x), f("erfc", f(
            "multiply", f("neg", x), np.sqrt(0.5)))),
    ],
    "gelu_tanh": [
        lambda x: f("multiply", x, f("multiply", 0.5, plus_tanh(cubic(x)))),
        lambda x: f("multiply", f("multiply", 0.5, x), plus_tanh(f("multiply", f("add", x, f(
            "multiply", f("power", x, 3.0), 0.044715)), 0.7978845608))),
        lambda x: f("multiply", f("multiply", 0.5, x), plus_tanh(f("multiply", f(
            "multiply", x, 0.7978845608), f("add", 1.0, f("multiply", f(
            "multiply", x, 0.044715), x))))),
    ],
    "rsqrt": [
        lambda x: f("divide", 1.0, f("sqrt", x)),
        lambda x: f("power", x, -0.5),
        lambda x: f("reciprocal", f("sqrt", x)),
    ],
    "sqrt": [lambda x: f("power", x, 0.5)],
    "reciprocal": [lambda x: f("divide", 1.0, x), lambda x: f("power", x, -1.0)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("name", FORMS)
def test_functions_are_recognized(name: str, dtype: np.dtype) -> None:
    for form in FORMS[name]:
        x = f("exp", given(4, 8, dtype=dtype))
        assert names(after(form(x), 1e-5 if dtype == F32 else 0.01)) == ["exp", name]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (lambda x: f("maximum", x, 0.1), ["maximum"]),
        (lambda x: f("multiply", f("multiply", 0.5, x), gelu_erf(x, 0.7)),
         ["multiply", "multiply", "erf", "add", "multiply"]),
        (lambda x: f("multiply", f("multiply", 0.4, x), gelu_erf(x)),
         ["multiply", "multiply", "erf", "add", "multiply"]),
        (lambda x: f("multiply", f("multiply", x, 0.5), plus_tanh(cubic(x, 0.045))), None),
        (lambda x: f("multiply", f("multiply", x, 0.5), plus_tanh(cubic(x, root=0.8))), None),
        (lambda x: f("divide", 1.0, f("add", 1.01, f("exp", f("neg", x)))), None),
        (lambda x: f("divide", 1.0, f("add", 1.0, f("exp", x))), None),
        (lambda x: f("multiply", f("exp", x), f("sigmoid", x)), ["exp", "sigmoid", "multiply"]),
        (lambda x: f("power", x, 2.5), ["power"]),
        (lambda x: f("divide", x, 3.0), ["divide"]),
    ],
)  # fmt: skip
def test_functions_that_differ_are_left(
    form: Callable[[Node], Node], expected: list[str] | None
) -> None:
    result = names(after(form(f("abs", given(4, 8)))))[1:]
    if expected is None:
        assert not {"gelu_tanh", "sigmoid"} & {*result}
    else:
        assert result == expected


def test_clips_have_their_lower_limit_inside() -> None:
    x = given(4, 8)
    six = f("minimum", f("maximum", x, 0.0), 6.0)
    assert names(after(six)) == ["relu", "minimum"]
    assert names(after(f("maximum", f("minimum", x, 6.0), 0.0))) == ["relu", "minimum"]
    crossed = f("maximum", f("minimum", x, -1.0), 0.0)
    assert names(after(crossed)) == ["minimum", "relu"]


# softmax


def softmax(
    x: Node, axis: int, sum_axis: int | None = None, floor: bool = True, kept: bool = False
) -> Node:
    """As JAX emits it; with keepdims as torch and ONNX do."""

    def spread(kind: str, y: Node, along: int) -> Node:
        reduced = apply(Reduce(kind, (along,), kept), y)
        if kind == "max" and floor:
            reduced = f("maximum", -np.inf, reduced)
        unit = tuple(1 if d == along else n for d, n in enumerate(x.shape))
        return apply(Broadcast(x.shape), apply(Reshape(unit), reduced))

    exponentials = f("exp", f("subtract", x, spread("max", x, axis)))
    total = spread("sum", exponentials, axis if sum_axis is None else sum_axis)
    return f("divide", exponentials, total)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kept", [False, True])
def test_softmax_is_recognized_along_each_axis(axis: int, kept: bool) -> None:
    x = given(3, 5, 4)
    for floor in (True, False):
        result = after(softmax(x, axis, kept=kept, floor=floor))
        assert (names(result), result.operator) == (["softmax"], Softmax(axis))


def test_softmax_in_f32_of_bf16_is_one_of_bf16() -> None:
    x = given(3, 8, dtype=BF16)
    result = after(apply(Cast(BF16), softmax(apply(Cast(F32), x), 1)))
    assert (result.operator, result.inputs) == (Softmax(1), (x,))
    stays = after(softmax(apply(Cast(F32), x), 1))
    assert names(stays) == ["cast", "softmax"]


def test_parts_of_a_softmax_may_have_other_readers() -> None:
    x = given(3, 8)
    whole = softmax(x, 1)
    assert names(after(f("add", whole, whole.inputs[0]))) == [
        "softmax", "reduce", "subtract", "exp", "add",
    ]  # fmt: skip


def test_what_differs_from_softmax_is_left() -> None:
    x = given(5, 5)
    assert "softmax" not in names(after(softmax(x, 1, sum_axis=0)))
    exponentials = f("exp", f("subtract", x, wide(apply(Reduce("min", (1,)), x), 5, 5)))
    total = wide(apply(Reduce("sum", (1,)), exponentials), 5, 5)
    assert "softmax" not in names(after(f("divide", exponentials, total)))
    # [5] is broadcast along the other axis
    unkept = apply(Reduce("max", (1,)), x)
    shifted = f("exp", f("subtract", x, apply(Broadcast((5, 5)), unkept)))
    assert "softmax" not in names(after(f("divide", shifted, f("multiply", total, 1.0))))


# norms


def mean(x: Node, divisor: float | None = None, kept: bool = False) -> Node:
    """The mean along the last axis, as JAX (not `kept`) and torch emit it, as [..., 1]."""
    last = x.type.rank - 1
    if kept:
        return apply(Reduce("mean", (last,), True), x)
    total = apply(Reshape((*x.shape[:-1], 1)), apply(Reduce("sum", (last,)), x))
    return f("divide", total, float(divisor or x.shape[-1]))


def centred(x: Node, kept: bool = False) -> Node:
    return f("subtract", x, apply(Broadcast(x.shape), mean(x, kept=kept)))


def variances(x: Node) -> list[Node]:
    c = centred(x)
    usual = mean(f("multiply", c, c))
    known = f("greater", f("subtract", fixed(8.0), fixed(0.0)), fixed(0.0))
    wide_known = apply(Broadcast(usual.shape), known)
    selected = apply(Where(), wide_known, usual, apply(Broadcast(usual.shape), fixed(np.nan)))
    difference = f("subtract", mean(f("square", x)), f("square", mean(x)))
    return [usual, selected, difference, f("maximum", 0.0, difference)]


def scaled(x: Node, variance: Node, divided: bool) -> Node:
    shifted = f("add", variance, 1e-3)
    if divided:
        return f("divide", x, apply(Broadcast(x.shape), f("sqrt", shifted)))
    return f("multiply", x, apply(Broadcast(x.shape), f("rsqrt", shifted)))


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("form", range(4))
@pytest.mark.parametrize("affine", ["", "gamma", "beta", "both"])
def test_layer_norms_are_recognized(divided: bool, form: int, affine: str) -> None:
    x, gamma, beta = given(2, 3, 8), given(8), given(8)
    y = scaled(centred(x), variances(x)[form], divided)
    if affine in ("gamma", "both"):
        y = f("multiply", y, apply(Broadcast(x.shape), apply(Reshape((1, 1, 8)), gamma)))
    if affine in ("beta", "both"):
        y = f("add", apply(Broadcast(x.shape), beta), y)
    result = after(y, 1e-4)
    assert names(result) == ["layernorm"]
    assert result.operator == LayerNorm(float(np.float32(1e-3)))
    assert (result.inputs[1] is gamma, result.inputs[2] is beta) == (
        affine in ("gamma", "both"), affine in ("beta", "both"),
    )  # fmt: skip


def test_layer_norms_may_scale_before_they_divide() -> None:
    x, gamma, beta = given(3, 8), given(8), given(8)
    shifted = f("add", variances(x)[0], 1e-3)
    factor = f("multiply", apply(Broadcast(x.shape), f("rsqrt", shifted)), f("add", gamma, 0.0))
    assert names(after(f("add", f("multiply", centred(x), factor), beta))) == ["layernorm"]
    before = f("multiply", f("add", gamma, 0.0), centred(x))
    divided = f("divide", before, apply(Broadcast(x.shape), f("sqrt", shifted)))
    assert names(after(f("add", divided, beta))) == ["layernorm"]


def test_norms_of_bf16_in_f32_are_norms_of_bf16() -> None:
    x, gamma = given(3, 8, dtype=BF16), given(8, dtype=BF16)
    up, weight = apply(Cast(F32), x), apply(Cast(F32), gamma)
    rms = scaled(up, mean(f("multiply", up, up)), divided=False)
    gemma = f("multiply", rms, apply(Broadcast(rms.shape), f("add", 1.0, weight)))
    result = after(apply(Cast(BF16), gemma))
    assert names(result) == ["cast", "add", "rmsnorm"]
    assert result.inputs[0] is x
    llama = f("multiply", apply(Broadcast(x.shape), gamma), apply(Cast(BF16), rms))
    assert names(after(llama)) == ["rmsnorm"]
    layer = scaled(centred(up), variances(up)[0], divided=True)
    layer = f("add", f("multiply", layer, weight), weight)
    assert names(after(apply(Cast(BF16), layer), 1e-4)) == ["layernorm"]


def test_only_the_variance_of_bf16_may_be_computed_in_f32() -> None:
    """As `jnp.var` does, with a mean of its own, which is not rounded."""
    x, gamma, beta = (given(*shape, dtype=BF16) for shape in ((3, 8), (8,), (8,)))
    up = apply(Cast(F32), x)
    for own in (mean(up), apply(Cast(F32), mean(x))):
        variance = mean(f("square", f("subtract", up, own)))
        y = scaled(centred(x), apply(Cast(BF16), variance), divided=True)
        assert names(after(f("add", f("multiply", y, gamma), beta))) == ["layernorm"]
    other = mean(f("square", f("subtract", up, mean(apply(Cast(F32), given(3, 8, dtype=BF16))))))
    assert "layernorm" not in names(after(scaled(centred(x), apply(Cast(BF16), other), True)))


def test_norms_along_another_axis_are_transposed() -> None:
    x, gamma = given(2, 8, 5), given(8, 1)
    y = f("subtract", x, apply(Broadcast(x.shape), apply(Reduce("mean", (1,), True), x)))
    spread = apply(Reduce("mean", (1,), True), f("square", y))
    normed = scaled(y, spread, divided=True)
    affine = f("add", f("multiply", normed, apply(Broadcast(x.shape), gamma)), 0.0)
    result = after(apply(Transpose((0, 2, 1)), affine), 1e-4)
    assert names(result) == ["reshape", "transpose", "layernorm"] or names(result) == [
        "transpose", "reshape", "layernorm",
    ]  # fmt: skip
    rms = scaled(x, apply(Reduce("mean", (1,), True), f("square", x)), divided=False)
    assert names(after(rms)) == ["transpose", "rmsnorm", "transpose"]
    crossed = scaled(y, apply(Reduce("mean", (2,), True), f("square", y)), divided=False)
    assert names(after(crossed))[-1] == "rmsnorm"


def test_norms_of_reshaped_tensors_are_recognized() -> None:
    x = apply(Reshape((4, 8)), given(2, 2, 8))
    difference = f("subtract", mean(f("multiply", x, x)), f("square", mean(x)))
    y = scaled(f("subtract", x, mean(x)), f("maximum", difference, 0.0), divided=False)
    assert names(after(y, 1e-4)) == ["reshape", "layernorm"]


def test_rms_norms_are_recognized() -> None:
    x = given(3, 8)
    for kept in (False, True):
        for divided in (False, True):
            square = f("power", x, 2.0) if kept else f("multiply", x, x)
            y = scaled(x, mean(square, kept=kept), divided)
            assert names(after(y)) == ["rmsnorm"]
    weight = fixed(np.linspace(0.1, 0.9, 8))
    result = after(f("multiply", scaled(x, mean(f("square", x)), False), f("add", weight, 1.0)))
    assert result.operator == RmsNorm(float(np.float32(1e-3)))
    assert isinstance(result.inputs[1].operator, Constant)


def test_what_differs_from_norms_is_left() -> None:
    x, other = given(8, 8), given(8, 8)
    squares = f("square", centred(x))
    biased = scaled(centred(x), mean(squares, divisor=7), divided=False)
    columns = apply(Reduce("mean", (0,), True), x)
    crossed = f("subtract", x, apply(Broadcast((8, 8)), columns))
    cases = [
        biased,
        scaled(crossed, mean(f("square", crossed)), divided=True),
        scaled(x, mean(squares), divided=True),
        scaled(other, mean(f("square", x)), divided=False),
        f("divide", x, apply(Broadcast((8, 8)), f("sqrt", mean(f("square", x))))),
    ]
    for case in cases[:1] + cases[2:]:
        assert not {"layernorm", "rmsnorm"} & {*names(after(case, 1e-4))}
    assert names(after(cases[1], 1e-4))[-1] == "rmsnorm"
    rms = scaled(x, mean(f("square", x)), divided=False)
    rows = given(8, 1)
    assert names(after(f("multiply", rms, apply(Broadcast((8, 8)), rows)))) == [
        "rmsnorm", "multiply",
    ]  # fmt: skip


# weights


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
