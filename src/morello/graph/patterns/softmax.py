"""Softmax, and operators between a cast to a wider dtype and one back."""

from __future__ import annotations

from collections.abc import Mapping

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import (
    Attention,
    Cast,
    LayerNorm,
    Map,
    Reduce,
    RmsNorm,
    Softmax,
)
from morello.graph.patterns.matching import (
    Rule,
    before_casts,
    is_float,
    is_map,
    keeps_values,
)


def softmax(node: Node) -> Node | None:
    """exp(x - max(x)) / sum(exp(x - max(x))) -> softmax(x); also times a reciprocal of the sum."""
    if is_map(node, "divide"):
        exponentials, total = node.inputs
    elif is_map(node, "multiply") and is_map(node.inputs[1], "reciprocal"):
        exponentials, (total,) = node.inputs[0], node.inputs[1].inputs
    else:
        return None
    if not (is_map(exponentials, "exp") and is_map(exponentials.inputs[0], "subtract")):
        return None
    x, largest = exponentials.inputs[0].inputs
    axis = reduced_axis(total, "sum", exponentials)
    if axis is None or axis != reduced_axis(largest, "max", x) or x.shape != node.shape:
        return None
    return apply(Softmax(axis), x)


def reduced_axis(node: Node, kind: str, x: Node) -> int | None:
    """The axis of a node that reduces x along one axis, and can be broadcast to x again."""
    node = before_casts(node)
    reduce = node.operator
    if not isinstance(reduce, Reduce) or reduce.kind != kind or len(reduce.axes) != 1:
        return None
    (axis,) = reduce.axes
    same = before_casts(node.inputs[0]) is before_casts(x)
    return axis if same and (reduce.keepdims or axis == 0) else None


def narrow(node: Node) -> Node | None:
    """cast(softmax(cast(x))) -> softmax(x), if the outer cast is back to the dtype of x.

    So too for norms, attention and reductions: kernels compute these in f32 anyway.
    """
    (wide,) = node.inputs
    if not isinstance(wide.operator, Attention | LayerNorm | Reduce | RmsNorm | Softmax):
        return None
    inputs = tuple(_narrowed(source) for source in wide.inputs)
    rounded = is_float(node.dtype) and keeps_values(node.dtype, wide.dtype)
    if not rounded or inputs[0].dtype != node.dtype or inputs == wide.inputs:
        return None
    if isinstance(wide.operator, Attention) and len({each.dtype for each in inputs[:3]}) > 1:
        return None
    return apply(wide.operator, *inputs)


def _narrowed(node: Node) -> Node:
    """The source of an exact cast, or the node itself."""
    if isinstance(node.operator, Cast) and keeps_values(node.inputs[0].dtype, node.dtype):
        return node.inputs[0]
    return node


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {Cast: (narrow,), Map: (softmax,)}
"""The rules of this family, by the class of the operators that they are for."""
