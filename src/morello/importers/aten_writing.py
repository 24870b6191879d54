"""ATen operations that write a part of a tensor, which have the whole one as their result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from morello.graph.graph import Array, Node
from morello.graph.operators import ArgReduce, Constant, Gather, Where
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.aten_movement import places_in_one
from morello.importers.ranges import narrowed
from morello.importers.scattering import check_combined, combined_elements, combined_rows
from morello.importers.taking import NUMBERS, from_start, iota
from morello.importers.writing import MOST_WRITTEN, after_writing

MOST_COMPARED = 1 << 14
"""The most pairs of numbers and places that are compared to know what is written where."""


def _after(call: AtenCall, places: tuple[Any, ...], value: Node | float) -> Node:
    """The first argument with a value at the places that these indices of NumPy name."""
    if call.x.type.size > MOST_WRITTEN:
        raise call.refuse("of a large tensor")
    numbers: Array = np.arange(call.x.type.size).reshape(call.x.shape)[places]
    if np.unique(numbers).size < numbers.size:
        raise call.refuse("with places that occur twice")
    part = call.cast(value) if isinstance(value, Node) else call.full(value, ())
    wide = call.broadcast(part, numbers.shape)
    return after_writing(call.build, call.x, numbers, wide)


def _along(call: AtenCall, place: Any) -> tuple[Any, ...]:
    """Indices that take all but for the axis that the call names."""
    return (*(slice(None),) * call.axis(), place)


def slice_scatter(call: AtenCall) -> Node:
    return _after(call, _along(call, slice(call["start"], call["end"], call["step"])), call["src"])


def select_scatter(call: AtenCall) -> Node:
    return _after(call, _along(call, call["index"]), call["src"])


def index_put(call: AtenCall) -> Node:
    """At any places, or one number where a mask is true."""
    indices, value = call["indices"], call["values"]
    first = indices[0]
    if call["accumulate"]:
        return _put("sum", call)
    if len(indices) == 1 and first.dtype == bool and value.type.size == 1:
        mask = call.reshape(first, (*first.shape, *(1,) * (call.x.type.rank - first.type.rank)))
        return call.apply(Where(), mask, call.reshape(call.cast(value), ()), call.x)
    if all(each is None or isinstance(each.operator, Constant) for each in indices):
        every = tuple(slice(None) if each is None else each.operator.array for each in indices)
        return _after(call, every, value)
    if len(indices) == 1 and first.type.rank == 1 and first.dtype != bool:
        rows = call.broadcast(call.cast(value), (*first.shape, *call.x.shape[1:]))
        return _along_unknown(call, 0, first, rows)
    return _put("last", call)


def _put(kind: str, call: AtenCall) -> Node:
    """Values combined with what is at places in neighbouring dimensions, which are taken as one."""
    check_combined(call.x.type)
    first, flat, numbers = places_in_one(call)
    before, after = flat.shape[:first], flat.shape[first + 1 :]
    rows = call.broadcast(call.cast(call["values"]), (*before, *numbers.shape, *after))
    count = numbers.type.size
    places = from_start(call.reshape(numbers, (count,)), flat.shape[first])
    rows = call.reshape(rows, (*before, count, *after))
    return call.reshape(combined_rows(kind, flat, places, rows, first), call.type.shape)


def index_copy(call: AtenCall) -> Node:
    """index_copy, and index_fill, which has one number for all places."""
    x, numbers, axis = call.x, call["index"], call.axis()
    value = call["source"] if call.name == "index_copy" else call["value"]
    if isinstance(numbers.operator, Constant):
        return _after(call, _along(call, numbers.operator.array.reshape(-1)), value)
    numbers = call.reshape(numbers, (numbers.type.size,))
    shape = (*x.shape[:axis], numbers.type.size, *x.shape[axis + 1 :])
    part = call.cast(value) if isinstance(value, Node) else call.full(value, ())
    return _along_unknown(call, axis, numbers, call.broadcast(part, shape))


def scatter(call: AtenCall) -> Node:
    """Numbers, or one number, at the places that an index names along a dimension."""
    if call["reduce"]:
        return combined(call)
    check_combined(call.x.type)
    index, value = call["index"], call["value"]
    elements = call.cast(call["src"]) if value is None else call.full(value, index.shape)
    return combined_elements("last", call.x, index, elements, call.axis())


_KINDS = {None: "sum", "add": "sum", "amax": "max", "amin": "min", "mean": "sum", "sum": "sum"}
"""The kinds of `Scatter` by the names of torch's reductions."""
_NEUTRAL = {"max": -np.inf, "min": np.inf, "sum": 0.0}
"""The neutral element of each kind."""


def combined(call: AtenCall) -> Node:
    """index_add, scatter_add and the like: all elements for one place are combined there."""
    x, index, axis = call.x, call["index"], call.axis()
    reduction = call["reduce"]
    if reduction not in _KINDS:
        raise call.refuse(f"by {reduction}")
    check_combined(call.x.type)
    kind, alone = _KINDS[reduction], call["include_self"] is False
    rows = call.cast(call["src"] if call["source"] is None else call["source"])
    if call["alpha"] not in (None, 1):
        rows = call.map("multiply", rows, call["alpha"])
    by_rows = call.name.startswith("index")
    into: Callable[[str, Node, Node, Node, int], Node]
    into = combined_rows if by_rows else combined_elements
    index = call.reshape(index, (index.type.size,)) if by_rows else index
    if not alone and reduction != "mean":
        return into(kind, x, index, rows, axis)
    counts = into("sum", call.full(0, x.shape), index, call.full(1, rows.shape), axis)
    if alone:
        neutral = call.full(_NEUTRAL[kind], x.shape)
        x = call.apply(Where(), call.map("greater", counts, 0), neutral, x)
    result = into(kind, x, index, rows, axis)
    if reduction != "mean":
        return result
    terms = call.map("maximum", counts, 1) if alone else call.map("add", counts, 1)
    return call.map("divide", result, terms)


def _along_unknown(call: AtenCall, axis: int, index: Node, part: Node) -> Node:
    """The first argument with the slices of a tensor at the places of a vector along an axis.

    Of slices for one place, the last one is taken. Where few numbers and places are compared to
    know what is written where, no copy of the whole is made.
    """
    x = call.x
    if x.dtype == np.int64:  # with which no kernel computes
        narrow, narrow_part = narrowed(x), narrowed(part)
        if narrow is None or narrow_part is None:
            raise call.refuse("of integers of 64 bits at places that are not known")
        x, part = narrow, narrow_part
    size, numbers = x.shape[axis], from_start(index, x.shape[axis])
    if index.type.size * size > MOST_COMPARED:
        check_combined(x.type)
        return call.cast(combined_rows("last", x, numbers, part, axis))
    hits = call.map("equal", call.reshape(numbers, (1, *index.shape)), iota(size, 0, 2))
    f32 = np.dtype(np.float32)
    later = call.map("add", call.build.cast(iota(index.type.size, 1, 2), f32), 1)
    order = call.map("multiply", call.build.cast(hits, f32), later)
    place = call.apply(ArgReduce("max", 1, NUMBERS), order)
    written = call.reduce("max", hits, (1,))
    wide = call.reshape(written, (size, *(1,) * (x.type.rank - axis - 1)))
    return call.cast(call.apply(Where(), wide, call.apply(Gather(axis), part, place), x))


WRITING: dict[str, Handler] = {
    **dict.fromkeys(("index_add", "index_reduce", "scatter_add", "scatter_reduce"), combined),
    "index_copy": index_copy,
    "index_fill": index_copy,
    "index_put": index_put,
    "scatter": scatter,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
}
