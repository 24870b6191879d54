"""Volumes as images, one for each layer: images lie by pixels, with their channels last.

What is computed of a volume that was made of such images is computed of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import (
    Cast,
    Concat,
    Map,
    Pad,
    Reduce,
    Reshape,
    Transpose,
    Where,
)
from morello.graph.patterns.matching import Rule, constant, reshaped, transposed

VOLUME = 5
"""The dimensions of volumes: their number, channels, layers, rows and columns."""

_SWAPPED = (0, 2, 1, 3, 4)
"""The order of dimensions in which layers come before channels, and that which undoes it."""

_AXES = {1: 1, 2: 0, 3: 2, 4: 3}
"""The dimensions of the images of a single volume, by those of the volume."""


def layers_of(volume: Node) -> Node:
    """The images [b * d, c, h, w] of a volume [b, c, d, h, w]."""
    known = _known_layers(volume)
    if known is not None:
        return known
    batch, channels, depth, *size = volume.shape
    return reshaped(transposed(volume, _SWAPPED), (batch * depth, channels, *size))


def volume_of(images: Node, batch: int) -> Node:
    """The volume [b, c, d, h, w] of images [b * d, c, h, w]."""
    count, channels, *size = images.shape
    return transposed(reshaped(images, (batch, count // batch, channels, *size)), _SWAPPED)


def layers_between_zeros(volume: Node, before: int, after: int) -> Node:
    """The images of a volume with so many layers of zeros before and after its own."""
    images, batch = layers_of(volume), volume.shape[0]
    if not before and not after:
        return images
    zero = constant(0, volume.dtype)
    if batch == 1:
        return apply(Pad((before, 0, 0, 0), (after, 0, 0, 0)), images, zero)
    apart = reshaped(images, (batch, volume.shape[2], *images.shape[1:]))
    wider = apply(Pad((0, before, 0, 0, 0), (0, after, 0, 0, 0)), apart, zero)
    return reshaped(wider, (batch * wider.shape[1], *images.shape[1:]))


def _known_layers(volume: Node) -> Node | None:
    """The images that a volume was made of; None if it was made of none."""
    if volume.operator != Transpose(_SWAPPED):
        return None
    (apart,) = volume.inputs
    batch, depth, *rest = apart.shape
    images = apart.inputs[0] if isinstance(apart.operator, Reshape) else None
    return images if images and images.shape == (batch * depth, *rest) else None


def map_of_volumes(node: Node) -> Node | None:
    """f(volume(images), factors) -> volume(f(images, factors)), with a factor for each channel."""
    if node.type.rank != VOLUME or not any(map(_known_layers, node.inputs)):
        return None
    inputs = [_of_images(x, node.shape) for x in node.inputs]
    known = [x for x in inputs if x is not None]
    if len(known) < len(inputs):
        return None
    return volume_of(apply(node.operator, *known), node.shape[0])


def _of_images(x: Node, shape: tuple[int, ...]) -> Node | None:
    """An operand of a function of volumes of this shape, as one of the function of their images."""
    if x.shape == shape:
        return layers_of(x)
    *outer, depth, rows, columns = (1,) * (VOLUME - x.type.rank) + x.shape
    if depth == rows == columns == outer[0] == 1:
        return reshaped(x, (*outer, 1, 1)) if x.type.rank > 1 else x
    return None


def reduced_volume(node: Node) -> Node | None:
    """reduce(volume(images)) -> reduce(images), of a single volume."""
    reduce, (x,) = node.operator, node.inputs
    assert isinstance(reduce, Reduce)
    images = _known_layers(x)
    if images is None or x.shape[0] != 1 or 2 not in reduce.axes:
        return None
    axes = tuple(sorted(_AXES[axis] for axis in reduce.axes if axis in _AXES))
    return reshaped(apply(replace(reduce, axes=axes), images), node.shape)


def joined_volumes(node: Node) -> Node | None:
    """concat(volume(images), x) -> volume(concat(images, layers of x)), along channels."""
    if node.operator != Concat(1) or not any(map(_known_layers, node.inputs)):
        return None
    return volume_of(apply(node.operator, *map(layers_of, node.inputs)), node.shape[0])


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    Cast: (map_of_volumes,),
    Concat: (joined_volumes,),
    Map: (map_of_volumes,),
    Reduce: (reduced_volume,),
    Where: (map_of_volumes,),
}
"""The rules for what is computed of volumes that were made of images."""
