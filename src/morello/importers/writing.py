"""Tensors of which a part is written, as new tensors joined from the rest and that part."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from morello.graph.graph import Array, Node
from morello.graph.operators import Concat, Constant, Gather, Slice, Transpose, Where
from morello.importers.building import GraphBuilder

MOST_WRITTEN = 1 << 24
"""The most elements of a tensor of which a part is written."""


def after_writing(build: GraphBuilder, whole: Node, places: Array, part: Node) -> Node:
    """A tensor after a part of it is written: the numbers of the elements, and the new ones.

    The elements are numbered in row-major order; none has several places.
    """
    if not places.size:
        return whole
    axes = _by_step(places)
    if axes != (*range(places.ndim),):
        places = places.transpose(axes)
        part = build.apply(Transpose(axes), part)
    order = np.argsort(places, axis=None)
    numbers = places.ravel()[order]
    part = build.reshape(part, (numbers.size,))
    if not np.array_equal(order, np.arange(order.size)):
        part = build.apply(Gather(0), part, _indices(build, order))
    if isinstance(whole.operator, Constant) and isinstance(part.operator, Constant):
        flat = np.array(whole.operator.array).reshape(-1)
        flat[numbers] = part.operator.array
        return build.constant(flat.reshape(whole.shape))
    shape = _split(whole.shape, numbers)
    boxes = [np.unique(each) for each in np.unravel_index(numbers, shape)]
    if prod(map(len, boxes)) == numbers.size and all(np.ptp(each) < each.size for each in boxes):
        box = [(int(each[0]), int(each[-1]) + 1) for each in boxes]
        joined = _joined(build, build.reshape(whole, shape), box, part)
        return build.reshape(joined, whole.shape)
    if isinstance(part.operator, Constant):
        values = np.zeros(whole.type.size, whole.dtype)
        values[numbers] = part.operator.array
        mask = np.isin(np.arange(whole.type.size), numbers)
        given = (build.constant(each.reshape(whole.shape)) for each in (mask, values))
        return build.apply(Where(), *given, whole)
    chosen = np.arange(whole.type.size)
    chosen[numbers] = whole.type.size + np.arange(numbers.size)
    every = build.apply(Concat(0), build.reshape(whole, (whole.type.size,)), part)
    return build.apply(Gather(0), every, _indices(build, chosen.reshape(whole.shape)))


def _by_step(places: Array) -> tuple[int, ...]:
    """The axes, those first along which places are the farthest apart."""
    steps = [
        abs(int(np.diff(places, axis=axis).flat[0])) if size > 1 else 0
        for axis, size in enumerate(places.shape)
    ]
    return (*sorted(range(places.ndim), key=lambda axis: -steps[axis]),)


def _split(shape: tuple[int, ...], numbers: Array) -> tuple[int, ...]:
    """The shape with a dimension of its own for what is between elements that lie evenly apart."""
    sizes: list[int] = []
    for size, each in zip(shape, map(np.unique, np.unravel_index(numbers, shape)), strict=True):
        step = int(each[1] - each[0]) if each.size > 1 else 1
        even = step * each.size == size and (np.diff(each) == step).all()
        sizes += [size // step, step] if step > 1 and even else [size]
    return (*sizes,)


def _joined(build: GraphBuilder, whole: Node, box: Sequence[tuple[int, int]], part: Node) -> Node:
    """A tensor with a box of new elements, joined along one axis after the other."""
    piece = build.reshape(part, tuple(high - low for low, high in box))
    for axis in reversed(range(len(box))):
        low, high = box[axis]
        before = _between(build, whole, (*box[:axis], (0, low)))
        after = _between(build, whole, (*box[:axis], (high, whole.shape[axis])))
        if before or after:
            piece = build.apply(Concat(axis), *before, piece, *after)
    return piece


def _between(
    build: GraphBuilder, whole: Node, ranges: Sequence[tuple[int, int]]
) -> tuple[Node, ...]:
    """The elements within these ranges of the first axes, if there are any."""
    every = (*ranges, *((0, size) for size in whole.shape[len(ranges) :]))
    starts, stops = zip(*every, strict=True)
    kept = Slice(starts, stops, (1,) * len(every))
    return (build.apply(kept, whole),) if starts[len(ranges) - 1] < stops[len(ranges) - 1] else ()


def _indices(build: GraphBuilder, numbers: Array) -> Node:
    return build.constant(numbers.astype(np.int32))
