"""The reference semantics of every function, in NumPy, with bounds on a kernel's error.

Written from the functions' documentation, without using Morello's code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from fuzz.bounded import (
    DTYPES,
    FLOATS,
    FLUSHED,
    TINY,
    Array,
    Bounded,
    exactly,
    integers,
    monotone,
    number,
    rounded,
    summed,
)
from fuzz.moved import FUNCTIONS as MOVED
from fuzz.moved import Axes
from fuzz.reading import Node

EPSILON_F32 = 2.0**-23

EPSILON = 1e-5
"""The epsilon that norms add to a variance."""

_STEEPEST = 1.2
"""A bound of the slope of gelu and silu."""


def _erf(x: Array) -> Array:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), np.float64)


def _erfc(x: Array) -> Array:
    return np.asarray(np.frompyfunc(math.erfc, 1, 1)(x), np.float64)


def _gelu(x: Array) -> Array:
    return np.where(x == -np.inf, 0.0, 0.5 * x * _erfc(-x * math.sqrt(0.5)))


def _gelu_tanh(x: Array) -> Array:
    inner = 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    return np.where(x == -np.inf, 0.0, x / (1 + np.exp(-inner)))


UNARY: dict[str, tuple[Callable[[Array], Array], float]] = {
    "erf": (_erf, 4),
    "erfc": (_erfc, 14),
    "exp": (np.exp, 3),
    "exp2": (np.exp2, 3),
    "expm1": (np.expm1, 4),
    "log": (np.log, 3),
    "log1p": (np.log1p, 4),
    "log2": (np.log2, 4),
    "reciprocal": (lambda x: 1 / x, 2),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 4),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 6),
    "softplus": (lambda x: np.logaddexp(x, 0), 6),
    "sqrt": (np.sqrt, 1),
    "tanh": (np.tanh, 6),
}
"""Monotonic functions, each with the ulps that a kernel may be off."""

BUMPY: dict[str, tuple[Callable[[Array], Array], float]] = {
    "gelu": (_gelu, 16),
    "gelu_tanh": (_gelu_tanh, 400),
    "silu": (lambda x: np.where(x == -np.inf, 0.0, x / (1 + np.exp(-x))), 10),
}
"""Functions that are not monotonic, each with the ulps that a kernel may be off."""

EXACT: dict[str, Callable[..., Array]] = {
    "maximum": np.maximum,
    "minimum": np.minimum,
    "relu": lambda x: np.maximum(x, 0),
    "neg": np.negative,
    "ceil": np.ceil,
    "floor": np.floor,
    "round": np.rint,
    "sign": np.sign,
}

ARITHMETIC: dict[str, tuple[Callable[[Array, Array], Array], float]] = {
    "add": (np.add, 1),
    "subtract": (np.subtract, 1),
    "multiply": (np.multiply, 1),
    "divide": (np.divide, 4),
}


def evaluate(root: Node, arrays: Mapping[Node, Array], result: str | None) -> dict[Node, Bounded]:
    """The values of all nodes of a graph for these inputs; a root product's dtype is `result`."""
    known: dict[Node, Bounded] = {}
    with np.errstate(all="ignore"):
        for node in root.nodes():
            if node.operation == "tensor":
                assert node.type is not None
                known[node] = exactly(arrays[node], node.type.dtype)
                continue
            given = [
                known[argument] if isinstance(argument, Node) else argument
                for argument in node.arguments
            ]
            options = dict(node.options)
            if node is root:
                options |= {"last": True}
                if node.operation in ("matmul", "conv"):
                    options |= {"result": result}
            known[node] = _settled(_applied(node.operation, given, options), given)
    return known


def _settled(result: Bounded, given: list[Bounded | float]) -> Bounded:
    """An operation's result; integers computed from inexact operands may be anything."""
    if result.is_float or not any(isinstance(x, Bounded) and x.error.any() for x in given):
        return result
    if result.error.any():
        return result
    return Bounded(result.value, np.full(result.shape, np.inf), result.dtype)


def _applied(name: str, given: list[Bounded | float], options: dict[str, Any]) -> Bounded:
    last = bool(options.pop("last", False))
    if name in UNARY or name in BUMPY or name in EXACT or name in ARITHMETIC or name in _MAPS:
        return mapped(name, *given, last=last)
    if name in _COMPARISONS:
        return compared(name, *given)
    if name in _STORED:
        options |= {"last": last}
    return _OTHERS[name](*given, **options)


# ---- maps


