"""The adversaries' own reference: what it makes of texts, against NumPy written by hand."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from fuzz.bounded import DTYPES, Bounded
from fuzz.graph_grammar import GraphGrammar
from fuzz.meaning import evaluate
from fuzz.reading import Type, read
from morello.frontends.text import parse_tensor

Array = np.ndarray[Any, Any]


def softmax(x: Array, axis: int = -1) -> Array:
    parts = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(parts / parts.sum(axis, keepdims=True))


def normed(x: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5))


def correlated(x: Array, w: Array, stride: int, padding: int) -> Array:
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    rows, columns = (1 + (x.shape[d] - w.shape[d]) // stride for d in (2, 3))
    out = np.zeros((x.shape[0], w.shape[0], rows, columns))
    for i in range(rows):
        for j in range(columns):
            piece = x[:, :, i * stride :, j * stride :][:, :, : w.shape[2], : w.shape[3]]
            out[:, :, i, j] = np.tensordot(piece, w, ([1, 2, 3], [1, 2, 3]))
    return out


def dilated(w: Array) -> Array:
    """Filters with zeros between their elements."""
    wide = np.zeros((*w.shape[:2], 2 * w.shape[2] - 1, 2 * w.shape[3] - 1))
    wide[:, :, ::2, ::2] = w
    return wide


FLOATS: dict[str, Callable[..., Array]] = {
    "f32[3,4] @ f32[4,5]": np.matmul,
    "f32[2,3,4]{0,1,2} @ f32[2,4,5]": np.matmul,
    "linear(f32[3,4], f32[4,5], f32[5])": lambda x, w, b: x @ w + b,
    "f32[3,4] - f32[4] * 2": lambda x, y: x - 2 * y,
    "1 / (f32[3] + 5) - -f32[3]": lambda x, y: 1 / (x + 5) + y,
    "x = f32[3,4]; x - expand_dims(mean(x), axis=1)": lambda x: x - x.mean(1, keepdims=True),
    "x = f32[3,4]; y = f32[4]; y + max(x, axis=0)": lambda y, x: y + x.max(0),
    "softmax(f32[3,4], axis=0)": lambda x: softmax(x, 0),
    "attention(f32[3,4], f32[5,4], f32[5,2])": lambda q, k, v: softmax(q @ k.T / 2) @ v,
    "layer_norm(f32[3,4], f32[4], f32[4])": lambda x, g, b: normed(x) * g + b,
    "rms_norm(f32[3,4], f32[4])": lambda x, g: x / np.sqrt((x**2).mean(1)[:, None] + 1e-5) * g,
    "conv(f32[2,3,5,5], f32[4,3,3,3], stride=2, padding=1)": lambda x, w: correlated(x, w, 2, 1),
    "conv(f32[1,4,6,5], f32[6,2,3,3], groups=2, stride=2)": lambda x, w: np.concatenate(
        [correlated(x[:, :2], w[:3], 2, 0), correlated(x[:, 2:], w[3:], 2, 0)], axis=1
    ),
    "conv(f32[1,2,6,7], f32[3,2,2,2], dilation=2, padding=[1,0,0,1])": lambda x, w: correlated(
        np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1))), dilated(w), 1, 0
    ),
    "max_pool(f32[2,3,5,5], window=3, stride=2)": lambda x: np.stack(
        [[x[:, :, i : i + 3, j : j + 3].max((2, 3)) for j in (0, 2)] for i in (0, 2)]
    ).transpose(2, 3, 0, 1),
    "conv(f32[1,4,4,2], f32[2,2,2,3], layout=NHWC)": lambda x, w: correlated(
        x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), 1, 0
    ).transpose(0, 2, 3, 1),
    "transpose(f32[2,3,4], order=[2,0,1])": lambda x: x.transpose(2, 0, 1),
    "broadcast(f32[3], axis=0, size=2)": lambda x: np.stack([x, x]),
    "one_prefix(sum(f32[3,4], axis=-2))": lambda x: x.sum(0)[None],
    "sum(f32[4])": lambda x: x.sum(keepdims=True),
    "x = f32[3,4]; softmax_complete(x, max(x), softmax_denominator(x, max(x)))": softmax,
    "gelu(f32[9]) + silu(f32[9])": lambda x, y: _gelu(x) + y / (1 + np.exp(-y)),
    "maximum(0.25, sqrt(square(f32[9]))) / rsqrt(f32[9] * 0 + 4)": lambda x, y: np.maximum(
        0.25, np.abs(x)
    ) * 2 + 0 * y,
    "x = f32[5,4]; x[::-2, None, 1:3]": lambda x: x[::-2, None, 1:3],
    "pad(f32[3,4], padding=[0,1,2,0], value=3)": lambda x: np.pad(
        x, ((0, 1), (2, 0)), constant_values=3
    ),
    "roll(flip(f32[3,4], axis=1), shift=-1, axis=0)": lambda x: np.roll(x[:, ::-1], -1, 0),
    "diff(cumsum(f32[3,4], axis=0), axis=0)": lambda x: x[1:],
    "where(f32[3,4] > 0, f32[3,4], 1)": lambda x, y: np.where(x > 0, y, 1),
    "var(f32[3,4], axis=0, ddof=1)": lambda x: x.var(0, ddof=1),
    "norm(f32[3,4]) + logsumexp(f32[3,4])": lambda x, y: (
        np.linalg.norm(x, axis=1) + np.log(np.exp(y).sum(1))
    ),
    "group_norm(f32[2,4,3], f32[4], f32[4], groups=4) * 0 + log_softmax(f32[2,4,3])": (
        lambda x, g, b, y: np.log(softmax(y))
    ),
    "attention(f32[2,3,4], f32[1,5,4], f32[1,5,2], causal=True)": lambda q, k, v: np.stack(
        [softmax(np.where(np.tri(3, 5, 2), each @ k[0].T / 2, -np.inf)) @ v[0] for each in q]
    ),
    'einsum("ab,bc,cd->ad", f32[3,4], f32[4,2], f32[2,3])': lambda a, b, c: a @ b @ c,
}  # fmt: skip


def _gelu(x: Array) -> Array:
    from math import erf

    return np.array([0.5 * v * (1 + erf(v / 2**0.5)) for v in x])


def values(text: str, seed: int = 0) -> tuple[Bounded, list[Array]]:
    """The reference's result for a text, and the random arrays that it was computed from."""
    graph, random = read(text).graph, np.random.default_rng(seed)
    arrays = {
        n: random.standard_normal(n.type.shape).astype(DTYPES[n.type.dtype])
        for n in graph.inputs()
        if n.type
    }
    return evaluate(graph, arrays, None)[graph], list(arrays.values())


