"""ATen operations that choose or order elements, or say which are chosen."""

from __future__ import annotations

import numpy as np

from morello.graph.graph import Node
from morello.graph.operators import ArgReduce, Cast, Cumulate, Where
from morello.graph.patterns.matching import is_float
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.ranges import narrowed
from morello.importers.scattering import combined_elements
from morello.importers.taking import taken_along

MOST_SORTED = 1 << 16
"""The most pairs of elements that are compared to sort them."""

MOST_CHOSEN = 8
"""The most elements that are chosen one after the other."""

INT32 = np.dtype(np.int32)


def counted(call: AtenCall, count: int, axis: int, rank: int) -> Node:
    """The numbers from 0 to before `count`, along one of so many dimensions."""
    shape = [1] * rank
    shape[axis] = count
    return call.build.constant(np.arange(count, dtype=np.int32).reshape(shape))


def largest(call: AtenCall) -> tuple[Node, ...]:
    """The k largest or smallest elements, and their places: each the extreme of what is left.

    Infinities that are last in order count as the last finite number: torch has no order of equal
    elements.
    """
    x, count, axis = call.x, call["k"], call.axis()
    if count > MOST_CHOSEN or x.dtype.kind in "iub" or not x.type.rank:
        raise call.refuse(f"of {count} elements of {x.type}")
    kind, keeping, sign = ("max", "maximum", 1) if call["largest"] else ("min", "minimum", -1)
    wide = call.build.cast(x, np.dtype(np.float32))
    left = call.map(keeping, wide, -sign * float(np.finfo(np.float32).max))
    gone = call.build.number(-sign * np.inf, wide.dtype)
    numbers = counted(call, x.shape[axis], axis, x.type.rank)
    places: list[Node] = []
    for step in range(count):
        places.append(call.apply(ArgReduce(kind, axis, INT32, keepdims=True), left))
        if step < count - 1:
            left = call.apply(Where(), call.map("equal", numbers, places[-1]), gone, left)
    chosen = call.join(axis, *places)
    return taken_along(x, chosen, axis), chosen


def in_order(call: AtenCall) -> Node | tuple[Node, ...]:
    """sort, argsort and msort of few elements: each at the place that comparisons with all say.

    Equal ones keep their order. NaN is larger than all, as in torch.
    """
    x, axis, rank = call.x, 0 if call.name == "msort" else call.axis(), call.x.type.rank
    given = x if is_float(x.dtype) else narrowed(x)
    if given is None or not rank or x.type.size * x.shape[axis] > MOST_SORTED:
        raise call.refuse(f"of {x.type}")
    count = x.shape[axis]
    compared = call.build.cast(given, np.dtype(np.float32)) if is_float(x.dtype) else given
    shape = x.shape
    own = call.reshape(compared, (*shape[:axis], count, 1, *shape[axis + 1 :]))
    others = call.reshape(compared, (*shape[:axis], 1, count, *shape[axis + 1 :]))
    first = np.tri(count, k=-1, dtype=bool).reshape(count, count, *(1,) * (rank - axis - 1))
    before, same = ("greater", "greater_equal") if call["descending"] else ("less", "less_equal")
    earlier = call.apply(
        Where(),
        call.build.constant(first),
        call.map(same, others, own),
        call.map(before, others, own),
    )
    place = call.reduce("sum", call.build.cast(earlier, np.dtype(np.float32)), (axis + 1,))
    if is_float(x.dtype):
        place = _with_nans(call, compared, place, axis)
    places = call.build.cast(place, INT32)
    every = call.broadcast(counted(call, count, axis, rank), shape)
    order = combined_elements("last", every, places, every, axis)
    if call.name == "argsort":
        return order
    values = taken_along(given, order, axis)
    return values if call.name == "msort" else (values, order)


def _with_nans(call: AtenCall, x: Node, place: Node, axis: int) -> Node:
    """The places of all elements, from those among numbers: NaN is larger than any of these."""
    unknown = call.map("not_equal", x, x)
    counts = call.build.cast(unknown, place.dtype)
    total = call.reduce("sum", counts, (axis,), True)
    own = call.map("subtract", call.apply(Cumulate(axis), counts), 1)
    if call["descending"]:
        place = call.map("add", place, total)
    else:
        own = call.map(
            "add", own, call.map("subtract", call.build.number(x.shape[axis], place.dtype), total)
        )
    return call.apply(Where(), unknown, own, place)


def one_hot(call: AtenCall) -> Node:
    """1 where a number is that of the place along a new last dimension, 0 elsewhere."""
    x, count = call.x, call.type.shape[-1]
    numbers = call.reshape(call.build.cast(x, INT32), (*x.shape, 1))
    return call.cast(call.map("equal", numbers, counted(call, count, x.type.rank, x.type.rank + 1)))


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
    **dict.fromkeys(("argsort", "msort", "sort"), in_order),
    "histc": histogram,
    "one_hot": one_hot,
    "topk": largest,
}
