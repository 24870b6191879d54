"""The largest elements of windows with their places, and images that have them at these places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Array, Node, apply
from morello.graph.operators import Broadcast, Pad, Slice, Where
from morello.graph.patterns.matching import constant, is_float, mapped, reshaped
from morello.importers.folding import FoldedAxis
from morello.importers.scattering import check_combined, combined_elements
from morello.importers.taking import NUMBERS

MOST_TAPS = 64
"""The most elements of a window that are compared one after the other."""


def largest(images: Node, windows: Sequence[FoldedAxis]) -> tuple[Node, Node]:
    """The largest element of each window of images [b, c, ...], and its place in its image.

    The pixels of an image are numbered in row-major order. Of equal ones the first one counts. NaN
    is larger than all numbers, and the last one counts. Raises `GraphError` for large windows, and
    for integers.
    """
    if not is_float(images.dtype) or prod(each.taps for each in windows) > MOST_TAPS:
        raise GraphError(f"no kernel finds places in windows of {images.type}.")
    before, after = (tuple(getattr(w, side) for w in windows) for side in ("before", "after"))
    lowest = constant(-np.inf, images.dtype)
    padded = apply(Pad((0, 0, *before), (0, 0, *after)), images, lowest)
    inside = [np.where(each.places < 0, each.size, each.places).min(0) for each in windows]
    shape = (*images.shape[:2], *map(len, inside))
    values = apply(Broadcast(shape), lowest)
    places = apply(Broadcast(shape), _numbered(inside, windows))
    for taps in product(*(range(each.taps) for each in windows)):
        starts = [tap * each.dilation for tap, each in zip(taps, windows, strict=True)]
        strides = [each.stride for each in windows]
        stops = [
            start + (count - 1) * stride + 1
            for start, count, stride in zip(starts, shape[2:], strides, strict=True)
        ]
        cut = Slice((0, 0, *starts), (*shape[:2], *stops), (1, 1, *strides))
        own = apply(cut, padded)
        at = _numbered([w.places[tap] for w, tap in zip(windows, taps, strict=True)], windows)
        larger = mapped("greater", own, values)
        larger = mapped("logical_or", larger, mapped("not_equal", own, own))
        values, places = (
            apply(Where(), larger, new, old) for new, old in ((own, values), (at, places))
        )
    return values, places


def _numbered(places: Sequence[Array], windows: Sequence[FoldedAxis]) -> Node:
    """Places along each dimension of an image as the numbers [1, 1, ...] of its pixels."""
    number = np.zeros((1,) * len(places), np.int64)
    for d, (along, each) in enumerate(zip(places, windows, strict=True)):
        shape = [1] * len(places)
        shape[d] = -1
        number = number * each.size + along.reshape(shape)
    return constant(number[None, None], NUMBERS)


def unpooled(elements: Node, places: Node, rows: int, shape: tuple[int, ...]) -> Node:
    """A tensor of zeros with elements at places, each in one of so many rows of equal length.

    Of those that have the same place, the last one counts.
    """
    check_combined(elements.type)
    zeros = apply(Broadcast((rows, prod(shape) // rows)), constant(0, elements.dtype))
    index, given = (reshaped(each, (rows, each.type.size // rows)) for each in (places, elements))
    return reshaped(combined_elements("last", zeros, index, given, 1), shape)
