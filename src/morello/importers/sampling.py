"""Images that are read at any places, between their pixels or at the nearest ones."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from morello.graph.graph import Node, apply
from morello.graph.operators import Gather
from morello.graph.patterns.matching import (
    constant,
    in_dtype,
    mapped,
    reshaped,
    selected,
    transposed,
)
from morello.importers.taking import NUMBERS

_FLOATS = np.dtype(np.float32)


def sampled(image: Node, grid: Node, mode: str, padding: str, corners: bool) -> Node:
    """Images [b, c, ...] at the places of a grid [b, ..., d], with d numbers for each place.

    The numbers are from -1 to 1, the last dimension of the image first: to the middle of the
    outermost pixels if `corners`, else to their edges. Outside of the image are zeros, or with the
    `padding` "border" the nearest pixels, or with "reflection" the image mirrored. A place is the
    sum of the pixels around it by their shares, which the `mode` "nearest", "linear" or "cubic"
    says: rows of channels, which a `Gather` takes.
    """
    batch, channels, *sizes = image.shape
    shares: list[list[Node]] = []
    numbers: list[list[Node]] = []
    for d, size in enumerate(sizes):
        column = len(sizes) - 1 - d
        along = _coordinates(
            in_dtype(selected(grid, grid.type.rank - 1, column), _FLOATS), size, corners
        )
        if mode != "cubic":
            along = _padded(along, size, padding, corners)
        around = _NEIGHBOURS[mode](along)
        if mode == "cubic":
            around = [(_padded(place, size, padding, corners), share) for place, share in around]
        shares.append([_inside(share, place, size, padding) for place, share in around])
        numbers.append([in_dtype(_between(place, 0, size - 1), NUMBERS) for place, _ in around])
    order = (0, *range(2, image.type.rank), 1)
    rows = reshaped(transposed(in_dtype(image, _FLOATS), order), (batch * prod(sizes), channels))
    first = np.arange(batch).reshape(batch, *(1,) * (grid.type.rank - 2)) * prod(sizes)
    total: Node | None = None
    for ends in product(*(range(len(each)) for each in numbers)):
        number, share = numbers[0][ends[0]], shares[0][ends[0]]
        for d, end in enumerate(ends[1:], 1):
            scaled = mapped("multiply", number, constant(sizes[d], NUMBERS))
            number = mapped("add", scaled, numbers[d][end])
            share = mapped("multiply", share, shares[d][end])
        if batch > 1:
            number = mapped("add", number, constant(first, NUMBERS))
        pixels = apply(Gather(0), rows, number)
        part = mapped("multiply", pixels, reshaped(share, (*share.shape, 1)))
        total = part if total is None else mapped("add", total, part)
    assert total is not None
    back = (0, total.type.rank - 1, *range(1, total.type.rank - 1))
    return in_dtype(transposed(total, back), image.dtype)


def _coordinates(x: Node, size: int, corners: bool) -> Node:
    """Numbers from -1 to 1 as places among so many pixels."""
    half = (size - 1 if corners else size) / 2
    return mapped("add", _times(x, half), _number((size - 1) / 2))


def _padded(x: Node, size: int, padding: str, corners: bool) -> Node:
    """Places in the image that are read for any ones; with zeros outside, they stay."""
    if padding == "zeros":
        return x
    if padding == "reflection":
        first = 0.0 if corners else -0.5
        span = size - 1 - 2 * first
        if not span:
            return _times(x, 0)
        # the distance to the nearest of the places that are as the first pixel, or its edge
        there = mapped("subtract", x, _number(first))
        back = _times(mapped("round", _times(there, 1 / (2 * span))), 2 * span)
        there = mapped("abs", mapped("subtract", there, back))
        x = mapped("add", there, _number(first))
    return _between(x, 0, size - 1)


Neighbours = list[tuple[Node, Node]]
"""Pixels along a dimension, and their shares of a place there."""


def _nearest(x: Node) -> Neighbours:
    return [(mapped("round", x), _number(1))]


def _linear(x: Node) -> Neighbours:
    low = mapped("floor", x)
    above = mapped("subtract", x, low)
    return [(low, mapped("subtract", _number(1), above)), (mapped("add", low, _number(1)), above)]


def _cubic(x: Node) -> Neighbours:
    """Keys's weights, as `resampling` has them, with the slope that frameworks have here."""
    low, a = mapped("floor", x), -0.75
    above = mapped("subtract", x, low)
    around = []
    for step in (-1, 0, 1, 2):
        distance = mapped("abs", mapped("subtract", above, _number(step)))
        factors = (a + 2, -(a + 3), 0, 1) if step in (0, 1) else (a, -5 * a, 8 * a, -4 * a)
        share = _number(factors[0])
        for factor in factors[1:]:
            share = mapped("add", mapped("multiply", share, distance), _number(factor))
        around.append((mapped("add", low, _number(step)), share))
    return around


_NEIGHBOURS = {"nearest": _nearest, "linear": _linear, "cubic": _cubic}
MODES = frozenset(_NEIGHBOURS)
PADDINGS = frozenset({"zeros", "border", "reflection"})


def _inside(share: Node, place: Node, size: int, padding: str) -> Node:
    """A share, which is 0 outside of the image if there are zeros."""
    if padding != "zeros":
        return share
    low = mapped("greater_equal", place, _number(0))
    high = mapped("less_equal", place, _number(size - 1))
    within = in_dtype(mapped("logical_and", low, high), _FLOATS)
    return mapped("multiply", share, within)


def _between(x: Node, low: int, high: int) -> Node:
    return mapped("minimum", mapped("maximum", x, _number(low)), _number(high))


def _times(x: Node, factor: float) -> Node:
    return mapped("multiply", x, _number(factor))


def _number(value: float) -> Node:
    return constant(value, _FLOATS)
