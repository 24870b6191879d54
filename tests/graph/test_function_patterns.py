"""Functions, softmax and norms are recognized as frameworks emit them; near misses are left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.graph.nodes import BF16, F32, after, f, fixed, given, names, random, softmax, wide

from morello.graph.graph import Graph, Node, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    Broadcast,
    Cast,
    Constant,
    LayerNorm,
    Reduce,
    Reshape,
    RmsNorm,
    Softmax,
    Transpose,
    Where,
)
from morello.graph.rewriting import simplified


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


def below(x: Node, name: str, slope: Node | float, limit: float = 0.0) -> Node:
    """x, or x times a slope where a comparison with a limit tells so."""
    condition, scaled = f(name, x, limit), f("multiply", x, slope)
    return apply(Where(), condition, *((x, scaled) if "greater" in name else (scaled, x)))


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("name", ["greater", "greater_equal", "less", "less_equal"])
def test_leaky_relu_is_recognized(name: str, dtype: np.dtype) -> None:
    for slope in (0.1, -3.0, random(8, dtype=dtype)):
        result = after(below(given(4, 8, dtype=dtype), name, slope), 1e-6 if dtype == F32 else 0.01)
        assert names(result) == ["leaky_relu"]


def test_other_choices_by_a_limit_are_left() -> None:
    x = given(4, 8)
    for other in (
        below(x, "greater", 0.1, limit=1.0),
        below(x, "greater", np.inf),
        below(x, "less", given(8)),
        apply(Where(), f("less", x, 0.0), x, f("multiply", x, 0.1)),
        apply(Where(), f("less", f("abs", x), 0.0), f("multiply", x, 0.1), x),
    ):
        assert "where" in names(after(other))


def test_a_power_in_quarters_is_a_product_of_roots() -> None:
    power = f("power", f("exp", given(4, 8, dtype=F32)), 0.75)
    assert names(after(power, 1e-5)) == ["exp", "sqrt", "sqrt", "multiply"]


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
        (lambda x: f("divide", f("minimum", x, 6.0), 3.0), ["minimum", "divide"]),
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


def test_hard_swish_is_not_divided() -> None:
    x = given(4, 8)
    limited = f("minimum", f("maximum", f("add", x, 3.0), 0.0), 6.0)
    for swish in (
        f("divide", f("multiply", x, limited), 6.0),
        f("multiply", x, f("divide", limited, 6.0)),
    ):
        known = names(after(swish))
        assert sorted(known) == ["add", "minimum", "multiply", "multiply", "relu"]
    largest = f("divide", f("minimum", x, 6.0), 6.0)
    graph = Graph((x,), (largest,))
    (values,) = evaluate(simplified(graph), [np.full((4, 8), 7, np.float32)])
    assert (values.astype(np.float32) == 1).all()
    unlike = next(c for c in range(3, 99) if np.float32(c) * np.float32(1 / c) != 1)
    assert "divide" in names(after(f("divide", f("minimum", x, unlike), unlike)))


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
    """`jnp.var` computes it so, with a mean of its own, which is not rounded."""
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
