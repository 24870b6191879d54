"""Products: matmul, convolution, and functions built from them."""

from __future__ import annotations

import math
import re

from morello.base.errors import quoted
from morello.frontends.copies import cast
from morello.frontends.maps import add, multiply
from morello.frontends.reductions import softmax
from morello.frontends.values import (
    NEW_AXIS,
    MisuseError,
    Numbers,
    Value,
    apply_operation,
    misuse_of,
    value_of,
)
from morello.ir.computation import Tensor
from morello.ir.primitives import MAX_RANK, Labels, contraction, matmul_labels
from morello.ir.primitives import conv as conv_operation
from morello.ir.spec import matmul_shape, product_dtype

Pairs = tuple[tuple[int, int], ...]
"""Dimensions that go together: of the first factor, and of the second."""


def matmul(a: Value, b: Value) -> Value:
    """a @ b, by NumPy's rules."""
    a, b = a.without_new_axes, b.without_new_axes
    with misuse_of(argument=1):
        matmul_shape(a.shape, b.shape)
    return _product(a, b, *matmul_labels(a.shape, b.shape))


def einsum(subscripts: str, a: Value, b: Value) -> Value:
    """The sums of products that `subscripts` says, as in "bqhd,bkhd->bhqk"."""
    match = re.fullmatch(r"([A-Za-z]+),([A-Za-z]+)->([A-Za-z]*)", subscripts.replace(" ", ""))
    if match is None:
        fix = 'name the dimensions of both factors and of the result, as in "mk,kn->mn"'
        raise MisuseError(f"{quoted(subscripts)} is no einsum of two tensors", fix, at=0)
    left, right, result = (tuple(word) for word in match.groups())
    for number, (word, operand) in enumerate(((left, a), (right, b)), start=1):
        if len(word) != operand.rank:
            what = f"{''.join(word)} names {len(word)} dimensions, and there are {operand.rank}"
            raise MisuseError(what, "name each by a letter", at=number)
    if twice := next((d for word in (left, right, result) for d in word if word.count(d) > 1), ""):
        raise MisuseError(f"{twice} is named twice in one tensor", "use another letter", at=0)
    if unknown := next((d for d in result if d not in left + right), ""):
        raise MisuseError(f"neither factor has {unknown}", "leave it out of the result", at=0)
    for d in (d for d in left if d in right):
        sizes = a.shape[left.index(d)], b.shape[right.index(d)]
        if len({*sizes}) > 1:
            raise MisuseError(f"{d} is {sizes[0]} in one and {sizes[1]} in the other", at=2)
    return _product(a, b, left, right, result)


def contract(a: Value, b: Value, *, batch: Pairs = (), contracted: Pairs = ()) -> Value:
    """The sums of products along pairs of contracted dimensions, for each of the batch dimensions.

    The result has the batch dimensions, then the others of a, then those of b.
    """
    of_a = {j: i for i, j in (*batch, *contracted)}
    left = tuple(f"a{i}" for i in range(a.rank))
    right = tuple(f"a{of_a[j]}" if j in of_a else f"b{j}" for j in range(b.rank))
    batches = tuple(left[i] for i, _ in batch)
    bound = {*batches, *(left[i] for i, _ in contracted)}
    return _product(a, b, left, right, (*batches, *(d for d in left + right if d not in bound)))


def _product(a: Value, b: Value, left: Labels, right: Labels, result: Labels) -> Value:
    """The product of values whose dimensions have these labels, those of the result in order."""
    a, left = _without_new_axes(a, left)
    b, right = _without_new_axes(b, right)
    stored = tuple(label for label in result if label in left + right)
    tensor = _tensor(a, b, left, right, stored)
    places = iter(range(len(tensor.shape)))
    axes = [next(places) if label in stored else NEW_AXIS for label in result]
    return Value(tensor, tuple(axes) if stored else (*axes[1:], 0))


def _without_new_axes(value: Value, labels: Labels) -> tuple[Value, Labels]:
    """The value without `NEW_AXIS` dimensions, and the labels of the others."""
    kept = [(d, label) for d, label in zip(value.axes, labels, strict=True) if d != NEW_AXIS]
    return Value(value.tensor, tuple(d for d, _ in kept)), tuple(label for _, label in kept)


def _tensor(a: Value, b: Value, left: Labels, right: Labels, result: Labels) -> Tensor:
    """The product as a tensor, which has at least one dimension."""
    if len(result) > MAX_RANK:
        what = f"the result would have {len(result)} dimensions"
        raise MisuseError(what, f"flatten some of them; {MAX_RANK} are the most")
    with misuse_of(argument=-1):
        dtype = product_dtype(a.dtype, b.dtype)
    sizes = dict(zip((*left, *right), (*a.shape, *b.shape), strict=True))
    summed = {*left} & {*right} - {*result}
    for operand, (own, other) in enumerate(((left, right), (right, left)), start=-2):
        for position, label in enumerate(own):
            if label not in other + result and (sizes[label] > 1 or not summed):
                what = "a dimension that only this factor has is summed over"
                raise MisuseError(what, f"write sum(.., axis={position}) here", at=operand)
    if not summed:
        factors = [_aligned(cast(a, dtype), left, result), _aligned(cast(b, dtype), right, result)]
        return multiply(*factors).tensor
    result = result or ("single",)
    operation = contraction(_in_tensor(a, left), _in_tensor(b, right), result)
    shape = [sizes.get(label, 1) for label in result]
    return apply_operation(operation, [value_of(a.tensor), value_of(b.tensor)], shape, dtype).tensor


def _in_tensor(value: Value, labels: Labels) -> Labels:
    """The labels of a value's dimensions, in the order of its tensor's dimensions."""
    return tuple(labels[value.axes.index(d)] for d in range(value.rank))


def _aligned(value: Value, labels: Labels, result: Labels) -> Value:
    """The value with one dimension for each label, of which it may be broadcast along some."""
    value = value.reordered([labels.index(label) for label in result if label in labels])
    for position, label in enumerate(result):
        if label not in labels:
            value = value.expanded(position)
    return value


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


FUNCTIONS = matmul, einsum, linear, conv, attention
"""The functions of these that an expression can call."""
