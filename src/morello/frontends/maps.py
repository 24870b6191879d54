"""Elementwise operations: arithmetic, and functions applied to every element."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from morello.frontends.copies import cast, widened
from morello.frontends.values import (
    NEW_AXIS,
    MisuseError,
    Value,
    apply_operation,
    elementwise_value,
)
from morello.ir.dtype import DType
from morello.ir.functions import COMPARISONS, INTEGER_FUNCTIONS, ONLY_INTEGERS, Function
from morello.ir.primitives import divide_vec_scalar
from morello.ir.rounding import narrow
from morello.ir.text import listed

MOST_FACTORS = 1000
"""The largest whole power that multiplications compute."""

_MOST_HALVES = 16
"""The largest power that multiplications and a square root compute, if it is not whole."""

_OF_INFINITIES = frozenset({"where", *COMPARISONS})
"""The functions of infinite constants, with which they compute nothing."""


def add(a: Value | float, b: Value | float) -> Value:
    return binary("add", a, b)


def subtract(a: Value | float, b: Value | float) -> Value:
    if isinstance(a, float) and isinstance(b, Value):
        if _unsigned(b.dtype):  # -b is ~b + 1
            above = (constant_of("subtract", a, b.dtype) + 1) % 2 ** (8 * b.dtype.bytes)
            return binary("add", unary("bitwise_not", b), above)
        return binary("add", unary("neg", b), a)
    return binary("subtract", a, b)


def multiply(a: Value | float, b: Value | float) -> Value:
    if isinstance(a, Value) and isinstance(b, Value) and a.tensor is b.tensor and a.axes == b.axes:
        return unary("square", a)
    return binary("multiply", a, b)


def divide(a: Value | float, b: Value | float) -> Value:
    if isinstance(a, float) and isinstance(b, Value):
        inverse = unary("reciprocal", b)
        return inverse if a == 1 else binary("multiply", inverse, a)
    return binary("divide", a, b)


def maximum(a: Value | float, b: Value | float) -> Value:
    return binary("maximum", a, b)


def minimum(a: Value | float, b: Value | float) -> Value:
    return binary("minimum", a, b)


def bitwise_and(a: Value | float, b: Value | float) -> Value:
    return binary("bitwise_and", a, b)


def bitwise_or(a: Value | float, b: Value | float) -> Value:
    return binary("bitwise_or", a, b)


def bitwise_xor(a: Value | float, b: Value | float) -> Value:
    return binary("bitwise_xor", a, b)


def left_shift(a: Value | float, b: Value | float) -> Value:
    """The bits of a, b places higher; none if b is negative, or not less than their number."""
    return binary("left_shift", a, b)


def right_shift(a: Value | float, b: Value | float) -> Value:
    """The bits of a, b places lower, below copies of the sign if the dtype is signed.

    If b is negative, or not less than the number of bits, there is nothing but such copies.
    """
    return binary("right_shift", a, b)


def quotient(a: Value | float, b: Value | float) -> Value:
    """a / b of integers without the fraction; if b is 0, all bits are set, as those of -1."""
    return binary("quotient", a, b)


def remainder(a: Value | float, b: Value | float) -> Value:
    """The remainder of a / b without the fraction, of floats; it has the sign of a."""
    return binary("remainder", a, b)


def leaky_relu(x: Value, slope: Value | float) -> Value:
    """x where it is positive, else slope * x."""
    return binary("leaky_relu", x, slope)


def atan2(y: Value, x: Value | float) -> Value:
    """The angle of the point (x, y) from the positive x axis, within [-pi, pi]."""
    return binary("atan2", y, x)


def atan(x: Value) -> Value:
    """The angle whose tangent is x, within [-pi/2, pi/2]."""
    return atan2(x, 1.0)


def elu(x: Value, alpha: float) -> Value:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    check_float("elu", x)

    def compute(x: Value) -> Value:
        return add(unary("relu", x), multiply(unary("expm1", minimum(x, 0.0)), alpha))

    return _rounded_once(compute, x)


def hardsigmoid(x: Value) -> Value:
    """x / 6 + 1/2, but at least 0 and at most 1."""
    check_float("hardsigmoid", x)
    return _rounded_once(lambda x: multiply(clip(add(x, 3.0), 0.0, 6.0), 1 / 6), x)


def hardswish(x: Value) -> Value:
    """x * hardsigmoid(x)."""
    check_float("hardswish", x)
    return _rounded_once(lambda x: multiply(x, hardsigmoid(x)), x)


def _rounded_once(compute: Callable[[Value], Value], x: Value) -> Value:
    """A function in several steps, of floats: these are computed in f32, as its kernels would."""
    return cast(compute(widened(x)), x.dtype)


def clip(x: Value, low: Value | float, high: Value | float) -> Value:
    """x, but at least `low` and, what counts more, at most `high`."""
    return minimum(maximum(x, low), high)


def pow(x: Value, exponent: float) -> Value:
    """x to the power of a constant; NaN for x < 0 unless the exponent is a whole number.

    Multiplications compute whole powers, with an error of half of them in units of the last
    place. Other large powers, or not of halves, are exp2(log2(x) * exponent), with an error of
    about |log(x) * exponent| units.
    """
    size = abs(exponent)
    if size == 0:
        raise MisuseError("any number to the power of 0 is 1", "use another exponent", at=1)
    if not math.isfinite(size):
        raise MisuseError("a power is to be finite", "use another exponent", at=1)
    whole, half = int(size), size % 1 == 0.5
    if size == whole and whole > MOST_FACTORS:
        raise MisuseError("this power is too large", f"use at most {MOST_FACTORS}", at=1)
    if exponent == -0.5:
        return unary("rsqrt", x)
    if narrow(x.dtype) and exponent not in (0.5, 1, 2):
        return _rounded_once(lambda x: pow(x, exponent), x)
    if size != whole and not (half and whole <= _MOST_HALVES):
        check_float("this power", x)
        return unary("exp2", multiply(unary("log2", x), exponent))
    if half or exponent < 0:
        check_float("this power", x)
    power = unary("sqrt", x) if half else None
    while whole:
        if whole % 2:
            power = x if power is None else multiply(power, x)
        whole //= 2
        x = unary("square", x) if whole else x
    assert power is not None
    return unary("reciprocal", power) if exponent < 0 else power


def divide_in_place(out: Value, denominator: Value) -> Value:
    """out /= denominator, with one denominator for each of the rows along an axis of out."""
    check_float("/=", out)
    axes = (NEW_AXIS,) * (out.rank - denominator.rank) + denominator.axes
    scans = [axis for axis, d in enumerate(axes) if d == NEW_AXIS]
    if denominator.shape == (1,) and out.rank == 1:
        scans = [0]
    own = denominator.unexpanded
    rows = tuple(n for axis, n in enumerate(out.shape) if axis not in scans) or (1,)
    if len(scans) != 1 or own.shape != rows or own.dtype is not out.dtype or not own.external:
        what = "/= takes one denominator for each row, which is an input"
        raise MisuseError(what, "write it as in f32[8,64] /= expand_dims(f32[8], axis=1)", at=1)
    return apply_operation(divide_vec_scalar(out.rank, scans[0]), [own], out.shape)


def equal(a: Value | float, b: Value | float) -> Value:
    """1 where a == b, 0 where not, in their dtype; a comparison of NaN does not hold."""
    return binary("equal", a, b)


def not_equal(a: Value | float, b: Value | float) -> Value:
    return binary("not_equal", a, b)


def greater(a: Value | float, b: Value | float) -> Value:
    return binary("less", b, a) if isinstance(a, float) else binary("greater", a, b)


def greater_equal(a: Value | float, b: Value | float) -> Value:
    return binary("less_equal", b, a) if isinstance(a, float) else binary("greater_equal", a, b)


def less(a: Value | float, b: Value | float) -> Value:
    return binary("greater", b, a) if isinstance(a, float) else binary("less", a, b)


def less_equal(a: Value | float, b: Value | float) -> Value:
    return binary("greater_equal", b, a) if isinstance(a, float) else binary("less_equal", a, b)


def where(condition: Value, a: Value | float, b: Value | float) -> Value:
    """a where the condition, of their dtype, is not 0, and b where it is."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isinf(a) and not math.isinf(b):  # the constant may be infinite
            return where(equal(condition, 0.0), b, a)
        a = clip(not_equal(condition, 0.0), a, a)  # a tensor whose elements are all this number
    if isinstance(a, float):
        return where(equal(condition, 0.0), b, a)
    if isinstance(b, Value):
        a, b = _alike(a, b)
    if condition.dtype is not a.dtype and not (condition.dtype.is_float and a.dtype.is_float):
        what = f"the condition is {condition.dtype}, and what it selects {a.dtype}"
        raise MisuseError(what, f"cast the condition to {a.dtype}", at=0)
    condition, a = _alike(condition, a)
    if isinstance(b, float):
        return elementwise_value(Function("where", constant_of("where", b, a.dtype)), condition, a)
    return elementwise_value(Function("where"), condition, a, _alike(a, b)[1])


