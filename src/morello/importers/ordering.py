"""Elements in order, and the largest or smallest of them: the places where they are.

Of equal elements, the first one comes first. NaN is larger than all numbers.
"""

from __future__ import annotations

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import ArgReduce, Cumulate, Reduce, Where
from morello.graph.patterns.matching import (
    constant,
    in_dtype,
    is_float,
    joined,
    mapped,
    reshaped,
    sliced,
)
from morello.importers.counting import at_places, places_by_value
from morello.importers.ranges import known_range, narrowed
from morello.importers.scattering import combined_elements
from morello.importers.taking import NUMBERS, iota

MOST_PAIRS = 1 << 16
"""The most pairs of elements that are compared, or read, at once."""

MOST_CHOSEN = 8
"""The most elements that are chosen one after the other."""

_FLOATS = np.dtype(np.float32)


def in_order(x: Node, axis: int, descending: bool = False) -> Node:
    """The places along an axis of its elements in order: each where comparisons with all say.

    Raises `GraphError` for many elements, and for integers that may need more than 32 bits.
    """
    rank, floats = x.type.rank, is_float(x.dtype)
    few = _by_counting(x, descending)
    if few is not None:
        return few
    if x.dtype == np.uint32:  # as signed integers in the same order
        x = in_dtype(mapped("bitwise_xor", x, constant(1 << 31, x.dtype)), NUMBERS)
    given = in_dtype(x, _FLOATS) if floats and x.dtype.itemsize <= 4 else narrowed(x)
    if given is None or not rank or x.type.size * x.shape[axis] > MOST_PAIRS:
        raise GraphError(f"an order of {x.type} is left to the framework.")
    count, shape = x.shape[axis], x.shape
    own = reshaped(given, (*shape[:axis], count, 1, *shape[axis + 1 :]))
    others = reshaped(given, (*shape[:axis], 1, count, *shape[axis + 1 :]))
    first = np.tri(count, k=-1, dtype=bool).reshape(count, count, *(1,) * (rank - axis - 1))
    before, same = ("greater", "greater_equal") if descending else ("less", "less_equal")
    earlier = apply(
        Where(),
        constant(first, np.dtype(bool)),
        mapped(same, others, own),
        mapped(before, others, own),
    )
    place = apply(Reduce("sum", (axis + 1,)), in_dtype(earlier, _FLOATS))
    if floats:
        place = _with_nans(given, place, axis, descending)
    places = np.arange(count).reshape(count, *(1,) * (rank - axis - 1))
    every = constant(np.broadcast_to(places, shape), NUMBERS)
    return combined_elements("last", every, in_dtype(place, NUMBERS), every, axis)


def _by_counting(x: Node, descending: bool) -> Node | None:
    """The places of a vector's integers in order, if these are few; None for any others.

    They are if to look for each of them takes less than to compare all pairs of the vector.
    """
    known = known_range(x) if x.type.rank == 1 else None
    if known is None or x.type.size <= known[1] - known[0] or max(map(abs, known)) >= 1 << 31:
        return None
    numbers, (low, high) = in_dtype(x, NUMBERS), (constant(end, NUMBERS) for end in known)
    from_0 = ("subtract", high, numbers) if descending else ("subtract", numbers, low)
    places = places_by_value(mapped(*from_0), known[1] - known[0] + 1)
    return at_places(iota(x.type.size), places)


def _with_nans(x: Node, place: Node, axis: int, descending: bool) -> Node:
    """The places of all elements, from those among numbers: NaN is larger than any of these."""
    unknown = mapped("not_equal", x, x)
    counts = in_dtype(unknown, place.dtype)
    total = apply(Reduce("sum", (axis,), keepdims=True), counts)
    own = mapped("subtract", apply(Cumulate(axis), counts), constant(1, place.dtype))
    if descending:
        place = mapped("add", place, total)
    else:
        numbers = mapped("subtract", constant(x.shape[axis], place.dtype), total)
        own = mapped("add", own, numbers)
    return apply(Where(), unknown, own, place)


def extremes(x: Node, count: int, axis: int, largest: bool = True) -> Node:
    """The places along an axis of its largest or smallest elements, in order.

    Few of them are found one after the other, each the extreme of what is left; infinities that
    are last in order count as the last finite number then. Raises `GraphError` as `in_order` does.
    """
    if not 0 < count <= MOST_CHOSEN or not is_float(x.dtype) or x.dtype.itemsize > 4:
        return sliced(in_order(x, axis, largest), axis, 0, count)
    if not x.type.rank:
        raise GraphError(f"the extremes of {x.type} are left to the framework.")
    kind, keeping, sign = ("max", "maximum", 1) if largest else ("min", "minimum", -1)
    wide = in_dtype(x, _FLOATS)
    left = mapped(keeping, wide, constant(-sign * np.finfo(np.float32).max, _FLOATS))
    numbers, places = iota(x.shape[axis], axis, x.type.rank), []
    for step in range(count):
        places.append(apply(ArgReduce(kind, axis, NUMBERS, keepdims=True), left))
        if step < count - 1:
            gone = mapped("equal", numbers, places[-1])
            left = apply(Where(), gone, constant(-sign * np.inf, _FLOATS), left)
    return joined(places, axis)