@pytest.mark.parametrize("text", FLOATS)
def test_it_means_what_numpy_does(text: str) -> None:
    made, arrays = values(text)
    expected = FLOATS[text](*(x.astype(np.float64) for x in arrays))
    np.testing.assert_allclose(made.value, expected, rtol=1e-12, atol=1e-14)
    assert (made.error < 1e-4).all() and made.dtype == "f32"


def test_places_of_extrema_are_known_if_the_numbers_are() -> None:
    made, (x,) = values("argmin(f32[3,4], axis=0)")
    np.testing.assert_array_equal(made.value, x.argmin(0))
    assert not made.error.any() and made.dtype == "i32"
    assert np.isinf(values("argmax(exp(f32[3,4]))")[0].error).all()


def test_random_texts_of_graphs_are_read() -> None:
    texts = [GraphGrammar(Random(seed)).goal() for seed in range(40)]
    for text in texts:
        assert read(text).graph.inputs()
        parse_tensor(text)
    assert any("[" in text and "attention" in text for text in texts)


def test_integers_wrap_around_in_their_dtype() -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-128, 128, (3, 3)).astype(np.int8) for _ in range(2))
    for text, expected in {
        "square(i8[3,3]) - i8[3,3]": a * a - b,
        "i8[3,3] @ i8[3,3]": a.astype(np.int32) @ b.astype(np.int32),
        "abs(maximum(i8[3,3], i8[3,3]))": np.abs(np.maximum(a, b)),
        "sum(i8[3,3] * i8[3,3], axis=1)": (a * b).sum(1, dtype=np.int8),
        "cast(cast(i8[3,3], i32), f32) + cast(cast(i8[3,3], i32), f32)": a.astype(float) + b,
    }.items():
        graph = read(text).graph
        made = evaluate(graph, dict(zip(graph.inputs(), (a, b), strict=True)), None)[graph]
        np.testing.assert_array_equal(made.value, expected)


def special(text: str, *arrays: Any) -> Bounded:
    """The reference's result for a text and these arrays."""
    graph = read(text).graph
    with np.errstate(all="ignore"):
        given = {
            n: np.array(x, DTYPES[n.type.dtype])
            for n, x in zip(graph.inputs(), arrays, strict=True)
            if n.type
        }
    return evaluate(graph, given, None)[graph]


