"""Convolutions by 3x3 filters in fewer multiplications, where that is expected to be faster.

See `ir.primitives.winograd` for the algorithm. The points of an image and of its products are
written to memory and read again, which costs more than is saved where there are few channels, and
less if an image is cut into stripes whose points stay in the cache (see `tiling`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate

import numpy as np

from morello.graph.graph import Graph, Node, Operator, TensorType, apply
from morello.graph.operators import (
    Concat,
    Constant,
    Conv,
    Dot,
    Map,
    Pad,
    PrimitiveOperator,
    Slice,
    Where,
)
from morello.graph.patterns.expansion import padded
from morello.graph.patterns.matching import Rule, below_maps, constant, joined, sliced, varying
from morello.graph.patterns.padding import is_better_in_rows
from morello.graph.patterns.tiling import Tiling, cycles, tilings
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
from morello.targets.target import Target

MOST_COST = 0.8
"""The most of a convolution's cost that may be left, as a fraction: estimates err."""

_LEAST_CHANNELS = 16
"""The fewest channels and filters: of fewer, most of a register would be empty."""

_CHANNELS_LAST = 4
"""The position of the channels of points."""

_SPATIAL = 2
"""The dimensions of images after their channels: rows and columns."""

_IMAGE = 2 + _SPATIAL
"""The dimensions of images."""

_ROWS = 2
"""The dimension of the rows of images."""

_JOINED = (Concat(0), Concat(_ROWS))
"""The operators that join stripes: of several images, and of one."""


def in_fewer_multiplications(graph: Graph, most: int, machine: Target) -> Graph:
    """The graph with convolutions by tiles of at most `most` rows, where that is cheaper.

    With 0, or for graphs whose images are stored in rows (see `channels_last`), there are none.
    """
    sizes = [tile for tile in TRANSFORMS if tile <= most]
    if not sizes or any(map(is_better_in_rows, graph.nodes)):
        return graph
    rule = partial(convolution_by_tiles, sizes=tuple(sizes), machine=machine)
    rules: Mapping[type[Operator], Sequence[Rule]] = {
        Conv: (rule,),
        Map: (map_before_crop, map_of_stripes),
        Where: (map_of_stripes,),
    }
    return rewritten(graph, rules)


def convolution_by_tiles(node: Node, sizes: tuple[int, ...], machine: Target) -> Node | None:
    """conv(x, w) -> output(dot(input(pad(x)), points of w)), by tiles of the best of the sizes.

    Of an image in stripes, these are joined.
    """
    tiling = best_tiling(node, sizes, machine) if node.type.rank == _IMAGE else None
    return None if tiling is None else _by_tiles(node, tiling)


def best_tiling(node: Node, sizes: tuple[int, ...], machine: Target) -> Tiling | None:
    """The cheapest way to do a convolution of images or volumes by tiles of one of these sizes.

    None if it is cheaper by itself, or cannot be done so.
    """
    if not is_simple(node) or node.inputs[1].shape[-_SPATIAL:] != (TAPS, TAPS):
        return None
    known = [each for size in sizes for each in tilings(node, size, machine)]
    tiling = min(known, key=lambda each: cycles(node, machine, each))
    saves = cycles(node, machine, tiling) <= MOST_COST * cycles(node, machine)
    return tiling if saves else None


def is_simple(node: Node) -> bool:
    """Whether a convolution has constant filters, all neighbours, and enough channels of f32."""
    conv, (x, filters) = node.operator, node.inputs
    assert isinstance(conv, Conv)
    if {*conv.strides, *conv.dilations, conv.groups} != {1} or node.dtype != np.float32:
        return False
    if not isinstance(filters.operator, Constant) or {x.dtype, filters.dtype} != {node.dtype}:
        return False
    return min(filters.shape[:2]) >= _LEAST_CHANNELS and node.type.size > 0


def map_before_crop(node: Node) -> Node | None:
    """f(tiles[:, :, :7, :7], constants) -> f(tiles, constants)[:, :, :7, :7].

    So f is computed with the tiles. The constants are the same for all pixels.
    """
    inputs = varying(node)
    constants = [x for x in node.inputs if isinstance(x.operator, Constant)]
    cropped = inputs[0] if len(inputs) == 1 else None
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
    below = below_maps(source)
    return below is not None and _makes_tiles(below)


def _makes_tiles(node: Node) -> bool:
    """Whether the rows and columns of a node's result are those of tiles."""
    if not isinstance(node.operator, PrimitiveOperator):
        return False
    operation = node.operator.operation
    return any(not axis.plain for axis in operation.axes[operation.output])


def map_of_stripes(node: Node) -> Node | None:
    """f(concat(stripes), x) -> concat(f(stripe, rows of x), ...): f is computed with the tiles.

    Not if x depends on all stripes, as the mean of a norm does: f comes after these then.
    """
    of_stripes = [x for x in node.inputs if x.shape == node.shape and _is_of_stripes(x)]
    last = (x for x in of_stripes if not any(_depends(y, x) for y in node.inputs if y is not x))
    joined = next(last, None)
    if joined is None:
        return None
    assert isinstance(joined.operator, Concat)
    sizes = [stripe.shape[joined.operator.axis] for stripe in joined.inputs]
    firsts = accumulate(sizes[:-1], initial=0)
    stripes = [
        apply(node.operator, *(_stripe(x, joined, n, first) for x in node.inputs))
        for n, first in enumerate(firsts)
    ]
    return apply(joined.operator, *stripes)


