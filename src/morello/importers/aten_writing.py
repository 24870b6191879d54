"""ATen operations that write a part of a tensor, which have the whole one as their result."""

from __future__ import annotations

from typing import Any

import numpy as np

from morello.graph.graph import Array, Node
from morello.graph.operators import Constant, Where
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.writing import MOST_WRITTEN, after_writing


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
    if not all(each is None or isinstance(each.operator, Constant) for each in indices):
        raise call.refuse("at places that are not known")
    every = tuple(slice(None) if each is None else each.operator.array for each in indices)
    return _after(call, every, value)


def index_copy(call: AtenCall) -> Node:
    """Also index_fill, with one number for all places."""
    numbers = call["index"]
    if not isinstance(numbers.operator, Constant):
        raise call.refuse("at places that are not known")
    value = call["source"] if call.name == "index_copy" else call["value"]
    return _after(call, _along(call, numbers.operator.array.reshape(-1)), value)


WRITING: dict[str, Handler] = {
    "index_copy": index_copy,
    "index_fill": index_copy,
    "index_put": index_put,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
}
