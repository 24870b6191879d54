"""ATen operations that choose or order elements, or say which are chosen."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Node
from morello.graph.operators import Cast
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.aten_elementwise import in_few_bits
from morello.importers.aten_movement import part
from morello.importers.ordering import counted, extremes, in_order
from morello.importers.taking import NUMBERS, taken_along


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


def one_hot(call: AtenCall) -> Node:
    """1 where a number is that of the place along a new last dimension, 0 elsewhere."""
    x, count = call.x, call.type.shape[-1]
    numbers = call.reshape(call.build.cast(x, NUMBERS), (*x.shape, 1))
    return call.cast(call.map("equal", numbers, counted(count, x.type.rank, x.type.rank + 1)))


def histogram(call: AtenCall) -> Node:
    """Of integers as floats, with a bin for each from 0 on: how often each number occurs."""
    x, bins = call.x, call["bins"]
    whole = isinstance(x.operator, Cast) and x.inputs[0].dtype.kind in "iu"
    if not whole or (call["min"], call["max"]) != (0, bins - 1) or bins < 2:
        raise call.refuse("but for a bin for each integer from 0 on")
    numbers = call.build.constant(np.arange(bins, dtype=x.dtype))
    equal = call.map("equal", call.reshape(x, (x.type.size, 1)), numbers)
    return call.reduce("sum", call.cast(equal), (0,))


CHOOSING: dict[str, Handler] = {
    **dict.fromkeys(("argsort", "msort", "sort"), ordered),
    "histc": histogram,
    "kthvalue": by_order,
    "one_hot": one_hot,
    "topk": largest,
}
