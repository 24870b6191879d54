"""Functions that programs write as several simpler ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import frexp, pi, sqrt

import numpy as np

from morello.graph.graph import Node, Operator
from morello.graph.operators import Constant, Map, Where
from morello.graph.patterns.matching import (
    POLYNOMIALS,
    Rule,
    constant,
    in_shape,
    is_float,
    is_map,
    is_number,
    mapped,
    number,
    polynomial,
    same_polynomial,
)


def relu(node: Node) -> Node | None:
    """maximum(x, 0) -> relu(x)."""
    if is_map(node, "maximum") and number(node.inputs[1]) == 0 and node.dtype.kind not in "ub":
        return in_shape(mapped("relu", node.inputs[0]), node.shape)
    return None


def clip(node: Node) -> Node | None:
    """maximum(minimum(x, high), low) -> minimum(maximum(x, low), high), if low <= high."""
    if not (is_map(node, "maximum") and is_map(node.inputs[0], "minimum")):
        return None
    x, high = node.inputs[0].inputs
    low = number(node.inputs[1])
    limit = number(high)
    if low is None or limit is None or not low <= limit:
        return None
    return mapped("minimum", mapped("maximum", x, node.inputs[1]), high)


def square(node: Node) -> Node | None:
    """x * x -> square(x)."""
    if is_map(node, "multiply") and node.inputs[0] is node.inputs[1] and node.dtype.kind != "b":
        return mapped("square", node.inputs[0])
    return None


def power(node: Node) -> Node | None:
    """power(x, c) -> square, sqrt, rsqrt or reciprocal of x, or a product of such."""
    if not (is_map(node, "power") and is_float(node.dtype)):
        return None
    x, exponent = node.inputs
    known = number(exponent)
    names = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
    if known in names:
        return in_shape(mapped(names[known], x), node.shape)
    if known == 3:
        return in_shape(mapped("multiply", mapped("square", x), x), node.shape)
    if known == 0.75:  # of local response normalization
        root = mapped("sqrt", x)
        return in_shape(mapped("multiply", root, mapped("sqrt", root)), node.shape)
    return None


def reciprocal(node: Node) -> Node | None:
    """1 / x -> reciprocal(x); 1 / sqrt(x) -> rsqrt(x); sqrt(1 / x) -> rsqrt(x)."""
    if not is_float(node.dtype):
        return None
    if is_map(node, "divide") and number(node.inputs[0]) == 1:
        return in_shape(mapped("reciprocal", node.inputs[1]), node.shape)
    outer, inner = ("reciprocal", "sqrt") if is_map(node, "reciprocal") else ("sqrt", "reciprocal")
    if is_map(node, outer) and is_map(node.inputs[0], inner):
        return mapped("rsqrt", *node.inputs[0].inputs)
    return None


def exact_division(node: Node) -> Node | None:
    """x / c -> x * (1 / c) if c is a power of 2, so that this is exact."""
    if not (is_map(node, "divide") and is_float(node.dtype)):
        return None
    x, divisor = node.inputs
    known = number(divisor)
    if known is None or abs(frexp(known)[0]) != 0.5 or not 2.0**-14 <= abs(known) <= 2.0**14:
        return None
    return in_shape(mapped("multiply", x, constant(1 / known, node.dtype)), node.shape)


def limited_division(node: Node) -> Node | None:
    """minimum(x, c) / c -> minimum(x, c) * (1 / c), and y * minimum(x, c) / c likewise.

    Hard sigmoid and hard swish are of this form. Only if c * (1 / c) is 1, so that 1 stays exact.
    """
    if not (is_map(node, "divide") and is_float(node.dtype)):
        return None
    x, divisor = node.inputs
    known = number(divisor)
    parts = x.inputs if is_map(x, "multiply") else (x,)
    limits = [number(part.inputs[1]) for part in parts if is_map(part, "minimum")]
    if known is None or known not in limits or not 2.0**-14 <= known <= 2.0**14:
        return None
    limit, inverse = np.asarray((known, 1 / known)).astype(node.dtype)
    if limit * inverse != 1:
        return None
    return in_shape(mapped("multiply", x, constant(inverse, node.dtype)), node.shape)


def sigmoid(node: Node) -> Node | None:
    """1 / (1 + exp(-x)) -> sigmoid(x); y / (1 + exp(-x)) -> y * sigmoid(x)."""
    divided = is_map(node, "divide")
    if not (divided or is_map(node, "reciprocal")):
        return None
    total = node.inputs[-1]
    if not (is_map(total, "add") and is_number(total.inputs[1], 1)):
        return None
    exponential = total.inputs[0]
    if not (is_map(exponential, "exp") and is_map(exponential.inputs[0], "neg")):
        return None
    result = mapped("sigmoid", *exponential.inputs[0].inputs)
    return mapped("multiply", node.inputs[0], result) if divided else result


def silu(node: Node) -> Node | None:
    """x * sigmoid(x) -> silu(x)."""
    if not is_map(node, "multiply"):
        return None
    for x, factor in (node.inputs, node.inputs[::-1]):
        if is_map(factor, "sigmoid") and factor.inputs[0] is x:
            return mapped("silu", x)
    return None


def leaky_relu(node: Node) -> Node | None:
    """where(x > 0, x, x * c) -> leaky_relu(x, c), or where(x < 0, x * c, x), for a finite c.

    It does not matter what 0 is compared to: 0 * c is 0.
    """
    condition, chosen, other = node.inputs
    above = is_map(condition, "greater", "greater_equal")
    if not (above or is_map(condition, "less", "less_equal")) or not is_float(node.dtype):
        return None
    x, scaled = (chosen, other) if above else (other, chosen)
    compared, limit = condition.inputs
    if compared is not x or number(limit) != 0 or not is_map(scaled, "multiply"):
        return None
    slope = scaled.inputs[scaled.inputs[0] is x]
    if x not in scaled.inputs or not isinstance(slope.operator, Constant):
        return None
    if x.shape != node.shape or not np.isfinite(slope.operator.array).all():
        return None
    return mapped("leaky_relu", x, slope)


@dataclass(frozen=True)
class _Form:
    """A function as a polynomial in x and y, where y is a function of a polynomial in x."""

    name: str
    outer: Mapping[tuple[int, int], float]
    y: str
    inner: Mapping[tuple[int, int], float]


_TANH = sqrt(2 / pi)

_FORMS = (
    _Form("gelu", {(1, 0): 0.5, (1, 1): 0.5}, "erf", {(1, 0): sqrt(0.5)}),
    _Form("gelu", {(1, 1): 0.5}, "erfc", {(1, 0): -sqrt(0.5)}),
    _Form(
        "gelu_tanh",
        {(1, 0): 0.5, (1, 1): 0.5},
        "tanh",
        {(1, 0): _TANH, (3, 0): 0.044715 * _TANH},
    ),
    _Form("sigmoid", {(0, 0): 0.5, (0, 1): 0.5}, "tanh", {(1, 0): 0.5}),
    _Form("silu", {(1, 0): 0.5, (1, 1): 0.5}, "tanh", {(1, 0): 0.5}),
)


def composed(node: Node) -> Node | None:
    """0.5 * x * (1 + erf(x / sqrt(2))) -> gelu(x), and the like, in any order of the terms.

    The terms of gelu_tanh are 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))).
    """
    if not (is_map(node, "add", "divide", "multiply") and is_float(node.dtype)):
        return None
    for y in _inside(node, depth=4):
        forms = [form for form in _FORMS if is_map(y, form.y)]
        for x in _inside(y.inputs[0], depth=3) if forms else ():
            inner = polynomial(y.inputs[0], (x, x))
            fitting = [form for form in forms if same_polynomial(inner, form.inner, node.dtype)]
            outer = polynomial(node, (x, y)) if fitting and x.shape == node.shape else None
            for form in fitting:
                if same_polynomial(outer, form.outer, node.dtype):
                    return mapped(form.name, x)
    return None


def _inside(node: Node, depth: int) -> Iterator[Node]:
    """A node, and those that it is a polynomial of, without constants; each once."""
    level = {node: None}
    seen: set[Node] = set()
    for _ in range(depth):
        yield from level
        seen |= level.keys()
        level = {
            source: None
            for inner in level
            if isinstance(inner.operator, Map) and inner.operator.name in POLYNOMIALS
            for source in inner.inputs
            if source not in seen and source.shape != ()
        }


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    Map: (
        clip, relu, square, power, reciprocal, exact_division, limited_division, sigmoid, silu,
        composed,
    ),
    Where: (leaky_relu,),
}  # fmt: skip
"""The rules of this family, by the class of the operators that they are for."""