def mapped(name: str, *given: Bounded | float, last: bool = False) -> Bounded:
    """A function of each element; numbers and missing dimensions are broadcast."""
    name = "divide" if name == "divide_vec" else name
    dtype = next(x.dtype for x in given if isinstance(x, Bounded))
    arguments = [number(x, dtype) if isinstance(x, float) else x for x in given]
    if dtype not in FLOATS:
        return integers(_WHOLE[name](*(x.value for x in arguments)), dtype)
    if name in EXACT:
        value, error = monotone(EXACT[name], *arguments)
        return Bounded(value, error, dtype)
    if name in ARITHMETIC:
        function, ulps = ARITHMETIC[name]
        value, error = monotone(function, *arguments)
        if name == "divide":
            error = np.where(_near_zero(arguments[1]), np.inf, error)
        return rounded(value, error, dtype, ulps=ulps, last=last)
    (x,) = arguments
    if name == "abs":
        return Bounded(np.abs(x.value), x.error, dtype)
    if name == "square":
        value = np.square(x.value)
        error = np.where(x.error == 0, 0.0, (2 * np.abs(x.value) + x.error) * x.error)
        return rounded(value, np.where(np.isnan(error), np.inf, error), dtype, ulps=1, last=last)
    if name in BUMPY:
        function_of_one, ulps = BUMPY[name]
        return rounded(
            function_of_one(x.value), _STEEPEST * x.error, dtype, ulps=ulps, least=FLUSHED,
            last=last,
        )  # fmt: skip
    function_of_one, ulps = UNARY[name]
    value, error = monotone(function_of_one, x)
    if name in ("reciprocal", "rsqrt"):
        error = np.where(_near_zero(x), np.inf, error)
    return rounded(value, error, dtype, ulps=ulps, least=FLUSHED, last=last)


def _by_python(function: Callable[[int, int], int]) -> Callable[..., Array]:
    """A function of Python's integers, which are exact, for each pair of elements."""
    each = np.frompyfunc(lambda a, b: function(int(a), int(b)), 2, 1)
    return lambda a, b: np.asarray(each(a, b) % (1 << 64), np.uint64).astype(np.int64)


def _quotient(a: int, b: int) -> int:
    return -1 if b == 0 else abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


_OF_BITS: dict[str, Callable[..., Array]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_not": lambda x: -1 - x,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": _by_python(lambda a, b: a << b if 0 <= b < 32 else 0),
    "quotient": _by_python(_quotient),
    "right_shift": _by_python(lambda a, b: a >> b if 0 <= b < 32 else -int(a < 0)),
}

_COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")

_MAPS = ("abs", "square", "divide_vec", *_OF_BITS)

_WHOLE: dict[str, Callable[..., Array]] = {
    **_OF_BITS,
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "abs": np.abs, "neg": np.negative, "square": np.square,
    "relu": lambda x: np.maximum(x, 0), "sign": np.sign,
}  # fmt: skip


def compared(name: str, a: Bounded | float, b: Bounded | float) -> Bounded:
    """Truth values, with an error where either may be."""
    dtype = next(x.dtype for x in (a, b) if isinstance(x, Bounded))
    a, b = (number(x, dtype) if isinstance(x, float) else x for x in (a, b))
    off = a.error + b.error
    unsure = (off > 0) & ~(np.abs(a.value - b.value) > off)
    return Bounded(getattr(np, name)(a.value, b.value).astype(np.int64), 1.0 * unsure, "i32")


def where(condition: Bounded, a: Bounded | float, b: Bounded | float) -> Bounded:
    dtype = next(x.dtype for x in (a, b) if isinstance(x, Bounded))
    a, b = (number(x, dtype) if isinstance(x, float) else x for x in (a, b))
    value = np.where(condition.value != 0, a.value, b.value)
    error = np.where(condition.value != 0, a.error, b.error)
    return Bounded(value, np.where(condition.error > 0, np.inf, error), dtype)


def _near_zero(x: Bounded) -> Array:
    """Where a divisor may be zero, or its sign unknown: flushing to zero may lose the sign."""
    return np.asarray(np.abs(x.value) <= x.error + TINY["f32"])


def cast(x: Bounded, *, dtype: str, last: bool = False) -> Bounded:
    if dtype == x.dtype:
        return x
    if dtype in FLOATS:
        return rounded(x.value.astype(np.float64), x.error, dtype, last=last)
    if x.is_float:
        info = np.iinfo(DTYPES[dtype])
        value = np.trunc(np.nan_to_num(x.value))
        inside = (value >= info.min) & (value <= info.max) & ~np.isnan(x.value)
        low, high = np.trunc(x.value - x.error), np.trunc(x.value + x.error)
        error = np.where(inside, np.maximum(apart_by(low, value), apart_by(high, value)), np.inf)
        return Bounded(integers(np.where(inside, value, 0), dtype).value, error, dtype)
    return integers(x.value, dtype)