def _depends(x: Node, on: Node) -> bool:
    """Whether a node is computed from another one."""
    seen: set[Node] = set()
    todo = [x]
    while todo:
        each = todo.pop()
        if each is on:
            return True
        if each not in seen:
            seen.add(each)
            todo += each.inputs
    return False


def _stripe(x: Node, joined: Node, number: int, first: int) -> Node:
    """The rows of an operand that a map reads for one stripe of its result; `first` is the first.

    It is the whole operand if that is broadcast along rows, or images.
    """
    stripes = joined.inputs
    if x.operator == joined.operator and [y.shape for y in x.inputs] == [y.shape for y in stripes]:
        return x.inputs[number]
    assert isinstance(joined.operator, Concat)
    axis = joined.operator.axis - joined.type.rank
    if x.shape[axis : axis + 1 or None] in {(), (1,)}:  # the same for all
        return x
    return sliced(x, axis, first, first + stripes[number].shape[axis])


def _is_of_stripes(node: Node) -> bool:
    """Whether a node joins stripes of tiles, or functions of them."""
    seen: set[Node] = set()
    todo = [*node.inputs[:1]] if node.operator in _JOINED else []
    while todo:
        each = todo.pop()
        if _makes_tiles(each):
            return True
        known = isinstance(each.operator, Map | Slice | Where) or each.operator in _JOINED
        if known and each not in seen:
            seen.add(each)
            todo += each.inputs
    return False


def _by_tiles(node: Node, tiling: Tiling) -> Node:
    """A convolution of images by tiles."""
    conv, (x, filters) = node.operator, node.inputs
    assert isinstance(conv, Conv)
    assert isinstance(filters.operator, Constant)
    weights = apply(Constant(winograd_filters(filters.operator.array, tiling.tile)))

    def product(turned: Node) -> Node:
        return apply(Dot(((0, 0),), ((_CHANNELS_LAST, 1),)), turned, weights)

    return in_stripes(x, conv.before, node.shape[_SPATIAL:], tiling, product)


def in_stripes(
    x: Node,
    before: tuple[int, ...],
    size: tuple[int, ...],
    tiling: Tiling,
    product: Callable[[Node], Node],
) -> Node:
    """Images of this size of squares of the images x, stripe by stripe; those at the ends may reach
    over the image.

    There are so many rows and columns of padding before x. The points [t, b, y, x, c] of its
    squares become those of tiles by the `product`.
    """
    tile = tiling.tile
    rows, columns = (-(-n // tile) for n in size)
    after = [
        tile * n + TAPS - 1 - low - pixels
        for n, low, pixels in zip((rows, columns), before, x.shape[2:], strict=True)
    ]
    if any((*before, *after)):
        pad = Pad((0, 0, *before), (0, 0, *after))
        wider = padded(apply(pad, x, constant(0.0, x.dtype)))
        assert wider is not None
        x = wider
    step = tiling.images
    if x.shape[0] > step:
        parts = [sliced(x, 0, n, n + step) for n in range(0, x.shape[0], step)]
        return joined([_in_stripes(each, size, tiling, product) for each in parts], 0)
    return _in_stripes(x, size, tiling, product)


def _in_stripes(
    x: Node, size: tuple[int, ...], tiling: Tiling, product: Callable[[Node], Node]
) -> Node:
    """`in_stripes` of images with all padding, in stripes of all of these."""
    tile = tiling.tile
    rows, columns = (-(-n // tile) for n in size)
    stripes = []
    for first in range(0, rows, tiling.rows):
        count, start = min(tiling.rows, rows - first), tile * first
        read = x if count == rows else sliced(x, _ROWS, start, start + tile * count + TAPS - 1)
        tiles = _tiles(read, product, tile, (count, columns))
        stops = (*tiles.shape[:2], min(size[0] - tile * first, tile * count), size[1])
        crop = Slice((0,) * len(stops), stops, (1,) * len(stops))
        stripes.append(tiles if stops == tiles.shape else apply(crop, tiles))
    return joined(stripes, _ROWS)


def _tiles(x: Node, product: Callable[[Node], Node], tile: int, tiles: tuple[int, int]) -> Node:
    """The tiles of an image that so many rows and columns of squares cover."""
    batch, channels = x.shape[:2]
    number, square = points(tile), [tile + TAPS - 1] * 2
    turned = _turned(
        winograd_input(tile), (batch, channels, *tiles, *square, number),
        (number, batch, *tiles, channels), x,
    )  # fmt: skip
    products = product(turned)
    batch, count = products.shape[1], products.shape[-1]
    return _turned(
        winograd_output(tile), (batch, count, *tiles, tile, tile, number),
        (batch, count, *(tile * n for n in tiles)), products,
    )  # fmt: skip


def _turned(operation: Operation, sizes: tuple[int, ...], shape: tuple[int, ...], x: Node) -> Node:
    return apply(PrimitiveOperator(operation, sizes, TensorType(shape, x.dtype)), x)
