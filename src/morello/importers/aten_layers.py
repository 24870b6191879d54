"""ATen operations that are several operators."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from morello.graph.graph import Node
from morello.graph.operators import Constant, Conv, Gather, Pad, Where
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.aten_elementwise import in_few_bits, with_slope
from morello.importers.aten_movement import part
from morello.importers.aten_networks import biased, per_channel, several, standardized, with_batch
from morello.importers.contractions import cross_product
from morello.importers.folding import FoldedAxis, folded
from morello.importers.gaps import transposed_convolution
from morello.importers.normalizing import norm_of_groups
from morello.importers.scattering import combined_rows
from morello.importers.taking import NUMBERS, iota, taken_along


def transposed(call: AtenCall) -> Node:
    """conv_transpose1d, conv_transpose2d and conv_transpose3d."""
    weight = call["weight"]
    rank = weight.type.rank - 2
    cut, less = several(call["padding"], rank), several(call["output_padding"], rank)
    ends = tuple(n - more for n, more in zip(cut, less, strict=True))
    strides, dilations = several(call["stride"], rank), several(call["dilation"], rank)
    conv = Conv(strides, cut, ends, dilations, call["groups"])
    return biased(call, transposed_convolution(call.x, weight, conv), call["bias"], rank)


def instance_norm(call: AtenCall) -> Node:
    if not call["use_input_stats"]:
        return standardized(call, call["running_mean"], call["running_var"])
    x = call.x
    return norm_of_groups(x, x.shape[1], call["weight"], call["bias"], call["eps"])


def prelu(call: AtenCall) -> Node:
    slope = call["weight"]
    if slope.type.size > 1:
        slope = per_channel(call, slope, call.x.type.rank - 2)
    return with_slope(call, slope)


def crossed(call: AtenCall) -> Node:
    """cross, which has a default dimension, and linalg_cross."""
    shape, axis = call.type.shape, call["dim"]
    if axis is None:
        axis = shape.index(3)
    a, b = (call.broadcast(call.cast(call[name]), shape) for name in ("self", "other"))
    return cross_product(a, b, axis % len(shape))


def rolled(call: AtenCall) -> Node:
    """Along each dimension, two parts that are exchanged; without dimensions, of all elements."""
    x, shifts = call.x, call["shifts"]
    if not call["dims"]:
        x = call.reshape(x, (x.type.size,))
    axes = [d % x.type.rank for d in call["dims"] or [0]]
    for axis, shift in zip(axes, shifts, strict=True):
        size = x.shape[axis]
        place = -shift % max(size, 1)
        if place:
            parts = (part(call, x, axis, place, size), part(call, x, axis, 0, place))
            x = call.join(axis, *parts)
    return call.reshape(x, call.type.shape)


def unfolded(call: AtenCall) -> Node:
    """The windows of images as columns: for each pixel of a window, a slice of all images."""
    x = call.x
    if x.type.rank != 4:
        raise call.refuse("without a batch")
    edges, strides = several(call["padding"], 2), several(call["stride"], 2)
    taps, dilations = several(call["kernel_size"], 2), several(call["dilation"], 2)
    if any(edges):
        around = (0, 0, *edges)
        x = call.apply(Pad(around, around), x, call.build.number(0, x.dtype))
    sizes = [
        (n - (k - 1) * dilation - 1) // stride + 1
        for n, k, dilation, stride in zip(x.shape[2:], taps, dilations, strides, strict=True)
    ]
    pixels = []
    for tap in product(*map(range, taps)):
        pixel = x
        for d in range(2):
            low = tap[d] * dilations[d]
            high = low + (sizes[d] - 1) * strides[d] + 1
            pixel = part(call, pixel, 2 + d, low, high, strides[d])
        pixels.append(call.reshape(pixel, (*x.shape[:2], 1, math.prod(sizes))))
    return call.reshape(call.join(2, *pixels), call.type.shape)


def images_of_columns(call: AtenCall) -> Node:
    """col2im: the reverse of `unfolded`."""
    axes = [
        FoldedAxis(n, k, dilation, edge, edge, stride)
        for n, k, dilation, edge, stride in zip(
            call["output_size"],
            *(several(call[name], 2) for name in ("kernel_size", "dilation", "padding", "stride")),
            strict=True,
        )
    ]
    count = math.prod(each.places.size for each in axes)
    columns = call.reshape(call.x, (call.x.type.size // count, count))
    return call.reshape(folded(columns, axes), call.type.shape)


def bags(call: AtenCall) -> tuple[Node, ...]:
    """embedding_bag: sums, means or maxima of the rows of each bag, which begins at its offset."""
    numbers, offsets, weights = call["indices"], call["offsets"], call["per_sample_weights"]
    padding, kind = call["padding_idx"], ("sum", "mean", "max")[call["mode"]]
    if call.used != {0}:
        raise call.refuse("with other results")
    count, size = call.type.shape[0], numbers.type.size
    numbers = call.reshape(numbers, (size,))
    rows = call.apply(Gather(0), call["weight"], numbers)
    if weights is not None:
        rows = call.map("multiply", rows, call.reshape(weights, (size, 1)))
    starts = np.arange(count) * (size // max(count, 1))
    known = isinstance(offsets.operator, Constant)
    even = known and np.array_equal(offsets.operator.array[:count], starts)
    if even and size % count == 0 and padding in (None, -1):
        whole = call.reshape(rows, (count, size // count, rows.shape[1]))
        return (call.reduce(kind, whole, (1,)),)
    if kind == "max":
        raise call.refuse("of the largest in bags of several sizes")
    begin = call.reshape(part(call, offsets, 0, 0, count), (1, count))
    begun = call.map("greater_equal", iota(size, 0, 2), call.build.cast(begin, NUMBERS))
    last = call.reduce("sum", call.build.cast(begun, NUMBERS), (1,))
    bag = call.map("subtract", last, 1)
    if padding not in (None, -1):
        is_none = call.map("equal", call.build.cast(numbers, NUMBERS), padding)
        bag = call.apply(Where(), is_none, call.build.number(-1, NUMBERS), bag)
    sums = combined_rows("sum", call.full(0, (count, rows.shape[1])), bag, rows, 0)
    if kind == "mean":
        ones, zeros = (call.full(value, (n, 1)) for value, n in ((1, size), (0, count)))
        lengths = combined_rows("sum", zeros, bag, ones, 0)
        sums = call.map("divide", sums, call.map("maximum", lengths, 1))
    return (sums,)


def gathered(call: AtenCall) -> Node:
    return in_few_bits(call, lambda x: taken_along(x, call["index"], call.axis()), call.x)


LAYERS: dict[str, Handler] = {
    **{f"conv_transpose{d}d": with_batch(transposed, d) for d in (1, 2, 3)},
    "col2im": images_of_columns,
    **dict.fromkeys(("cross", "linalg_cross"), crossed),
    **dict.fromkeys(("embedding_bag", "_embedding_bag"), bags),
    "gather": gathered,
    "im2col": unfolded,
    "instance_norm": instance_norm,
    "prelu": prelu,
    "roll": rolled,
}