def apart_by(a: Array, b: Array) -> Array:
    distance = np.abs(a - b)
    return np.where(np.isnan(distance), np.inf, distance)


# ---- reductions


def _axes(axis: Axes, x: Bounded) -> tuple[int, ...]:
    """The axes in order, negative ones counted from the end."""
    given = (axis,) if isinstance(axis, int) else axis
    return tuple(sorted(index % len(x.shape) for index in given))


def total(x: Bounded, *, axis: Axes = -1, keepdims: bool = False, last: bool = False) -> Bounded:
    axes = _axes(axis, x)
    return _kept(summed(x, list(axes), x.dtype, last=last), axes, keepdims)


def largest(x: Bounded, *, axis: Axes = -1, keepdims: bool = False) -> Bounded:
    axis = _axes(axis, x)
    value = x.value.max(axis)
    if not x.is_float:
        return _kept(integers(value, x.dtype), axis, keepdims)
    high, low = (x.value + x.error).max(axis), (x.value - x.error).max(axis)
    error = np.where(np.isfinite(value), np.maximum(high - value, value - low), 0.0)
    error = np.where(x.wild.any(axis) | np.isnan(error), np.inf, error)
    return _kept(Bounded(value, error, x.dtype), axis, keepdims)


def least(x: Bounded, *, axis: Axes = -1, keepdims: bool = False) -> Bounded:
    if not x.is_float:
        along = _axes(axis, x)
        return _kept(integers(x.value.min(along), x.dtype), along, keepdims)
    opposite = Bounded(-x.value, x.error, x.dtype)
    most = largest(opposite, axis=axis, keepdims=keepdims)
    return Bounded(-most.value, most.error, x.dtype)


def _kept(x: Bounded, axis: tuple[int, ...], keepdims: bool) -> Bounded:
    if keepdims:
        return x.seen(lambda v: np.expand_dims(v, axis))
    return x.seen(lambda v: v.reshape(v.shape or (1,)))


def mean(x: Bounded, *, axis: Axes = -1, keepdims: bool = False) -> Bounded:
    count = prod(x.shape[index] for index in _axes(axis, x))
    return mapped("multiply", total(x, axis=axis, keepdims=keepdims), 1 / count)


def softmax(x: Bounded, *, axis: int = -1) -> Bounded:
    top = x.value.max(axis, keepdims=True)
    parts = np.exp(x.value - top)
    value = parts / parts.sum(axis, keepdims=True)
    reach = np.nan_to_num(top - x.value, nan=0.0, posinf=200.0).clip(0, 200)
    relative = np.expm1(2 * x.error.max(axis, keepdims=True))
    relative = relative + (x.shape[axis] + 16 + 2 * reach) * 2.0**-23
    # an output that is zero for these arguments may not be for the rounded ones of a kernel
    off = x.error + x.error.max(axis, keepdims=True)
    most = np.exp(np.minimum(0.0, x.value - top + off))
    error = np.where(value == 0, np.where(x.error > 0, most, 0.0), relative * value)
    error = np.where(np.isnan(value), 0.0, error + FLUSHED)
    error = np.where(x.wild.any(axis, keepdims=True) | np.isnan(error), np.inf, error)
    return rounded(value, error, x.dtype, ulps=x.shape[axis])


def softmax_denominator(x: Bounded, top: Bounded, *, axis: int = -1) -> Bounded:
    return total(_exponential(x, top, axis), axis=axis)


def softmax_complete(x: Bounded, top: Bounded, sums: Bounded, *, axis: int = -1) -> Bounded:
    row = _row(sums, x, axis)
    quotient = mapped("divide", _exponential(x, top, axis), row)
    # kernels multiply by the reciprocal, which may be infinite for a subnormal number
    small = np.abs(row.value) <= row.error + 2.0**-126
    return Bounded(quotient.value, np.where(small, np.inf, quotient.error), x.dtype)


def _row(rows: Bounded, x: Bounded, axis: int) -> Bounded:
    shape = list(x.shape)
    shape[axis] = 1
    return rows.seen(lambda v: v.reshape(shape))


