"""Convolutions by 3x3 filters in fewer multiplications, where that is expected to be faster.

See `ir.primitives.winograd` for the algorithm. The points of an image and of its products are
written to memory and read again, which costs more than is saved where there are few channels.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from morello.graph.graph import Graph, Node, TensorType, apply
from morello.graph.operators import Constant, Conv, Dot, Map, Pad, PrimitiveOperator, Slice
from morello.graph.patterns.expansion import padded
from morello.graph.patterns.matching import constant
from morello.graph.patterns.padding import is_better_in_rows
from morello.graph.rewriting import rewritten
from morello.ir.operation import Operation
from morello.ir.primitives.winograd import (
    TAPS,
    TRANSFORMS,
    points,
    winograd_filters,
    winograd_input,
    winograd_output,
)

MULTIPLY_ADDS = 26.0
"""The multiply-adds of a product in a cycle, with the widest registers: about 0.8 of the most.

With narrower ones, more is saved than expected here.
"""

LINE = 8.0
"""The cycles to read or to write a cache line of points or filters, in the mean."""

_PER_LINE = 16
"""The numbers in a line."""

MOST_COST = 0.9
"""The part of its cost that a convolution may have left to be worth it: estimates err."""

_LEAST_CHANNELS = 16
"""The channels and filters of which registers are full."""

_CHANNELS_LAST = 4
"""The position of the channels of points."""

_SPATIAL = 2
"""The dimensions of images after their channels: rows and columns."""


def in_fewer_multiplications(graph: Graph, most: int) -> Graph:
    """The graph with convolutions by tiles of at most `most` rows, where that is cheaper.

    With 0, or for graphs whose images are stored in rows (see `channels_last`), there are none.
    """
    sizes = [tile for tile in TRANSFORMS if tile <= most]
    if not sizes or any(map(is_better_in_rows, graph.nodes)):
        return graph
    rule = partial(convolution_by_tiles, sizes=tuple(sizes))
    return rewritten(graph, {Conv: (rule,), Map: (map_before_crop,)})


def convolution_by_tiles(node: Node, sizes: tuple[int, ...]) -> Node | None:
    """conv(x, w) -> output(dot(input(pad(x)), points of w)), by tiles of the best of the sizes."""
    conv, (x, filters) = node.operator, node.inputs
    assert isinstance(conv, Conv)
    simple = {*conv.strides, *conv.dilations, conv.groups} == {1}
    if not simple or filters.shape[2:] != (TAPS, TAPS) or node.dtype != np.float32:
        return None
    if not isinstance(filters.operator, Constant) or {x.dtype, filters.dtype} != {node.dtype}:
        return None
    if any(count % _LEAST_CHANNELS for count in filters.shape[:2]):
        return None
    tile = min(sizes, key=lambda size: cycles(node, size))
    if cycles(node, tile) > MOST_COST * cycles(node):
        return None
    return _by_tiles(node, tile)


def cycles(node: Node, tile: int = 0) -> float:
    """About how many cycles a convolution takes by tiles of so many rows, or with 0 by itself."""
    batch, filters, rows, columns = node.shape
    channels = node.inputs[1].shape[1]
    weights, count = channels * filters, TAPS**2
    if not tile:
        multiplied = batch * rows * columns * count * weights
        return multiplied / MULTIPLY_ADDS + LINE * count * weights / _PER_LINE
    tiles, count = batch * -(-rows // tile) * -(-columns // tile), points(tile)
    numbers = count * (weights + 2 * tiles * (channels + filters))
    if rows % tile or columns % tile:  # what reaches over the image is left out by a copy
        numbers += 2 * batch * filters * rows * columns
    return count * tiles * weights / MULTIPLY_ADDS + LINE * numbers / _PER_LINE


def map_before_crop(node: Node) -> Node | None:
    """f(tiles[:, :, :7, :7], constants) -> f(tiles, constants)[:, :, :7, :7].

    So f is computed with the tiles. The constants are the same for all pixels.
    """
    varying = [x for x in node.inputs if not isinstance(x.operator, Constant)]
    constants = [x for x in node.inputs if isinstance(x.operator, Constant)]
    cropped = varying[0] if len(varying) == 1 else None
    if cropped is None or cropped.shape != node.shape or not _is_crop(cropped):
        return None
    if any(n > 1 for x in constants for n in x.shape[-_SPATIAL:]):
        return None
    (whole,) = cropped.inputs
    inputs = [whole if x is cropped else x for x in node.inputs]
    return apply(cropped.operator, apply(node.operator, *inputs))


def _is_crop(node: Node) -> bool:
    """Whether a node is all but the last rows or columns of tiles, or of functions of them."""
    if not isinstance(node.operator, Slice):
        return False
    (source,) = node.inputs
    if node.operator != Slice((0,) * source.type.rank, node.shape, (1,) * source.type.rank):
        return False
    if source.shape[:-_SPATIAL] != node.shape[:-_SPATIAL]:
        return False
    while isinstance(source.operator, Map):
        varying = [x for x in source.inputs if not isinstance(x.operator, Constant)]
        if len(varying) != 1:
            return False
        (source,) = varying
    if not isinstance(source.operator, PrimitiveOperator):
        return False
    operation = source.operator.operation
    return any(not axis.plain for axis in operation.axes[operation.output])


def _by_tiles(node: Node, tile: int) -> Node:
    """A convolution by tiles of so many rows; those at the ends may reach over the image."""
    conv, (x, filters) = node.operator, node.inputs
    assert isinstance(conv, Conv)
    assert isinstance(filters.operator, Constant)
    batch, count, *size = node.shape
    tiles = [-(-n // tile) for n in size]
    after = [
        tile * n + TAPS - 1 - before - pixels
        for n, before, pixels in zip(tiles, conv.before, x.shape[2:], strict=True)
    ]
    if any((*conv.before, *after)):
        pad = Pad((0, 0, *conv.before), (0, 0, *after))
        wider = padded(apply(pad, x, constant(0.0, x.dtype)))
        assert wider is not None
        x = wider
    square = [tile + TAPS - 1] * 2
    channels, number = x.shape[1], points(tile)
    turned = _turned(
        winograd_input(tile), (batch, channels, *tiles, *square, number),
        (number, batch, *tiles, channels), x,
    )  # fmt: skip
    with np.errstate(over="ignore"):
        weights = apply(Constant(winograd_filters(filters.operator.array, tile)))
    product = apply(Dot(((0, 0),), ((_CHANNELS_LAST, 1),)), turned, weights)
    whole = (batch, count, *(tile * n for n in tiles))
    result = _turned(
        winograd_output(tile), (batch, count, *tiles, tile, tile, number), whole, product
    )
    stops = (batch, count, *size)
    return result if stops == whole else apply(Slice((0,) * 4, stops, (1,) * 4), result)


def _turned(operation: Operation, sizes: tuple[int, ...], shape: tuple[int, ...], x: Node) -> Node:
    return apply(PrimitiveOperator(operation, sizes, TensorType(shape, x.dtype)), x)
