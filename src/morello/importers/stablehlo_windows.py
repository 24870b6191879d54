"""Rules that translate StableHLO's reductions, windows and convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import (
    ArgReduce,
    Conv,
    Cumulate,
    Gather,
    Iota,
    Pad,
    Pooling,
    Reduce,
    Slice,
    Where,
)
from morello.graph.patterns.matching import constant, in_dtype, mapped, reshaped, transposed
from morello.importers.building import GraphBuilder
from morello.importers.gaps import convolution_with_gaps
from morello.importers.mlir import number, numbers, pairs, type_of
from morello.importers.prefixes import cumulated
from morello.importers.scattering import check_combined, combined_at
from morello.importers.stablehlo_rules import Results, Rule, coordinates, inverse, known, map_name
from morello.importers.taking import NUMBERS, backwards, iota
from morello.importers.writing import MOST_WRITTEN, after_writing

_REDUCTIONS = {
    "add": "sum",
    "logical_and": "min",
    "logical_or": "max",
    "maximum": "max",
    "minimum": "min",
    "multiply": "prod",
}
"""The reduction that repeats each function of two numbers."""

_BEST = (
    ("compare {0}", 0, 1), ("compare NE", 0, 0), ("or", 4, 5), ("compare EQ", 0, 1),
    ("compare LT", 2, 3), ("and", 7, 8), ("or", 6, 9), ("select", 6, 0, 1), ("select", 10, 2, 3),
    ("return", 11, 12),
)  # fmt: skip
"""How JAX compares (value, index) pairs in argmax and argmin: values of operations by number.