def _exponential(x: Bounded, top: Bounded, axis: int) -> Bounded:
    """exp(x - top); any result is allowed where `top` is not surely at least x."""
    reach = mapped("subtract", x, _row(top, x, axis))
    powers = mapped("exp", reach)
    within = reach.value - reach.error <= 0
    return Bounded(powers.value, np.where(within, powers.error, np.inf), x.dtype)


def _standard(x: Bounded) -> Bounded:
    """The last axis with a mean of 0 and a variance of 1."""
    centred = mapped("subtract", x, mean(x, keepdims=True))
    variance = mean(mapped("square", centred), keepdims=True)
    return mapped("multiply", centred, mapped("rsqrt", mapped("add", variance, EPSILON)))


def layer_norm(x: Bounded, gamma: Bounded, beta: Bounded) -> Bounded:
    return mapped("add", mapped("multiply", _standard(x), gamma), beta)


def rms_norm(x: Bounded, gamma: Bounded) -> Bounded:
    size = mean(mapped("square", x), keepdims=True)
    scaled = mapped("multiply", x, mapped("rsqrt", mapped("add", size, EPSILON)))
    return mapped("multiply", scaled, gamma)


def argmax(x: Bounded, *, axis: int = -1) -> Bounded:
    return _place(x.value.argmax(axis), x, axis)


def argmin(x: Bounded, *, axis: int = -1) -> Bounded:
    return _place(x.value.argmin(axis), x, axis)


def _place(place: Array, x: Bounded, axis: int) -> Bounded:
    """Places of extrema, which may be others where numbers are not known exactly."""
    error = np.where((x.error > 0).any(axis), np.inf, 0.0)
    return _kept(Bounded(np.asarray(place), error, "i32"), (), False)


def cumsum(x: Bounded, *, axis: int = -1, last: bool = False) -> Bounded:
    every = range(1, x.shape[axis] + 1)
    sums = [summed(_some(x, range(n), axis), [axis], x.dtype, last=last) for n in every]
    value, error = (np.stack(a, axis) for a in ([s.value for s in sums], [s.error for s in sums]))
    return Bounded(value, error, x.dtype)


def diff(x: Bounded, *, axis: int = -1) -> Bounded:
    size = x.shape[axis]
    return mapped("subtract", _some(x, range(1, size), axis), _some(x, range(size - 1), axis))


def _some(x: Bounded, places: range, axis: int) -> Bounded:
    return x.seen(lambda v: v.take(places, axis))


def var(x: Bounded, *, axis: Axes = -1, keepdims: bool = False, ddof: int = 0) -> Bounded:
    count = prod(x.shape[along] for along in _axes(axis, x))
    squares = mapped("square", mapped("subtract", x, mean(x, axis=axis, keepdims=True)))
    return mapped("multiply", total(squares, axis=axis, keepdims=keepdims), 1 / (count - ddof))


def std(x: Bounded, **options: Any) -> Bounded:
    return mapped("sqrt", var(x, **options))


def norm(x: Bounded, *, axis: Axes = -1, keepdims: bool = False, order: float = 2) -> Bounded:
    if order == 1:
        return total(mapped("abs", x), axis=axis, keepdims=keepdims)
    return mapped("sqrt", total(mapped("square", x), axis=axis, keepdims=keepdims))


def normalize(x: Bounded, *, axis: int = -1) -> Bounded:
    return mapped("divide", x, mapped("maximum", norm(x, axis=axis, keepdims=True), 1e-12))


def logsumexp(x: Bounded, *, axis: int = -1) -> Bounded:
    top = x.value.max(axis)
    value = np.logaddexp.reduce(x.value, axis)
    size = np.where(np.isfinite(top), 1 + np.abs(value) + 2 * np.abs(top), 0.0)
    error = x.error.max(axis) + (x.shape[axis] + 32) * EPSILON_F32 * size
    return _kept(rounded(value, error, x.dtype, ulps=4), (), False)


def log_softmax(x: Bounded, *, axis: int = -1) -> Bounded:
    shifted = mapped("subtract", x, largest(x, axis=axis, keepdims=True))
    sums = total(mapped("exp", shifted), axis=axis, keepdims=True)
    return mapped("subtract", shifted, mapped("log", sums))


def group_norm(x: Bounded, gamma: Bounded, beta: Bounded, *, groups: int) -> Bounded:
    parts = x.seen(lambda v: v.reshape(v.shape[0], groups, -1))
    scaled = _standard(parts).seen(lambda v: v.reshape(x.shape))
    each = [y.seen(lambda v: v.reshape(-1, *[1] * (x.value.ndim - 2))) for y in (gamma, beta)]
    return mapped("add", mapped("multiply", scaled, each[0]), each[1])


