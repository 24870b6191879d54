"""Reductions along an axis, softmax, and norms."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from morello.frontends.copies import cast, widened
from morello.frontends.maps import add, check_float, multiply, subtract, unary
from morello.frontends.values import (
    MisuseError,
    Numbers,
    Value,
    apply_operation,
    axes_of,
    axis_of,
    value_of,
)
from morello.ir.computation import Tensor
from morello.ir.dtype import F32, I32, I64, U32, DType
from morello.ir.operation import Primitive
from morello.ir.primitives import (
    ARGMAX,
    ARGMIN,
    COMPLETE,
    CUMSUM,
    DENOMINATOR,
    DENOMINATOR_AND_MAX,
    DENOMINATOR_AND_UNSCALED,
    FROM_PARTS,
    MAX,
    MIN,
    SOFTMAX,
    SUM,
    UNSCALED_FROM_MAX,
    reduce,
    scan,
)
from morello.ir.primitives import softmax as softmax_operation
from morello.ir.rounding import narrow
from morello.ir.text import listed

EPSILON = 1e-5
"""The default epsilon of layer_norm (beside the variance) and rms_norm (the mean square)."""


def sum(x: Value, *, axis: Numbers = -1, keepdims: bool = False) -> Value:
    axes = _axes(axis, x, keepdims)
    return _kept(cast(_reduced(SUM, x, axes, _wide(x.dtype)), x.dtype), axes, keepdims)


def max(x: Value, *, axis: Numbers = -1, keepdims: bool = False) -> Value:
    axes = _axes(axis, x, keepdims)
    return _kept(_reduced(MAX, x, axes, x.dtype), axes, keepdims)


def min(x: Value, *, axis: Numbers = -1, keepdims: bool = False) -> Value:
    axes = _axes(axis, x, keepdims)
    return _kept(_reduced(MIN, x, axes, x.dtype), axes, keepdims)


def mean(x: Value, *, axis: Numbers = -1, keepdims: bool = False) -> Value:
    check_float("mean", x)
    axes, wide = _axes(axis, x, keepdims), _wide(x.dtype)
    scale = 1 / prod(x.shape[along] for along in axes)
    scaled = multiply(_reduced(SUM, cast(x, wide), axes, wide), scale)
    return _kept(cast(scaled, x.dtype), axes, keepdims)


def _wide(dtype: DType) -> DType:
    """The dtype of sums that are not stored: they may overflow where the result does not."""
    return F32 if narrow(dtype) else dtype


def _axes(axis: Numbers, x: Value, keepdims: bool) -> list[int]:
    """The axes of x to reduce, in increasing order; raises `MisuseError`."""
    axes = sorted(axes_of(axis, x.rank))
    if keepdims and x.rank == len(axes):
        what = f"one number is all that is left of {'a vector' * (x.rank == 1) or 'a tensor'}"
        raise MisuseError(what, "leave keepdims out, or keep an axis, such as that of f32[1,64]")
    return axes


def _reduced(primitive: Primitive, x: Value, axes: list[int], between: DType) -> Value:
    """x reduced along one axis after the other, the last axis first.

    If these are several, x is cast to the dtype `between` before.
    """
    if len(axes) > 1:
        x = cast(x, between)
    for along in reversed(axes):
        x = x.materialized
        x = apply_operation(reduce(primitive, x.rank, along), [x], _rows(x, along))
    return x


def _kept(x: Value, axes: list[int], keepdims: bool) -> Value:
    """x with the axes that were reduced as dimensions of size 1, if they are to be kept."""
    for along in axes if keepdims else ():
        x = x.expanded(along)
    return x


def softmax(x: Value, *, axis: int = -1) -> Value:
    check_float("softmax", x)
    along = axis_of(axis, x.rank)
    x = x.materialized
    return apply_operation(softmax_operation(SOFTMAX, x.rank, along), [x], x.shape)


def softmax_complete(x: Value, max: Value, denominator: Value, *, axis: int = -1) -> Value:
    """exp(x - max) / denominator, with one max and denominator for each row along `axis`."""
    return _softmax_part(COMPLETE, x, [max, denominator], axis)


def softmax_denominator(x: Value, max: Value, *, axis: int = -1) -> Value:
    """The sum of exp(x - max) along `axis`."""
    return _softmax_part(DENOMINATOR, x, [max], axis)


def softmax_denominator_and_max(x: Value, *, axis: int = -1) -> Value:
    """The maxima along `axis`, and the sums of exp(x - max)."""
    return _softmax_part(DENOMINATOR_AND_MAX, x, [], axis)


def softmax_denominator_and_max_from_parts(
    max_parts: Value, denominator_parts: Value, *, axis: int = -1
) -> Value:
    """The maxima along `axis` of parts' maxima, and the sums of exp(x - max)."""
    return _softmax_part(FROM_PARTS, max_parts, [denominator_parts], axis)


def softmax_denominator_and_unscaled(x: Value, *, axis: int = -1) -> Value:
    """The sums of exp(x - max) along `axis`, and these exponentials."""
    return _softmax_part(DENOMINATOR_AND_UNSCALED, x, [], axis)


