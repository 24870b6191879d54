"""Statistics along axes, and norms of vectors and of groups of channels, made of reductions."""

from __future__ import annotations

from math import inf, prod

import numpy as np

from morello.frontends.copies import cast, expand_dims, widened
from morello.frontends.maps import (
    add,
    check_float,
    clip,
    divide,
    maximum,
    multiply,
    pow,
    subtract,
    unary,
)
from morello.frontends.reductions import EPSILON, max, mean, standard, sum
from morello.frontends.values import MisuseError, Numbers, Value, axis_of
from morello.frontends.views import reshape

SMALLEST = 1e-12
"""The least norm that `normalize` divides by, unless another is given."""

LARGEST = float(np.finfo(np.float32).max)
"""The largest maximum that is subtracted from exponents: inf - inf would be NaN."""


def var(x: Value, *, axis: Numbers = -1, keepdims: bool = False, ddof: int = 0) -> Value:
    """The variance: the mean of the squared distances from the mean, by n - ddof, in f32."""
    check_float("var", x)
    axes = (axis,) if isinstance(axis, int) else axis
    count = prod(x.shape[axis_of(each, x.rank)] for each in axes)
    if count <= ddof:
        raise MisuseError(f"{count} elements have no such variance", "use a smaller one", at="ddof")
    wide = widened(x)
    centred = subtract(wide, mean(wide, axis=axis, keepdims=x.rank > len(axes)))
    squares = sum(unary("square", centred), axis=axis, keepdims=keepdims)
    return cast(multiply(squares, 1 / (count - ddof)), x.dtype)


def std(x: Value, *, axis: Numbers = -1, keepdims: bool = False, ddof: int = 0) -> Value:
    """The standard deviation: the square root of the variance."""
    check_float("std", x)
    variance = var(widened(x), axis=axis, keepdims=keepdims, ddof=ddof)
    return cast(unary("sqrt", variance), x.dtype)


def norm(x: Value, *, axis: Numbers = -1, keepdims: bool = False, order: float = 2.0) -> Value:
    """The norm of vectors: the root of order `order` of the sum of such powers of |x|.

    For an infinite order, this is the largest |x|.
    """
    check_float("norm", x)
    wide = widened(x)
    if order == 2:
        size = unary("sqrt", sum(unary("square", wide), axis=axis, keepdims=keepdims))
    elif order == 1:
        size = sum(unary("abs", wide), axis=axis, keepdims=keepdims)
    elif order == inf:
        size = max(unary("abs", wide), axis=axis, keepdims=keepdims)
    elif order > 0:
        powers = sum(pow(unary("abs", wide), order), axis=axis, keepdims=keepdims)
        size = pow(powers, 1 / order)
    else:
        raise MisuseError(f"a norm of order {order:g}", "use a positive one", at="order")
    return cast(size, x.dtype)


def normalize(x: Value, *, axis: int = -1, epsilon: float = SMALLEST) -> Value:
    """x / max(norm(x), epsilon) along an axis."""
    check_float("normalize", x)
    wide = widened(x)
    size = norm(wide, axis=axis, keepdims=x.rank > 1)
    return cast(divide(wide, maximum(size, epsilon)), x.dtype)


def cosine_similarity(a: Value, b: Value, *, axis: int = -1) -> Value:
    """sum(a * b) / (norm(a) * norm(b)) along an axis; norms are at least 1e-8."""
    for each in (a, b):
        check_float("cosine_similarity", each)
    wide_a, wide_b = widened(a), widened(b)
    sizes = (maximum(norm(each, axis=axis), 1e-8) for each in (wide_a, wide_b))
    product = sum(multiply(wide_a, wide_b), axis=axis)
    return cast(divide(product, multiply(*sizes)), a.dtype)


def logsumexp(x: Value, *, axis: int = -1, keepdims: bool = False) -> Value:
    """log(sum(exp(x))) along an axis, without overflow, of infinite numbers too."""
    check_float("logsumexp", x)
    wide = widened(x)
    highest = _finite(max(wide, axis=axis, keepdims=x.rank > 1))
    total = sum(unary("exp", subtract(wide, highest)), axis=axis, keepdims=keepdims)
    if x.rank > 1 and not keepdims:
        highest = _finite(max(wide, axis=axis))
    return cast(add(unary("log", total), highest), x.dtype)


def _finite(x: Value) -> Value:
    """x with the largest numbers in place of infinite ones."""
    return clip(x, -LARGEST, LARGEST)


def log_softmax(x: Value, *, axis: int = -1) -> Value:
    """log(softmax(x)) along an axis, without overflow."""
    check_float("log_softmax", x)
    wide = widened(x)
    shifted = subtract(wide, max(wide, axis=axis, keepdims=x.rank > 1))
    total = sum(unary("exp", shifted), axis=axis, keepdims=x.rank > 1)
    return cast(subtract(shifted, unary("log", total)), x.dtype)


def group_norm(
    x: Value,
    gamma: Value | None = None,
    beta: Value | None = None,
    *,
    groups: int,
    epsilon: float = EPSILON,
) -> Value:
    """(x - mean) / sqrt(variance + epsilon) of each group of channels, times gamma plus beta.

    The channels are the second axis, and gamma and beta have one number for each.
    """
    check_float("group_norm", x)
    if x.rank < 3:
        raise MisuseError("these are no channels of pixels", "give x as [b,c,h,w]", at=0)
    batch, channels, *rest = x.shape
    if groups < 1 or channels % groups:
        what = f"{channels} channels are not {groups} equal groups"
        raise MisuseError(what, "use a number that divides them", at="groups")
    wide = reshape(widened(x), shape=(batch, groups, -1))
    result = reshape(standard(wide, (-1,), epsilon), shape=x.shape)
    for number, (given, apply) in enumerate(((gamma, multiply), (beta, add)), start=1):
        if given is not None:
            if given.shape != (channels,):
                raise MisuseError("this is not one number for each channel", at=number)
            each = widened(given)
            for _ in rest:
                each = expand_dims(each, axis=-1)
            result = apply(result, each)
    return cast(result, x.dtype)


FUNCTIONS = (
    var, std, norm, normalize, cosine_similarity, logsumexp, log_softmax, group_norm,
)  # fmt: skip
"""The functions of these that an expression can call."""