# ---- products


def product_dtype(a: str, b: str) -> str:
    """The result dtype of products, by default."""
    if a in FLOATS:
        return "f32"
    return "u32" if a == b == "u32" else "i32"


def products(a: Bounded, b: Bounded, axes: list[int], dtype: str, *, last: bool) -> Bounded:
    """Sums of products along axes; the operands are broadcast already."""
    if dtype not in FLOATS:
        return integers((a.value * b.value).sum(tuple(axes)), dtype)
    value, error = monotone(np.multiply, a, b)
    lost = 0.0
    if "bf16" in (a.dtype, b.dtype):
        # instructions for bf16 treat subnormal numbers, and sums of them, as zeros
        small = (np.abs(a.value) < TINY["bf16"]) | (np.abs(b.value) < TINY["bf16"])
        error = np.where(small & np.isfinite(value), error + np.abs(value), error)
        error = np.where(small & ~np.isfinite(value), np.inf, error)
        lost = TINY["bf16"] * (2 + int(np.prod([value.shape[axis] for axis in axes])))
    return summed(Bounded(value, error, dtype), axes, dtype, lost, last=last)


def matmul(
    a: Bounded, b: Bounded, *, result: str | None = None, last: bool = False
) -> Bounded:  # fmt: skip
    dtype = result or product_dtype(a.dtype, b.dtype)
    rows = a.seen(lambda v: v[..., :, :, None])
    return products(rows, b.seen(lambda v: v[..., None, :, :]), [-2], dtype, last=last)


def linear(x: Bounded, w: Bounded, b: Bounded) -> Bounded:
    return mapped("add", matmul(x, w), b)


def attention(
    q: Bounded, k: Bounded, v: Bounded, mask: Bounded | None = None, *, causal: bool = False
) -> Bounded:
    """Each head of keys and values may serve several of queries; a row that sees nothing is 0."""
    if q.value.ndim > 2:
        served = q.shape[-3] // k.shape[-3]
        k, v = (x.seen(lambda a: a.repeat(served, -3)) for x in (k, v))
    scores = matmul(q, k.seen(lambda x: np.swapaxes(x, -1, -2)))
    scores = mapped("multiply", scores, 1 / math.sqrt(q.shape[-1]))
    rows, keys = scores.shape[-2:]
    seen = np.tri(rows, keys, keys - rows, bool) if causal else np.ones((rows, keys), bool)
    if mask is not None and mask.is_float:
        scores = mapped("add", scores, mask)
    elif mask is not None:
        seen = seen & (mask.value != 0)
    seen = np.broadcast_to(seen, scores.shape)
    # what is hidden may be chosen or added to, so that NaN stays
    lost = ~seen & ~np.isfinite(scores.value + scores.error)
    error = np.where(lost.any(-1, keepdims=True), np.inf, np.where(seen, scores.error, 0.0))
    shares = softmax(Bounded(np.where(seen, scores.value, -np.inf), error, scores.dtype))
    value = np.where(seen.any(-1, keepdims=True), shares.value, 0.0)
    result = matmul(Bounded(value, np.where(np.isnan(value), 0, shares.error), "f32"), v)
    if seen.all() and mask is None:
        return result
    # a product may skip what nobody sees, or multiply it by zero
    odd = ~np.isfinite(v.value).all(-2, keepdims=True) | np.isnan(value).any(-1, keepdims=True)
    return Bounded(result.value, np.where(odd, np.inf, result.error), "f32")


def einsum(*given: Bounded, letters: str) -> Bounded:
    """Sums of products of tensors of f32, which may be multiplied in any order."""
    read, _, kept = letters.partition("->")
    value, size = (
        np.einsum(letters, *(f(x.value) for x in given), optimize=False)
        for f in (np.asarray, np.abs)
    )
    wide = np.einsum(letters, *(np.abs(x.value) + x.error for x in given))
    sizes: dict[str, int] = {}
    for word, x in zip(read.split(","), given, strict=True):
        sizes |= dict(zip(word, x.shape, strict=True))
    count = prod(n for d, n in sizes.items() if d not in kept)
    between = count * prod(max(1.0, float(np.abs(x.value).max())) for x in given)
    error = wide - size + (count + 8 * len(given)) * EPSILON_F32 * wide
    error = error + FLUSHED * count * (1 + between)
    unsure = not np.isfinite(between) or between > 1e38
    return rounded(value, np.where(unsure, np.inf, error), "f32")


