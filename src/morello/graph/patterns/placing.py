"""Functions of convolutions whose results are put in other places, as phases of larger images are.

Taken before that, they are part of the convolution's kernel, and factors go into its weights.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from morello.graph.graph import Graph, Node, Operator, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import Constant, Conv, Map, Reshape, Slice, Transpose, Where
from morello.graph.patterns.matching import Rule, varying

_DEPTH = 8
"""The most functions between a convolution and a place."""

_Steps = tuple[Operator, ...]


def before_placing(node: Node) -> Node | None:
    """f(reshape(transpose(conv(x, w))), c) -> reshape(transpose(f(conv(x, w), c))); also slices.

    For constants c that differ by channel alone; so too for functions of the convolution.
    """
    placed = {each: _placed(each) for each in varying(node)}
    if len({(steps, base.shape) for steps, base in placed.values()}) != 1:
        return None
    if any(each.shape != node.shape for each in placed):
        return None
    (steps, base), *_ = placed.values()
    if not any(isinstance(step, Transpose) for step in steps) or not _is_convolution(base):
        return None
    inputs = []
    for each in node.inputs:
        moved = placed[each][1] if each in placed else _before(each, node, steps, base)
        if moved is None:
            return None
        inputs.append(moved)
    return _after(steps, apply(node.operator, *inputs))


def _placed(node: Node) -> tuple[_Steps, Node]:
    """The operators that put a node's elements in their places, last one first, and the node."""
    steps: list[Operator] = []
    while isinstance(node.operator, Reshape | Slice | Transpose):
        steps.append(node.operator)
        (node,) = node.inputs
    return (*steps,), node


def _is_convolution(node: Node, depth: int = _DEPTH) -> bool:
    """Whether a node is a convolution, or functions of one."""
    if isinstance(node.operator, Conv) or depth == 0:
        return depth > 0
    if not isinstance(node.operator, Map | Where):
        return False
    return any(_is_convolution(n, depth - 1) for n in node.inputs if n.shape == node.shape)


def _before(constant: Node, image: Node, steps: _Steps, base: Node) -> Node | None:
    """A constant of each channel of an image, by channel of the tensor before it was placed.

    None if a channel of that tensor has elements of several channels of the image.
    """
    operator, channels = constant.operator, image.shape[1]
    assert isinstance(operator, Constant)
    units = (1,) * (image.type.rank - 2)
    if constant.type.size == 1:
        return constant
    if constant.shape not in {(channels, *units), (1, channels, *units)}:
        return None
    shape = (base.shape[1], *(1,) * (base.type.rank - 2))
    numbers = np.arange(base.shape[1], dtype=np.int32).reshape(shape)
    places = _after(steps, apply(Constant(np.broadcast_to(numbers, base.shape))))
    (sources,) = evaluate(Graph((), (places,)), [])
    given = np.broadcast_to(operator.array, image.shape)
    result = np.zeros(base.shape[1], constant.dtype)
    result[sources] = given
    same = bool((result[sources] == given).all())
    return apply(Constant(result.reshape(shape))) if same else None


def _after(steps: _Steps, node: Node) -> Node:
    """A node with its elements put in their places."""
    for step in reversed(steps):
        node = apply(step, node)
    return node


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    Map: (before_placing,),
    Where: (before_placing,),
}
"""The rules of this family, by the class of the operators that they are for."""
