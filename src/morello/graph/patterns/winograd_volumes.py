"""Convolutions of volumes by filters with 3x3 pixels in a layer, in fewer multiplications.

The images of all layers become points once (see `winograd`). Each point of all tiles is a sequence
along the layers, and is convolved with the same point of the filters. So a product has the terms of
all layers that it needs, none of which is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from morello.graph.graph import Array, Graph, Node, Operator, apply
from morello.graph.operators import Constant, Conv, Pad
from morello.graph.patterns.layers import VOLUME, layers_of, volume_of
from morello.graph.patterns.matching import (
    Rule,
    constant,
    joined,
    reshaped,
    selected,
    sliced,
    transposed,
)
from morello.graph.patterns.padding import is_better_in_rows
from morello.graph.patterns.tiling import Tiling
from morello.graph.patterns.volumes import RULES
from morello.graph.patterns.winograd import best_tiling, in_stripes
from morello.graph.rewriting import rewritten
from morello.ir.primitives.winograd import TRANSFORMS, winograd_filters
from morello.targets.target import Target


def volumes_in_fewer_multiplications(graph: Graph, most: int, machine: Target) -> Graph:
    """The graph with convolutions of volumes by tiles of at most `most` rows, where cheaper.

    With 0, or for graphs whose images are stored in rows (see `channels_last`), there are none.
    """
    sizes = tuple(tile for tile in TRANSFORMS if tile <= most)
    volumes = any(isinstance(n.operator, Conv) and n.type.rank == VOLUME for n in graph.nodes)
    if not sizes or not volumes or any(map(is_better_in_rows, graph.nodes)):
        return graph
    rule = partial(volume_by_tiles, sizes=sizes, machine=machine)
    rules: Mapping[type[Operator], Sequence[Rule]] = {**RULES, Conv: (rule, *RULES[Conv])}
    return rewritten(graph, rules)


def volume_by_tiles(node: Node, sizes: tuple[int, ...], machine: Target) -> Node | None:
    """conv(x, w) of volumes -> output(conv(input(layers of x), points of w) along the layers)."""
    if node.type.rank != VOLUME or node.inputs[1].shape[2] == 1:  # one layer is an image
        return None
    tiling = best_tiling(node, sizes, machine)
    if tiling is None:
        return None
    x = node.inputs[0]
    several = [sliced(x, 0, n, n + 1) for n in range(x.shape[0])] if x.shape[0] > 1 else [x]
    return joined([_by_tiles(node, each, tiling) for each in several], 0)


def _by_tiles(node: Node, x: Node, tiling: Tiling) -> Node:
    """A convolution of a single volume by tiles."""
    conv, filters = node.operator, node.inputs[1].operator
    assert isinstance(conv, Conv)
    assert isinstance(filters, Constant)
    weights = _filters(filters.array, tiling.tile)
    low, high = conv.before[0], conv.after[0]

    def product(turned: Node) -> Node:
        # [t, d, y, x, c] -> [t, y, x, d, c]
        sequences = transposed(turned, (0, 2, 3, 1, 4))
        if low or high:
            pad = Pad((0, 0, 0, low, 0), (0, 0, 0, high, 0))
            sequences = apply(pad, sequences, constant(0.0, x.dtype))
        points = [_along(selected(sequences, 0, n), w) for n, w in enumerate(weights)]
        return transposed(joined(points, 0), (0, 3, 1, 2, 4))

    layers = layers_of(x)
    whole = replace(tiling, images=layers.shape[0])
    images = in_stripes(layers, conv.before[1:], node.shape[-2:], whole, product)
    return volume_of(images, 1)


def _filters(array: Array, tile: int) -> list[Node]:
    """The filters [f, c, d] of each point along the layers, of filters [f, c, d, p, q]."""
    count, channels, layers, *taps = array.shape
    flat = array.reshape(count, channels * layers, *taps)
    turned = winograd_filters(flat, tile).reshape(-1, channels, layers, count)
    return [apply(Constant(np.ascontiguousarray(each.transpose(2, 0, 1)))) for each in turned]


def _along(sequences: Node, filters: Node) -> Node:
    """Sequences [y, x, d, c] convolved along the layers, [1, y, x, d, f]."""
    *tiles, layers, channels = sequences.shape
    signals = transposed(reshaped(sequences, (prod(tiles), layers, channels)), (0, 2, 1))
    plain = Conv(strides=(1,), before=(0,), after=(0,), dilations=(1,))
    result = transposed(apply(plain, signals, filters), (0, 2, 1))
    return reshaped(result, (1, *tiles, *result.shape[1:]))
