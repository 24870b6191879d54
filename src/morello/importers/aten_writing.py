"""ATen operations that write a part of a tensor, which have the whole one as their result."""

from __future__ import annotations

from typing import Any

import numpy as np

from morello.graph.graph import Array, Node
from morello.graph.operators import ArgReduce, Constant, Gather, Where
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.aten_choosing import INT32, counted, from_start
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
    """At known places, or one number where a mask is true."""
    indices, value = call["indices"], call["values"]
    if call["accumulate"]:
        raise call.refuse("that accumulates")
    first = indices[0]
    if len(indices) == 1 and first.dtype == bool and value.type.size == 1:
        mask = call.reshape(first, (*first.shape, *(1,) * (call.x.type.rank - first.type.rank)))
        return call.apply(Where(), mask, call.reshape(call.cast(value), ()), call.x)
    if len(indices) == 1 and first.type.rank == 1 and not isinstance(first.operator, Constant):
        rows = call.broadcast(call.cast(value), (*first.shape, *call.x.shape[1:]))
        return _along_unknown(call, 0, first, rows)
    if not all(each is None or isinstance(each.operator, Constant) for each in indices):
        raise call.refuse("at places that are not known")
    every = tuple(slice(None) if each is None else each.operator.array for each in indices)
    return _after(call, every, value)


def index_copy(call: AtenCall) -> Node:
    """Also index_fill, with one number for all places."""
    numbers = call["index"]
    value = call["source"] if call.name == "index_copy" else call["value"]
    if not isinstance(numbers.operator, Constant):
        if call.name != "index_copy" or numbers.type.rank != 1:
            raise call.refuse("at places that are not known")
        return _along_unknown(call, call.axis(), numbers, call.cast(value))
    return _after(call, _along(call, numbers.operator.array.reshape(-1)), value)


def scatter(call: AtenCall) -> Node:
    """One number at the places that an index names along a dimension; no tensor."""
    x, index, axis = call.x, call["index"], call.axis()
    value = call["value"]
    rest = [(*each.shape[:axis], *each.shape[axis + 1 :]) for each in (x, index)]
    if value is None or call["reduce"] or rest[0] != rest[1] or not x.type.rank:
        raise call.refuse("of a tensor, or into a part,")
    written = call.reduce("max", _hits(call, axis, index), (axis,))
    return call.apply(Where(), written, call.build.number(value, x.dtype), x)


def _along_unknown(call: AtenCall, axis: int, index: Node, part: Node) -> Node:
    """The first argument with the slices of a tensor at the places of a vector along an axis.

    Of slices for one place, it is not said which is taken, as torch does not.
    """
    x = call.x
    if x.dtype == np.int64:  # with which no kernel computes
        x, part = (_narrow(call, each) for each in (x, part))
    hits = _hits(call, 0, index, x.shape[axis])
    place = call.apply(ArgReduce("max", 0, INT32), call.build.cast(hits, np.dtype(np.float32)))
    written = call.reduce("max", hits, (0,))
    wide = call.reshape(written, (x.shape[axis], *(1,) * (x.type.rank - axis - 1)))
    return call.cast(call.apply(Where(), wide, call.apply(Gather(axis), part, place), x))


def _narrow(call: AtenCall, node: Node) -> Node:
    """Known integers in 32 bits."""
    known = node.operator.array if isinstance(node.operator, Constant) else None
    if known is None or not np.array_equal(known.astype(np.int32), known):
        raise call.refuse("of integers of 64 bits at places that are not known")
    return call.build.constant(known.astype(np.int32))


def _hits(call: AtenCall, axis: int, index: Node, size: int | None = None) -> Node:
    """Which numbers along a dimension are which places: bool, the places along the next one."""
    size = call.x.shape[axis] if size is None else size
    if index.type.size * size > MOST_COMPARED:
        raise call.refuse("at many places that are not known")
    shape, numbers = index.shape, from_start(call, index, size)
    apart = call.reshape(numbers, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    return call.map("equal", apart, counted(call, size, axis + 1, len(shape) + 1))


WRITING: dict[str, Handler] = {
    "index_copy": index_copy,
    "index_fill": index_copy,
    "index_put": index_put,
    "scatter": scatter,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
}
