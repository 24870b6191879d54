"""NumPy's functions that leave out what is NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import Cumulate, Where
from morello.graph.patterns.matching import is_float, mapped
from morello.importers.numpy_operands import Axes, along, as_node, map_of, reduced

_NEUTRAL = {"max": -np.inf, "min": np.inf, "prod": 1, "sum": 0}
"""The number that a reduction reads in the place of NaN."""


def _known(a: Node, kind: str) -> tuple[Node, Node]:
    """Which elements of an array of floats are not NaN, and all with others in their place."""
    if not is_float(a.dtype) or a.dtype.itemsize < 4:
        raise GraphError(f"{a.dtype} has no NaN, or is summed in another dtype.")
    known = mapped("equal", a, a)
    return known, apply(Where(), known, a, as_node(_NEUTRAL[kind], a.dtype))


def _total(kind: str) -> Callable[..., Node]:
    def total(a: Node, axis: Axes = None, *, keepdims: bool = False) -> Node:
        _, numbers = _known(a, kind)
        return reduced(kind, numbers, axis, keepdims)

    return total


def _extreme(kind: str) -> Callable[..., Node]:
    """NaN where all are NaN."""

    def extreme(a: Node, axis: Axes = None, *, keepdims: bool = False) -> Node:
        known, numbers = _known(a, kind)
        result = reduced(kind, numbers, axis, keepdims)
        some = reduced("max", known, axis, keepdims)
        return apply(Where(), some, result, as_node(np.nan, a.dtype))

    return extreme


def _cumsum(a: Node, axis: int | None = None) -> Node:
    a, axis = along(a, axis)
    return apply(Cumulate(axis), _known(a, "sum")[1])


def _mean(a: Node, axis: Axes = None, *, keepdims: bool = False) -> Node:
    known, numbers = _known(a, "sum")
    count = reduced("sum", as_node(known, a.dtype), axis, keepdims)
    return mapped("divide", reduced("sum", numbers, axis, keepdims), count)


def _variance(a: Node, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Node:
    known, _ = _known(a, "sum")
    centred = mapped("subtract", a, _mean(a, axis, keepdims=True))
    squares = apply(Where(), known, mapped("square", centred), as_node(0, a.dtype))
    count = reduced("sum", as_node(known, a.dtype), axis, keepdims)
    free = map_of("subtract", count, ddof)
    result = mapped("divide", reduced("sum", squares, axis, keepdims), free)
    return apply(Where(), map_of("greater", free, 0), result, as_node(np.nan, a.dtype))


def _deviation(a: Node, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Node:
    return mapped("sqrt", _variance(a, axis, ddof=ddof, keepdims=keepdims))


OF_KNOWN: dict[Callable[..., Any], Callable[..., Any]] = {
    np.nancumsum: _cumsum,
    np.nanmax: _extreme("max"),
    np.nanmean: _mean,
    np.nanmin: _extreme("min"),
    np.nanprod: _total("prod"),
    np.nanstd: _deviation,
    np.nansum: _total("sum"),
    np.nanvar: _variance,
}
"""The translation of each of these functions."""
