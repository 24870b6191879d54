"""Convolutions of signals in fewer multiplications, where that is cheaper.

See `ir.primitives.winograd` for the algorithm. Tiles of m results are made of windows of
n = m + taps - 1 elements. A window is turned into points by a matrix, each point of all channels is
multiplied by a matrix of filters, and points are turned into a tile by another matrix. Along one
dimension these turns are small beside the product by the filters, so that they are products, too.

Filters of more taps than tiles have points for are sums of shorter ones, whose tiles are added by
the last matrix: 5 taps are 3 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise
from math import ceil

import numpy as np

from morello.graph.graph import Array, Graph, Node, apply
from morello.graph.operators import Constant, Conv, Dot, Pad, Transpose
from morello.graph.patterns.expansion import padded
from morello.graph.patterns.matching import constant, joined, reshaped, sliced, transposed
from morello.graph.patterns.tiling import signal_cycles
from morello.graph.patterns.winograd import MOST_COST, is_simple
from morello.graph.rewriting import rewritten
from morello.ir.primitives.winograd import Transforms, filter_points, toom_cook
from morello.targets.target import Target

_RANK = 3
"""The dimensions of signals: their number, channels and length."""

_MOST_TAPS = {2: 3, 4: 5}
"""The most taps of a part of a filter by the results of a tile.

With 2, the error is about that of a direct convolution, or less: of signals, the matrices add.
"""

_MOST_PARTS = 4
"""The most parts of a filter: matrices of more would be mostly zeros."""


def signals_in_fewer_multiplications(graph: Graph, most: int, machine: Target) -> Graph:
    """The graph with convolutions of signals by tiles of at most `most` results, where cheaper."""
    sizes = tuple(tile for tile in _MOST_TAPS if tile <= most)
    return rewritten(graph, {Conv: (partial(signal_by_tiles, sizes=sizes, machine=machine),)})


def signal_by_tiles(node: Node, sizes: tuple[int, ...], machine: Target) -> Node | None:
    """conv(x, w) -> tiles(dot(points of x, points of w)), by tiles of the best of the sizes."""
    if node.type.rank != _RANK or not is_simple(node):
        return None
    taps = node.inputs[1].shape[-1]
    known = [tile for tile in sizes if 1 < taps <= _MOST_PARTS * _MOST_TAPS[tile]]
    if not known:
        return None
    several = [transforms(tile, taps) for tile in known]
    chosen = min(several, key=lambda turns: signal_cycles(node, machine, turns))
    saves = signal_cycles(node, machine, chosen) <= MOST_COST * signal_cycles(node, machine)
    return _by_tiles(node, chosen) if saves else None


@cache
def transforms(tile: int, taps: int) -> Transforms:
    """The matrices for tiles of so many results, of filters in as few parts as can be."""
    parts = ceil(taps / _MOST_TAPS[tile])
    bounds = [taps * n // parts for n in range(parts + 1)]
    each = [toom_cook(tile, high - low) for low, high in pairwise(bounds)]
    return Transforms(
        _placed([part.input for part in each], bounds, tile + taps - 1),
        _placed([part.filters for part in each], bounds, taps),
        np.concatenate([part.out for part in each], axis=1),
    )


def _placed(parts: Sequence[Array], firsts: Sequence[int], columns: int) -> Array:
    """The rows of all parts, each with its columns from its first one on, and zeros elsewhere."""
    rows = []
    for part, first in zip(parts, firsts, strict=False):
        rows.append(np.zeros((len(part), columns)))
        rows[-1][:, first : first + part.shape[1]] = part
    return np.concatenate(rows)


def _by_tiles(node: Node, turns: Transforms) -> Node:
    conv, (x, filters) = node.operator, node.inputs
    assert isinstance(conv, Conv)
    assert isinstance(filters.operator, Constant)
    (batch, count, length), tile = node.shape, len(turns.out)
    weights = apply(Constant(filter_points(filters.operator.array, turns.filters)))
    tiles = ceil(length / tile)
    windows = _windows(x, conv.before[0], turns.input.shape[1], tile, tiles)
    products = apply(Dot(((0, 0),), ((3, 1),)), _product(turns.input, windows), weights)
    # [m, b, y, f] -> [b, y, m, f]
    results = transposed(_product(turns.out, products), (1, 2, 0, 3))
    whole = reshaped(results, (batch, tiles * tile, count))
    return transposed(_range(whole, 1, 0, length), (0, 2, 1))


def _product(matrix: Array, x: Node) -> Node:
    """The product of a matrix and the first dimension of x."""
    return apply(Dot((), ((1, 0),)), apply(Constant(matrix.astype(x.dtype))), x)


def _windows(x: Node, before: int, size: int, tile: int, tiles: int) -> Node:
    """The windows [q, b, y, c] of signals [b, c, n] with zeros before and after these.

    Signals whose channels lie apart have a zero more: so they are transposed by one copy, and not
    by that of each piece of all windows.
    """
    batch, channels, length = x.shape
    blocks = tiles - 1 + ceil(size / tile)
    apart = not isinstance(x.operator, Transpose)
    after = max(tile * blocks - before - length, int(apart))
    wide = transposed(x, (0, 2, 1))
    if before or after:
        pad = Pad((0, before, 0), (0, after, 0))
        wider = padded(apply(pad, wide, constant(0.0, x.dtype)))
        assert wider is not None
        wide = wider
    whole = _range(wide, 1, 0, tile * blocks)
    rows = transposed(reshaped(whole, (batch, blocks, tile, channels)), (2, 0, 1, 3))
    pieces = [
        _range(_range(rows, 2, first, first + tiles), 0, 0, min(size - first * tile, tile))
        for first in range(blocks - tiles + 1)
    ]
    return joined(pieces, 0)


def _range(x: Node, axis: int, start: int, stop: int) -> Node:
    """The elements of x in a range along an axis; x itself if these are all."""
    return x if (start, stop) == (0, x.shape[axis]) else sliced(x, axis, start, stop)
