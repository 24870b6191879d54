"""Functions of one or two numbers that graphs lack, composed of those that they have.

In f32, each is as exact near 0, and finite as far from it, as the function itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from morello.graph.graph import Node, apply
from morello.graph.operators import Where
from morello.graph.patterns.matching import constant, number

Apply = Callable[..., Node]
"""Makes the node of an operator of elements, for its name and its operands: nodes and numbers."""

Operand = Node | float


def _sinh(f: Apply, x: Node) -> Node:
    """(up - down) (up + down + 2) / 2, with exp(x / 2) - 1 and exp(-x / 2) - 1."""
    half = f("multiply", x, 0.5)
    up, down = f("expm1", half), f("expm1", f("neg", half))
    mean = f("add", f("multiply", f("add", up, down), 0.5), 1)
    return f("multiply", f("subtract", up, down), mean)


def _cosh(f: Apply, x: Node) -> Node:
    """(up up + down down) / 2, with exp(x / 2) and exp(-x / 2)."""
    half = f("multiply", x, 0.5)
    up, down = f("exp", half), f("exp", f("neg", half))
    halves = (f("multiply", f("multiply", each, 0.5), each) for each in (up, down))
    return f("add", *halves)


def _asinh(f: Apply, x: Node) -> Node:
    """sign(x) log1p(a + a (a / (1 + sqrt(a a + 1)))), with a of |x|; far from 0 it is log(2 a)."""
    a = f("abs", x)
    bounded = f("minimum", a, 1e9)
    root = f("sqrt", f("add", f("square", bounded), 1))
    ratio = f("divide", bounded, f("add", root, 1))
    positive = f("log1p", f("add", a, f("multiply", a, ratio)))
    return f("multiply", f("sign", x), positive)


def _acosh(f: Apply, x: Node) -> Node:
    """log1p(t + sqrt(t) sqrt(t + 2)), with t = x - 1."""
    t = f("subtract", x, 1)
    roots = f("multiply", f("sqrt", t), f("sqrt", f("add", t, 2)))
    return f("log1p", f("add", t, roots))


def _asin(f: Apply, x: Node) -> Node:
    """The angle of the height x on the unit circle."""
    return f("atan2", x, _other_side(f, x))


def _acos(f: Apply, x: Node) -> Node:
    """The angle of the width x on the unit circle."""
    return f("atan2", _other_side(f, x), x)


def _erfinv(f: Apply, x: Node) -> Node:
    """The polynomials of Giles (2010) in w = -log(1 - x x): one below 5, one from there on."""
    size = f("abs", x)
    w = f("neg", f("add", f("log1p", f("neg", size)), f("log1p", size)))
    near = _polynomial(f, f("subtract", w, 2.5), _NEAR)
    far = _polynomial(f, f("subtract", f("sqrt", w), 3), _FAR)
    result = f("multiply", apply(Where(), f("less", w, 5), near, far), x)
    infinite = f("divide", x, f("subtract", 1, size))
    return apply(Where(), f("equal", size, 1), infinite, result)


def _cbrt(f: Apply, x: Node) -> Node:
    """A power of 2 and a step of Newton's method, which 0 and infinities are not for."""
    size = f("abs", x)
    near = f("exp2", f("multiply", f("log2", size), 1 / 3))
    beyond = f("subtract", near, f("divide", size, f("square", near)))
    root = f("subtract", near, f("multiply", beyond, 1 / 3))
    return f("multiply", f("sign", x), apply(Where(), f("equal", root, root), root, near))


def _polynomial(f: Apply, x: Node, coefficients: Sequence[float]) -> Node:
    """The polynomial with these coefficients, the highest first."""
    first, second, *others = coefficients
    result = f("add", f("multiply", x, first), second)
    for each in others:
        result = f("add", f("multiply", result, x), each)
    return result


_NEAR = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_FAR = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip


def _other_side(f: Apply, x: Node) -> Node:
    """sqrt(1 - x x), as (1 - x) (1 + x), which does not cancel."""
    return f("sqrt", f("multiply", f("add", f("neg", x), 1), f("add", x, 1)))


def _hypot(f: Apply, a: Node, b: Node) -> Node:
    """m sqrt(1 + (n / m)**2), with the larger side m and the smaller one n.

    It is infinite if a side is, even if the other is no number.
    """
    sides = f("abs", a), f("abs", b)
    larger, smaller = f("maximum", *sides), f("minimum", *sides)
    some = f("minimum", smaller, _LARGEST)  # of infinities by infinity, which is NaN
    ratio = f("divide", some, f("maximum", larger, _SMALLEST))
    result = f("multiply", larger, f("sqrt", f("add", f("square", ratio), 1)))
    infinite = (f("equal", side, math.inf) for side in sides)
    return apply(Where(), f("logical_or", *infinite), constant(math.inf, result.dtype), result)


