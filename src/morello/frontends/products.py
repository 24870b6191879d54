"""Products: matmul, convolution, and functions built from them."""

from __future__ import annotations

import math

from morello.frontends.maps import add, multiply
from morello.frontends.reductions import softmax
from morello.frontends.values import MisuseError, Numbers, Value, apply_operation, misuse_of
from morello.ir.primitives import conv as conv_operation
from morello.ir.primitives import matmul as matmul_operation
from morello.ir.spec import matmul_shape, product_dtype


def matmul(a: Value, b: Value) -> Value:
    a, b = a.without_new_axes, b.without_new_axes
    with misuse_of(argument=1):
        shape, dtype = matmul_shape(a.shape, b.shape), product_dtype(a.dtype, b.dtype)
    return apply_operation(matmul_operation(a.rank - 2), [a, b], shape, dtype)


def linear(x: Value, w: Value, b: Value) -> Value:
    """x @ w + b"""
    return add(matmul(x, w), b)


def attention(q: Value, k: Value, v: Value) -> Value:
    """softmax(q @ k^T / sqrt(d)) @ v, with the keys in k's rows."""
    if k.rank < 2:
        raise MisuseError("the keys are the rows of a matrix", "write it as f32[64,16]", at=1)
    transposed = k.reordered((*range(k.rank - 2), k.rank - 1, k.rank - 2))
    try:
        scores = matmul(q, transposed)
    except MisuseError as error:
        rows = "q should be [m,d], k [n,d] and v [n,p]"
        raise MisuseError(f"q @ transpose(k): {error.what}", rows, at=1) from None
    with misuse_of(argument=2):
        return matmul(softmax(multiply(scores, 1 / math.sqrt(q.shape[-1]))), v)


def conv(
    image: Value, filter: Value, *, stride: Numbers = 1, padding: Numbers = 0, layout: str = "NCHW"
) -> Value:
    if layout not in ("NCHW", "NHWC"):
        raise MisuseError(f"no layout {layout}", "use NCHW or NHWC", at="layout")
    image, filter = image.without_new_axes, filter.without_new_axes
    last = layout == "NHWC"
    shapes = ("[b,h,w,c]", "[p,q,c,f]") if last else ("[b,c,h,w]", "[f,c,p,q]")
    for number, (operand, shape) in enumerate(zip((image, filter), shapes, strict=True)):
        if operand.rank != 4:
            what = f"{('the image', 'the filter')[number]} has {operand.rank} dimensions"
            raise MisuseError(what, f"for {layout} it should be {shape}", at=number)
    strides, pads = _pair("stride", stride, lowest=1), _pair("padding", padding, lowest=0)
    batch, height, width, channels = _permuted(image.shape, last, (0, 1, 2, 3), (0, 2, 3, 1))
    filters, rows, columns, depth = _permuted(filter.shape, last, (3, 0, 1, 2), (0, 2, 3, 1))
    if channels != depth:
        what = f"the image has {channels} channels and the filter {depth}"
        raise MisuseError(what, f"for {layout} they should be {shapes[0]} and {shapes[1]}", at=1)
    y = _windows("rows", height, rows, strides[0], pads[0])
    x = _windows("columns", width, columns, strides[1], pads[1])
    if any(pads) and not image.external:
        fix = "compute the image as a Spec of its own"
        raise MisuseError("what is computed cannot be padded", fix, at="padding")
    out = (batch, y, x, filters) if last else (batch, filters, y, x)
    with misuse_of(argument=1):
        dtype = product_dtype(image.dtype, filter.dtype)
    return apply_operation(conv_operation(strides, pads, last), [image, filter], out, dtype)


def _permuted(
    shape: tuple[int, ...], last: bool, channels_last: tuple[int, ...], usual: tuple[int, ...]
) -> tuple[int, ...]:
    """The sizes in one order for both layouts: images or filters, rows, columns, channels."""
    return tuple(shape[d] for d in (channels_last if last else usual))


def _windows(what: str, size: int, pixels: int, stride: int, padding: int) -> int:
    """The output size along a dimension for windows of `pixels`; raises `MisuseError`."""
    if padding >= pixels:
        fix = f"use less than the filter's {pixels} {what}"
        raise MisuseError(
            f"with {padding} {what} of padding, a window can be all padding", fix, at="padding"
        )
    room = size + 2 * padding - pixels
    if room < 0:
        of = f"{size} {what}" + (f" and {2 * padding} of padding" if padding else "")
        fix = f"use a filter of at most {size + 2 * padding}"
        raise MisuseError(f"the image has {of}, less than the filter's {pixels}", fix, at=1)
    if room % stride:
        fix = f"give the image {size - room % stride} {what}, or another stride"
        what = f"windows with stride {stride} leave the last {room % stride} {what} out"
        raise MisuseError(what, fix, at=0)
    return room // stride + 1


def _pair(name: str, value: Numbers, *, lowest: int) -> tuple[int, int]:
    """An option's values for rows and columns; a single number is used for both."""
    both = (value, value) if isinstance(value, int) else value
    if len(both) != 2:
        raise MisuseError(f"{len(both)} numbers", f"write {name}=2, or {name}=[2,1]", at=name)
    for number in both:
        if not lowest <= number <= 999:
            raise MisuseError(f"{name} is {number}", f"use a number from {lowest} to 999", at=name)
    return both[0], both[1]


FUNCTIONS = matmul, linear, conv, attention
"""The functions of these that an expression can call."""
