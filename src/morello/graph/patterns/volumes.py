"""Convolutions and poolings of volumes as those of images, for which there are kernels."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, TypeVar

from morello.graph.graph import Node, apply
from morello.graph.operators import (
    Constant,
    Conv,
    Map,
    Pad,
    Pooling,
    Reshape,
    Slice,
)
from morello.graph.patterns.matching import constant, joined, reshaped, transposed

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
    if len(conv.strides) != 3:
        return None
    volume, filters = node.inputs
    count, channels, taps, *window = filters.shape
    batch, _, depth, *size = node.shape
    across = _part(conv, slice(1, 3))
    alone = prod(window) == max(across.strides) == 1
    if alone and not any((*across.before, *across.after)):
        rows = reshaped(volume, (*volume.shape[:3], prod(volume.shape[3:])))
        columns = reshaped(filters, (*filters.shape[:3], 1))
        return reshaped(apply(_along_depth(conv), rows, columns), node.shape)
    low, high = conv.before[0], conv.after[0]
    if low or high:
        widths = ((0, 0, side, 0, 0) for side in (low, high))
        volume = apply(Pad(*widths), volume, constant(0, volume.dtype))
    layers = [_layers(volume, conv, tap, depth) for tap in range(taps)]
    read = joined(layers, 3)
    images = reshaped(read, (batch * depth, volume.shape[1] * taps, *volume.shape[3:]))
    flat = reshaped(filters, (count, channels * taps, *window))
    result = apply(across, images, flat)
    return transposed(reshaped(result, (batch, depth, count, *size)), (0, 2, 1, 3, 4))


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


def _layers(volume: Node, conv: Conv, tap: int, depth: int) -> Node:
    """The slices of the volume that one tap along the depth reads, [b, d, c, 1, h, w].

    `d` is the depth in the result.
    """
    batch, channels, _, *size = volume.shape
    first = tap * conv.dilations[0]
    step = conv.strides[0]
    starts, steps = (0, 0, first, 0, 0), (1, 1, step, 1, 1)
    stops = (batch, channels, first + (depth - 1) * step + 1, *size)
    part = apply(Slice(starts, stops, steps), volume)
    return reshaped(transposed(part, (0, 2, 1, 3, 4)), (batch, depth, channels, 1, *size))


def pooled_layers(node: Node) -> Node | None:
    """pooling(x [b, c, d, h, w]) -> pooling(pooling(layers), along the depth)."""
    pooling = node.operator
    assert isinstance(pooling, Pooling)
    if len(pooling.window) != 3:
        return None
    (volume,) = node.inputs
    batch, channels, depth, *size = volume.shape
    within = _part(pooling, slice(1, 3))
    images = apply(within, reshaped(volume, (batch, channels * depth, *size)))
    columns = reshaped(images, (batch, channels, depth, prod(images.shape[2:])))
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
