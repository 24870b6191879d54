"""Windows of images of ONNX: their means and largest elements, and sums where they overlap."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Pooling, Reduce
from morello.importers.folding import FoldedAxis, folded
from morello.importers.onnx.call import (
    FLOAT32,
    INT64,
    MOST_BYTES,
    MOST_FOLDED,
    LeftError,
    OnnxCall,
    Results,
    cast,
    constant,
    function,
    left_if_refused,
    number,
    op,
    reshaped,
    translates,
)
from morello.importers.onnx.products import padding, steps
from morello.importers.pooling import largest, unpooled


@translates("GlobalAveragePool", "GlobalMaxPool")
def global_pool(call: OnnxCall) -> Node:
    call.floating()
    axes = tuple(range(2, call[0].type.rank))
    if 0 in call[0].shape:
        raise LeftError("it has no elements")
    kind = "max" if call.type == "GlobalMaxPool" else "mean"
    return op(Reduce(kind, axes, keepdims=True), call[0])


@translates("AveragePool", "MaxPool")
def pool(call: OnnxCall) -> Results:
    """Means and largest elements of windows; the largest bytes are found as those of f32."""
    dtype = call[0].dtype
    if 1 in call.used:
        return _with_places(call)
    if call.type == "MaxPool" and dtype.itemsize == 1 and dtype.kind in "iu":
        return cast(_pooled(replace(call, inputs=(cast(call[0], FLOAT32),))), dtype)
    return _pooled(call)


def _pooled(call: OnnxCall) -> Node:
    call.floating()
    windows = _windows(call)
    taps, strides, before, after, dilations = (
        tuple(getattr(each, name) for each in windows)
        for name in ("taps", "stride", "before", "after", "dilation")
    )
    kind = "max" if call.type == "MaxPool" else "mean"
    counts = _counts_padding(call)
    return op(Pooling(kind, taps, strides, before, after, dilations, counts), call[0])


def _with_places(call: OnnxCall) -> list[Node]:
    """The largest elements of windows, and their places among all elements of the input."""
    call.floating()
    x, windows = call[0], _windows(call)
    if call.flag("storage_order"):
        raise LeftError("its places are counted column by column")
    with left_if_refused():
        values, places = largest(x, windows)
    images = np.arange(prod(x.shape[:2])).reshape(*x.shape[:2], *[1] * len(windows))
    first = constant(images * prod(x.shape[2:]), INT64)
    return [values, function("add", cast(places, INT64), first)]


@translates("MaxUnpool")
def max_unpool(call: OnnxCall) -> Node:
    """A tensor that is 0 but for its elements at places among all of them."""
    x, taps = call[0], tuple(map(int, call.attribute("kernel_shape")))
    strides = steps(call, "strides", len(taps))
    before, after = padding(call, x.shape[2:], taps, strides, [1] * len(taps))
    sizes = zip(x.shape[2:], taps, strides, before, after, strict=True)
    out = [(n - 1) * stride + k - low - high for n, k, stride, low, high in sizes]
    shape = (*x.shape[:2], *out)
    if call.get(2) is not None and call.integers(2) != shape:
        raise LeftError("its output is of another shape, and runtimes differ in what is where")
    with left_if_refused():
        return unpooled(x, call[1], 1, shape)


def _windows(call: OnnxCall) -> list[FoldedAxis]:
    """The windows along each spatial dimension."""
    x, taps = call[0], tuple(map(int, call.attribute("kernel_shape")))
    rank = x.type.rank - 2
    if rank < 1 or len(taps) != rank or min(taps) < 1:
        raise GraphError(f"{call.type} of {x.type} has windows of {taps}.")
    strides, dilations = steps(call, "strides", rank), steps(call, "dilations", rank)
    before, after = padding(call, x.shape[2:], taps, strides, dilations)
    wide = [(k - 1) * step + 1 for k, step in zip(taps, dilations, strict=True)]
    if any(max(low, high) >= k for low, high, k in zip(before, after, wide, strict=True)):
        raise LeftError("its padding is as wide as its windows")
    form = call.text("auto_pad", "NOTSET")
    if form.startswith("SAME"):
        if max(dilations) > 1:
            raise LeftError("its windows are dilated, and runtimes differ in their padding")
    elif call.flag("ceil_mode"):
        wider = _ceil(x.shape[2:], wide, strides, before, after)
        if form == "VALID" and wider != after:
            raise LeftError("windows reach beyond the image, and runtimes differ in how many do")
        if _counts_padding(call) and wider != after:
            raise LeftError("it counts the padding, but not what rounding up adds to it")
        after = wider
    padded = [n + low + high for n, low, high in zip(x.shape[2:], before, after, strict=True)]
    if prod((*x.shape[:2], *padded)) * x.dtype.itemsize > MOST_BYTES:
        raise LeftError(f"its padded images are of {padded}")
    return [*map(FoldedAxis, x.shape[2:], taps, dilations, before, after, strides)]


def _counts_padding(call: OnnxCall) -> bool:
    return call.type == "AveragePool" and call.flag("count_include_pad")


def _ceil(
    spatial: tuple[int, ...],
    wide: list[int],
    strides: tuple[int, ...],
    before: tuple[int, ...],
    after: tuple[int, ...],
) -> tuple[int, ...]:
    """The padding after each dimension with which the last window is as if sizes were rounded up.

    A window that would begin in this padding is left out.
    """
    wider = []
    for n, k, stride, low, high in zip(spatial, wide, strides, before, after, strict=True):
        count = -(-(n + low + high - k) // stride) + 1
        if (count - 1) * stride >= n + low:
            count -= 1
        wider.append(max(high, (count - 1) * stride + k - n - low))
    return tuple(wider)


@translates("GlobalLpPool", "LpPool")
def lp_pool(call: OnnxCall) -> Node:
    """The p-th root of the sum of a window's p-th powers."""
    call.floating()
    x, p = call[0], call.attribute("p", 2)
    if call.version < 2 or p < 1:
        raise LeftError(f"it is of the power {p}")
    powers = function("power", function("abs", x), number(p, x))
    if call.type == "GlobalLpPool":
        sums = op(Reduce("sum", tuple(range(2, x.type.rank)), keepdims=True), powers)
    else:
        count = prod(map(int, call.attribute("kernel_shape")))
        mean = replace(call, type="AveragePool", inputs=(powers,),
                       attributes={**call.attributes, "count_include_pad": 1})  # fmt: skip
        sums = function("multiply", _pooled(mean), number(count, x))
    return function("power", sums, number(1 / p, x))


@translates("Col2Im")
def col_to_image(call: OnnxCall) -> Node:
    call.floating()
    x, sizes, taps = call[0], call.integers(1), call.integers(2)
    rank = len(sizes)
    strides, dilations = steps(call, "strides", rank), steps(call, "dilations", rank)
    before, after = padding(call, sizes, taps, strides, dilations)
    windows = [*map(FoldedAxis, sizes, taps, dilations, before, after, strides)]
    if x.type.rank != 3 or not all(x.shape):
        raise LeftError(f"it is of {x.type}")
    fits = len(taps) == rank and all(n > 0 for n in (*sizes, *taps))
    fits = fits and prod(each.count for each in windows) == x.shape[2]
    if not fits or x.shape[1] % prod(taps) or prod(sizes) > MOST_FOLDED:
        raise GraphError(f"Col2Im: {x.type} are no windows of {taps} of an image of {sizes}.")
    count = prod(taps) * x.shape[2]
    columns = reshaped(x, (x.type.size // count, count))
    return reshaped(folded(columns, windows), (x.shape[0], x.shape[1] // prod(taps), *sizes))
