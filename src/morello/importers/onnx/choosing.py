"""Operators of ONNX that choose elements, or take them where others say."""

from __future__ import annotations

from math import prod

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Broadcast, Where
from morello.graph.patterns.matching import selected
from morello.importers.onnx.call import (
    INT32,
    INT64,
    LeftError,
    OnnxCall,
    along,
    cast,
    constant,
    function,
    in_few_bits,
    left_if_refused,
    number,
    op,
    reshaped,
    translates,
)
from morello.importers.ordering import extremes
from morello.importers.taking import from_start, rows_at, taken_along


@translates("TopK")
def largest(call: OnnxCall) -> list[Node]:
    """The k largest or smallest elements in order, and their places."""
    x, axis = call[0], call.axis(-1)
    (count,) = call.integers(1) if call.version >= 10 else (call.attribute("k"),)
    call.flag("sorted", default=True)  # in order is one of the orders that may be
    if not 0 < count <= x.shape[axis] or 0 in x.shape:
        raise LeftError(f"it chooses {count} of {x.type}")
    with left_if_refused():
        places = extremes(x, count, axis, call.flag("largest", default=True))
    taken = in_few_bits(lambda each: taken_along(each, places, axis), x)
    return [taken, cast(places, INT64)]


@translates("GatherND")
def gather_slices(call: OnnxCall) -> Node:
    """Slices at places in the dimensions after the first ones, which both inputs have."""
    x, index, batch = call[0], call[1], call.attribute("batch_dims", 0)
    if not index.type.rank or 0 in (*x.shape, *index.shape):
        raise LeftError(f"it gathers {index.type} of {x.type}")
    *shape, count = index.shape
    alike = index.shape[: max(batch, 0)] == x.shape[: max(batch, 0)]
    if not 0 <= batch <= len(shape) or batch + count > x.type.rank or not alike:
        raise GraphError(f"{index.type} are no places in {x.type}, of {batch} dimensions alike.")
    columns = [selected(index, len(shape), d) for d in range(count)]
    places = [from_start(each, x.shape[batch + d]) for d, each in enumerate(columns)]
    if batch:
        rows = np.arange(prod(shape[:batch])).reshape(*shape[:batch], *(1,) * (len(shape) - batch))
        places.insert(0, op(Broadcast(tuple(shape)), constant(rows, INT32)))
        x = reshaped(x, (prod(x.shape[:batch]), *x.shape[batch:]))
    return in_few_bits(lambda each: rows_at(each, places), x)


@translates("ReverseSequence")
def reversed_sequences(call: OnnxCall) -> Node:
    """The first elements of each sequence backwards, as many as it is long, then the rest."""
    x, axis, batch = call[0], call.attribute("time_axis", 0), call.attribute("batch_axis", 1)
    if {axis, batch} != {0, 1} or 0 in x.shape:
        raise LeftError(f"its axes are {axis} and {batch} of {x.type}")
    steps, rows = (along(constant(np.arange(x.shape[d]), INT32), d, 2) for d in (axis, batch))
    lengths = along(cast(call[1], INT32), batch, 2)
    backwards = function("subtract", function("subtract", lengths, number(1, lengths)), steps)
    step = op(Where(), function("less", steps, lengths), backwards, steps)
    row = op(Broadcast(x.shape[:2]), rows)
    return in_few_bits(lambda each: rows_at(each, [step, row] if axis == 0 else [row, step]), x)
