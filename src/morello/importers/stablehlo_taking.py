"""StableHLO's gathers, dynamic slices, sorts and top-k as graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo

from morello.graph.graph import Node, apply
from morello.graph.operators import Gather, Slice, Where
from morello.graph.patterns.matching import (
    constant,
    in_dtype,
    in_shape,
    mapped,
    reshaped,
    sliced,
    transposed,
)
from morello.importers.building import GraphBuilder
from morello.importers.mlir import number, numbers, type_of
from morello.importers.ordering import extremes, in_order
from morello.importers.stablehlo_rules import Results, Rule, coordinates, known
from morello.importers.taking import NUMBERS, backwards, iota, rows_at, taken_along
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
            x = sliced(x, axis, first, first + size)
        else:
            every = mapped("add", _within(start, last), iota(size))
            x = apply(Gather(axis), x, every)
    return (x,)


def _dynamic_update_slice(operation: Any, x: Node, update: Node, *starts: Node) -> Results:
    """A part that is written where constants say, or where starts are computed."""
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
    if not update.type.size:
        return (x,)
    inside = None
    for d in free:
        count, last = update.shape[d], x.shape[d] - update.shape[d]
        every = iota(x.shape[d], d, x.type.rank)
        own = mapped("subtract", every, _within(starts[d], last))
        if count == 1:
            hit = mapped("equal", own, constant(0, NUMBERS))
        else:
            hit = mapped(
                "logical_and",
                mapped("greater_equal", own, constant(0, NUMBERS)),
                mapped("less", own, constant(count, NUMBERS)),
            )
            nearest = _within(reshaped(own, (x.shape[d],)), count - 1)
            update = apply(Gather(d), update, nearest)
        inside = hit if inside is None else mapped("logical_and", inside, hit)
    assert inside is not None
    return (apply(Where(), inside, update, x),)


def _gather(operation: Any, x: Node, places: Node) -> Results:
    """Slices, each at a place of its own in some dimensions, the nearest one within.

    The places in these dimensions are a vector each; and in batches, which both operands have,
    that of the batch.
    """
    said = stablehlo.GatherDimensionNumbers(operation.attributes["dimension_numbers"])
    axes, batches = tuple(said.start_index_map), tuple(said.operand_batching_dims)
    sizes, taken = numbers(operation, "slice_sizes"), (*batches, *axes)
    if not taken or 0 in sizes:
        return None
    bounds = [
        n if d in taken else size for d, (n, size) in enumerate(zip(x.shape, sizes, strict=True))
    ]
    if tuple(bounds) != x.shape:
        x = apply(Slice((0,) * len(bounds), tuple(bounds), (1,) * len(bounds)), x)
    columns = coordinates(
        places, said.index_vector_dim, len(axes), said.start_indices_batching_dims
    )
    shape = columns[0].shape
    wide = [d for d in axes if sizes[d] > 1]
    whole = (*shape, *(sizes[d] for d in wide))
    rows = []
    for d, column in zip(taken, columns, strict=True):
        place = column if d in batches else _within(column, x.shape[d] - sizes[d])
        row = in_shape(reshaped(place, (*shape, *(1,) * len(wide))), whole)
        if d in wide:
            row = mapped("add", row, iota(sizes[d], len(shape) + wide.index(d), len(whole)))
        rows.append(row)
    first = taken[0] if taken == (*range(taken[0], taken[0] + len(taken)),) else 0
    rest = [d for d in range(x.type.rank) if d not in taken]
    if taken != (*range(first, first + len(taken)),):
        x = transposed(x, (*taken, *rest))
    result = rows_at(x, rows, first)
    # Each dimension by its number in the operand, or in the places, then less than 0.
    there = [*rest[:first], *range(-len(shape), 0), *wide, *rest[first:]]
    slid = [d for d in range(len(sizes)) if d not in (*said.collapsed_slice_dims, *batches)]
    within, apart = dict(zip(said.offset_dims, slid, strict=True)), iter(range(-len(shape), 0))
    kind = type_of(operation.results[0])
    wanted = [within[d] if d in within else next(apart) for d in range(kind.rank)]
    order = tuple(there.index(d) for d in wanted if d in there)  # without those of size 1
    return (reshaped(transposed(result, order), kind.shape),)


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
