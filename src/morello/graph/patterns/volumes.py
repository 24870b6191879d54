"""Convolutions and poolings of volumes as those of images, for which there are kernels.

A volume is as many images as it has layers (see `layers`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, TypeVar

import numpy as np

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import Constant, Conv, Map, Pooling, Reshape
from morello.graph.patterns.layers import RULES as LAYERS
from morello.graph.patterns.layers import layers_between_zeros, layers_of, volume_of
from morello.graph.patterns.matching import Rule, joined, reshaped, sliced, transposed

Windows = TypeVar("Windows", Conv, Pooling)

_PLAIN = {"window": 1, "strides": 1, "before": 0, "after": 0, "dilations": 1}
"""The attributes with a number for each axis, and their numbers for windows of one element."""


def layered_convolution(node: Node) -> Node | None:
    """conv(x [b, c, d, h, w]) -> conv(images, one for each depth of the result).

    The channels of an image are those of all layers that one depth of the result reads. Filters of
    one place in each layer slide along the depth of a single image instead, whose rows are layers.
    """
    conv = node.operator
    assert isinstance(conv, Conv)
    if len(conv.strides) != 3 or not node.type.size:
        return None
    volume, filters = node.inputs
    count, channels, taps, *window = filters.shape
    batch, _, depth, *_ = node.shape
    across = _part(conv, slice(1, 3))
    alone = prod(window) == max(across.strides) == 1
    if alone and not any((*across.before, *across.after)):
        rows = reshaped(volume, (*volume.shape[:3], prod(volume.shape[3:])))
        columns = reshaped(filters, (*filters.shape[:3], 1))
        return reshaped(apply(_along_depth(conv), rows, columns), node.shape)
    images = layers_between_zeros(volume, conv.before[0], conv.after[0])
    read = [_read(images, batch, conv, tap, depth) for tap in range(taps)]
    if conv.groups == 1:  # the channels of a layer stay together
        beside = joined(read, 1)
        filters = _turned(filters, (0, 2, 1, 3, 4))
    else:
        beside = _interleaved(read)
    flat = _in_shape(filters, (count, channels * taps, *window))
    return volume_of(apply(across, beside, flat), batch)


def map_of_layers(node: Node) -> Node | None:
    """f(reshape(image), constants) -> reshape(f(image, constants)), if layers are the image's rows.

    So f is computed with the convolution that makes the image.
    """
    if node.type.rank != 5:
        return None
    inputs = [_in_rows(x, node.shape) for x in node.inputs]
    known = [x for x in inputs if x is not None]
    if len(known) < len(inputs) or not any(isinstance(x.operator, Conv | Map) for x in known):
        return None
    return reshaped(apply(node.operator, *known), node.shape)


def _in_rows(x: Node, shape: tuple[int, ...]) -> Node | None:
    """An operand of a function of a volume of this shape, as one of the image with layers as rows.

    It is that image, of which the volume is a view, or a constant that is the same for all of a
    layer. None for anything else.
    """
    if isinstance(x.operator, Constant) and all(n == 1 for n in x.shape[-2:]):
        return x if x.type.rank <= 2 else reshaped(x, x.shape[:-1])
    if x.shape != shape or not isinstance(x.operator, Reshape):
        return None
    (image,) = x.inputs
    return image if image.shape == (*shape[:3], prod(shape[3:])) else None


def _read(images: Node, batch: int, conv: Conv, tap: int, depth: int) -> Node:
    """The images that one tap along the depth reads, one for each layer of the result."""
    first, step = tap * conv.dilations[0], conv.strides[0]
    last = first + (depth - 1) * step + 1
    if batch == 1:
        return sliced(images, 0, first, last, step)
    apart = reshaped(images, (batch, images.shape[0] // batch, *images.shape[1:]))
    return reshaped(sliced(apart, 1, first, last, step), (batch * depth, *images.shape[1:]))


def _interleaved(images: Sequence[Node]) -> Node:
    """Images as one with the channels of all: the first ones, then the second ones, ..."""
    count, channels, *size = images[0].shape
    apart = [reshaped(each, (count, channels, 1, *size)) for each in images]
    return reshaped(joined(apart, 2), (count, channels * len(images), *size))


def _turned(filters: Node, order: tuple[int, ...]) -> Node:
    """Filters with their dimensions in another order; constants stay constants."""
    known = filters.operator
    if isinstance(known, Constant):
        return apply(Constant(np.ascontiguousarray(known.array.transpose(order))))
    return transposed(filters, order)


def _in_shape(filters: Node, shape: tuple[int, ...]) -> Node:
    """Filters in another shape; constants stay constants."""
    known = filters.operator
    if isinstance(known, Constant):
        return apply(Constant(known.array.reshape(shape)))
    return reshaped(filters, shape)


def pooled_layers(node: Node) -> Node | None:
    """pooling(x [b, c, d, h, w]) -> pooling(pooling(layers), along the depth)."""
    pooling = node.operator
    assert isinstance(pooling, Pooling)
    if len(pooling.window) != 3 or not node.type.size:
        return None
    (volume,) = node.inputs
    batch, channels, depth, *_ = volume.shape
    layers = volume_of(apply(_part(pooling, slice(1, 3)), layers_of(volume)), batch)
    columns = reshaped(layers, (batch, channels, depth, prod(layers.shape[3:])))
    return reshaped(apply(_along_depth(pooling), columns), node.shape)


def _part(windowed: Windows, axes: slice) -> Windows:
    """A convolution or a pooling along some of its axes."""
    sides = {name: side[axes] for name, side in vars(windowed).items() if name in _PLAIN}
    return replace(windowed, **sides)


def _along_depth(windowed: Windows) -> Windows:
    """A convolution or a pooling along its first axis, of images with the depth as their height."""
    sides: dict[str, Any] = {
        name: (side[0], _PLAIN[name]) for name, side in vars(windowed).items() if name in _PLAIN
    }
    return replace(windowed, **sides)


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    **LAYERS,
    Conv: (layered_convolution,),
    Map: (map_of_layers, *LAYERS[Map]),
    Pooling: (pooled_layers,),
}
"""The rules for volumes, by the class of the operators that they are for."""
