"""Rivals of kernels: every framework computes what the language says, or says that it does not."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from morello.base.errors import MorelloError
from morello.frontends.functions import INTERNAL, SUGGESTED
from morello.frontends.text import call_sequence, parse
from morello.rivals.racing import PACKAGES, ready_rival, rival_names
from morello.rivals.rival import RacedExpression
from morello.runtime.argument import arguments
from morello.runtime.packing import random_inputs
from morello.runtime.tolerance import expected

MAPS = {
    "abs", "ceil", "cos", "erf", "erfc", "exp", "exp2", "expm1", "floor", "gelu", "gelu_tanh",
    "hardsigmoid", "hardswish", "log", "log1p", "log2", "neg", "reciprocal", "relu", "round",
    "rsqrt", "sigmoid", "sign", "silu", "sin", "softplus", "sqrt", "square", "tanh",
}  # fmt: skip
"""Functions of one array, without options."""

EXPRESSIONS = (
    *(f"{name}(f32[3,5])" for name in sorted(MAPS)),
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
    "x = f32[6,8]; where(x > 0.5, x * 2, leaky_relu(x - 0.6, 0.1))",
    "(f32[6,8] == f32[6,1]) + (f32[6,8] != 0.5) + (f32[8] <= 0.3) + (0.5 >= f32[8])",
    "f32[4] < 0.5",
    "clip(pow(f32[6,8], 2.5), 0.2, 0.5)",
    "maximum(minimum(f32[6,8], f32[8]), 0.5) / elu(f32[6,8], 0.5)",
    "cast(u8[6,8], i32) * 3",
    "transpose(f32[6,8,3], order=[2,0,1])",
    "move(expand_dims(f32[6,8], axis=1))",
    "broadcast(f32[6,8], axis=1, size=3)",
)
BEYOND = {"onnxruntime": {"elu", "erfc", "exp2", "expm1", "log1p", "log2", "bf16"}}
"""The functions and dtypes that a framework does not take."""

FRAMEWORKS = [
    pytest.param(
        name, marks=pytest.mark.skipif(not all(map(find_spec, needed)), reason="not installed")
    )
    for name, needed in PACKAGES.items()
]


def raced(text: str) -> RacedExpression:
    spec = parse(text)
    return RacedExpression(
        spec, call_sequence(text), random_inputs(spec).plain, arguments(spec)[-1].empty(), threads=1
    )


def test_every_function_of_the_language_is_tried() -> None:
    called = {call.function for text in EXPRESSIONS for call in call_sequence(text).calls}
    assert called >= {*SUGGESTED} - INTERNAL


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_results_are_those_of_the_language(framework: str) -> None:
    for text in EXPRESSIONS:
        posed = raced(text)
        wanted = expected(posed.spec, posed.inputs).value
        words = {call.function for call in posed.sequence.calls} | {*map(str, posed.spec.dtypes)}
        beyond = words & BEYOND.get(framework, set())
        try:
            ready_rival(framework, posed, wanted)
        except MorelloError as error:
            assert beyond, f"{text}: {error}"
            assert "\n" not in str(error)
        else:
            assert not beyond, text


def test_what_is_not_installed_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PACKAGES, "torch", ("no_such_module",))
    with pytest.raises(MorelloError, match="no_such_module is not installed; pip install no_such"):
        ready_rival("torch", raced("relu(f32[8])"), None)


def test_another_result_is_an_error() -> None:
    posed = raced("exp(f32[8])")
    with pytest.raises(MorelloError, match="its result differs, by up to 1"):
        ready_rival("numpy", posed, expected(posed.spec, posed.inputs).value + 1)


def test_names_of_frameworks() -> None:
    assert rival_names("torch, jax,torch") == ("torch", "jax")
    with pytest.raises(MorelloError, match="'keras' is no framework to race; they are numpy, "):
        rival_names("numpy,keras")
