"""Images of other sizes: along each axis, an element is a weighted sum of some of the image's.

The weights of an axis are a matrix, with a row for each element of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from morello.graph.graph import Array, Node, apply
from morello.graph.operators import Dot, Gather
from morello.graph.patterns.matching import (
    constant,
    in_dtype,
    in_shape,
    joined,
    reshaped,
    sliced,
    transposed,
    widened,
)

LONGEST_SUM = 96
"""The most elements along an axis that a product reads, if fewer results at once read fewer."""

SHORTEST_BLOCK = 32
"""The least number of results of a product along an axis, if there are more."""


def linear(distance: Array) -> Array:
    """The weights of elements at these distances from a place, 1 at 0."""
    weights: Array = np.maximum(1 - np.abs(distance), 0)
    return weights


def cubic(a: float) -> Callable[[Array], Array]:
    """Keys's weights by distance, with the slope `a` at 1."""

    def weights(distance: Array) -> Array:
        x = np.abs(distance)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        result: Array = np.where(x <= 1, near, np.where(x < 2, far, 0.0))
        return result

    return weights


def interpolation(
    places: Array,
    size: int,
    kernel: Callable[[Array], Array],
    inside: bool = False,
    width: float = 1.0,
) -> Array:
    """The weights for results at these places among `size` elements, the first of which is at 0.

    A kernel that is `width` times as wide filters, if that is above 1. Elements beyond the ends
    are as the last ones, or have no weights, if only those `inside` count.
    """
    first, width = np.floor(places).astype(np.int64), max(width, 1.0)
    rows, most = np.arange(len(places)), math.ceil(2 * width)
    weights = np.zeros((len(places), size))
    for step in range(1 - most, most + 1):
        read = first + step
        share = kernel((places - read) / width)
        if inside:
            share = np.where((read >= 0) & (read < size), share, 0.0)
        np.add.at(weights, (rows, np.clip(read, 0, size - 1)), share)
    result: Array = weights / weights.sum(1, keepdims=True)
    return result


def chosen(places: Array, size: int) -> Array:
    """The weights if each result is the element at a place."""
    return np.eye(size)[np.clip(places.astype(np.int64), 0, size - 1)]


def means(count: int, size: int) -> Array:
    """The weights for means of so many ranges, which together cover all elements."""
    rows, columns = np.arange(count)[:, None], np.arange(size)
    inside = (columns >= rows * size // count) & (columns < -(-(rows + 1) * size // count))
    result: Array = inside / inside.sum(1, keepdims=True)
    return result


def resampled(image: Node, weights: Sequence[Array]) -> Node:
    """An image with its last axes resampled, each with its weights, in f32 if it is narrower."""
    rank = image.type.rank - len(weights)
    factors = [_repetitions(each) for each in weights]
    if all(factors):
        return _repeated(image, rank, [factor or 1 for factor in factors])
    result = image
    for axis, each in enumerate(weights, start=rank):
        places = each.argmax(1)
        if (each.max(1) == 1).all():
            unchanged = np.array_equal(places, np.arange(each.shape[1]))
            if not unchanged:
                result = apply(Gather(axis), result, constant(places, np.dtype(np.int32)))
        elif each.shape[1] == 1:
            result = in_shape(result, (*result.shape[:axis], len(each), *result.shape[axis + 1 :]))
        else:
            result = _weighted(widened(result), axis, each)
    return in_dtype(result, image.dtype)


def _repetitions(weights: Array) -> int | None:
    """How often each element occurs, one after the other, if all do equally often."""
    count, size = weights.shape
    if count % size:
        return None
    times = count // size
    return times if np.array_equal(weights, np.repeat(np.eye(size), times, 0)) else None


def _repeated(image: Node, rank: int, factors: Sequence[int]) -> Node:
    """Each element so many times along each of the last axes."""
    kept, sizes = image.shape[:rank], image.shape[rank:]
    apart = (n for size in sizes for n in (size, 1))
    wide = (n for pair in zip(sizes, factors, strict=True) for n in pair)
    spread = in_shape(reshaped(image, (*kept, *apart)), (*kept, *wide))
    return reshaped(spread, (*kept, *(n * k for n, k in zip(sizes, factors, strict=True))))


@dataclass(frozen=True)
class _Block:
    """Some of the results along an axis: their weights for the elements from `first` on."""

    weights: Array
    first: int


def _weighted(image: Node, axis: int, weights: Array) -> Node:
    """Products of parts of the image with blocks of the weights, one after the other."""
    products = []
    for block in _blocks(weights):
        count, read = block.weights.shape[1], image
        if count < image.shape[axis]:
            read = sliced(image, axis, block.first, block.first + count)
        products.append(_product(read, axis, constant(block.weights, image.dtype)))
    return joined(products, axis)


def _product(image: Node, axis: int, weights: Node) -> Node:
    last = image.type.rank - 1
    if axis == last:
        return apply(Dot((), ((axis, 1),)), image, weights)
    product = apply(Dot((), ((1, axis),)), weights, image)
    return transposed(product, (*range(1, axis + 1), 0, *range(axis + 1, last + 1)))


def _blocks(weights: Array) -> list[_Block]:
    """The largest blocks of results that each read few elements, all blocks as many."""
    count, size = weights.shape
    number = 1
    while True:
        rows = np.array_split(np.arange(count), number)
        read = [np.flatnonzero(weights[some].any(0)) for some in rows]
        longest = max(int(each[-1] - each[0]) + 1 for each in read)
        if longest <= LONGEST_SUM or count < 2 * number * SHORTEST_BLOCK:
            break
        number *= 2
    firsts = [min(int(each[0]), size - longest) for each in read]
    return [
        _Block(weights[some, first : first + longest], first)
        for some, first in zip(rows, firsts, strict=True)
    ]
