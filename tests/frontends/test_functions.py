"""The results of functions, against formulas in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.frontends.random_expressions import softmax

from morello.frontends import movement, parse
from morello.frontends.functions import FUNCTIONS
from morello.frontends.views import FUNCTIONS as VIEWS
from morello.ir.dtype import BF16
from morello.ir.semantics import evaluate
from morello.runtime.tolerance import expected, only_integers

Array = npt.NDArray[Any]

erf = np.vectorize(math.erf)


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def gelu_tanh(x: Array) -> Array:
    return np.asarray(x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return np.asarray(scaled * gamma + beta)


def rms_norm(x: Array, gamma: Array) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gamma)


def attention(q: Array, k: Array, v: Array) -> Array:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return np.asarray(softmax(scores) @ v)


def convolved(
    stride: tuple[int, int] = (1, 1),
    padding: tuple[int | tuple[int, int], int | tuple[int, int]] = (0, 0),
    dilation: tuple[int, int] = (1, 1),
) -> Callable[[Array, Array], Array]:
    """A convolution of NCHW, one element after the other."""
    ends = [(p, p) if isinstance(p, int) else p for p in padding]

    def function(image: Array, weights: Array) -> Array:
        padded = np.pad(image, [(0, 0), (0, 0), *ends])
        (batch, _, height, width), filters = padded.shape, len(weights)
        rows, columns = (d * (n - 1) + 1 for d, n in zip(dilation, weights.shape[2:], strict=True))
        y_count, x_count = (height - rows) // stride[0] + 1, (width - columns) // stride[1] + 1
        out = np.empty((batch, filters, y_count, x_count))
        for b, f, y, x in product(*map(range, out.shape)):
            top, left = y * stride[0], x * stride[1]
            window = padded[b, :, top : top + rows, left : left + columns]
            window = window[:, :: dilation[0], :: dilation[1]]
            out[b, f, y, x] = (window * weights[f]).sum()
        return out

    return function


def contracted(subscripts: str) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.asarray(np.einsum(subscripts, a, b))


def channels_last(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda image, weights: function(
        image.transpose(0, 3, 1, 2), weights.transpose(3, 2, 0, 1)
    ).transpose(0, 2, 3, 1)


def grouped(
    groups: int, function: Callable[[Array, Array], Array]
) -> Callable[[Array, Array], Array]:
    """A convolution of each group of channels, one after the other."""
    return lambda image, weights: np.concatenate(
        [
            function(*pair)
            for pair in zip(np.split(image, groups, axis=1), np.split(weights, groups), strict=True)
        ],
        axis=1,
    )


def scattered(
    combine: Callable[[Array, Array], Array], table: Array, ids: Array, rows: Array
) -> Array:
    """Row by row; the places, which are random numbers, are truncated."""
    result = table.copy()
    for place, row in zip(ids, rows, strict=True):
        if 0 <= place < len(table):
            result[int(place)] = combine(result[int(place)], row)
    return result


SCATTERED: dict[str, Callable[[Array, Array], Array]] = {
    "last": lambda old, new: new,
    "max": np.maximum,
    "min": np.minimum,
    "sum": np.add,
}


TURNS = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
"""The matrix of the input transform, which multiplies lines of 4 pixels."""

BACK = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
"""The matrix of the output transform, which multiplies lines of 4 points."""


def points_of_squares(image: Array) -> Array:
    """Each square of 4 x 4 pixels, two apart, turned along its rows and columns."""
    batch, channels, height, width = image.shape
    out = np.zeros((16, batch, (height - 2) // 2, (width - 2) // 2, channels))
    for b, c, y, x in np.ndindex(batch, channels, *out.shape[2:4]):
        square = image[b, c, 2 * y : 2 * y + 4, 2 * x : 2 * x + 4]
        out[:, b, y, x, c] = (TURNS @ square @ TURNS.T).ravel()
    return out


def tiles_of_points(points: Array) -> Array:
    """A tile of 2 x 2 elements of each 4 x 4 points."""
    _, batch, rows, columns, filters = points.shape
    out = np.zeros((batch, 2 * rows, 2 * columns, filters))
    for b, y, x, f in np.ndindex(batch, rows, columns, filters):
        tile = BACK @ points[:, b, y, x, f].reshape(4, 4) @ BACK.T
        out[b, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2, f] = tile
    return out


def pooled(
    reduction: Callable[..., Array],
    window: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    padding: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0)),
    dilation: tuple[int, int] = (1, 1),
    outside: float = 0.0,
) -> Callable[[Array], Array]:
    """A reduction of each window of NCHW, one after the other, with numbers `outside` around."""

    def function(image: Array) -> Array:
        padded = np.pad(image, [(0, 0), (0, 0), *padding], constant_values=outside)
        rows, columns = (d * (n - 1) + 1 for d, n in zip(dilation, window, strict=True))
        batch, channels, height, width = padded.shape
        y_count, x_count = (height - rows) // stride[0] + 1, (width - columns) // stride[1] + 1
        out = np.empty((batch, channels, y_count, x_count))
        for y, x in product(range(y_count), range(x_count)):
            top, left = y * stride[0], x * stride[1]
            whole = padded[:, :, top : top + rows, left : left + columns]
            out[:, :, y, x] = reduction(whole[:, :, :: dilation[0], :: dilation[1]], axis=(2, 3))
        return out

    return function


def along_columns(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A convolution of sequences as that of images of one row."""
    return lambda image, weights: function(image[:, :, None], weights[:, :, None])[:, :, 0]