def _pair(option: Any) -> tuple[int, int]:
    return (option[0], option[1]) if isinstance(option, list) else (option, option)


def _windows(
    image: Array, size: tuple[int, int], stride: Any, padding: Any, dilation: Any, outside: Any
) -> Array:
    """All windows of images [b,c,h,w]: [batch, channel, row, column, row in it, column in it]."""
    ends = padding if isinstance(padding, list) and len(padding) == 4 else [
        n for both in _pair(padding) for n in (both, both)
    ]  # fmt: skip
    pads = ((0, 0), (0, 0), (ends[0], ends[1]), (ends[2], ends[3]))
    padded = np.pad(image, pads, constant_values=outside)
    (rows, columns), (down, right) = _pair(stride), _pair(dilation)
    span = down * (size[0] - 1) + 1, right * (size[1] - 1) + 1
    slid = np.lib.stride_tricks.sliding_window_view(padded, span, (2, 3))
    return slid[:, :, ::rows, ::columns, ::down, ::right]


def conv(
    image: Bounded, filters: Bounded, *, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, layout: str = "NCHW", result: str | None = None, last: bool = False,
) -> Bounded:  # fmt: skip
    """Every window times every filter of its group: [batch, group, filter, row, column, ...]."""
    dtype = result or product_dtype(image.dtype, filters.dtype)
    if layout == "NHWC":
        image = image.seen(lambda v: v.transpose(0, 3, 1, 2))
        filters = filters.seen(lambda v: v.transpose(3, 2, 0, 1))
    count, channels, p, q = filters.shape

    def windows(v: Array) -> Array:
        slid = _windows(v, (p, q), stride, padding, dilation, 0)
        batch, _, y, x = slid.shape[:4]
        grouped = slid.reshape(batch, groups, channels, y, x, p, q)
        return grouped.transpose(0, 1, 3, 4, 2, 5, 6)[:, :, None]

    spread = image.seen(windows)
    given = windows(np.ones(image.shape, bool))
    weights = filters.seen(lambda v: v.reshape(1, groups, count // groups, 1, 1, channels, p, q))
    # a kernel may skip a filter's elements over padding, or multiply them by zero
    spare = ~given & ~np.isfinite(weights.value) if weights.is_float else np.zeros((), bool)
    error = np.where(spare, np.inf, np.broadcast_to(spread.error, np.broadcast_shapes(
        spread.shape, weights.shape)))  # fmt: skip
    value = np.broadcast_to(spread.value, error.shape)
    seen = Bounded(value, error, image.dtype)
    sums = products(seen, weights, [-3, -2, -1], dtype, last=last)
    sums = sums.seen(lambda v: v.reshape(v.shape[0], count, *v.shape[3:]))
    return sums.seen(lambda v: v.transpose(0, 2, 3, 1)) if layout == "NHWC" else sums


def max_pool(
    image: Bounded, *, window: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    layout: str = "NCHW",
) -> Bounded:  # fmt: skip
    if layout == "NHWC":
        image = image.seen(lambda v: v.transpose(0, 3, 1, 2))
    outside = -np.inf if image.is_float else np.iinfo(image.value.dtype).min
    value, error = (
        _windows(v, _pair(window), stride, padding, dilation, around)
        for v, around in ((image.value, outside), (image.error, 0))
    )
    top = largest(Bounded(value, error, image.dtype), axis=[-2, -1])
    return top.seen(lambda v: v.transpose(0, 2, 3, 1)) if layout == "NHWC" else top


_STORED = ("cast", "conv", "cumsum", "matmul", "sum")
"""The functions whose result a kernel converts to another dtype, beside maps."""

_OTHERS: dict[str, Callable[..., Bounded]] = {
    **{function.__name__: function for function in MOVED},
    "argmax": argmax, "argmin": argmin, "attention": attention, "cast": cast, "conv": conv,
    "cumsum": cumsum, "diff": diff, "einsum": einsum, "group_norm": group_norm,
    "layer_norm": layer_norm, "linear": linear, "log_softmax": log_softmax, "logsumexp": logsumexp,
    "matmul": matmul, "max": largest, "max_pool": max_pool, "mean": mean, "min": least,
    "norm": norm, "normalize": normalize, "rms_norm": rms_norm, "softmax": softmax,
    "softmax_complete": softmax_complete, "softmax_denominator": softmax_denominator, "std": std,
    "sum": total, "var": var, "where": where,
}  # fmt: skip