def test_what_must_be_infinite_or_nan_and_what_may_be() -> None:
    inf, nan, huge = float("inf"), float("nan"), 3e38
    made = special("f32[4] + f32[4]", [inf, inf, nan, huge], [1, -inf, 1, huge])
    np.testing.assert_array_equal(made.value, [inf, nan, nan, inf])
    np.testing.assert_array_equal(made.error, 0)
    overflows = special("(f32[2] * f32[2]) * 1e-3", [huge, 2], [2, 2])
    assert np.isinf(overflows.error[0]) and overflows.error[1] < 1e-6
    squares = special("square(f32[1] * f32[1] * f32[1])", [huge], [huge], [0])
    assert np.isinf(squares.error).all()
    sums = special("sum(f32[3,2])", [[inf, 1], [inf, -inf], [huge, huge]])
    np.testing.assert_array_equal(sums.value[:2], [inf, nan])
    np.testing.assert_array_equal(sums.error, [0, 0, inf])
    assert np.isnan(special("softmax(f32[2])", [nan, 1]).value).all()
    np.testing.assert_array_equal(special("exp(f32[2])", [-inf, 1000]).value, [0, inf])


def test_sums_of_16_bits_are_rounded_once() -> None:
    made = special("sum(f16[3,3], axis=1)", [[6e4, 6e4, -6e4], [6e4, 6e4, 6e4], [1, 2, 3]])
    held = float(np.float16(6e4))
    np.testing.assert_array_equal(made.value, [held, np.inf, 6])
    assert held * 2**-11 < made.error[0] < held * 2**-10 and made.error[1] == 0
    for text in ("f16[1,3] @ f16[3,1]", "conv(f16[1,3,1,1], f16[1,3,1,1])"):
        graph = read(text).graph
        shapes = [n.type.shape for n in graph.inputs() if n.type]
        factors = [250] * 3, [250, 250, -250]
        numbers = [np.array(x).reshape(s) for x, s in zip(factors, shapes, strict=True)]
        arrays = dict(zip(graph.inputs(), (x.astype(np.float16) for x in numbers), strict=True))
        product = evaluate(graph, arrays, "f16")[graph]
        assert product.value == 62500 and (product.error < 62500 * 2**-10).all()


def test_errors_grow_with_what_few_digits_lose() -> None:
    wide, narrow = (values(f"softmax({d}[3,4]) * 3")[0] for d in ("f32", "bf16"))
    assert wide.error.max() < 1e-5 < 1e-3 < narrow.error.max() < 0.1
    rounded = special("cast(f32[2], bf16)", [1.001, 1e39])
    held = np.array([1.001], ml_dtypes.bfloat16).astype(float)
    assert abs(held[0] - 1.001) <= rounded.error[0] < 0.02 and np.isinf(rounded.value[1])


def test_arguments_of_softmax_that_are_not_known_may_be_the_largest() -> None:
    made = special("softmax(bf16[3] * bf16[3])", [1e10, 1.007e10, -1e10], [1.1, 1.1, 1.1])
    assert (made.value[[0, 2]] == 0).all()
    assert made.error[0] > 0.9 and made.error[2] < 1e-30


def test_denominators_that_are_subnormal_may_give_anything() -> None:
    made = special("softmax_complete(f32[1,2], f32[1], f32[1])", [[-80, -1]], [0], [1e-39])
    assert np.isinf(made.error).all()
    assert special("softmax_complete(f32[1,1], f32[1], f32[1])", [[-1]], [0], [1]).error < 1e-6


def test_erf_of_next_to_nothing_keeps_its_digits() -> None:
    made = special("erf(f32[2])", [3e-12, -1e-20])
    np.testing.assert_allclose(made.value, [3.385e-12, -1.1284e-20], rtol=1e-4)
    assert (made.error < 1e-6 * np.abs(made.value)).all()


def test_texts_are_read_as_they_are_written() -> None:
    text = "x = f32[3,4]{0,1} S(1,5); x @ f32[4,2] -> bf16[3,2]"
    found = read(text)
    assert str(found) == text
    assert found.types[0].steps == (1, 5) and found.types[1].steps == (2, 1)
    assert found.result == Type("bf16", (3, 2))
    with pytest.raises(SyntaxError):
        read("f32[3")
