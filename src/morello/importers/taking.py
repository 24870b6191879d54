"""Elements that are taken along one dimension, each by a number of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from morello.graph.graph import Array, Node, apply
from morello.graph.operators import Broadcast, Constant, Gather, Where
from morello.graph.patterns.matching import constant, in_dtype, mapped, reshaped

NUMBERS = np.dtype(np.int32)
"""The dtype of places that are computed."""


def iota(count: int, axis: int = 0, rank: int = 1) -> Node:
    """The numbers from 0 to before `count`, along one of so many dimensions."""
    shape = [1] * rank
    shape[axis] = count
    return constant(np.arange(count).reshape(shape), NUMBERS)


def taken_along(x: Node, index: Node, axis: int) -> Node:
    """x[i, index[i, j]] along one dimension, as elements of a single one.

    A number below 0 counts from the end.
    """
    if not x.type.rank:
        return x
    if isinstance(index.operator, Constant) and isinstance(x.operator, Constant):
        cut = tuple(slice(n if d != axis else None) for d, n in enumerate(index.shape))
        known = np.take_along_axis(x.operator.array[cut], index.operator.array, axis)
        return constant(known, x.dtype)
    numbers = in_one_dimension(from_start(index, x.shape[axis]), x.shape, axis)
    return apply(Gather(0), reshaped(x, (x.type.size,)), numbers)


def from_start(index: Node, size: int) -> Node:
    """Places along a dimension of so many elements; a number below 0 counts from the end."""
    if isinstance(index.operator, Constant):
        known: Array = index.operator.array.astype(np.int64)
        return constant(np.where(known < 0, known + size, known), NUMBERS)
    if isinstance(index.operator, Broadcast):
        return apply(index.operator, from_start(index.inputs[0], size))
    numbers = in_dtype(index, NUMBERS)
    from_end = mapped("add", numbers, constant(size, NUMBERS))
    return apply(Where(), mapped("less", numbers, constant(0, NUMBERS)), from_end, numbers)


def backwards(x: Node, axis: int) -> Node:
    """The elements in reverse order along an axis."""
    return apply(Gather(axis), x, constant(np.arange(x.shape[axis])[::-1], NUMBERS))


def rows_at(x: Node, places: Sequence[Node], start: int = 0) -> Node:
    """x[..., i, j, ...] for places in dimensions from `start` on, which are taken as one.

    The places have one shape, which comes in place of these dimensions; they are from 0 on.
    """
    if not places:
        return x
    sizes = x.shape[start : start + len(places)]
    flat = reshaped(x, (*x.shape[:start], math.prod(sizes), *x.shape[start + len(places) :]))
    return apply(Gather(start), flat, in_one(places, sizes))


def in_one(places: Sequence[Node], sizes: Sequence[int]) -> Node:
    """Places in dimensions of these sizes as places in one that joins them, in row-major order."""
    number, *rest = places
    for place, size in zip(rest, sizes[1:], strict=True):
        number = mapped("add", mapped("multiply", number, constant(size, NUMBERS)), place)
    return number


def in_one_dimension(numbers: Node, shape: tuple[int, ...], axis: int) -> Node:
    """Places along an axis of a tensor as numbers of its elements, in row-major order.

    Along the others, the place of each number says which element it is of.
    """
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    first = np.zeros((1,) * len(shape), np.int64)
    for d, size in enumerate(numbers.shape):
        if d != axis:
            along = [1] * len(shape)
            along[d] = size
            first = first + np.arange(size).reshape(along) * strides[d]
    if strides[axis] > 1:
        numbers = mapped("multiply", numbers, constant(strides[axis], NUMBERS))
    return mapped("add", numbers, constant(first, NUMBERS)) if first.any() else numbers
