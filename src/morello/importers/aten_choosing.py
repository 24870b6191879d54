"""ATen operations that choose or order elements, or say which are chosen."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Node
from morello.graph.operators import Cast
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.aten_elementwise import compared, in_few_bits
from morello.importers.aten_movement import part
from morello.importers.ordering import extremes, in_order
from morello.importers.prefixes import cumulated, place_of_extreme
from morello.importers.taking import NUMBERS, iota, taken_along

MOST_COUNTED = 1 << 20
"""The most pairs of elements and bounds that are compared."""


def largest(call: AtenCall) -> tuple[Node, ...]:
    """The k largest or smallest elements, and their places."""
    axis = call.axis()
    chosen = extremes(call.x, call["k"], axis, call["largest"])
    return _taken(call, chosen, axis), chosen


def ordered(call: AtenCall) -> Node | tuple[Node, ...]:
    """sort, argsort and msort of few elements."""
    axis = 0 if call.name == "msort" else call.axis()
    order = in_order(call.x, axis, bool(call["descending"]))
    if call.name == "argsort":
        return order
    values = _taken(call, order, axis)
    return values if call.name == "msort" else (values, order)


def by_order(call: AtenCall) -> tuple[Node, ...]:
    """kthvalue: the k-th smallest element along a dimension, and its place."""
    axis, k = call.axis(), call["k"]
    last = part(call, extremes(call.x, k, axis, largest=False), axis, k - 1, k)
    return tuple(call.reshape(n, call.type.shape) for n in (_taken(call, last, axis), last))


def _taken(call: AtenCall, places: Node, axis: int) -> Node:
    return in_few_bits(call, lambda x: taken_along(x, places, axis), call.x)


def cumulated_extreme(call: AtenCall) -> tuple[Node, ...]:
    """cummax and cummin of few elements: the extremes of all up to each, and their places."""
    axis, kind = call.axis(), call.name[3:]
    return cumulated(kind, call.x, axis), place_of_extreme(kind, call.x, axis)


def counted_below(call: AtenCall) -> Node:
    """searchsorted and bucketize: how many bounds are below each element, or not above it."""
    x = call["self"]
    bounds = call["boundaries"] if call.name == "bucketize" else call["sorted_sequence"]
    right = call["right"] or call["side"] == "right"
    if (
        call["sorter"] is not None
        or not isinstance(x, Node)
        or x.type.size * bounds.shape[-1] > MOST_COUNTED
    ):
        raise call.refuse("of many numbers, or by an order")
    shape = bounds.shape if bounds.type.rank == 1 else (*bounds.shape[:-1], 1, bounds.shape[-1])
    bounds, x = call.reshape(bounds, shape), call.reshape(x, (*x.shape, 1))
    beyond = compared(call, "greater" if right else "greater_equal", bounds, x)
    below = call.build.cast(call.map("logical_not", beyond), np.dtype(np.float32))
    count = call.reduce("sum", below, (below.type.rank - 1,))
    return call.build.cast(count, NUMBERS)


def one_hot(call: AtenCall) -> Node:
    """1 where a number is that of the place along a new last dimension, 0 elsewhere."""
    x, count = call.x, call.type.shape[-1]
    numbers = call.reshape(call.build.cast(x, NUMBERS), (*x.shape, 1))
    return call.cast(call.map("equal", numbers, iota(count, x.type.rank, x.type.rank + 1)))


def histogram(call: AtenCall) -> Node:
    """The counts of integers that are cast to floats, with a bin for each integer from 0 on."""
    x, bins = call.x, call["bins"]
    whole = isinstance(x.operator, Cast) and x.inputs[0].dtype.kind in "iu"
    if not whole or (call["min"], call["max"]) != (0, bins - 1) or bins < 2:
        raise call.refuse("but for a bin for each integer from 0 on")
    numbers = call.build.constant(np.arange(bins, dtype=x.dtype))
    equal = call.map("equal", call.reshape(x, (x.type.size, 1)), numbers)
    return call.reduce("sum", call.cast(equal), (0,))


CHOOSING: dict[str, Handler] = {
    **dict.fromkeys(("argsort", "msort", "sort"), ordered),
    **dict.fromkeys(("bucketize", "searchsorted"), counted_below),
    **dict.fromkeys(("cummax", "cummin"), cumulated_extreme),
    "histc": histogram,
    "kthvalue": by_order,
    "one_hot": one_hot,
    "topk": largest,
}
