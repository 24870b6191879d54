"""Layer and RMS norms, along the last axis or another one that is brought there."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import Constant, LayerNorm, Map, Reduce, Reshape, RmsNorm, Transpose
from morello.graph.patterns.matching import (
    Rule,
    before_casts,
    constant,
    is_float,
    is_map,
    number,
    reshaped,
    transposed,
)
from morello.graph.patterns.softmax import reduced_axis


def mean(node: Node) -> Node | None:
    """sum(x) / n, or sum(x) * (1 / n), where n numbers are added -> mean(x)."""
    if not (is_map(node, "divide", "multiply") and is_float(node.dtype)):
        return None
    total, factor = node.inputs
    known = number(factor)
    if known is None or not isinstance(total.operator, Reduce) or total.operator.kind != "sum":
        return None
    count = prod(total.inputs[0].shape[d] for d in total.operator.axes)
    expected = count if is_map(node, "divide") else 1 / max(count, 1)
    if count == 0 or known != number(constant(expected, node.dtype)):
        return None
    return apply(Reduce("mean", total.operator.axes, total.operator.keepdims), total.inputs[0])


def norm(node: Node) -> Node | None:
    """(x - mean) * rsqrt(variance + epsilon) * gamma -> layer_norm(x, gamma, 0), in any order.

    Along another axis than the last -> transpose(layer_norm(transpose(x), gamma, 0)).
    The variance is mean(square(x - mean)), or mean(square(x)) - square(mean). With mean(square(x))
    in its place and x in that of x - mean -> rms_norm(x, gamma).
    """
    if not (is_map(node, "multiply", "divide") and is_float(node.dtype) and node.shape):
        return None
    factors, divisors = _factors(node)
    for place, factor in enumerate(factors):
        if is_map(factor, "rsqrt"):
            rest = factors[:place] + factors[place + 1 :]
            if not divisors and (normed := _normed(node, factor.inputs[0], rest)):
                return normed
    if len(divisors) == 1 and is_map(divisors[0], "sqrt"):
        return _normed(node, divisors[0].inputs[0], factors)
    return None


def _factors(node: Node, depth: int = 3) -> tuple[list[Node], list[Node]]:
    """The nodes whose product a node is, and those by which it is divided."""
    if depth and is_map(node, "multiply"):
        (a, below), (b, under) = (_factors(source, depth - 1) for source in node.inputs)
        return a + b, below + under
    if depth and is_map(node, "divide"):
        factors, divisors = _factors(node.inputs[0], depth - 1)
        return factors, [*divisors, node.inputs[1]]
    return [node], []


def _normed(node: Node, shifted: Node, factors: list[Node]) -> Node | None:
    """The norm that a node is, which divides the product of factors by sqrt(shifted)."""
    if not is_map(shifted, "add"):
        return None
    spread, epsilon = shifted.inputs[0], number(shifted.inputs[1])
    if epsilon is None or epsilon < 0 or len(factors) > 2:
        return None
    for place, x in enumerate(factors):
        centred = _mean_axis(x)
        axis = _axis_of_squares(spread, x)
        if axis is None:
            axis = _axis_of_difference(spread, x)
        if axis is None or x.shape != node.shape or node.shape[axis] == 1:
            continue
        rest = [_vector(other, x, axis) for other in factors[:place] + factors[place + 1 :]]
        given = [vector for vector in rest if vector is not None]
        if len(given) < len(rest):
            continue
        ones, zeros = (constant(np.full(x.shape[axis], n), node.dtype) for n in (1, 0))
        gamma = given[0] if given else ones
        order = (*(d for d in range(x.type.rank) if d != axis), axis)
        if centred == axis:
            inner = apply(LayerNorm(epsilon), transposed(x.inputs[0], order), gamma, zeros)
        else:
            inner = apply(RmsNorm(epsilon), transposed(x, order), gamma)
        return transposed(inner, tuple(order.index(d) for d in range(x.type.rank)))
    return None


def _vector(node: Node, x: Node, axis: int) -> Node | None:
    """The node as a vector along an axis of x; None if it varies along others."""
    shape = (1,) * (x.type.rank - node.type.rank) + node.shape
    along = tuple(n if d == axis else 1 for d, n in enumerate(x.shape))
    return reshaped(node, (x.shape[axis],)) if shape == along else None


def _mean_axis(x: Node) -> int | None:
    """The axis along which x is y - mean(y); None if it is something else."""
    return reduced_axis(x.inputs[1], "mean", x.inputs[0]) if is_map(x, "subtract") else None


def _axis_of_squares(node: Node, x: Node) -> int | None:
    """The axis along which a node is mean(square(x)), whatever the casts between."""
    node = before_casts(node)
    squares = before_casts(node.inputs[0]) if isinstance(node.operator, Reduce) else node
    return reduced_axis(node, "mean", squares) if _is_square(squares, before_casts(x)) else None


def _is_square(node: Node, x: Node) -> bool:
    """Whether a node is the square of x, or both are reshaped after that."""
    if isinstance(node.operator, Reshape) and node.operator == x.operator:
        return _is_square(node.inputs[0], x.inputs[0])
    return is_map(node, "square") and _is_same(node.inputs[0], x)


def _is_same(a: Node, b: Node, depth: int = 3) -> bool:
    """Whether two nodes compute the same, but for casts: a variance has its own mean in f32."""
    a, b = before_casts(a), before_casts(b)
    if a is b:
        return True
    inputs = zip(a.inputs, b.inputs, strict=False)
    known = depth > 0 and bool(a.inputs) and a.operator == b.operator
    return known and all(_is_same(x, y, depth - 1) for x, y in inputs)


def _axis_of_difference(node: Node, x: Node) -> int | None:
    """The axis along which a node is mean(square(y)) - square(mean(y)), for x = y - mean(y).

    It may be relu of that, as rounding may make the difference negative.
    """
    if is_map(node, "relu"):
        (node,) = node.inputs
    if not (is_map(node, "subtract") and is_map(x, "subtract")):
        return None
    squares, squared = node.inputs
    y, average = x.inputs
    axis = _axis_of_squares(squares, y)
    taken = is_map(squared, "square") and squared.inputs[0] is average
    return axis if taken and axis == _mean_axis(x) else None


def scaled_norm(node: Node) -> Node | None:
    """norm(x, 1) * gamma -> norm(x, gamma), for both norms."""
    if not is_map(node, "multiply"):
        return None
    for outer, factor in (node.inputs, node.inputs[::-1]):
        inner, order = _norm_below(outer)
        if inner is None or outer.shape != node.shape:
            continue
        x, ones, *zeros = inner.inputs
        gamma = _vector(factor, outer, order.index(len(order) - 1))
        plain = _is_all(ones, 1) and all(_is_all(beta, 0) for beta in zeros)
        if gamma is not None and plain and x.dtype == node.dtype:
            return transposed(apply(inner.operator, x, gamma, *zeros), order)
    return None


def shifted_norm(node: Node) -> Node | None:
    """layer_norm(x, gamma, 0) + beta -> layer_norm(x, gamma, beta)."""
    if not is_map(node, "add"):
        return None
    for outer, term in (node.inputs, node.inputs[::-1]):
        inner, order = _norm_below(outer)
        if inner is None or not isinstance(inner.operator, LayerNorm) or outer.shape != node.shape:
            continue
        x, gamma, zeros = inner.inputs
        beta = _vector(term, outer, order.index(len(order) - 1))
        if beta is not None and _is_all(zeros, 0) and x.dtype == node.dtype:
            return transposed(apply(inner.operator, x, gamma, beta), order)
    return None


def _norm_below(node: Node) -> tuple[Node | None, tuple[int, ...]]:
    """The norm that a node is but for casts, and the order that its dimensions are brought into."""
    node = before_casts(node)
    order = tuple(range(node.type.rank))
    if isinstance(node.operator, Transpose):
        order = node.operator.order
        node = before_casts(node.inputs[0])
    return (node if isinstance(node.operator, LayerNorm | RmsNorm) else None), order


def _is_all(node: Node, value: float) -> bool:
    """Whether every element of a node is this constant."""
    return isinstance(node.operator, Constant) and bool((node.operator.array == value).all())


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    Map: (mean, norm, scaled_norm, shifted_norm),
}
"""The rules of this family, by the class of the operators that they are for."""