def softmax_denominator_and_unscaled_from_max(x: Value, max: Value, *, axis: int = -1) -> Value:
    """The sums of exp(x - max) along `axis`, and these exponentials, given the maxima."""
    return _softmax_part(UNSCALED_FROM_MAX, x, [max], axis)


def _softmax_part(part: Primitive, x: Value, given: list[Value], axis: int) -> Value:
    check_float("softmax", x)
    along = axis_of(axis, x.rank)
    x = x.materialized
    operation = softmax_operation(part, x.rank, along)
    whole = operation.operands[0].dims
    shapes = [x.shape if o.dims == whole else _rows(x, along) for o in operation.operands]
    for number, operand in enumerate(given, start=1):
        if operand.shape != shapes[number] or operand.dtype is not x.dtype:
            fix = f"it should be {x.dtype}{listed(shapes[number])}"
            each = "part" if shapes[number] == x.shape else "row"
            raise MisuseError(f"this argument needs one element for each {each}", fix, at=number)
    arguments = [x, *(value.materialized for value in given)]
    result = apply_operation(operation, arguments, shapes[-1])
    others = tuple(Tensor(shape, x.dtype) for shape in shapes[len(arguments) : -1])
    return value_of(replace(result.tensor, others=others))


def argmax(x: Value, *, axis: int = -1) -> Value:
    """The place of the first maximum along an axis, as i32; of the first NaN, if there is any."""
    return _place(ARGMAX, x, axis)


def argmin(x: Value, *, axis: int = -1) -> Value:
    """The place of the first minimum along an axis, as i32; of the first NaN, if there is any."""
    return _place(ARGMIN, x, axis)


def _place(primitive: Primitive, x: Value, axis: int) -> Value:
    along, x = axis_of(axis, x.rank), cast(x, _whole(x)).materialized
    return apply_operation(scan(primitive, x.rank, along), [x], _rows(x, along), primitive.counts)


def cumsum(x: Value, *, axis: int = -1) -> Value:
    """The sums along an axis of all elements up to each."""
    along, wide = axis_of(axis, x.rank), cast(x, _whole(x)).materialized
    sums = apply_operation(scan(CUMSUM, wide.rank, along), [wide], wide.shape)
    return cast(sums, x.dtype)


def _whole(x: Value) -> DType:
    """The dtype in which rows of x are scanned, which has each of its numbers."""
    if x.dtype in (I64, U32):
        what = f"no kernel scans {x.dtype}"
        raise MisuseError(what, "cast it to f32, or give the function i32", at=0)
    return F32 if x.dtype.is_float else I32


def layer_norm(
    x: Value, gamma: Value | None = None, beta: Value | None = None, *, epsilon: float = EPSILON
) -> Value:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, along the last axis, in f32."""
    _check_norm("layer_norm", x, gamma, beta)
    return cast(_scaled(standard(widened(x), (-1,), epsilon), gamma, beta), x.dtype)


def standard(x: Value, axes: tuple[int, ...], epsilon: float) -> Value:
    """(x - mean) / sqrt(variance + epsilon) along some axes."""
    keepdims = x.rank > len(axes)
    centred = subtract(x, mean(x, axis=axes, keepdims=keepdims))
    variance = mean(unary("square", centred), axis=axes, keepdims=keepdims)
    return multiply(centred, unary("rsqrt", add(variance, epsilon)))


def _scaled(x: Value, gamma: Value | None, beta: Value | None) -> Value:
    """x * gamma + beta, of which some may be left out, in f32."""
    x = x if gamma is None else multiply(x, widened(gamma))
    return x if beta is None else add(x, widened(beta))


def rms_norm(x: Value, gamma: Value | None = None, *, epsilon: float = EPSILON) -> Value:
    """x / sqrt(mean(x * x) + epsilon) * gamma, along the last axis, in f32."""
    _check_norm("rms_norm", x, gamma)
    dtype, x = x.dtype, widened(x)
    size = mean(unary("square", x), keepdims=x.rank > 1)
    return cast(_scaled(multiply(x, unary("rsqrt", add(size, epsilon))), gamma, None), dtype)


def _check_norm(name: str, x: Value, *given: Value | None) -> None:
    check_float(name, x)
    for number, operand in enumerate(given, start=1):
        if operand is None:
            continue
        if operand.shape != x.shape[-1:] or not operand.dtype.is_float:
            fix = f"it should be {x.dtype}[{x.shape[-1]}]"
            raise MisuseError("this argument must be as long as the last axis", fix, at=number)


def _rows(x: Value, along: int) -> tuple[int, ...]:
    """x's shape without the dimension `along`, or (1,) for a vector."""
    return (*x.shape[:along], *x.shape[along + 1 :]) or (1,)


FUNCTIONS = (
    sum, max, min, mean, softmax, softmax_complete, softmax_denominator,
    softmax_denominator_and_max, softmax_denominator_and_max_from_parts,
    softmax_denominator_and_unscaled, softmax_denominator_and_unscaled_from_max,
    layer_norm, rms_norm, argmax, argmin, cumsum,
)  # fmt: skip
"""The functions of these that an expression can call."""
