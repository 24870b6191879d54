"""NumPy's norms of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.patterns.matching import mapped
from morello.importers.numpy_operands import Axes, as_node, map_of, normal_axis, reduced, truth


def _norm(x: Node, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Node:
    given = range(x.type.rank) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = tuple(normal_axis(each, x.type.rank) for each in given)
    known = isinstance(ord, int | float) or (ord in (None, "fro") and len(axes) <= 2)
    if x.dtype.kind != "f" or not (known or (ord is None and axis is None)):
        raise GraphError(f"the norm {ord} of {x.type} along {axis} is unknown.")
    if ord in (None, "fro") or (ord == 2 and len(axes) == 1):
        return mapped("sqrt", reduced("sum", mapped("square", x), axes, keepdims))
    size = mapped("abs", x)
    if len(axes) == 1:
        return _of_vectors(size, ord, axes, keepdims)
    if len(axes) != 2 or abs(ord) not in (1, np.inf):
        raise GraphError(f"the norm {ord} of matrices is unknown.")
    sums = reduced("sum", size, axes[0] if abs(ord) == 1 else axes[1], True)
    return reduced("max" if ord > 0 else "min", sums, axes, keepdims)


def _of_vectors(size: Node, ord: float, axes: Axes, keepdims: bool) -> Node:
    """The norms of vectors along an axis, given their elements' magnitudes."""
    if abs(ord) == np.inf:
        return reduced("max" if ord > 0 else "min", size, axes, keepdims)
    if ord == 0:
        return reduced("sum", as_node(truth(size), size.dtype), axes, keepdims)
    if ord == 1:
        return reduced("sum", size, axes, keepdims)
    return map_of("power", reduced("sum", map_of("power", size, ord), axes, keepdims), 1 / ord)


NORMS: dict[Callable[..., Any], Callable[..., Any]] = {np.linalg.norm: _norm}
