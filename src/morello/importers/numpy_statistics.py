"""NumPy's functions of all elements along an axis: in order, counted, weighted, up to each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Array, Node, apply
from morello.graph.operators import Constant, Cumulate, Reduce, Where
from morello.graph.patterns.matching import in_dtype, is_float, mapped, reshaped, selected, sliced
from morello.importers.numpy_operands import (
    Axes,
    Operand,
    along,
    map_of,
    normal_axis,
    promoted,
    reduced,
    sorted_axes,
    truth,
)
from morello.importers.ordering import MOST_PAIRS, in_order
from morello.importers.prefixes import cumulated
from morello.importers.taking import NUMBERS, taken_along

INTEGER = np.dtype(np.intp)


def _truths(kind: str, first: Axes = None) -> Callable[..., Node]:
    """Whether all elements are true, as the least of them, or any, as the largest.

    Unless an axis is given, they are those along the `first`.
    """

    def truths(a: Node, axis: Axes = first, *, keepdims: bool = False) -> Node:
        return reduced(kind, truth(a), axis, keepdims)

    return truths


def _counted(a: Node, axis: Axes = None, *, keepdims: bool = False) -> Node:
    """How many elements are not 0."""
    return in_dtype(reduced("sum", in_dtype(truth(a), NUMBERS), axis, keepdims), INTEGER)


def _up_to_each(kind: str) -> Callable[..., Node]:
    """The method `accumulate` of a universal function."""

    def accumulated(array: Node, axis: int = 0) -> Node:
        axis = normal_axis(axis, array.type.rank)
        if kind == "sum" and is_float(array.dtype):
            return apply(Cumulate(axis), array)
        if kind == "sum" or array.dtype == bool:
            raise GraphError(
                f"there is no operator for the {kind} of all {array.dtype} up to each."
            )
        return cumulated(kind, array, axis)

    return accumulated


def _cumprod(a: Node, axis: int | None = None, dtype: Any = None) -> Node:
    if dtype is not None or not is_float(a.dtype):
        raise GraphError("products up to each element are of floats, in their dtype.")
    a, axis = along(a, axis)
    return cumulated("prod", a, axis)


# ---- elements in order


def _argsort(a: Node, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Node:
    """The order of elements; equal ones keep theirs."""
    a, axis = along(a, axis)
    return in_dtype(in_order(a, axis), INTEGER)


def _sort(a: Node, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Node:
    a, axis = along(a, axis)
    return taken_along(a, in_order(a, axis), axis)


def _median(a: Node, axis: int | None = None, *, keepdims: bool = False) -> Node:
    """The mean of the two elements in the middle, or the one."""

    def middle(pair: Callable[[int, int], tuple[Node, Node]], count: int) -> Node:
        low, high = pair((count - 1) // 2, count // 2)
        return low if count % 2 else map_of("multiply", mapped("add", low, high), 0.5)

    return _in_order(a, axis, keepdims, middle)


def _quantile(whole: int) -> Callable[..., Node]:
    """The element at a part of the whole in order, on a line between the two beside that place."""

    def quantile(a: Node, q: float, axis: int | None = None, *, keepdims: bool = False) -> Node:
        if not isinstance(q, int | float) or not 0 <= q <= whole or a.dtype != np.float32:
            raise GraphError("a known part of f32 is asked for.")

        def between(pair: Callable[[int, int], tuple[Node, Node]], count: int) -> Node:
            place = (count - 1) * (np.float32(q) / np.float32(whole))
            low = int(np.floor(place))
            if whole == 1 and isinstance(q, int):  # NumPy takes the first or last one as it is
                return pair(low, low)[0]
            first, second = pair(low, min(low + 1, count - 1))
            part, span = float(place - np.float32(low)), mapped("subtract", second, first)
            if part < 0.5:
                return mapped("add", first, map_of("multiply", span, part))
            return mapped("subtract", second, map_of("multiply", span, 1 - part))

        return _in_order(a, axis, keepdims, between)

    return quantile


def _in_order(
    a: Node,
    axis: int | None,
    keepdims: bool,
    combine: Callable[[Callable[[int, int], tuple[Node, Node]], int], Node],
) -> Node:
    """The result of `combine`, which picks two elements in sorted order; NaN if any is NaN."""
    if not is_float(a.dtype) or (keepdims and axis is None):
        raise GraphError("floats are put in order, along one axis if it is kept.")
    a, axis = along(a, axis)
    count, ordered = a.shape[axis], _sort(a, axis)

    def pair(low: int, high: int) -> tuple[Node, Node]:
        return sliced(ordered, axis, low, low + 1), sliced(ordered, axis, high, high + 1)

    last = sliced(ordered, axis, count - 1, count)  # NaN is larger than all numbers
    result = apply(Where(), mapped("equal", last, last), combine(pair, count), last)
    return result if keepdims else selected(result, axis, 0)


# ---- places among others


def _searchsorted(a: Any, v: Node, side: str = "left") -> Node:
    """How many of numbers in order come before each element; NaN comes after all."""
    return _before(a, v, "less" if side == "left" else "less_equal")


def _digitize(x: Node, bins: Any, right: bool = False) -> Node:
    if isinstance(bins, Node) and not isinstance(bins.operator, Constant):
        raise GraphError("elements are put between numbers that are known.")
    known = bins.operator.evaluate() if isinstance(bins, Node) else np.asarray(bins)
    if (np.diff(known) < 0).any():
        raise GraphError("elements are put between increasing numbers.")
    return _before(bins, x, "less" if right else "less_equal")


def _before(edges: Any, x: Node, name: str) -> Node:
    """How many edges the comparison `name` puts before each element: all of them before NaN."""
    if not isinstance(edges, Node):
        edges = apply(Constant(np.asarray(edges)))
    if isinstance(edges.operator, Constant) and edges.dtype == np.float64:
        edges = apply(Constant(_nearest(edges.operator.array, x.dtype, name == "less")))
    edges, x = promoted(edges, x)
    if edges.type.rank != 1 or x.type.size * edges.type.size > MOST_PAIRS:
        raise GraphError("that many comparisons are left to NumPy.")
    own = reshaped(x, (*x.shape, 1))
    before = mapped(name, edges, own)
    if is_float(x.dtype):
        before = mapped("logical_or", before, mapped("not_equal", own, own))
    return _counted(before, -1)


def _nearest(numbers: Array, dtype: np.dtype[Any], down: bool) -> Array:
    """The nearest floats of a dtype that are not above numbers, or not below: those between these
    and the numbers compare alike, as there are none.
    """
    if dtype.kind != "f":
        return numbers
    with np.errstate(over="ignore"):
        near = numbers.astype(dtype)
    beyond = near > numbers if down else near < numbers
    return np.where(beyond, np.nextafter(near, dtype.type(-np.inf if down else np.inf)), near)


# ---- means


def _average(
    a: Node, axis: int | None = None, weights: Operand | None = None, *, keepdims: bool = False
) -> Node:
    """Weighted by a known vector along the axis, whose sum is not 0."""
    a, factors = promoted(a, 1 if weights is None else weights)
    axes = sorted_axes(axis, a.type.rank)
    known = isinstance(factors.operator, Constant) and factors.operator.array.sum()
    if not (is_float(a.dtype) and known and [factors.shape] == [(a.shape[d],) for d in axes]):
        raise GraphError("averages are of floats, with known weights along one axis.")
    spread = reshaped(factors, tuple(n if d in axes else 1 for d, n in enumerate(a.shape)))
    total = reduced("sum", mapped("multiply", a, spread), axes, keepdims)
    return mapped("divide", total, apply(Reduce("sum", (0,)), factors))


STATISTICS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.add.accumulate: _up_to_each("sum"),
    np.all: _truths("min"),
    np.any: _truths("max"),
    np.argsort: _argsort,
    np.average: _average,
    np.count_nonzero: _counted,
    np.cumprod: _cumprod,
    np.digitize: _digitize,
    np.logical_and.reduce: _truths("min", first=0),
    np.logical_or.reduce: _truths("max", first=0),
    np.maximum.accumulate: _up_to_each("max"),
    np.median: _median,
    np.minimum.accumulate: _up_to_each("min"),
    np.percentile: _quantile(100),
    np.quantile: _quantile(1),
    np.multiply.accumulate: _up_to_each("prod"),
    np.searchsorted: _searchsorted,
    np.sort: _sort,
}
"""The translation of each of these functions."""
