"""Norms of groups of channels, for all importers."""

from __future__ import annotations

from math import prod

import numpy as np

from morello.graph.graph import Node, apply
from morello.graph.operators import LayerNorm, Reduce
from morello.graph.patterns.matching import (
    constant,
    in_dtype,
    in_shape,
    mapped,
    reshaped,
    widened,
)

FEW_PIXELS = 16
"""The most pixels of images whose groups are rows of a layer norm: there is little to reduce."""


def norm_of_groups(
    x: Node, groups: int, scale: Node | None, shift: Node | None, epsilon: float
) -> Node:
    """Images [b, c, ...] with a mean of 0 and a variance of 1 in each group of channels, times the
    scale, plus the shift: vectors with a number for each channel, or for each group.

    Numbers narrower than f32 are widened on the way.
    """
    wide = widened(x)
    scale, shift = (
        each and in_dtype(reshaped(each, (groups, each.type.size // groups)), wide.dtype)
        for each in (scale, shift)
    )
    normed = _by_rows if prod(x.shape[2:]) <= FEW_PIXELS else _by_channels
    return in_dtype(normed(wide, groups, scale, shift, epsilon), x.dtype)


def _by_rows(x: Node, groups: int, scale: Node | None, shift: Node | None, epsilon: float) -> Node:
    count, size = x.shape[0], prod(x.shape[1:]) // groups
    ones, zeros = (constant(np.broadcast_to(float(n), size), x.dtype) for n in (1, 0))
    rows = apply(LayerNorm(epsilon), reshaped(x, (count * groups, size)), ones, zeros)
    channels = x.shape[1] // groups
    result = reshaped(rows, (count, groups, channels, size // channels))
    for name, vector in (("multiply", scale), ("add", shift)):
        if vector is not None:
            result = mapped(name, result, reshaped(vector, (*vector.shape, 1)))
    return reshaped(result, x.shape)


def _by_channels(
    x: Node, groups: int, scale: Node | None, shift: Node | None, epsilon: float
) -> Node:
    """A norm as a factor and a term for each channel, made of the channels' means and variances.

    So images are read pixel by pixel, in the order in which they are stored.
    """
    count, channels = x.shape[:2]
    by_group = count, groups, channels // groups
    of_pixels = Reduce("mean", (*range(2, x.type.rank),), keepdims=True)
    means = apply(of_pixels, x)
    spreads = apply(of_pixels, mapped("square", mapped("subtract", x, means)))
    mean, variance = (reshaped(each, by_group) for each in (means, spreads))
    if channels > groups:
        of_channels = Reduce("mean", (2,), keepdims=True)
        own, mean = mean, apply(of_channels, mean)
        between = mapped("square", mapped("subtract", own, mean))
        variance = apply(of_channels, mapped("add", variance, between))
    factor = mapped("rsqrt", mapped("add", variance, constant(epsilon, x.dtype)))
    if scale is not None:
        factor = mapped("multiply", factor, scale)
    term = mapped("multiply", mean, factor)
    term = mapped("neg", term) if shift is None else mapped("subtract", shift, term)
    factor, term = (
        reshaped(in_shape(each, by_group), (count, channels, *(1,) * (x.type.rank - 2)))
        for each in (factor, term)
    )
    return mapped("add", mapped("multiply", x, factor), term)
