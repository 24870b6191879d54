"""Elements that are combined with those of a tensor, at places that are known or computed.

Each function makes a `Scatter` of a kind. What has a place below 0, or beyond the last, is left
out, and 16-bit floats are combined in f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, TensorType, apply
from morello.graph.operators import (
    Broadcast,
    Cast,
    Constant,
    Reshape,
    Scatter,
    SegmentSum,
    Slice,
    Where,
)
from morello.graph.patterns.matching import (
    constant,
    in_dtype,
    is_float,
    mapped,
    reshaped,
)
from morello.graph.views import view_of
from morello.importers.building import GraphBuilder
from morello.importers.taking import NUMBERS, in_one_dimension
from morello.importers.writing import MOST_WRITTEN, after_writing

_FLOATS = np.dtype(np.float32)


def check_combined(kind: TensorType) -> None:
    """Raise `GraphError` unless kernels combine elements of a tensor of this type."""
    wide = kind.dtype.itemsize > 4 or kind.dtype == np.uint32
    if wide or not kind.rank or not 0 < kind.size <= np.iinfo(NUMBERS).max:
        raise GraphError(f"no kernel combines elements of {kind}.")


def combined_rows(kind: str, x: Node, index: Node, rows: Node, axis: int) -> Node:
    """A tensor combined with slices along an axis, at the places that a vector says.

    `rows` has the shape of `x` but along the axis, where it has as many as the vector.
    """
    count, inner = x.shape[axis], prod(x.shape[axis + 1 :])
    outer = prod(x.shape[:axis])
    numbers = in_dtype(index, NUMBERS)
    if outer > 1:
        first = constant(np.arange(outer)[:, None] * count, NUMBERS)
        numbers = _if_within(numbers, count, mapped("add", numbers, first))
        numbers = reshaped(numbers, (numbers.type.size,))
    dtype = _FLOATS if is_float(x.dtype) else NUMBERS
    matrices = [
        reshaped(in_dtype(each, dtype), (outer * each.shape[axis], inner)) for each in (x, rows)
    ]
    table, given = matrices
    if kind == "sum" and _is_zero(x):
        combined = apply(SegmentSum(table.shape[0]), given, numbers)
    else:
        combined = apply(Scatter(kind), table, numbers, given)
    return in_dtype(reshaped(combined, x.shape), x.dtype)


def _is_zero(node: Node) -> bool:
    """Whether all elements are known to be 0."""
    while isinstance(node.operator, Broadcast | Cast | Reshape):
        (node,) = node.inputs
    return isinstance(node.operator, Constant) and not node.operator.array.any()


def combined_elements(kind: str, x: Node, index: Node, elements: Node, axis: int) -> Node:
    """A tensor combined with elements, each at a place along an axis of its own.

    x[i, index[i, j], k] is combined with elements[i, j, k], of as many dimensions.
    """
    elements = _first(elements, index.shape)
    others = [d for d in range(x.type.rank) if d != axis]
    vector = _vector(index, axis)
    if vector is not None and all(x.shape[d] == index.shape[d] for d in others):
        return combined_rows(kind, x, vector, elements, axis)
    numbers = in_dtype(index, NUMBERS)
    numbers = _if_within(numbers, x.shape[axis], in_one_dimension(numbers, x.shape, axis))
    x_row, places, row = (reshaped(e, (e.type.size,)) for e in (x, numbers, elements))
    return reshaped(combined_rows(kind, x_row, places, row, 0), x.shape)


def combined_at(kind: str, x: Node, places: Sequence[Node], rows: Node) -> Node:
    """x[i, j, ...] combined with rows: the places are tensors of one shape, one each dimension.

    The rows have that shape, and then that of the other dimensions.
    """
    sizes = x.shape[: len(places)]
    shape = places[0].shape
    given = [each.operator.array for each in places if isinstance(each.operator, Constant)]
    if kind == "last" and len(given) == len(places) and x.type.size <= MOST_WRITTEN:
        inside = all(((n >= 0) & (n < size)).all() for n, size in zip(given, sizes, strict=True))
        if inside:
            written = np.arange(x.type.size).reshape(x.shape)[tuple(given)]
            if np.unique(written).size == written.size:
                return after_writing(GraphBuilder(), x, written, rows)
    numbers = in_dtype(places[0], NUMBERS)
    for size, each in zip(sizes[1:], places[1:], strict=True):
        own = in_dtype(each, NUMBERS)
        along = mapped("add", mapped("multiply", numbers, constant(size, NUMBERS)), own)
        numbers = _if_within(own, size, along)
    if len(places) > 1:
        numbers = _if_within(in_dtype(places[0], NUMBERS), sizes[0], numbers)
    rest = x.shape[len(places) :]
    flat = reshaped(x, (prod(sizes), *rest))
    count = prod(shape)
    rows = reshaped(rows, (count, *rest))
    return reshaped(combined_rows(kind, flat, reshaped(numbers, (count,)), rows, 0), x.shape)


def _if_within(numbers: Node, size: int, place: Node) -> Node:
    """A place, where its number is one from 0 to `size`; -1 elsewhere."""
    below = mapped("less", numbers, constant(0, NUMBERS))
    beyond = mapped("greater_equal", numbers, constant(size, NUMBERS))
    return apply(Where(), mapped("logical_or", below, beyond), constant(-1, NUMBERS), place)


def _vector(index: Node, axis: int) -> Node | None:
    """The numbers along an axis, if they are the same along all others."""
    cut = tuple(n if d == axis else 1 for d, n in enumerate(index.shape))
    if isinstance(index.operator, Constant):
        numbers = index.operator.array
        first = numbers[tuple(map(slice, cut))]
        return constant(first.reshape(-1), index.dtype) if (numbers == first).all() else None
    strides = zip(index.shape, view_of(index).strides, strict=True)
    if any(d != axis and size > 1 and step for d, (size, step) in enumerate(strides)):
        return None
    return reshaped(_first(index, cut), (index.shape[axis],))


def _first(node: Node, shape: tuple[int, ...]) -> Node:
    """The first elements along each dimension."""
    if node.shape == shape:
        return node
    return apply(Slice((0,) * len(shape), shape, (1,) * len(shape)), node)