The numbers are those of the two values, the two indices, then of each operation in order.
"""


def _body(operation: Any) -> str | None:
    """The `Map` that the region of a reduction applies to its two arguments, if it is one."""
    block = operation.regions[0].blocks[0]
    operations = [each.operation for each in block.operations]
    if len(operations) != 2 or len(block.arguments) != 2:
        return None
    first, last = operations
    if [*last.operands] != [*first.results] or {*first.operands} != {*block.arguments}:
        return None
    return map_name(first.name, type_of(block.arguments[0]).dtype)


def _is_neutral(name: str, start: Node) -> bool:
    """Whether a reduction by a function may leave out the number that it starts with."""
    value = known(start)
    if value is None:
        return False
    lowest: Any = -np.inf
    highest: Any = np.inf
    if start.dtype.kind in "iu":
        limits = np.iinfo(start.dtype)
        lowest, highest = limits.min, limits.max
    elif start.dtype == bool:
        lowest, highest = False, True
    neutral = {
        "add": 0, "logical_and": True, "logical_or": False, "maximum": lowest,
        "minimum": highest, "multiply": 1,
    }  # fmt: skip
    return name in neutral and bool(value == neutral[name])


def _reduce(operation: Any, *inputs: Node) -> Results:
    axes = numbers(operation, "dimensions")
    if len(inputs) == 4:
        return _arg_reduce(operation, axes, *inputs)
    if len(inputs) != 2:
        return None
    x, start = inputs
    name = _body(operation)
    if name not in _REDUCTIONS or any(x.shape[d] == 0 for d in axes):
        return None
    result = apply(Reduce(_REDUCTIONS[name], axes), x) if axes else x
    if not _is_neutral(name, start):
        result = mapped(name, result, start)
    return (result,)


def _arg_reduce(
    operation: Any, axes: tuple[int, ...], x: Node, places: Node, start: Node, first: Node
) -> Results:
    """The largest or smallest element along an axis, and where it is, as JAX searches for it."""
    if len(axes) != 1 or not isinstance(places.operator, Iota) or places.operator.axis != axes[0]:
        return None
    written = _written(operation.regions[0].blocks[0])
    for direction, kind, name in (("GT", "max", "maximum"), ("LT", "min", "minimum")):
        known_form = tuple((text.format(direction), *rest) for text, *rest in _BEST)
        if written == known_form and _is_neutral(name, start) and known(first) == 0:
            numbered = in_dtype(x, np.dtype(np.uint8)) if x.dtype == bool else x
            place = apply(ArgReduce(kind, axes[0], places.dtype), numbered)
            return (apply(Reduce(kind, axes), x), place)
    return None


def _written(block: Any) -> tuple[tuple[Any, ...], ...]:
    """The operations of a block, their operands numbered as in `_BEST`."""
    a, i, b, j = block.arguments
    names = {a: 0, b: 1, i: 2, j: 3}
    lines = []
    for view in block.operations:
        operation = view.operation
        name = operation.name.rpartition(".")[2]
        if name == "compare":
            direction = operation.attributes["comparison_direction"]
            name += f" {stablehlo.ComparisonDirectionAttr(direction).value}"
        lines.append((name, *(names.get(value, -1) for value in operation.operands)))
        names.update((result, len(names)) for result in operation.results)
    return tuple(lines)


def _reduce_window(operation: Any, *inputs: Node) -> Results:
    """Pooling, and reductions of all elements up to each, or from each on."""
    if len(inputs) != 2:
        return None
    x, start = inputs
    rank, units = x.type.rank, (1,) * x.type.rank
    name = _body(operation)
    window = numbers(operation, "window_dimensions")
    strides = numbers(operation, "window_strides", units)
    dilations = numbers(operation, "window_dilations", units)
    padding = pairs(operation, "padding", rank)
    if {*numbers(operation, "base_dilations", units)} - {1} or min(map(min, padding)) < 0:
        return None
    if name is None or not _is_neutral(name, start):
        return None
    slid = [d for d in range(rank) if (window[d], strides[d], padding[d]) != (1, 1, (0, 0))]
    if not slid:
        return (x,)
    if len(slid) == 1:
        (axis,) = slid
        rest = x.shape[axis] - 1
        whole = (window[axis], strides[axis], dilations[axis]) == (rest + 1, 1, 1)
        if whole and padding[axis] in ((rest, 0), (0, rest)):
            return (_cumulated(name, x, axis, backward=padding[axis] == (0, rest)),)
    if name not in ("add", "maximum") or x.dtype.kind in "biu":
        return None
    # Images have two dimensions more than windows have: the batch, and the channels.
    still = [d for d in range(rank) if d not in slid]
    order = (*still, *slid)
    moved = transposed(x, order)
    batch, channels = prod(x.shape[d] for d in still[:1]), prod(x.shape[d] for d in still[1:])
    image = reshaped(moved, (batch, channels, *(x.shape[d] for d in slid)))
    pooled = apply(
        Pooling(
            "max" if name == "maximum" else "mean",
            tuple(window[d] for d in slid),
            tuple(strides[d] for d in slid),
            tuple(padding[d][0] for d in slid),
            tuple(padding[d][1] for d in slid),
            tuple(dilations[d] for d in slid),
            name == "add",
        ),
        image,
    )
    if name == "add":
        pooled = mapped("multiply", pooled, constant(prod(window), x.dtype))
    moved = reshaped(pooled, (*(x.shape[d] for d in still), *pooled.shape[2:]))
    return (transposed(moved, inverse(order)),)


def _cumulated(name: str, x: Node, axis: int, backward: bool) -> Node:
    """A reduction of all elements up to each, or from each on."""
    if x.dtype.kind in "bu" or name not in _REDUCTIONS:
        raise GraphError(f"there are no graphs of {name} of all {x.dtype} up to each.")
    x = backwards(x, axis) if backward else x
    kind = _REDUCTIONS[name]
    result = apply(Cumulate(axis), x) if kind == "sum" else cumulated(kind, x, axis)
    return backwards(result, axis) if backward else result


def _convolution(operation: Any, x: Node, filters: Node) -> Results:
    said = stablehlo.ConvDimensionNumbers(operation.attributes["dimension_numbers"])
    rank = len(said.input_spatial_dimensions)
    units = (1,) * rank
    padding = pairs(operation, "padding", rank)
    flips = operation.attributes
    if number(operation, "batch_group_count") != 1 or x.dtype != filters.dtype or not rank:
        return None
    gaps = numbers(operation, "lhs_dilation", units)
    strides = numbers(operation, "window_strides", units)
    if (max(gaps) == 1 and min(map(min, padding)) < 0) or max(gaps) > 1 < max(strides):
        return None
    if "window_reversal" in flips and any(flips["window_reversal"]):
        return None
    image = transposed(
        x,
        (said.input_batch_dimension, said.input_feature_dimension, *said.input_spatial_dimensions),
    )
    taps = transposed(
        filters,
        (
            said.kernel_output_feature_dimension,
            said.kernel_input_feature_dimension,
            *said.kernel_spatial_dimensions,
        ),
    )
    dtype = type_of(operation.results[0]).dtype
    before, after = tuple(low for low, _ in padding), tuple(high for _, high in padding)
    dilations = numbers(operation, "rhs_dilation", units)
    groups = number(operation, "feature_group_count")
    if max(gaps) > 1:
        dense = Conv(units, before, after, dilations, groups)
        result = convolution_with_gaps(image, taps, gaps, dense)
    else:
        wide = None if dtype == x.dtype else dtype
        result = apply(Conv(strides, before, after, dilations, groups, wide), image, taps)
    order = (
        said.output_batch_dimension,
        said.output_feature_dimension,
        *said.output_spatial_dimensions,
    )
    return (transposed(result, inverse(order)),)


_SCATTERED = {"add": "sum", "maximum": "max", "minimum": "min"}
"""The kind of `Scatter` that repeats each function of two numbers."""


def _scatter(operation: Any, *inputs: Node) -> Results:
    """Whole slices written, added or compared at places in some dimensions; others are dropped."""
    if len(inputs) != 3:
        return None
    x, places, updates = inputs
    said = stablehlo.ScatterDimensionNumbers(operation.attributes["scatter_dimension_numbers"])
    batches, axes = tuple(said.input_batching_dims), tuple(said.scattered_dims_to_operand_dims)
    window = tuple(said.update_window_dims)
    taken = (*batches, *axes)
    rest = tuple(d for d in range(x.type.rank) if d not in taken)
    slid = [d for d in range(x.type.rank) if d not in (*said.inserted_window_dims, *batches)]
    block = operation.regions[0].blocks[0]
    returned = [*block.operations[len(block.operations) - 1].operands]
    kind = "last" if returned == [block.arguments[1]] else _SCATTERED.get(_body(operation) or "")
    whole = all(
        updates.shape[place] == (1 if d in axes else x.shape[d])
        for d, place in zip(slid, window, strict=True)
    )
    if kind is not None and not whole:
        return _at_known_places(kind, said, x, places, updates)
    if kind is None or not axes or 0 in places.shape:
        return None
    try:
        check_combined(x.type)
    except GraphError:
        return None
    columns = coordinates(
        places, said.index_vector_dim, len(axes), said.scatter_indices_batching_dims
    )
    numbered = tuple(d for d in range(updates.type.rank) if d not in window)
    slices = reshaped(
        transposed(updates, (*numbered, *window)),
        (*columns[0].shape, *(x.shape[d] for d in rest)),
    )
    order = (*taken, *rest)
    result = combined_at(kind, transposed(x, order), columns, slices)
    return (transposed(result, inverse(order)),)


def _select_and_scatter(operation: Any, x: Node, given: Node, start: Node) -> Results:
    """The gradient of the maxima of disjoint windows: the first maximum of each gets all of it."""
    units = (1,) * x.type.rank
    window = numbers(operation, "window_dimensions", units)
    strides = numbers(operation, "window_strides", units)
    padding = pairs(operation, "padding", x.type.rank)
    select, scatter = (region.blocks[0] for region in operation.regions)
    if window != strides or any(map(any, padding)) or not _adds(scatter) or not _is_maximum(select):
        return None
    counts = given.shape
    kept = tuple(n * w for n, w in zip(counts, window, strict=True))
    inside = apply(Slice((0,) * len(kept), kept, units), x) if kept != x.shape else x
    pairs_of = tuple(n for pair in zip(counts, window, strict=True) for n in pair)
    outer, inner = tuple(range(0, len(pairs_of), 2)), tuple(range(1, len(pairs_of), 2))
    turned = transposed(reshaped(inside, pairs_of), (*outer, *inner))
    flat = reshaped(turned, (*counts, prod(window)))
    place = apply(ArgReduce("max", len(counts), NUMBERS, keepdims=True), flat)
    every = iota(prod(window), len(counts), len(counts) + 1)
    wide = reshaped(given, (*counts, 1))
    chosen = apply(Where(), mapped("equal", every, place), wide, constant(0, x.dtype))
    back = transposed(reshaped(chosen, (*counts, *window)), inverse((*outer, *inner)))
    result = reshaped(back, kept)
    if kept != x.shape:
        after = tuple(n - m for n, m in zip(x.shape, kept, strict=True))
        result = apply(Pad((0,) * len(kept), after), result, constant(0, x.dtype))
    return (result,) if known(start) == 0 else (mapped("add", result, start),)


def _adds(block: Any) -> bool:
    """Whether a block returns the sum of its arguments."""
    first, *_ = (view.operation for view in block.operations)
    return bool(first.name == "stablehlo.add" and {*first.operands} == {*block.arguments})


def _is_maximum(block: Any) -> bool:
    """Whether a block keeps its first argument if that is not less than the second."""
    first, *others = (view.operation for view in block.operations)
    if first.name != "stablehlo.compare" or [*first.operands] != [*block.arguments]:
        return False
    direction = stablehlo.ComparisonDirectionAttr(first.attributes["comparison_direction"])
    return len(others) == 1 and direction.value == "GE"


def _at_known_places(kind: str, said: Any, x: Node, places: Node, updates: Node) -> Results:
    """Parts of slices written or combined where constants say, each element once, all within."""
    starts, vector = known(places), said.index_vector_dim
    batching = (*said.input_batching_dims, *said.scatter_indices_batching_dims)
    if starts is None or batching or x.type.size > MOST_WRITTEN:
        return None
    starts = starts.reshape((*starts.shape, 1)) if vector == starts.ndim else starts
    starts = np.moveaxis(starts, vector, -1)
    window, rank = tuple(said.update_window_dims), x.type.rank
    inside = [d for d in range(rank) if d not in tuple(said.inserted_window_dims)]
    coordinates = np.indices(updates.shape)
    which = tuple(coordinates[d] for d in range(updates.type.rank) if d not in window)
    at = np.zeros((rank, *updates.shape), np.int64)
    for column, d in enumerate(said.scattered_dims_to_operand_dims):
        at[d] += starts[..., column][which]
    for d, place in zip(inside, window, strict=True):
        at[d] += coordinates[place]
    if any(at[d].min(initial=0) < 0 or at[d].max(initial=0) >= x.shape[d] for d in range(rank)):
        return None
    numbers = np.ravel_multi_index(tuple(at), x.shape)
    if len(np.unique(numbers)) < numbers.size or not numbers.size:
        return None
    build = GraphBuilder()
    if kind != "last":
        given = apply(Gather(0), reshaped(x, (x.type.size,)), constant(numbers, NUMBERS))
        name = {each: name for name, each in _REDUCTIONS.items()}[kind]
        updates = mapped(name, given, updates)
    return (after_writing(build, x, numbers, updates),)


WINDOW_RULES: Mapping[str, Rule] = {
    "stablehlo.convolution": _convolution,
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.scatter": _scatter,
    "stablehlo.select_and_scatter": _select_and_scatter,
}
"""The rules for operations that reduce, slide windows, or combine at places."""
