"""Graphs, built a node at a time: equal nodes are one, and what is known already is a constant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Array, Graph, Node, Operator, apply, in_order
from morello.graph.interpreter import check_room, evaluate
from morello.graph.operators import Cast, Concat, Constant, Foreign, Gather, Input, Map, Reshape
from morello.graph.views import VIEWS

MOST_FOLDED = 1 << 22
"""The most elements that are computed ahead, while a graph is built."""

_MOVING = Concat, Gather, *VIEWS


class GraphBuilder:
    """The nodes of a graph so far."""

    def __init__(self) -> None:
        self._known: dict[tuple[Operator, tuple[Node, ...]], Node] = {}
        self._numbers: dict[tuple[float, float, np.dtype[Any]], Node] = {}
        self._weights: set[Node] = set()

    def weight(self, array: Array) -> Node:
        """A constant that views do not copy, so that it stays where it lies."""
        node = self.constant(array)
        self._weights.add(node)
        return node

    def constant(self, array: Array) -> Node:
        return apply(Constant(array))

    def number(self, value: float, dtype: np.dtype[Any]) -> Node:
        """A constant without dimensions; raises `GraphError` if the dtype has no such number."""
        key = (value, math.copysign(1, value), dtype)
        if key not in self._numbers:
            try:
                self._numbers[key] = self.constant(np.array(value, dtype))
            except (OverflowError, ValueError):
                raise GraphError(f"{value} is no {dtype}.") from None
        return self._numbers[key]

    def apply(self, operator: Operator, *inputs: Node) -> Node:
        """The node of an operator; raises `GraphError` if it does not take these inputs."""
        key = (operator, inputs)
        if key not in self._known:
            self._known[key] = self._folded(apply(operator, *inputs))
        return self._known[key]

    def reshape(self, node: Node, shape: tuple[int, ...]) -> Node:
        """A node's elements in another shape; itself if it has that."""
        return node if node.shape == shape else self.apply(Reshape(shape), node)

    def cast(self, node: Node, dtype: np.dtype[Any]) -> Node:
        """A node in another dtype; itself if it has it."""
        return node if node.dtype == dtype else self.apply(Cast(dtype), node)

    def map(self, name: str, *operands: Node | float) -> Node:
        """A function of nodes of one dtype, and of numbers.

        A number that the dtype would round makes it a function in f32, as frameworks compute it.
        """
        dtype = next(each.dtype for each in operands if isinstance(each, Node))
        narrow = dtype.kind not in "iub" and dtype.itemsize < 4
        if narrow and any(_rounds(each, dtype) for each in operands if not isinstance(each, Node)):
            f32 = np.dtype(np.float32)
            wide = (self.cast(each, f32) if isinstance(each, Node) else each for each in operands)
            result = self.map(name, *wide)
            return result if result.dtype == bool else self.cast(result, dtype)
        nodes = (e if isinstance(e, Node) else self.number(e, dtype) for e in operands)
        return self.apply(Map(name), *nodes)

    def _folded(self, node: Node) -> Node:
        """The constant that a node is, if it is one and small; else itself."""
        known = node.inputs and all(isinstance(n.operator, Constant) for n in node.inputs)
        if not known or isinstance(node.operator, Foreign) or node.type.size > MOST_FOLDED:
            return node
        check_room(node)
        moving = isinstance(node.operator, _MOVING)
        if moving:
            if isinstance(node.operator, VIEWS) and node.inputs[0] in self._weights:
                return node
            arrays = [n.operator.evaluate() for n in node.inputs]
            return self.constant(np.asarray(node.operator.evaluate(*arrays), order="C"))
        if sum(source.type.size for source in node.inputs) > MOST_FOLDED:
            return node
        (value,) = evaluate(Graph((), (node,)), [])
        return self.constant(value.astype(node.dtype))


def settled(node: Node) -> Node:
    """The constant that a node is, if constants alone decide it, and all of it is small."""
    for each in in_order([node]):
        if isinstance(each.operator, Foreign | Input) or each.type.size > MOST_FOLDED:
            return node
        check_room(each)
    (value,) = evaluate(Graph((), (node,)), [])
    return apply(Constant(value.astype(node.dtype)))


def _rounds(number: float, dtype: np.dtype[Any]) -> bool:
    rounded = float(np.array(number, dtype))
    return rounded != number and number == number
