"""StableHLO's gathers, dynamic slices, sorts and top-k as graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo

from morello.graph.graph import Node, apply
from morello.graph.operators import Gather, Slice, Where
from morello.graph.patterns.matching import constant, in_dtype, in_shape, mapped, selected
from morello.importers.building import GraphBuilder
from morello.importers.mlir import number, numbers
from morello.importers.ordering import counted, extremes, in_order
from morello.importers.stablehlo_rules import (
    Results,
    Rule,
    known,
    reshaped,
    transposed,
)
from morello.importers.taking import NUMBERS, backwards, rows_at, taken_along
from morello.importers.writing import MOST_WRITTEN, after_writing


def _reverse(operation: Any, x: Node) -> Results:
    for axis in numbers(operation, "dimensions"):
        x = backwards(x, axis)
    return (x,)


def _within(start: Node, last: int) -> Node:
    """A computed place, or the nearest one from 0 to the last."""
    place = in_dtype(start, NUMBERS)
    low, high = (constant(bound, NUMBERS) for bound in (0, last))
    return mapped("minimum", mapped("maximum", place, low), high)


def _dynamic_slice(operation: Any, x: Node, *starts: Node) -> Results:
    """A slice where constants say that it starts, or else elements that are numbered."""
    for axis, (start, size) in enumerate(
        zip(starts, numbers(operation, "slice_sizes"), strict=True)
    ):
        last, place = x.shape[axis] - size, known(start)
        if not last:
            continue
        if place is not None:
            first = min(max(int(place), 0), last)
            bounds = [(0, n) for n in x.shape]
            bounds[axis] = (first, first + size)
            low, high = zip(*bounds, strict=True)
            x = apply(Slice(low, high, (1,) * x.type.rank), x)
        else:
            every = mapped("add", _within(start, last), counted(size, 0, 1))
            x = apply(Gather(axis), x, every)
    return (x,)


def _dynamic_update_slice(operation: Any, x: Node, update: Node, *starts: Node) -> Results:
    """A part that is written where constants say, or one slice at a place that is computed."""
    free = [d for d, (n, size) in enumerate(zip(x.shape, update.shape, strict=True)) if size < n]
    places = {d: known(starts[d]) for d in free}
    if all(place is not None for place in places.values()):
        if x.type.size > MOST_WRITTEN:
            return None
        part = [slice(None)] * x.type.rank
        for d, place in places.items():
            first = min(max(int(place), 0), x.shape[d] - update.shape[d])  # type: ignore[arg-type]
            part[d] = slice(first, first + update.shape[d])
        numbered = np.arange(x.type.size).reshape(x.shape)
        return (after_writing(GraphBuilder(), x, numbered[tuple(part)], update),)
    axis = free[0]
    if len(free) > 1 or update.shape[axis] != 1:
        return None
    every = counted(x.shape[axis], axis, x.type.rank)
    inside = _within(starts[axis], x.shape[axis] - 1)
    return (apply(Where(), mapped("equal", every, inside), update, x),)


def _gather(operation: Any, x: Node, places: Node) -> Results:
    """Slices that are whole but in some dimensions, in which they are one element wide.

    The places in these dimensions, those outside the nearest within, are a vector each; and in
    batches, which both operands have, that of the batch.
    """
    said = stablehlo.GatherDimensionNumbers(operation.attributes["dimension_numbers"])
    axes, batches = tuple(said.start_index_map), tuple(said.operand_batching_dims)
    taken = (*batches, *axes)
    sizes = numbers(operation, "slice_sizes")
    whole = all(sizes[d] == (1 if d in taken else n) for d, n in enumerate(x.shape))
    if not taken or not whole or {*said.collapsed_slice_dims} != {*axes}:
        return None
    vector = said.index_vector_dim
    apart = [d for d in range(places.type.rank) if d != vector]
    shape = tuple(places.shape[d] for d in apart)
    places = reshaped(transposed(places, (*apart, vector)) if vector < places.type.rank else places,
                      (*shape, len(axes)))  # fmt: skip
    rows = [
        in_shape(counted(x.shape[d], apart.index(place), len(shape)), shape)
        for d, place in zip(batches, said.start_indices_batching_dims, strict=True)
    ]
    rows += [_within(selected(places, len(shape), n), x.shape[d] - 1) for n, d in enumerate(axes)]
    first = taken[0] if taken == (*range(taken[0], taken[0] + len(taken)),) else 0
    if taken != (*range(first, first + len(taken)),):
        x = transposed(x, (*taken, *(d for d in range(x.type.rank) if d not in taken)))
    result = rows_at(x, rows, first)
    offsets = list(said.offset_dims)
    numbered = [d for d in range(result.type.rank) if d not in offsets]
    order = {d: first + n for n, d in enumerate(numbered)}
    order |= {d: n if n < first else n + len(shape) for n, d in enumerate(offsets)}
    return (transposed(result, tuple(order[d] for d in range(result.type.rank))),)


def _sort(operation: Any, *inputs: Node) -> Results:
    """All operands in the order of the first one, if that alone is compared."""
    axis = number(operation, "dimension") % max(inputs[0].type.rank, 1)
    direction = _compared(operation.regions[0].blocks[0])
    if direction is None:
        return None
    order = in_order(inputs[0], axis, descending=direction == "GT")
    return tuple(taken_along(each, order, axis) for each in inputs)


def _compared(block: Any) -> str | None:
    """How a block compares its first two arguments, LT or GT; None if it does something else.

    Each may be chosen before from itself and constants, as JAX makes one of all NaN.
    """
    *_, last = (view.operation for view in block.operations)
    (result,) = last.operands
    comparison = result.owner
    if getattr(comparison, "name", "") != "stablehlo.compare":
        return None
    sides = [_arguments(operand) for operand in comparison.operands]
    if sides != [{0}, {1}]:
        return None
    attribute = comparison.attributes["comparison_direction"]
    direction = str(stablehlo.ComparisonDirectionAttr(attribute).value)
    return direction if direction in ("LT", "GT") else None


_CHOOSING = {"stablehlo.compare", "stablehlo.constant", "stablehlo.select"}


def _arguments(value: Any) -> set[int]:
    """The arguments of a block, by number, that a value is chosen from; -1 for anything else."""
    owner = value.owner
    if not hasattr(owner, "operands"):
        return {value.arg_number} if hasattr(value, "arg_number") else {-1}
    if owner.name not in _CHOOSING:
        return {-1}
    return set().union(*(_arguments(operand) for operand in owner.operands))


def _top_k(operation: Any, x: Node) -> Results:
    """The largest elements along the last axis, and their places."""
    axis = x.type.rank - 1
    places = extremes(x, number(operation, "k"), axis)
    return taken_along(x, places, axis), places


TAKING_RULES: Mapping[str, Rule] = {
    "chlo.top_k": _top_k,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.gather": _gather,
    "stablehlo.reverse": _reverse,
    "stablehlo.sort": _sort,
}
"""The rules for operations that take elements, or put them in order."""
