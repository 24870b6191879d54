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
    check_numbers,
    misuse_of,
    value_of,
)
from morello.frontends.windows import channels_last, slide
from morello.ir.computation import Tensor
from morello.ir.dtype import BF16, F16, F32, I8, U8
from morello.ir.primitives import MAX_RANK, Labels, contraction, grouped_conv, matmul_labels
from morello.ir.primitives import conv as conv_operation
from morello.ir.primitives import grouped_matmul as grouped_product
from morello.ir.primitives import quantized_matmul as quantized_product
from morello.ir.primitives.quantized import BLOCK, LONGEST, is_grouped
from morello.ir.spec import matmul_shape, product_dtype
from morello.ir.text import listed

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


def grouped_matmul(x: Value, matrices: Value, ids: Value) -> Value:
    """Each row of x times one of the matrices, the one that its number says.

    Rows with the same number that follow one another are multiplied together. A row whose number is
    below 0, or that of no matrix, is zero.
    """
    x, matrices, ids = (value.without_new_axes for value in (x, matrices, ids))
    if (x.rank, matrices.rank, ids.rank) != (2, 3, 1):
        fix = "give rows, matrices and a vector, as f32[8,64], f32[4,64,32] and i32[8]"
        raise MisuseError("these are no rows with a matrix for each", fix, at=0)
    check_numbers(ids, "matrices", at=2)
    (rows, size), depth, (count,) = x.shape, matrices.shape[1], ids.shape
    for at, value, given, wanted in ((1, matrices, depth, size), (2, ids, count, rows)):
        if given != wanted:
            what = f"x is of shape {listed(x.shape)}, and this of {listed(value.shape)}"
            raise MisuseError(what, f"replace {given} by {wanted}", at=at)
    with misuse_of(argument=1):
        dtype = product_dtype(x.dtype, matrices.dtype)
    shape = (rows, matrices.shape[2])
    return apply_operation(grouped_product(), [x, matrices, ids], shape, dtype)


def quantized_matmul(x: Value, weights: Value, scales: Value) -> Value:
    """x @ w.T for rows of weights w of 8 or 4 bits, in groups that have a scale each.

    `weights` has a row of i8 for each column of the result, or of u8 with two numbers in a byte;
    `scales` has as many rows, with a number for each group.
    """
    x, weights, scales = (value.without_new_axes for value in (x, weights, scales))
    for number, (value, dtypes) in enumerate(
        ((x, (F32,)), (weights, (U8, I8)), (scales, (F32, F16, BF16)))
    ):
        if value.dtype not in dtypes or value.rank != 2:
            what = f"{value.dtype}{listed(value.shape)} cannot stand here"
            fix = f"give a matrix of {' or '.join(map(str, dtypes))}"
            raise MisuseError(what, fix, at=number)
    (rows, size), (columns, width), groups = x.shape, weights.shape, scales.shape[1]
    count = size if weights.dtype is I8 else size // 2
    if size % BLOCK or width != count:
        what = f"{columns} rows of {width} {weights.dtype} do not fit {size} numbers"
        fix = f"u8 has two numbers, i8 has one, and rows have blocks of {BLOCK}"
        raise MisuseError(what, fix, at=1)
    group = size // groups
    if group * groups != size or not is_grouped(size, group) or scales.shape[0] != columns:
        what = f"scales {listed(scales.shape)} do not fit {columns} rows of {size} numbers"
        raise MisuseError(what, f"give one for each group of {BLOCK} times a power of two", at=2)
    if size > LONGEST:
        raise MisuseError(f"rows of {size} numbers", f"give at most {LONGEST}", at=0)
    return apply_operation(quantized_product(), [x, weights, scales], (rows, columns))


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
    image: Value,
    filter: Value,
    *,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    layout: str = "NCHW",
) -> Value:
    last = channels_last(layout)
    image, filter = image.without_new_axes, filter.without_new_axes
    shapes = _OPERANDS[image.rank == filter.rank == 3][last]
    for number, (operand, shape) in enumerate(zip((image, filter), shapes, strict=True)):
        if operand.rank != len(shape.split(",")):
            what = f"{('the image', 'the filter')[number]} has {operand.rank} dimensions"
            raise MisuseError(what, f"for {layout} it should be {shape}", at=number)
    batch, *size, channels = _channels_at_end(image.shape, last)
    filters, *pixels, depth = (
        (filter.shape[-1], *filter.shape[:-1]) if last else _channels_at_end(filter.shape, False)
    )
    if groups < 1 or channels % groups or filters % groups:
        what = f"{channels} channels and {filters} filters are not {groups} equal groups"
        raise MisuseError(what, "use a number that divides both", at="groups")
    if channels != depth * groups:
        what = f"the image has {channels} channels and the filter {depth}"
        fix = f"for {layout} they should be {shapes[0]} and {shapes[1]}"
        if groups > 1:
            fix = f"with {groups} groups, the filter should have {channels // groups}"
        raise MisuseError(what, fix, at=1)
    windows, counts = slide(image, size, pixels, stride, padding, dilation, of="filter")
    out = (batch, *counts, filters) if last else (batch, filters, *counts)
    with misuse_of(argument=1):
        dtype = product_dtype(image.dtype, filter.dtype)
    operation = (
        conv_operation(windows, last)
        if groups == 1
        else grouped_conv(channels // groups, filters // groups, windows, last)
    )
    return apply_operation(operation, [image, filter], out, dtype)


_OPERANDS = {
    False: {False: ("[b,c,h,w]", "[f,c,p,q]"), True: ("[b,h,w,c]", "[p,q,c,f]")},
    True: {False: ("[b,c,w]", "[f,c,q]"), True: ("[b,w,c]", "[q,c,f]")},
}
"""The shapes of an image and a filter, by whether it is a sequence and has its channels last."""


def _channels_at_end(shape: tuple[int, ...], last: bool) -> tuple[int, ...]:
    """The sizes of an image or filter with the channels at the end."""
    return shape if last else (shape[0], *shape[2:], shape[1])


FUNCTIONS = matmul, einsum, quantized_matmul, grouped_matmul, linear, conv, attention
"""The functions of these that an expression can call."""
