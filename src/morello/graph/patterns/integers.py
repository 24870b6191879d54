"""Integers that are wider than they have to be.

Of those of 64 bits, only the lower 32 may count, which kernels compute with; and products of bytes
are faster by far than those of what they are widened to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import Cast, Cumulate, Dot, Map, Reduce
from morello.graph.patterns.matching import Rule, in_dtype

_INT8, _UINT8, _INT32 = map(np.dtype, (np.int8, np.uint8, np.int32))

_WRAPPING = {"add", "multiply", "neg", "subtract"}


def lower_bits(node: Node) -> Node | None:
    """cast(a + b) -> cast(a) + cast(b), from 64 to 32 bits; so too for differences and sums.

    Both wrap around, so that they agree whatever the upper bits are.
    """
    (x,) = node.inputs
    if x.dtype != np.int64 or node.dtype != _INT32 or not x.inputs:
        return None
    operator = x.operator
    sums = isinstance(operator, Reduce) and operator.kind == "sum"
    if (
        sums
        or isinstance(operator, Cumulate)
        or (isinstance(operator, Map) and operator.name in _WRAPPING)
    ):
        return apply(operator, *(in_dtype(source, node.dtype) for source in x.inputs))
    return None


def product_of_bytes(node: Node) -> Node | None:
    """dot(cast(a), cast(b)) -> dot(a, b), for sums of 32 bits, bytes a and signed bytes b."""
    assert isinstance(node.operator, Dot)
    a, b = inputs = tuple(map(_before_widening, node.inputs))
    has_kernels = a.dtype in (_INT8, _UINT8) and b.dtype == _INT8 and node.dtype == _INT32
    if inputs == node.inputs or not has_kernels:
        return None
    return apply(replace(node.operator, dtype=_INT32), a, b)


def _before_widening(node: Node) -> Node:
    """The source of a cast to a dtype that has all of its numbers; else the node itself."""
    if not isinstance(node.operator, Cast):
        return node
    (source,) = node.inputs
    return source if np.can_cast(source.dtype, node.dtype) else node


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    Cast: (lower_bits,),
    Dot: (product_of_bytes,),
}
"""The rules of this family, by the class of the operators that they are for."""
