"""Wrong kernels of every kind are caught."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.goals import (
    attention_goal,
    conv_goal,
    goal_of,
    layer_norm_goal,
    mapped,
    matmul_goal,
    mlp_goal,
    softmax_goal,
    tensor,
)
from tests.runtime.numpy_kernels import Kernel, faults, single, softmax_of

from morello.frontends.text import parse
from morello.ir.dtype import F32, I8, I32, U8
from morello.ir.primitives import (
    MAX,
    MIN,
    reduce,
)
from morello.ir.spec import Spec, goal
from morello.runtime.argument import Array
from morello.runtime.verify import verify


def _missing_last(spec: Spec, axis: tuple[int, int], count: int = 1) -> Kernel:
    """A kernel that leaves out the end of two inputs' common dimension."""
    right = single(spec)

    def kernel(*inputs: Array, out: Array) -> None:
        cut = [x.copy() for x in inputs]
        for x, along in zip(cut, axis, strict=False):
            np.moveaxis(x, along, -1)[..., -count:] = 0
        right(*cut, out=out)

    return kernel


def _layer_norm(x: Array, y: Array, over: int, axis: int = -1) -> Any:
    """The layer norm of x, with mean and variance from y."""
    mean = y.sum(axis=axis, keepdims=True) / over
    variance = np.square(y - mean).sum(axis=axis, keepdims=True) / over
    return (x - mean) / np.sqrt(variance + np.float32(1e-5))


SOFTMAX_GOAL, NORM, CONV = softmax_goal(8, 64), layer_norm_goal(8, 64), conv_goal(padding=1)
SQUARE = layer_norm_goal(8, 8)
ATTENTION, MLP = attention_goal(8, 16, 16), mlp_goal(8, 16, 32, 16)


def test_wrong_matmuls() -> None:
    spec = matmul_goal(8, 40, 8)
    for count in (1, 4, 8):
        assert "integers" in faults(_missing_last(spec, (1, 0), count), spec)

    def transposed(a: Array, b: Array, *, out: Array) -> None:
        out[...] = (a @ b).T

    def added_to(a: Array, b: Array, *, out: Array) -> None:
        out += a @ b

    def twice(a: Array, b: Array, *, out: Array) -> None:
        out[...] = a @ b
        out[:, 0] += a[:, -1] * b[-1, 0]

    for wrong in (transposed, added_to, twice):
        faults(wrong, spec)


def test_wrong_grouped_products() -> None:
    spec = parse("grouped_matmul(f32[40,8], f32[3,8,4], i32[40])")

    def by_matrices(x: Array, matrices: Array, ids: Array) -> Any:
        return (x[:, np.newaxis] @ matrices[ids])[:, 0]

    def by_the_last(x: Array, matrices: Array, ids: Array, *, out: Array) -> None:
        out[...] = by_matrices(x, matrices, np.minimum(ids, 2))

    def unfilled(x: Array, matrices: Array, ids: Array, *, out: Array) -> None:
        some = ids < 3
        out[some] = by_matrices(x[some], matrices, ids[some])

    def in_ascending_order(x: Array, matrices: Array, ids: Array, *, out: Array) -> None:
        some = np.sort(ids) < 3
        out[...] = 0
        out[some] = by_matrices(x[some], matrices, np.sort(ids)[some])

    for wrong in (by_the_last, unfilled, in_ascending_order):
        faults(wrong, spec)


def test_wrong_convolutions() -> None:
    right = single(CONV)

    def shifted(image: Array, weights: Array, *, out: Array) -> None:
        right(np.roll(image, 1, axis=-1), weights, out=out)

    def flipped(image: Array, weights: Array, *, out: Array) -> None:
        right(image, weights[..., ::-1], out=out)

    def unpadded_last_row(image: Array, weights: Array, *, out: Array) -> None:
        right(image, weights, out=out)
        out[:, :, -1] = out[:, :, -2]

    def pixel_missing(image: Array, weights: Array, *, out: Array) -> None:
        fewer = weights.copy()
        fewer[:, :, -1, -1] = 0
        right(image, fewer, out=out)

    assert verify(right, CONV) < 1e-6
    for wrong in (shifted, flipped, unpadded_last_row, pixel_missing):
        faults(wrong, CONV)


def test_wrong_softmaxes() -> None:
    def denominator_of_fewer(x: Array, *, out: Array) -> None:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        out[...] = powers / powers[:, :-1].sum(axis=1, keepdims=True)

    def other_axis(x: Array, *, out: Array) -> None:
        out[...] = softmax_of(x, axis=0)

    def not_divided(x: Array, *, out: Array) -> None:
        out[...] = np.exp(x - x.max(axis=1, keepdims=True))

    def rough_exp(x: Array, *, out: Array) -> None:
        out[...] = softmax_of(x.astype(np.float16).astype(np.float32))

    def last_row_again(x: Array, *, out: Array) -> None:
        out[...] = softmax_of(x)
        out[-1] = out[-2]

    for wrong in (denominator_of_fewer, other_axis, not_divided, rough_exp, last_row_again):
        faults(wrong, SOFTMAX_GOAL)


