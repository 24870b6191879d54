"""Pooling: maxima, sums and means of the windows of an image."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from morello.frontends import reductions
from morello.frontends.copies import cast
from morello.frontends.maps import check_float, multiply
from morello.frontends.values import MisuseError, Numbers, Value, apply_operation
from morello.frontends.windows import channels_last, each_number, slide
from morello.ir.dtype import F32
from morello.ir.operation import Primitive
from morello.ir.primitives import MAX_POOL, SUM_POOL, pool
from morello.ir.rounding import narrow


def max_pool(
    x: Value,
    *,
    window: Numbers,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    layout: str = "NCHW",
) -> Value:
    """The maximum of each window of x; padding is lower than any number."""
    return _pooled(MAX_POOL, reductions.max, x, window, stride, padding, dilation, layout)


def sum_pool(
    x: Value,
    *,
    window: Numbers,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    layout: str = "NCHW",
) -> Value:
    """The sum of each window of x."""
    return _pooled(SUM_POOL, reductions.sum, x, window, stride, padding, dilation, layout)


def avg_pool(
    x: Value,
    *,
    window: Numbers,
    stride: Numbers = 1,
    padding: Numbers = 0,
    count_include_pad: bool = True,
    layout: str = "NCHW",
) -> Value:
    """The mean of each window of x, in which padding counts as zeros."""
    check_float("avg_pool", x)
    pads = (padding,) if isinstance(padding, int) else padding
    if any(pads) and not count_include_pad:
        what = "windows at the borders would be divided by other counts than those inside"
        raise MisuseError(what, "multiply sum_pool by factors of your own", at="count_include_pad")
    wide = cast(x, F32) if narrow(x.dtype) else x
    sums = _pooled(SUM_POOL, reductions.sum, wide, window, stride, padding, 1, layout)
    counts = (window,) * (x.rank - 2) if isinstance(window, int) else window
    return cast(multiply(sums, 1 / prod(counts)), x.dtype)


def _pooled(
    primitive: Primitive,
    of_all: Callable[..., Value],
    x: Value,
    window: Numbers,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    layout: str,
) -> Value:
    """The pool of each window; of all pixels by the reduction `of_all`, if there is one window."""
    last = channels_last(layout)
    x = x.without_new_axes
    if x.rank not in (3, 4):
        fix = "it should be [b,h,w,c] or [b,w,c]" if last else "it should be [b,c,h,w] or [b,c,w]"
        raise MisuseError(f"the image has {x.rank} dimensions", f"for {layout} {fix}", at=0)
    size = x.shape[1:-1] if last else x.shape[2:]
    pixels = each_number("window", window, len(size), lowest=1)
    windows, counts = slide(x, size, pixels, stride, padding, dilation, of="window")
    pads = (padding,) if isinstance(padding, int) else padding
    if tuple(pixels) == tuple(size) and not any(pads):
        axes = range(1, x.rank - 1) if last else range(2, x.rank)
        return of_all(x, axis=tuple(axes), keepdims=True)
    channels = x.shape[-1] if last else x.shape[1]
    shape = (x.shape[0], *counts, channels) if last else (x.shape[0], channels, *counts)
    return apply_operation(pool(primitive, windows, last), [x], shape)


FUNCTIONS = max_pool, sum_pool, avg_pool
"""The functions of these that an expression can call."""