def divide_vec(a: Value, b: Value) -> Value:
    """a / b, without broadcasting."""
    if a.shape != b.shape:
        raise MisuseError(
            f"the shapes {listed(a.shape)} and {listed(b.shape)} differ",
            "use a / b",
            at=1,
        )
    return binary("divide", a, b)


def map_of_one(name: str) -> Callable[..., Value]:
    def apply(x: Value) -> Value:
        return unary(name, x)

    return apply


def unary(name: str, x: Value) -> Value:
    _check_closed(name, x)
    if name == "neg" and _unsigned(x.dtype):
        raise MisuseError(f"{x.dtype} has no negative numbers", "cast it to i32 first", at=0)
    return elementwise_value(Function(name), x)


def binary(name: str, a: Value | float, b: Value | float) -> Value:
    if isinstance(a, float) and name == "atan2":
        raise MisuseError("the first argument of atan2 is a number", "make it a tensor", at=0)
    if isinstance(a, float) and isinstance(b, Value) and name in _ORDERED:
        a = clip(b, a, a)  # a tensor whose elements are all this number
    if isinstance(a, float):
        a, b = b, a  # these commute: subtract and divide rewrite a constant on the left themselves
    if isinstance(a, float):
        raise MisuseError("both are numbers", "compute their result by hand and write that")
    _check_closed(name, a)
    if isinstance(b, float):
        return elementwise_value(Function(name, constant_of(name, b, a.dtype)), a)
    return elementwise_value(Function(name), *_alike(a, b))


