"""Images that are read at any places, between their pixels."""

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


def sampled(image: Node, grid: Node, padding: str, corners: bool) -> Node:
    """Images [b, c, ...] at the places of a grid [b, ..., d], with d numbers for each place.

    The numbers are from -1 to 1, the last dimension of the image first: to the middle of the
    outermost pixels if `corners`, else to their edges. Outside of the image are zeros, or with the
    `padding` "border" the nearest pixels. A place is the sum of the pixels around it by their
    shares: rows of channels, which a `Gather` takes.
    """
    batch, channels, *sizes = image.shape
    shares: list[list[Node]] = []
    numbers: list[list[Node]] = []
    for d, size in enumerate(sizes):
        column = len(sizes) - 1 - d
        along = _coordinates(
            in_dtype(selected(grid, grid.type.rank - 1, column), _FLOATS), size, corners
        )
        if padding == "border":
            along = _between(along, 0, size - 1)
        around = _neighbours(along)
        shares.append([_inside(share, place, size, padding) for place, share in around])
        numbers.append([in_dtype(_between(place, 0, size - 1), NUMBERS) for place, _ in around])
    order = (0, *range(2, image.type.rank), 1)
    rows = reshaped(transposed(in_dtype(image, _FLOATS), order), (batch * prod(sizes), channels))
    first = np.arange(batch).reshape(batch, *(1,) * (grid.type.rank - 2)) * prod(sizes)
    total: Node | None = None
    for ends in product(range(2), repeat=len(sizes)):
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
    middle = constant((size - 1) / 2, _FLOATS)
    return mapped("add", mapped("multiply", x, constant(half, _FLOATS)), middle)


def _neighbours(x: Node) -> list[tuple[Node, Node]]:
    """The two pixels around a place along a dimension, and their shares."""
    whole = constant(1, _FLOATS)
    low = mapped("floor", x)
    above = mapped("subtract", x, low)
    return [(low, mapped("subtract", whole, above)), (mapped("add", low, whole), above)]


def _inside(share: Node, place: Node, size: int, padding: str) -> Node:
    """A share, which is 0 outside of the image if there are zeros."""
    if padding == "border":
        return share
    low = mapped("greater_equal", place, constant(0, _FLOATS))
    high = mapped("less_equal", place, constant(size - 1, _FLOATS))
    within = in_dtype(mapped("logical_and", low, high), _FLOATS)
    return mapped("multiply", share, within)


def _between(x: Node, low: int, high: int) -> Node:
    return mapped("minimum", mapped("maximum", x, constant(low, _FLOATS)), constant(high, _FLOATS))