def _log_of_sum(power: str, unit: float) -> Callable[[Apply, Node, Node], Node]:
    """m + log(1 + power(n - m)), with the larger number m and the smaller one n.

    The logarithm is to the base of `power`, whose natural logarithm is `unit`.
    """

    def composed(f: Apply, a: Node, b: Node) -> Node:
        larger, smaller = f("maximum", a, b), f("minimum", a, b)
        more = f("log1p", f(power, f("subtract", smaller, larger)))
        same = f("add", a, math.log(2) / unit)  # also of infinities, whose difference is NaN
        return apply(
            Where(), f("equal", a, b), same, f("add", larger, f("multiply", more, 1 / unit))
        )

    return composed


def _fmax(f: Apply, a: Node, b: Node) -> Node:
    """The larger number; NaN only if both are."""
    return _known_one(f, a, b, f("maximum", a, b))


def _fmin(f: Apply, a: Node, b: Node) -> Node:
    """The smaller number; NaN only if both are."""
    return _known_one(f, a, b, f("minimum", a, b))


def _known_one(f: Apply, a: Node, b: Node, result: Node) -> Node:
    """The other number where one is NaN."""
    result = apply(Where(), f("equal", a, a), result, b)
    return apply(Where(), f("equal", b, b), result, a)


def _copysign(f: Apply, x: Node, other: Node) -> Node:
    """|x| or -|x|, by the sign of the other number; that of 0 is the sign of 1 / 0."""
    size = f("abs", x)
    signed = apply(Where(), f("equal", other, 0), f("reciprocal", other), other)
    return apply(Where(), f("less", signed, 0), f("neg", size), size)


def _atanh(f: Apply, x: Node) -> Node:
    """(log1p(x) - log1p(-x)) / 2."""
    return f("multiply", f("subtract", f("log1p", x), f("log1p", f("neg", x))), 0.5)


def float_remainder(f: Apply, x: Operand, by: Operand) -> Node:
    """x - by trunc(x / by), which has the sign of x; no quotient by a power of two is rounded."""
    divisor = _known(by)
    if divisor is None or not isinstance(x, Node) or divisor < 1 or math.frexp(divisor)[0] != 0.5:
        return f("remainder", x, by)
    whole = f("floor", f("multiply", f("abs", x), 1 / divisor))
    return f("subtract", x, f("multiply", f("multiply", f("sign", x), whole), by))


def floor_float_remainder(f: Apply, x: Operand, by: Operand) -> Node:
    """x - by floor(x / by), which has the sign of the divisor."""
    result = float_remainder(f, x, by)
    return apply(Where(), _differ_in_sign(f, result, by), f("add", result, by), result)


def floor_float_quotient(f: Apply, x: Operand, by: Operand) -> Node:
    """floor(x / by), whose numerator less the remainder is a multiple of the divisor."""
    divisor = _known(by)
    if divisor == 0:
        return f("divide", x, by)
    rest = float_remainder(f, x, by)
    times = f("divide", f("subtract", x, rest), by)
    lower = apply(Where(), _differ_in_sign(f, rest, by), f("subtract", times, 1), times)
    whole = f("round", lower)
    if divisor is not None:
        return whole
    return apply(Where(), f("equal", by, 0), f("divide", x, by), whole)


def _known(operand: Operand) -> float | None:
    """The number that an operand is; None if it is computed, or has several elements."""
    return number(operand) if isinstance(operand, Node) else operand


def _differ_in_sign(f: Apply, rest: Node, by: Operand) -> Node:
    """Whether a remainder is not 0, and has another sign than the divisor."""
    return f("less", f("multiply", f("sign", rest), by), 0)


_SMALLEST, _LARGEST = 2.0**-126, (2 - 2.0**-23) * 2.0**127
"""The limits of normal numbers of f32."""

COMPOSED: dict[str, Callable[..., Node]] = {
    "acos": _acos,
    "acosh": _acosh,
    "asin": _asin,
    "asinh": _asinh,
    "atan": lambda f, x: f("atan2", x, 1),
    "atanh": _atanh,
    "cbrt": _cbrt,
    "copysign": _copysign,
    "cosh": _cosh,
    "erfinv": _erfinv,
    "fmax": _fmax,
    "fmin": _fmin,
    "hypot": _hypot,
    "logaddexp": _log_of_sum("exp", 1.0),
    "logaddexp2": _log_of_sum("exp2", math.log(2)),
    "log10": lambda f, x: f("multiply", f("log", x), 1 / math.log(10)),
    "sinh": _sinh,
    "tan": lambda f, x: f("divide", f("sin", x), f("cos", x)),
}
