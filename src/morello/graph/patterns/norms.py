"""Layer and RMS norms along the last axis."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import Constant, LayerNorm, Map, Reduce, RmsNorm
from morello.graph.patterns.matching import (
    Rule,
    before_casts,
    constant,
    is_float,
    is_map,
    number,
    reshaped,
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
    for place, centred in enumerate(factors):
        size = node.shape[-1]
        if centred.shape != node.shape or size == 1:
            continue
        rest = [_vector(other, size) for other in factors[:place] + factors[place + 1 :]]
        given = [vector for vector in rest if vector is not None]
        if len(given) < len(rest):
            continue
        gamma = given[0] if given else constant(np.ones(size), node.dtype)
        if _is_mean_of_squares(spread, centred):
            if _mean_taken_from(centred) is None:
                return apply(RmsNorm(epsilon), centred, gamma)
        elif not _is_variance(spread, centred):
            continue
        zeros = constant(np.zeros(size), node.dtype)
        return apply(LayerNorm(epsilon), centred.inputs[0], gamma, zeros)
    return None


def _vector(node: Node, size: int) -> Node | None:
    """A node as a vector along the last axis; None if it is none."""
    if node.shape[-1:] == (size,) and node.type.size == size:
        return reshaped(node, (size,))
    return None


def _along_last(node: Node, kind: str, x: Node) -> bool:
    return reduced_axis(node, kind, x) == x.type.rank - 1


def _mean_taken_from(centred: Node) -> Node | None:
    """The mean along the last axis that is taken from x in x - mean."""
    if is_map(centred, "subtract") and _along_last(centred.inputs[1], "mean", centred.inputs[0]):
        return centred.inputs[1]
    return None


def _is_mean_of_squares(node: Node, x: Node) -> bool:
    """Whether a node is mean(square(x)) along the last axis, whatever the casts between."""
    node = before_casts(node)
    if not isinstance(node.operator, Reduce):
        return False
    squares = before_casts(node.inputs[0])
    same = is_map(squares, "square") and before_casts(squares.inputs[0]) is before_casts(x)
    return same and _along_last(node, "mean", squares)


def _is_variance(node: Node, centred: Node) -> bool:
    """Whether a node is mean(square(x)) - square(mean) of centred = x - mean, or relu of that."""
    average = _mean_taken_from(centred)
    if is_map(node, "relu"):
        (node,) = node.inputs
    if average is None or not is_map(node, "subtract"):
        return False
    squares, squared = node.inputs
    taken = is_map(squared, "square") and squared.inputs[0] is average
    return taken and _is_mean_of_squares(squares, centred.inputs[0])


def scaled_norm(node: Node) -> Node | None:
    """norm(x, 1) * gamma -> norm(x, gamma), for both norms."""
    if not is_map(node, "multiply"):
        return None
    for normed, factor in (node.inputs, node.inputs[::-1]):
        inner = before_casts(normed)
        if not isinstance(inner.operator, LayerNorm | RmsNorm) or inner.shape != node.shape:
            continue
        x, ones, *zeros = inner.inputs
        gamma = _vector(factor, node.shape[-1])
        plain = _is_all(ones, 1) and all(_is_all(beta, 0) for beta in zeros)
        if gamma is not None and plain and x.dtype == node.dtype:
            return apply(inner.operator, x, gamma, *zeros)
    return None


def shifted_norm(node: Node) -> Node | None:
    """layer_norm(x, gamma, 0) + beta -> layer_norm(x, gamma, beta)."""
    if not is_map(node, "add"):
        return None
    for normed, term in (node.inputs, node.inputs[::-1]):
        if not isinstance(normed.operator, LayerNorm) or normed.shape != node.shape:
            continue
        x, gamma, zeros = normed.inputs
        beta = _vector(term, node.shape[-1])
        if beta is not None and _is_all(zeros, 0):
            return apply(normed.operator, x, gamma, beta)
    return None


def _is_all(node: Node, value: float) -> bool:
    """Whether every element of a node is this constant."""
    return isinstance(node.operator, Constant) and bool((node.operator.array == value).all())


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    Map: (mean, norm, scaled_norm, shifted_norm),
}
"""The rules of this family, by the class of the operators that they are for."""
