"""Integers of 64 bits of which only the lower ones count, as kernels compute with 32 at most."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import Cast, Cumulate, Map, Reduce
from morello.graph.patterns.matching import Rule, in_dtype

_WRAPPING = {"add", "multiply", "neg", "subtract"}


def lower_bits(node: Node) -> Node | None:
    """cast(a + b) -> cast(a) + cast(b), from 64 to 32 bits; so too for differences and sums.

    Both wrap around, so that they agree whatever the upper bits are.
    """
    (x,) = node.inputs
    if x.dtype != np.int64 or node.dtype != np.int32 or not x.inputs:
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


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {Cast: (lower_bits,)}
"""The rules of this family, by the class of the operators that they are for."""
