"""Rivals of kernels: every framework computes what the language says, or says that it does not."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from morello.base.errors import MorelloError, SeveralKernelsError
from morello.frontends.functions import INTERNAL, SUGGESTED
from morello.frontends.text import call_sequence, parse
from morello.graph.interpreter import evaluate
from morello.importers.text import graph_of
from morello.program import arguments_of
from morello.rivals.racing import PACKAGES, check_installed, check_result, prepared, rival_names
from morello.rivals.rival import RacedExpression
from morello.runtime.argument import Array, arguments
from morello.runtime.packing import random_inputs
from morello.runtime.tolerance import expected

BEYOND = {
    "onnxruntime": {
        "atan2", "elu", "erfc", "exp2", "expm1", "log1p", "log2", "bf16", "quantized_matmul",
        "grouped_matmul", "left_shift", "right_shift",
    },
    "jax": {"quantized_matmul"},
    "torch": {"quantized_matmul"},
}  # fmt: skip
"""The functions and dtypes that a framework does not take."""

EXPRESSIONS = (
    "x = f32[3,5]; abs(-x) + ceil(x) + cos(x) + erf(x) + exp(x) + floor(x) + gelu(x) + log(x)",
    "x = f32[3,5]; gelu_tanh(x) + hardsigmoid(x) + hardswish(x) + neg(x) + reciprocal(x) + relu(x)",
    "x = f32[3,5]; round(x) + rsqrt(x) + sigmoid(x) + sign(x) + silu(x) + sin(x) + softplus(x)",
    "x = f32[3,5]; sqrt(x) - square(x) * tanh(x)",
    "atan(f32[3,5])",
    "bitwise_xor(bitwise_and(i32[3,5], i32[5]), bitwise_or(i32[3,5], bitwise_not(i32[5])))",
    "quotient(i32[3,5], abs(i32[5]) + 1)",
    "right_shift(left_shift(i32[3,5], 3), 1)",
    "atan2(f32[3,5], f32[5]) - atan2(f32[3,5], 0.5)",
    "remainder(f32[3,5] * 9, f32[5]) - remainder(f32[3,5], 0.3)",
    *(f"{name}(f32[3,5])" for name in ("erfc", "exp2", "expm1", "log1p", "log2")),
    "elu(f32[6,8], 0.5)",
    "relu(f32[6,8] @ f32[8,4] + f32[4])",
    "bf16[6,8] @ bf16[8,4] + f32[4] -> bf16[6,4]",
    "u8[6,8] @ i8[8,4]",
    "f32[2,6,8] @ f32[8,4]{0,1}",
    "linear(f32[6,8], f32[8,4], f32[4])",
    'einsum("bqhd,bkhd->bhqk", f32[2,3,4,5], f32[2,6,4,5])',
    "attention(f32[2,6,8], f32[2,7,8], f32[2,7,4])",
    "conv(f32[2,4,8,9], f32[6,2,3,3], groups=2, padding=[0,1,2,1], stride=[2,1])",
    "conv(f32[2,4,9], f32[6,4,3], dilation=2, padding=1)",
    "max_pool(f32[2,4,8,9], window=3, stride=2, padding=1)",
    "avg_pool(f32[2,4,9], window=2, padding=[0,1])",
    "sum_pool(f32[2,4,8,9], window=[2,3])",
    "layer_norm(f32[6,8], f32[8], f32[8], epsilon=0.01)",
    "rms_norm(f32[6,8], f32[8])",
    "softmax(f32[6,8], axis=0)",
    "sum(f32[6,8,3], axis=[0,2])",
    "max(f32[6,8]) - min(f32[6,8])",
    "x = f32[6,8]; x - mean(x, axis=0, keepdims=True)",
    "argmax(f32[6,8])",
    "argmin(f32[6,8], axis=0)",
    "cumsum(f32[6,8], axis=0)",
    "take(f32[10,4], i64[2,3])",
    *(f"scatter_{kind}(f32[10,4], i64[30], f32[30,4])" for kind in ("max", "min", "sum")),
    "scatter_last(f32[10,4], i64[3], f32[3,4])",
    "segment_sum(f32[30,4], i64[30], count=10)",
    "grouped_matmul(f32[30,4], f32[3,4,5], i32[30])",
    "quantized_matmul(f32[2,64], u8[3,32], f32[3,2])",
    "x = f32[6,8]; where(x > 0.5, x * 2, leaky_relu(x - 0.6, 0.1))",
    "(f32[6,8] == f32[6,1]) + (f32[6,8] != 0.5) + (f32[8] <= 0.3) + (0.5 >= f32[8])",
    "f32[4] < 0.5",
    "clip(pow(f32[6,8], 2.5), 0.2, 0.5)",
    "maximum(minimum(f32[6,8], f32[8]), 0.5) / f32[6,8]",
    "cast(u8[6,8], i32) * 3",
    "transpose(f32[6,8,3], order=[2,0,1])",
    "move(expand_dims(f32[6,8], axis=1))",
    "broadcast(f32[6,8], axis=1, size=3)",
)
OTHERS = (
    "var(f32[6,8], axis=0, ddof=1) + std(f32[10,6])[2:] + norm(f32[8,8], order=1)",
    "norm(f32[6,8], keepdims=True) * normalize(f32[6,8]) + log_softmax(f32[6,8])",
    "cosine_similarity(f32[6,8], f32[6,8]) - logsumexp(f32[6,8])",
    "group_norm(f32[2,6,3,3], f32[6], f32[6], groups=2)",
    "layer_norm(rms_norm(f32[6,8])) + linear(f32[6,4], f32[4,8])",
    'einsum("ij,jk,kl->li", f32[3,4], f32[4,5], f32[5,6])',
    "x = f32[6,8]; concat(x[::-2, 1:], roll(x, shift=2, axis=1)[:3, ::-1][:, 1:], axis=0)",
    "flip(stack(f32[6,8], f32[6,8], axis=1), axis=[0,2])",
    "repeat(f32[3,4], count=2, axis=1) * tile(f32[4], counts=2)",
    "squeeze(pad(f32[3,2,4], padding=[1,0,0,0,2,1], value=0.5)[:, 1:2], axis=1)",
    "tril(f32[4,5]) + triu(f32[4,5], diagonal=1) * reshape(f32[5,4], shape=[4,5])",
    "diff(f32[6,8], axis=0)",
    "attention(f32[2,4,6,8], f32[2,2,7,8], f32[2,2,7,4], f32[6,7])",
    "attention(f32[2,6,8], f32[2,7,8], f32[2,7,4], causal=True)",
)
"""Expressions with functions that ONNX has not, or that are programs of several kernels."""

FRAMEWORKS = [
    pytest.param(
        name, marks=pytest.mark.skipif(not all(map(find_spec, needed)), reason="not installed")
    )
    for name, needed in PACKAGES.items()
]


def raced(text: str) -> tuple[RacedExpression, Array]:
    """An expression on random inputs, and what it should be."""
    try:
        spec = parse(text)
    except SeveralKernelsError:
        return raced_program(text)
    inputs, out = random_inputs(spec).plain, arguments(spec)[-1].empty()
    return RacedExpression(call_sequence(text), inputs, out, 1), expected(spec, inputs).value


def raced_program(text: str) -> tuple[RacedExpression, Array]:
    random, given = np.random.default_rng(0), arguments_of(text)
    inputs = [argument.random(random) for argument in given[:-1]]
    (wanted,) = evaluate(graph_of(text), inputs)
    return RacedExpression(call_sequence(text), inputs, given[-1].empty(), 1), wanted


def test_every_function_of_the_language_is_tried() -> None:
    every = EXPRESSIONS + OTHERS
    called = {call.function for text in every for call in call_sequence(text).calls}
    assert called >= {*SUGGESTED} - INTERNAL


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_results_are_those_of_the_language(framework: str) -> None:
    for text in EXPRESSIONS + OTHERS * (framework != "onnxruntime"):
        expression, wanted = raced(text)
        sequence = expression.sequence
        words = {call.function for call in sequence.calls}
        words |= {str(tensor.dtype) for tensor in sequence.inputs}
        beyond = words & BEYOND.get(framework, set())
        try:
            rival = prepared(framework, expression)
        except MorelloError as error:
            assert beyond, f"{text}: {error}"
            assert "\n" not in str(error)
        else:
            assert not beyond, text
            check_result(rival.array(rival.call()), wanted, sequence)


def test_what_is_not_installed_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PACKAGES, "torch", ("no_such_module",))
    with pytest.raises(MorelloError, match="no_such_module is not installed; pip install no_such"):
        check_installed("torch")


def test_another_result_is_an_error() -> None:
    expression, wanted = raced("exp(f32[8])")
    rival = prepared("numpy", expression)
    with pytest.raises(MorelloError, match="its result differs, by up to 1"):
        check_result(rival.array(rival.call()), wanted + 1, expression.sequence)


def test_names_of_frameworks() -> None:
    assert rival_names("torch, jax,torch") == ("torch", "jax")
    with pytest.raises(MorelloError, match="'keras' is no framework to race; they are numpy, "):
        rival_names("numpy,keras")