def _alike(a: Value, b: Value) -> tuple[Value, Value]:
    """Both in the same dtype, which is f32 for floats of different ones."""
    if a.dtype is b.dtype:
        return a, b
    if a.dtype.is_float and b.dtype.is_float:
        return widened(a), widened(b)
    fix = f"cast one of them, as in cast(.., {a.dtype})"
    raise MisuseError(f"one side is {a.dtype}, the other {b.dtype}", fix, at=1)


def _check_closed(name: str, x: Value) -> None:
    if name not in INTEGER_FUNCTIONS:
        check_float(name, x)
    if name in ONLY_INTEGERS and x.dtype.is_float:
        raise MisuseError(f"{name} is for integers, not {x.dtype}", "cast it to i32 first")


def check_float(name: str, x: Value) -> None:
    if not x.dtype.is_float:
        raise MisuseError(
            f"{name} is for floating-point numbers, not {x.dtype}", "cast it to f32 first"
        )


def constant_of(name: str, value: float, dtype: DType) -> float:
    """The constant of an elementwise operation, with -0 as 0; raises `MisuseError`."""
    if not dtype.is_float:
        bits = 8 * dtype.bytes
        lowest, highest = (
            (0, 2**bits - 1) if _unsigned(dtype) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        if not lowest <= value <= highest or value != int(value):
            fix = f"use a whole number from {lowest} to {highest}"
            raise MisuseError(f"{value:g} is no {dtype}", fix)
    elif abs(value) > float(np.finfo(np.float32).max) and not (
        math.isinf(value) and name in _OF_INFINITIES
    ):
        raise MisuseError(f"{value:g} is more than f32 holds", "use a smaller number")
    elif name in ("divide", "remainder") and np.float32(value) == 0:
        raise MisuseError("a division by 0", "divide by another number")
    return value + 0.0


def _unsigned(dtype: DType) -> bool:
    return dtype.name.startswith("u")


_ORDERED = "left_shift", "quotient", "remainder", "right_shift"
"""The functions of two numbers that do not commute."""

FUNCTIONS = (
    add, divide, maximum, minimum, multiply, subtract, atan, atan2, leaky_relu, elu, hardsigmoid,
    hardswish, clip, pow, equal, not_equal, greater, greater_equal, less, less_equal, where,
    divide_vec, bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift, quotient,
    remainder,
)  # fmt: skip
"""The functions of these that an expression can call, besides every one of one argument."""
