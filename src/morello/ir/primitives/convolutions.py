"""Convolutions: sums of products over the windows of an image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod

import numpy as np

from morello.ir.operation import Array, Operand, Operation, Primitive, accumulating, operation
from morello.ir.primitives.products import MATMUL, bound_product, einsum
from morello.ir.primitives.windows import (
    PIXELS,
    Windows,
    spatial,
    whole,
    window_options,
    windows_of,
)
from morello.ir.semantics import unfolded
from morello.ir.text import Result, Text, call, oriented

FULL = 16
"""The filters whose sums fill registers of every machine."""

SHARING = 4, 8
"""The channels, and filters, of groups whose sums share a register."""


@cache
def conv(
    windows: tuple[Windows, ...] = (Windows(), Windows()),
    channels_last: bool = False,
    accumulates: bool = False,
) -> Operation:
    """out[b,f,y,x] = sum over c, p, q of image[b, c, sy*y+dp*p, sx*x+dq*q] * filter[f,c,p,q].

    There are windows along rows and columns or, without y and p, along columns only. With
    `channels_last`, the operands are image[b,h,w,c], filter[p,q,c,f] and out[b,y,x,f].
    """
    along = spatial(windows)
    axes = tuple(str(window.axis(dim)) for dim, window in along.items())
    pixels = tuple(PIXELS[dim] for dim in along)
    shapes = (("b", "c", *axes), ("f", "c", *pixels), ("b", "f", *along))
    if channels_last:
        shapes = (("b", *axes, "c"), (*pixels, "c", "f"), ("b", *along, "f"))
    image, weights, out = shapes
    overwriting = operation(
        CONV,
        ("b", "f", "c", *along, *pixels),
        (
            Operand("image", image),
            Operand("filter", weights),
            Operand("out", out, written=True, start="zero"),
        ),
        reduced=("c", *pixels),
        untiled=whole(along),
    )
    return accumulating(overwriting) if accumulates else overwriting


@cache
def grouped_conv(
    channels: int,
    filters: int,
    windows: tuple[Windows, ...] = (Windows(), Windows()),
    channels_last: bool = False,
    accumulates: bool = False,
) -> Operation:
    """A convolution of each group g of so many `channels`, by so many `filters`.

    The image's channels are channels * g + c, and the output's are filters * g + f. A group of a
    single channel or filter has no such sum: of one each, it is a depthwise convolution, of
    image[b,g,y,x] and filter[g,c,p,q] with a c of size 1.
    """
    along = spatial(windows)
    axes = tuple(str(window.axis(dim)) for dim, window in along.items())
    pixels = tuple(PIXELS[dim] for dim in along)
    source = f"{channels}g+c" if channels > 1 else "g"
    result = f"{filters}g+f" if filters > 1 else "g"
    shapes = (("b", source, *axes), (result, "c", *pixels), ("b", result, *along))
    if channels_last:
        shapes = (("b", *axes, source), (*pixels, "c", result), ("b", *along, result))
    image, weights, out = shapes
    own = ("f",) * (filters > 1)
    overwriting = operation(
        DEPTHWISE_CONV if channels == filters == 1 else GROUPED_CONV,
        ("b", "g", *own, "c", *along, *pixels),
        (
            Operand("image", image),
            Operand("filter", weights),
            Operand("out", out, written=True, start="zero"),
        ),
        reduced=("c", *pixels),
        # the channels of a tile have no gaps between them
        untiled=(*own, *(("c",) if channels > 1 else ()), *whole(along)),
    )
    return accumulating(overwriting) if accumulates else overwriting


def _convolutions(like: Operation) -> Iterator[Operation]:
    """The convolutions by the same windows."""
    windows = tuple(windows_of(like).values()) if like.operands else ()
    if windows:
        yield from (conv(windows, channels_last) for channels_last in (False, True))


def _grouped_convolutions(like: Operation) -> Iterator[Operation]:
    """The convolutions of groups of as many channels and filters, by the same windows."""
    windows = tuple(windows_of(like).values()) if like.operands else ()
    if windows and len(like.operands) == 3:
        channels, filters = channels_of(like)
        if channels and filters:
            for last in (False, True):
                yield grouped_conv(channels, filters, windows, last)


def channels_of(grouped: Operation) -> tuple[int, int]:
    """The channels and filters of a group; 0 of what has none."""
    image, out = (grouped.places.get((o, "g"), (0, 0))[1] for o in (0, 2))
    return image, out


def suits_channels_last(channels: int, filters: int, *, f32: bool) -> bool:
    """Whether sums of a group of so many channels fill registers where channels are last.

    They do so alone or, in groups as `SHARING` of f32, with those of its neighbours.
    """
    together = (1, *SHARING) if f32 else (1,)
    return filters % FULL == 0 or channels == filters in together


def shares_registers(operation: Operation) -> bool:
    """Whether sums of several groups, as `SHARING`, share a register: their channels are last."""
    if not operation.grouped or channels_of(operation) not in [(n, n) for n in SHARING]:
        return False
    position, _ = operation.places[2, "g"]
    return position == len(operation.axes[2]) - 1


# ---- what they compute


def _evaluate_conv(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    image, weights = inputs
    sizes = dict(zip(operation.operands[1].dims, weights.shape, strict=True))
    return (_summed(operation, unfolded(operation, 0, image, sizes), weights),)


def _evaluate_grouped(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    _, filters = channels_of(operation)
    shape = inputs[1].shape
    sizes = {"f": filters} | dict(zip(operation.operands[1].dims, shape, strict=True))
    image, weights = (unfolded(operation, i, value, sizes) for i, value in enumerate(inputs))
    apart = _summed(operation, image, weights)
    counts = iter(apart.shape)
    out = [prod(next(counts) for _ in axis.names) for axis in operation.axes[2]]
    return (apart.reshape(out),)


def _summed(operation: Operation, image: Array, weights: Array) -> Array:
    """The sum of products of views with one axis per dimension, one pixel of the filters at a time.

    So the windows of an image, which overlap, are never copied all at once.
    """
    names = [[name for axis in axes for name in axis.names] for axes in operation.axes[:2]]
    pixels = operation.reduced[1:]
    sizes = dict(zip(names[1], weights.shape, strict=True))
    total: Array | None = None
    for place in np.ndindex(*(sizes[dim] for dim in pixels)):
        at = {dim: slice(n, n + 1) for dim, n in zip(pixels, place, strict=True)}
        x, w = (
            value[tuple(at.get(name, slice(None)) for name in own)]
            for value, own in zip((image, weights), names, strict=True)
        )
        products = einsum(operation, x, w)
        total = products if total is None else np.add(total, products, out=total)
    assert total is not None
    return total


# ---- their text


def _ordered(arguments: Sequence[Text], operation: Operation, like: Operation) -> list[Text]:
    """The arguments with their dimensions in the order of those of a like operation."""
    return [
        oriented(argument, operand.dims, ordered.dims)
        for argument, operand, ordered in zip(
            arguments, operation.operands, like.operands, strict=False
        )
    ]


def _text_conv(operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    windows = tuple(windows_of(operation).values())
    channels_last = operation.operands[-1].dims[-1] == "f"
    words = _ordered(arguments, operation, conv(windows, channels_last))
    return call("conv", words, window_options(windows, channels_last), result.dtype)


def _text_grouped(operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    windows = tuple(windows_of(operation).values())
    last = "g" in operation.axes[-1][-1].names
    words = _ordered(arguments, operation, grouped_conv(*channels_of(operation), windows, last))
    options = [("groups", result.sizes["g"]), *window_options(windows, last)]
    return call("conv", words, options, result.dtype)


CONV = Primitive(
    "Conv",
    variants=_convolutions,
    evaluate=_evaluate_conv,
    bound=bound_product,
    text=_text_conv,
    flops=2,
    is_product=True,
    groups="c",
    lowers_to=MATMUL,
    tiled_lowered=("p", "q"),
)

GROUPED_CONV = Primitive(
    "GroupedConv",
    variants=_grouped_convolutions,
    evaluate=_evaluate_grouped,
    bound=bound_product,
    text=_text_grouped,
    flops=2,
    is_product=True,
    lowers_to=MATMUL,
    ungrouped=CONV,
    tiled_lowered=("b", "y", "x", "p", "q"),
)

DEPTHWISE_CONV = Primitive(
    "DepthwiseConv",
    variants=_grouped_convolutions,
    evaluate=_evaluate_grouped,
    bound=bound_product,
    text=_text_grouped,
    flops=2,
    is_product=True,
    ungrouped=CONV,
)