def test_wrong_layer_norms() -> None:
    def mean_of_fewer(x: Array, *, out: Array) -> None:
        out[...] = _layer_norm(x, x[:, :-1], 64)

    def wrong_count(x: Array, *, out: Array) -> None:
        out[...] = _layer_norm(x, x, 63)

    def other_axis(x: Array, *, out: Array) -> None:
        out[...] = _layer_norm(x, x, 8, axis=0)

    def epsilon_forgotten(x: Array, *, out: Array) -> None:
        centred = x - x.mean(axis=1, keepdims=True)
        out[...] = centred / np.sqrt(np.square(centred).mean(axis=1, keepdims=True))

    for wrong in (mean_of_fewer, wrong_count, epsilon_forgotten):
        faults(wrong, NORM)
    faults(other_axis, SQUARE)


def test_wrong_maxima() -> None:
    for dtype, numpy in ((F32, np.float32), (I32, np.int32)):
        spec = goal(reduce(MAX, 2, 1), (1, 1000), (dtype, dtype))

        def without_last(x: Array, *, out: Array) -> None:
            out[...] = x[:, :-1].max(axis=1)

        def without_first(x: Array, *, out: Array) -> None:
            out[...] = x[:, 1:].max(axis=1)

        def unfilled(x: Array, *, out: Array) -> None:
            np.fmax(out, x.max(axis=1), out=out)

        def from_zero(x: Array, *, out: Array, numpy: type = numpy) -> None:
            out[...] = np.maximum(x.max(axis=1), numpy(0))

        assert verify(single(spec), spec) == 0
        for wrong in (without_last, without_first, unfilled, from_zero):
            faults(wrong, spec)


def test_wrong_minima() -> None:
    for dtype, numpy in ((F32, np.float32), (I32, np.int32), (U8, np.uint8)):
        spec = goal(reduce(MIN, 2, 1), (1, 1000), (dtype, dtype))

        def without_last(x: Array, *, out: Array) -> None:
            out[...] = x[:, :-1].min(axis=1)

        def without_first(x: Array, *, out: Array) -> None:
            out[...] = x[:, 1:].min(axis=1)

        def from_zero(x: Array, *, out: Array, numpy: type = numpy) -> None:
            out[...] = np.minimum(x.min(axis=1), numpy(0))

        assert verify(single(spec), spec) == 0
        for wrong in (without_last, without_first, from_zero):
            faults(wrong, spec)


def test_wrong_compositions() -> None:
    def scores_of_fewer(q: Array, k: Array, v: Array, *, out: Array) -> None:
        out[...] = softmax_of(q[:, :-1] @ k[:-1]) @ v

    def keys_of_fewer(q: Array, k: Array, v: Array, *, out: Array) -> None:
        out[...] = softmax_of(q @ k[:, :-1]) @ v[:-1]

    def values_of_fewer(q: Array, k: Array, v: Array, *, out: Array) -> None:
        out[...] = softmax_of(q @ k)[:, :-1] @ v[:-1]

    def no_softmax(q: Array, k: Array, v: Array, *, out: Array) -> None:
        out[...] = (q @ k) @ v

    for attention in (scores_of_fewer, keys_of_fewer, values_of_fewer, no_softmax):
        faults(attention, ATTENTION)

    def no_relu(x: Array, w: Array, v: Array, *, out: Array) -> None:
        out[...] = (x @ w) @ v

    def fewer_hidden(x: Array, w: Array, v: Array, *, out: Array) -> None:
        out[...] = np.maximum(x @ w, 0)[:, :-1] @ v[:-1]

    def fewer_inputs(x: Array, w: Array, v: Array, *, out: Array) -> None:
        out[...] = np.maximum(x[:, :-1] @ w[:-1], 0) @ v

    for mlp in (no_relu, fewer_hidden, fewer_inputs):
        assert "integers" in faults(mlp, MLP)


def test_steps_of_a_composition_wrap_around() -> None:
    x = tensor(20, 30, dtype=I8)
    spec = goal_of(mapped("maximum", mapped("multiply", x, constant=2), constant=3))

    def wide(x: Array, *, out: Array) -> None:
        out[...] = np.maximum(x.astype(np.int32) * 2, 3).astype(np.int8)

    def wrapping(x: Array, *, out: Array) -> None:
        out[...] = np.maximum(x * np.int8(2), np.int8(3))

    assert verify(wrapping, spec) == 0
    faults(wide, spec)
