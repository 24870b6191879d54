"""Reductions, softmax and sums along dimensions of size 1, where there is nothing to combine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import ArgReduce, Cumulate, Reduce, Softmax
from morello.graph.patterns.matching import Rule, constant, in_shape, reshaped


def reduce_of_units(node: Node) -> Node | None:
    """reduce(x) along dimensions of size 1 -> x without them, reduced along the others."""
    (x,) = node.inputs
    reduce = node.operator
    assert isinstance(reduce, Reduce)
    longer = tuple(axis for axis in reduce.axes if x.shape[axis] != 1)
    if longer == reduce.axes:
        return None
    kept = apply(replace(reduce, axes=longer, keepdims=True), x) if longer else x
    return reshaped(kept, node.shape)


def softmax_of_units(node: Node) -> Node | None:
    """softmax(x) along a dimension of size 1 -> 1."""
    assert isinstance(node.operator, Softmax)
    if node.shape[node.operator.axis] > 1:
        return None
    return in_shape(constant(1, node.dtype), node.shape)


def sum_of_units(node: Node) -> Node | None:
    """cumulate(x) along a dimension of size 1 -> x."""
    assert isinstance(node.operator, Cumulate)
    return node.inputs[0] if node.shape[node.operator.axis] == 1 else None


def place_of_units(node: Node) -> Node | None:
    """The place of the largest element along a dimension of size 1 -> 0."""
    assert isinstance(node.operator, ArgReduce)
    if node.inputs[0].shape[node.operator.axis] > 1:
        return None
    return in_shape(constant(0, node.dtype), node.shape)


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    ArgReduce: (place_of_units,),
    Cumulate: (sum_of_units,),
    Reduce: (reduce_of_units,),
    Softmax: (softmax_of_units,),
}
"""The rules of this family, by the class of the operators that they are for."""