CASES: dict[str, Callable[..., Array | tuple[Array, ...]]] = {
    "abs(f32[3,4])": np.abs,
    "ceil(f32[3,4])": np.ceil,
    "argmax(f32[3,4])": lambda x: x.argmax(1),
    "bitwise_not(i32[3,4])": np.invert,
    "bitwise_and(i32[3,4], i32[4])": np.bitwise_and,
    "bitwise_or(u8[3,4], 5)": lambda x: x | 5,
    "bitwise_xor(-1, i16[3,4])": np.invert,
    "left_shift(i32[3,4], abs(i32[4]))": lambda a, b: a << np.abs(b),
    "left_shift(3, abs(i32[4]))": lambda b: 3 << np.abs(b),
    "right_shift(i32[3,4], 2)": lambda a: a >> 2,
    "quotient(i32[3,4], i32[4])": lambda a, b: np.where(
        b == 0, -1, np.trunc(a / np.where(b, b, 1))
    ),
    "quotient(7, u8[3,4] * 0 + 3)": lambda x: 0 * x + 2,
    "5 - u8[3,4]": lambda x: 5 - x,
    "argmin(f32[3,4], axis=0)": lambda x: x.argmin(0),
    "cos(f32[3,4])": np.cos,
    "cumsum(f32[3,4], axis=0)": lambda x: x.cumsum(0),
    "erf(f32[3,4])": erf,
    "erfc(f32[3,4])": lambda x: 1 - erf(x),
    "exp(f32[3,4])": np.exp,
    "exp2(f32[3,4])": np.exp2,
    "expm1(f32[3,4])": np.expm1,
    "floor(f32[3,4])": np.floor,
    "gelu(f32[3,4])": lambda x: x / 2 * (1 + erf(x / np.sqrt(2))),
    "gelu_tanh(f32[3,4])": gelu_tanh,
    "log(abs(f32[3,4]))": lambda x: np.log(np.abs(x)),
    "log1p(abs(f32[3,4]))": lambda x: np.log1p(np.abs(x)),
    "log2(abs(f32[3,4]))": lambda x: np.log2(np.abs(x)),
    "neg(f32[3,4])": np.negative,
    "sin(f32[3,4])": np.sin,
    "reciprocal(f32[3,4])": lambda x: 1 / x,
    "relu(f32[3,4])": lambda x: np.where(x > 0, x, 0),
    "round(f32[3,4] * 10)": lambda x: np.rint(x * 10),
    "rsqrt(abs(f32[3,4]))": lambda x: 1 / np.sqrt(np.abs(x)),
    "sigmoid(f32[3,4])": sigmoid,
    "sign(f32[3,4])": np.sign,
    "softplus(f32[3,4])": lambda x: np.log(1 + np.exp(x)),
    "silu(f32[3,4])": lambda x: x * sigmoid(x),
    "sqrt(abs(f32[3,4]))": lambda x: np.sqrt(np.abs(x)),
    "square(f32[3,4])": lambda x: x * x,
    "tanh(f32[3,4])": np.tanh,
    "add(f32[3,4], f32[4])": np.add,
    "subtract(1, f32[3,4])": lambda x: 1 - x,
    "subtract(f32[4], f32[3,4])": np.subtract,
    "multiply(f32[3,4], 2)": lambda x: 2 * x,
    "divide(2, f32[3,4])": lambda x: 2 / x,
    "divide(f32[3,4], f32[3,4])": np.divide,
    "maximum(f32[3,4], 0.25)": lambda x: np.where(x > 0.25, x, 0.25),
    "minimum(0.25, f32[3,4])": lambda x: np.where(x < 0.25, x, 0.25),
    "leaky_relu(f32[3,4], 0.01)": lambda x: np.where(x > 0, x, 0.01 * x),
    "atan(f32[3,4] * 9)": lambda x: np.arctan(9 * x),
    "atan2(f32[3,4], f32[4])": np.arctan2,
    "remainder(f32[3,4] * 9, f32[4])": lambda a, b: np.fmod(a * 9, b),
    "remainder(2.5, f32[3,4])": lambda b: np.fmod(2.5, b),
    "atan2(f32[3,4], -0.5)": lambda y: np.arctan2(y, -0.5),
    "f32[3,4] > f32[4]": lambda a, b: 1.0 * (a > b),
    "0.25 >= f32[3,4]": lambda x: 1.0 * (x <= 0.25),
    "x = f32[3,4]; x == maximum(x, 0)": lambda x: 1.0 * (x >= 0),
    "x = f32[3,4]; x * 2 != relu(x) + x": lambda x: 1.0 * (x < 0),
    "(f32[3,4] < 0) <= f32[3,4] - 0.5": lambda a, b: 1.0 * (1.0 * (a < 0) <= b - 0.5),
    "greater(f32[3,4], 0) + less(0, f32[3,4])": lambda a, b: 1.0 * (a > 0) + (b > 0),
    "equal(f32[3,4], 1) + not_equal(2, f32[4])": lambda a, b: 1.0 * (a == 1) + (b != 2),
    "greater_equal(0.5, f32[3,4]) * less_equal(0.5, f32[4])": lambda a, b: (
        1.0 * (a <= 0.5) * (b >= 0.5)
    ),
    "less(f32[3,4], 0.5) - greater(0.5, f32[4]) * less_equal(f32[4], 0)": lambda a, b, c: (
        1.0 * (a < 0.5) - (b < 0.5) * (c <= 0)
    ),
    "where(f32[3,4] > 0, f32[4], f32[3,1])": lambda c, a, b: np.asarray(np.where(c > 0, a, b)),
    "x = f32[3,4]; where(x > 0, x, 0.5)": lambda x: np.where(x > 0, x, 0.5),
    "x = f32[3,4]; where(x > 0, -1.5, x)": lambda x: np.where(x > 0, -1.5, x),
    "where(f32[3,4] < 0, 3, 0.25)": lambda x: np.where(x < 0, 3, 0.25),
    "where(abs(log(f32[3,4])) < inf, 1, inf) == inf": lambda x: x <= 0,
    "where(f32[3,4] < 0, -inf, 0)": lambda x: np.where(x < 0, -np.inf, 0),
    "where(f32[3,4], bf16[4], f32[3,4])": lambda c, a, b: np.asarray(np.where(c != 0, a, b)),
    "leaky_relu(f32[3,4], f32[4])": lambda x, slope: np.where(x > 0, x, slope * x),
    "elu(f32[3,4], 1.5)": lambda x: np.where(x > 0, x, 1.5 * np.expm1(x)),
    "hardsigmoid(f32[3,4] * 9)": lambda x: np.clip(x * 1.5 + 0.5, 0, 1),
    "hardswish(f32[3,4])": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "clip(f32[3,4], -0.5, 0.25)": lambda x: np.clip(x, -0.5, 0.25),
    "clip(f32[3,4], 0, abs(f32[4]))": lambda x, high: np.clip(x, 0, np.abs(high)),
    "pow(f32[3,4], 1)": lambda x: x,
    "pow(f32[3,4], 13)": lambda x: x**13,
    "pow(f32[3,4], 17)": lambda x: x**17,
    "pow(abs(f32[3,4]), 17.5)": lambda x: np.abs(x) ** 17.5,
    "pow(f32[3,4], -2)": lambda x: x**-2.0,
    "pow(abs(f32[3,4]), 0.5)": lambda x: np.sqrt(np.abs(x)),
    "pow(abs(f32[3,4]), -0.5)": lambda x: 1 / np.sqrt(np.abs(x)),
    "pow(abs(f32[3,4]), 2.5)": lambda x: np.abs(x) ** 2.5,
    "pow(abs(f32[3,4]), -1.7)": lambda x: np.abs(x) ** -1.7,
    "divide_vec(f32[3,4], f32[3,4])": np.divide,
    "x = f32[3,4]; x * x": lambda x: x * x,
    "f32[4] + expand_dims(f32[3], axis=1)": lambda a, b: a + b[:, None],
    "f32[3,1] * f32[3,4]": lambda a, b: a * b,
    "f32[3,1] - f32[1,4]": lambda a, b: a - b,
    "f32[1] / f32[3,4]": lambda a, b: a / b,
    "transpose(f32[1,3]) + f32[3,4]": lambda a, b: a.T + b,
    "f32[2,1,1,4] * f32[2,3,1,4] + f32[5,1]": lambda a, b, c: a * b + c,
    "expand_dims(f32[3,1], axis=2) + f32[3,4,5]": lambda a, b: a[:, :, None] + b,
    "exp(f32[1,4]) * (f32[3,2] @ f32[2,1])": lambda a, b, c: np.exp(a) * (b @ c),
    "x = f32[3,1]; x + f32[3,4] * relu(x)": lambda x, b: x + b * np.maximum(x, 0),
    "f32[2,3,4] * expand_dims(f32[2,4], axis=1)": lambda a, b: a * b[:, None],
    "f32[2,3,4] * expand_dims(expand_dims(f32[2], axis=1), axis=-1)": (
        lambda a, b: a * b[:, None, None]
    ),
    "f32[3,4] + transpose(f32[4,3])": lambda a, b: a + b.T,
    "f32[2,3,4] - transpose(f32[4,3,2], order=[2,1,0])": lambda a, b: a - b.T,
    "relu(transpose(f32[2,3,4], order=[1,2,0]))": lambda x: np.maximum(x.transpose(1, 2, 0), 0),
    "sum(f32[3,4])": lambda x: x.sum(1),
    "sum(f32[3,4,2], axis=1)": lambda x: x.sum(1),
    "sum(square(f32[3,4,2]), axis=1)": lambda x: (x * x).sum(1),
    "sum(f32[4])": lambda x: x.sum(keepdims=True),
    "sum(transpose(f32[3,4]), axis=1)": lambda x: x.sum(0),
    "max(f32[3,4], axis=0)": lambda x: x.max(0),
    "max(f32[3,4], axis=-2, keepdims=true)": lambda x: x.max(0, keepdims=True),
    "min(f32[3,4], axis=0)": lambda x: x.min(0),
    "min(f32[3,4,2], axis=[0,2], keepdims=true)": lambda x: x.min((0, 2), keepdims=True),
    "mean(f32[3,4])": lambda x: x.mean(1),
    "x = f32[3,4]; x - mean(x, axis=0, keepdims=True)": lambda x: x - x.mean(0),
    "softmax(f32[3,4])": softmax,
    "softmax(f32[3,4,2], axis=1)": lambda x: softmax(x, 1),
    "softmax_complete(f32[3,4], f32[3], f32[3])": (
        lambda x, top, total: np.exp(x - top[:, None]) / total[:, None]
    ),
    "softmax_denominator(f32[3,4], f32[4], axis=0)": lambda x, top: np.exp(x - top).sum(0),
    "softmax_denominator_and_max(f32[3,4])": (
        lambda x: (x.max(1), np.exp(x - x.max(1, keepdims=True)).sum(1))
    ),
    "softmax_denominator_and_max_from_parts(f32[3,4], f32[3,4])": (
        lambda tops, totals: (tops.max(1), (totals * np.exp(tops - tops.max(1)[:, None])).sum(1))
    ),
    "softmax_denominator_and_unscaled(f32[3,4], axis=0)": (
        lambda x: (np.exp(x - x.max(0)).sum(0), np.exp(x - x.max(0)))
    ),
    "softmax_denominator_and_unscaled_from_max(f32[3,4], f32[3])": (
        lambda x, top: (np.exp(x - top[:, None]).sum(1), np.exp(x - top[:, None]))
    ),
    "x = f32[3,4]; softmax_denominator_and_max_from_parts(x, x) -> (f32[3], f32[3]S(2))": (
        lambda x: (x.max(1), (x * np.exp(x - x.max(1)[:, None])).sum(1))
    ),
    "layer_norm(f32[3,16], f32[16], f32[16])": layer_norm,
    "layer_norm(f32[2,3,16], f32[16], f32[16])": layer_norm,
    "layer_norm(f32[3,16], bf16[16], f16[16]) -> bf16[3,16]": layer_norm,
    "linear(bf16[3,4], bf16[4,5], bf16[5])": lambda x, w, b: x @ w + b,
    "bf16[3,4] * expand_dims(f16[3], axis=1)": lambda a, b: a * b[:, None],
    "transpose(f32[3,4]) -> bf16[4,3]{0,1}": np.transpose,
    "layer_norm(transpose(f32[16,3]), f32[16], f32[16])": lambda x, g, b: layer_norm(x.T, g, b),
    "layer_norm(f32[16], f32[16], f32[16])": layer_norm,
    "rms_norm(f32[3,16], f32[16])": rms_norm,
    "rms_norm(f32[16], f32[16])": rms_norm,
    "f32[3,4] @ f32[4,5]": np.matmul,
    "matmul(f32[2,3,4], f32[2,4,5])": np.matmul,
    "f32[3,4] @ transpose(f32[5,4])": lambda a, b: a @ b.T,
    "transpose(f32[4,3]) @ f32[4,5]": lambda a, b: a.T @ b,
    "f32[2,3,4] @ transpose(f32[2,5,4], order=[0,2,1])": lambda a, b: a @ b.swapaxes(1, 2),
    "f32[6,3] @ transpose(f32[3,4] @ f32[4,6], order=[0,1])": lambda a, b, c: a @ (b @ c),
    "f32[6,3] @ transpose(f32[6,4] @ f32[4,3])": lambda a, b, c: a @ (b @ c).T,
    "f32[2,3,4] @ f32[4,5]": np.matmul,
    "f32[2,3,4] @ transpose(f32[5,4])": lambda a, b: a @ b.T,
    "f32[2,6,3,4] @ f32[6,4,5]": np.matmul,
    "f32[3,4] @ f32[2,4,5]": np.matmul,
    "f32[1,3,4] @ f32[2,4,5]": np.matmul,
    "f32[6,1,3,4] @ f32[1,2,4,5]": np.matmul,
    "f32[4] @ f32[4,5]": np.matmul,
    "f32[3,4] @ f32[4]": np.matmul,
    "f32[4] @ f32[2,4,5]": np.matmul,
    "f32[4] @ f32[4]": lambda a, b: np.array([a @ b]),
    'einsum("bqhd,bkhd->bhqk", f32[2,3,5,4], f32[2,6,5,4])': contracted("bqhd,bkhd->bhqk"),
    'einsum("bhqk,bkhd->bqhd", f32[2,5,3,6], f32[2,6,5,4])': contracted("bhqk,bkhd->bqhd"),
    'einsum("bhd,hdn->nb", f32[6,2,3], f32[2,3,5])': contracted("bhd,hdn->nb"),
    'einsum("abc,cab->", f32[6,2,3], f32[3,6,2])': lambda a, b: contracted("abc,cab->")(a, b)[None],
    'einsum("mk,nk->mn", exp(f32[3,4]), exp(f32[5,4]))': lambda a, b: np.exp(a) @ np.exp(b).T,
    'einsum("i,j->ji", f32[3], f32[4])': lambda a, b: np.outer(b, a),
    'einsum("bi,bi->b", f32[3,4], f32[3,4])': contracted("bi,bi->b"),
    'x = f32[3,4]; einsum("ik,jk->ij", x, x)': lambda x: x @ x.T,
    'x = f32[3,4]; y = exp(x); einsum("ik,jk->ij", y, y)': lambda x: np.exp(x) @ np.exp(x).T,
    "linear(f32[2,3,4], f32[4,5], f32[5])": lambda x, w, b: x @ w + b,
    "linear(f32[3,4], f32[4,5], f32[5])": lambda x, w, b: x @ w + b,
    "attention(f32[3,8], f32[5,8], f32[5,4])": attention,
    "attention(f32[2,3,8], f32[2,5,8], f32[2,5,4])": attention,
    "x = f32[3,8]; attention(x, f32[5,8], f32[5,8]) + x": (lambda x, k, v: attention(x, k, v) + x),
    "attention(f32[3,8], relu(f32[5,8]), f32[5,4])": (
        lambda q, k, v: attention(q, np.maximum(k, 0), v)
    ),
    "conv(f32[2,3,6,7], f32[4,3,3,2])": convolved(),
    "conv(f32[2,3,7,9], f32[4,3,3,3], stride=2)": convolved((2, 2)),
    "conv(f32[1,2,6,9], f32[3,2,3,1], stride=[1,4], padding=[1,0])": convolved((1, 4), (1, 0)),
    "conv(f32[1,2,5,5], f32[3,2,3,3], stride=2, padding=1)": convolved((2, 2), (1, 1)),
    "conv(f32[1,2,8,6], f32[3,2,3,3], stride=2)": convolved((2, 2)),
    "conv(f32[2,1,9,8], f32[3,1,3,2], stride=[3,2], padding=[1,0])": convolved((3, 2), (1, 0)),
    "conv(f32[1,2,8,8], f32[3,2,3,3], stride=2, padding=[0,1,0,1])": convolved(
        (2, 2), ((0, 1), (0, 1))
    ),
    "conv(f32[1,2,5,9], f32[3,2,3,4], padding=[2,1,0,3])": convolved((1, 1), ((2, 1), (0, 3))),
    "conv(f32[1,2,9,8], f32[3,2,3,3], dilation=2)": convolved(dilation=(2, 2)),
    "conv(f32[1,2,9,9], f32[3,2,3,3], stride=2, padding=2, dilation=[2,3])": convolved(
        (2, 2), (2, 2), (2, 3)
    ),
    "conv(f32[1,6,5,6], f32[4,3,3,2], groups=2)": grouped(2, convolved()),
    "conv(f32[2,4,5,6], f32[4,1,3,3], groups=4, padding=1)": grouped(4, convolved((1, 1), (1, 1))),
    "conv(f32[1,3,6,5], f32[6,1,3,3], groups=3, stride=2)": grouped(3, convolved((2, 2))),
    "conv(f32[1,5,6,4], f32[3,2,2,6], groups=2, layout=NHWC)": channels_last(
        grouped(2, convolved())
    ),
    "conv(f32[1,4,9], f32[4,1,3], groups=4, stride=2)": along_columns(
        grouped(4, convolved((1, 2)))
    ),
    "relu(conv(f32[1,4,5,5], f32[6,2,2,2], groups=2) + f32[6,4,4])": (
        lambda x, w, bias: np.maximum(grouped(2, convolved())(x, w) + bias, 0)
    ),
    "conv(relu(conv(f32[1,4,5,5], f32[6,2,2,2], groups=2)), f32[3,6,2,1])": (
        lambda x, w, v: convolved()(np.maximum(grouped(2, convolved())(x, w), 0), v)
    ),
    "x = f32[1,4,5,5]; conv(x, f32[4,1,3,3], groups=4, padding=1) + x": (
        lambda x, w: grouped(4, convolved((1, 1), (1, 1)))(x, w) + x
    ),
    "y = conv(f32[1,4,5,5], f32[6,2,2,2], groups=2); relu(y) + abs(y)": (
        lambda x, w: (
            2 * np.maximum(grouped(2, convolved())(x, w), 0)
            - np.minimum(grouped(2, convolved())(x, w), 0)
        )
    ),
    "max_pool(f32[1,3,6,7], window=2, stride=2)": pooled(np.max, (2, 2), (2, 2)),
    "max_pool(f32[2,3,8,7], window=3, stride=2, padding=1)": pooled(
        np.max, (3, 3), (2, 2), ((1, 1), (1, 1)), outside=-np.inf
    ),
    "max_pool(f32[1,3,8,9], window=[2,3], padding=[1,0,0,2], dilation=[2,1])": pooled(
        np.max, (2, 3), (1, 1), ((1, 0), (0, 2)), (2, 1), outside=-np.inf
    ),
    "max_pool(f32[1,8,7,3], window=3, stride=2, layout=NHWC)": lambda image: pooled(
        np.max, (3, 3), (2, 2)
    )(image.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1),
    "max_pool(f32[2,3,8], window=3)": lambda image: pooled(np.max, (1, 3))(image[:, :, None])[
        :, :, 0
    ],
    "sum_pool(f32[1,3,6,7], window=3, stride=2, padding=[0,1])": pooled(
        np.sum, (3, 3), (2, 2), ((0, 0), (1, 1))
    ),
    "avg_pool(f32[1,3,6,7], window=[2,3])": pooled(np.mean, (2, 3)),
    "avg_pool(f32[1,3,6,7], window=3, padding=1, stride=2)": pooled(
        np.mean, (3, 3), (2, 2), ((1, 1), (1, 1))
    ),
    "max_pool(relu(conv(f32[1,2,7,7], f32[3,2,2,2])), window=2, stride=2)": (
        lambda x, w: pooled(np.max, (2, 2), (2, 2))(np.maximum(convolved()(x, w), 0))
    ),
    "winograd_input(f32[2,3,6,8])": points_of_squares,
    "winograd_output(f32[16,2,3,1,5], layout=NHWC)": tiles_of_points,
    "conv(f32[2,3,9], f32[4,3,3])": along_columns(convolved()),
    "conv(f32[2,3,9], f32[4,3,3], stride=3, padding=[2,1], dilation=2)": along_columns(
        convolved((1, 3), (0, (2, 1)), (1, 2))
    ),
    "conv(f32[2,6,7,3], f32[3,2,3,4], layout=NHWC)": channels_last(convolved()),
    "conv(f32[1,7,9,3], f32[3,3,3,4], stride=2, padding=1, layout=NHWC)": channels_last(
        convolved((2, 2), (1, 1))
    ),
    "conv(transpose(f32[1,6,6,2], order=[0,3,1,2]), f32[3,2,3,3])": (
        lambda image, weights: convolved()(image.transpose(0, 3, 1, 2), weights)
    ),
    "conv(relu(conv(f32[1,2,7,7], f32[3,2,3,3])), f32[2,3,2,2])": (
        lambda x, v, w: convolved()(np.maximum(convolved()(x, v), 0), w)
    ),
    "transpose(f32[3,4])": np.transpose,
    "transpose(f32[2,3,4], order=[1,2,0])": lambda x: x.transpose(1, 2, 0),
    "transpose(exp(f32[2,3,4]), order=[2,0,1])": lambda x: np.exp(x).transpose(2, 0, 1),
    "move(f32[3,4])": lambda x: x,
    "cast(f32[3,4], bf16)": lambda x: x,
    "cast(transpose(f32[3,4]), bf16)": np.transpose,
    "one_prefix(f32[3,4])": lambda x: x[None],
    "one_prefix(f32[4]) @ f32[4,3]": lambda x, w: x[None] @ w,
    "expand_dims(sum(f32[3,4]), axis=0)": lambda x: x.sum(1)[None],
    "softmax(expand_dims(exp(f32[4]), axis=1), axis=0)": lambda x: softmax(np.exp(x))[:, None],
    "take(f32[3,4], i64[5,2])": lambda x, ids: x[
        np.where(ids < 0, ids + 3, ids).clip(0, 2).astype(int)
    ],
    **{
        f"scatter_{kind}(f32[3,4], i64[9], f32[9,4])": partial(scattered, function)
        for kind, function in SCATTERED.items()
    },
    "segment_sum(f32[9,4], i64[9], count=3)": lambda rows, ids: scattered(
        np.add, np.zeros((3, 4)), ids, rows
    ),
    "quantized_matmul(f32[2,128], i8[3,128], f16[3,2])": (
        lambda x, w, scales: x @ (w * scales.repeat(64, 1)).T
    ),
    "grouped_matmul(f32[9,4], f32[2,4,5], i64[9])": lambda x, w, ids: np.array(
        [
            row @ w[n] if 0 <= n < 2 else np.zeros(5)
            for row, n in zip(x, ids.astype(int), strict=True)
        ]
    ),
    "broadcast(f32[3], axis=-1, size=5)": lambda x: np.repeat(x[:, None], 5, 1),
    "var(f32[3,4], axis=0, ddof=1)": lambda x: x.var(0, ddof=1),
    "var(f32[3,4,5], axis=[0,2], keepdims=True)": lambda x: x.var((0, 2), keepdims=True),
    "std(f32[3,4])": lambda x: x.std(1),
    "norm(f32[3,4])": lambda x: np.linalg.norm(x, axis=1),
    "norm(f32[3,4], axis=0, order=3)": lambda x: np.linalg.norm(x, 3, axis=0),
    "norm(f32[3,4], order=inf)": lambda x: np.abs(x).max(1),
    "norm(f32[3,4], order=1)": lambda x: np.abs(x).sum(1),
    "normalize(f32[3,4])": lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
    "cosine_similarity(f32[3,4], f32[3,4])": lambda a, b: (
        (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    ),
    "logsumexp(f32[3,4] * 1000)": lambda x: np.logaddexp.reduce(1000 * x, 1),
    "x = f32[2,3]; logsumexp(where(x < 0, inf, x))": lambda x: np.logaddexp.reduce(
        np.where(x < 0, np.inf, x), 1
    ),
    "logsumexp(f32[3,4] * 0 - 3.3e38)": lambda x: 0 * x[:, 0] - 3.3e38,
    "log_softmax(f32[3,4], axis=0)": lambda x: np.log(softmax(x, 0)),
    "layer_norm(f32[3,4])": lambda x: layer_norm(x, np.ones(4), np.zeros(4)),
    "rms_norm(f32[3,4])": lambda x: rms_norm(x, np.ones(4)),
    "linear(f32[3,4], f32[4,5])": np.matmul,
    "-f32[3,4] ** 2": lambda x: -(x**2),
    "(f32[3,4] ** 2) ** 1.5 / 2": lambda x: (x * x) ** 1.5 / 2,
    'einsum("ij,jk,kl->li", f32[2,3], f32[3,4], f32[4,5])': lambda a, b, c: (a @ b @ c).T,
    'einsum("ij,kl,jk->il", f32[2,3], f32[4,5], f32[3,4])': lambda a, b, c: a @ c @ b,
    'einsum("...ij,jk", f32[2,3,4], f32[4,5])': np.matmul,
    'einsum("b...,b...->...", f32[4,3], f32[4,3])': lambda a, b: (a * b).sum(0),
    'einsum("ijk->kj", f32[2,3,4])': lambda x: x.sum(0).T,
    'einsum("ij,k->k", f32[2,3], f32[4])': lambda a, b: a.sum() * b,
    'einsum("i,ij,j->", f32[2], f32[2,3], f32[3])': lambda a, b, c: (a @ b @ c).reshape(1),
}


@pytest.mark.parametrize("text", CASES)
def test_functions(text: str) -> None:
    spec = parse(text)
    random = np.random.default_rng(1)
    inputs = [operand for operand in spec.arrays.values() if operand in spec.operation.inputs]
    values = [random.standard_normal(spec.shape(operand)) for operand in inputs]
    if only_integers(spec.operation) and not spec.dtypes[0].is_float:
        values = [np.trunc(9 * value).astype(np.int64) for value in values]
    computed = CASES[text](*values)
    results = evaluate(spec.operation, spec.per_operand(values), spec.sizes)
    if spec.operation.name == "Broadcast":  # which says nothing of its size
        results = (np.broadcast_to(results[0], spec.shape(1)),)
    wanted = computed if isinstance(computed, tuple) else (computed,)
    for output, found, known in zip(spec.operation.outputs, results, wanted, strict=True):
        assert found.shape == spec.shape(output) == known.shape
        np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-12)
    assert parse(spec.expression) == spec


@pytest.mark.parametrize(
    "text",
    ["elu(bf16[9,70], 1.5)", "hardsigmoid(bf16[9,70])", "hardswish(bf16[9,70])",
     "pow(abs(bf16[9,70]), 1.7)", "pow(bf16[9,70], 5)"],
)  # fmt: skip
def test_functions_in_several_steps_are_rounded_once(text: str) -> None:
    x = np.random.default_rng(1).uniform(-4, 4, (9, 70)).astype(BF16.np)
    result = expected(parse(text), [x])
    assert (result.bound <= 2**-7.99 * np.abs(result.value) + 1e-6).all()


def test_every_function_is_tested() -> None:
    called = {name for name in FUNCTIONS if any(f"{name}(" in text for text in CASES)}
    views = {f.__name__ for f in (*VIEWS, *movement.FUNCTIONS)}  # test_views.py
    views |= {"group_norm"}
    assert FUNCTIONS.keys() - called == {"fill_zero", "fill_lowest", "fill_highest", *views}
