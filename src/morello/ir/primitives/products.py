"""Sums of products: matmul and convolution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod

import numpy as np

from morello.ir.axes import axis
from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, accumulating, operation
from morello.ir.primitives.dims import MAX_BATCH_DIMS
from morello.ir.primitives.reductions import SUM, reduce
from morello.ir.rounding import Bounded, summed
from morello.ir.semantics import reference
from morello.ir.text import Result, Text, call, listed, operator, oriented


@cache
def matmul(batch: int = 0, accumulates: bool = False) -> Operation:
    """c[m,n] = sum over k of a[m,k] * b[k,n], for each of `batch` leading dimensions."""
    lead = ("b",) if batch == 1 else tuple(f"b{i}" for i in range(batch))
    overwriting = operation(
        MATMUL,
        (*lead, "m", "k", "n"),
        (
            Operand("a", (*lead, "m", "k")),
            Operand("b", (*lead, "k", "n")),
            Operand("c", (*lead, "m", "n"), written=True, start="zero"),
        ),
        reduced=("k",),
    )
    return accumulating(overwriting) if accumulates else overwriting


@cache
def conv(
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (0, 0),
    channels_last: bool = False,
    accumulates: bool = False,
) -> Operation:
    """out[b,f,y,x] = sum over c, p, q of image[b, c, sy*y+p, sx*x+q] * filter[f,c,p,q].

    `padding` adds that many rows (columns) of zeros at either end of the image. With
    `channels_last`, the operands are image[b,h,w,c], filter[p,q,c,f] and out[b,y,x,f].
    """
    y, x = (
        f"{stride if stride > 1 else ''}{out}+{inner}" + (f"-{2 * pad}" if pad else "")
        for stride, pad, out, inner in zip(strides, padding, "yx", "pq", strict=True)
    )
    shapes = (("b", "c", y, x), ("f", "c", "p", "q"), ("b", "f", "y", "x"))
    if channels_last:
        shapes = (("b", y, x, "c"), ("p", "q", "c", "f"), ("b", "y", "x", "f"))
    image, weights, out = shapes
    overwriting = operation(
        CONV,
        ("b", "f", "c", "y", "x", "p", "q"),
        (
            Operand("image", image),
            Operand("filter", weights),
            Operand("out", out, written=True, start="zero"),
        ),
        reduced=("c", "p", "q"),
        # a tile of a padded image has padding on some sides only
        untiled=("y", "p") * bool(padding[0]) + ("x", "q") * bool(padding[1]),
    )
    return accumulating(overwriting) if accumulates else overwriting


def _matmuls(like: Operation) -> Iterator[Operation]:
    return (matmul(batch) for batch in range(MAX_BATCH_DIMS + 1))


def _convolutions(like: Operation) -> Iterator[Operation]:
    """The convolutions with the same strides and padding."""
    dims = like.operands[0].dims if like.operands else ()
    windows = {a.names: a for a in map(axis, dims) if len(a.terms) == 2}
    y, x = windows.get(("y", "p")), windows.get(("x", "q"))
    if y is not None and x is not None:
        strides = y.terms[0][1], x.terms[0][1]
        padding = y.padding // 2, x.padding // 2
        for last in (False, True):
            yield conv(strides, padding, last)


# ---- what they compute


def is_in_order(matmul: Operation) -> bool:
    """Whether a matmul's operands are a[..., m, k], b[..., k, n] and c[..., m, n]."""
    lead = matmul.dims[:-3]
    orders = tuple(o.dims for o in matmul.operands)
    return orders == ((*lead, "m", "k"), (*lead, "k", "n"), (*lead, "m", "n"))


def _evaluate_matmul(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    a, b = inputs
    return (np.matmul(a, b) if is_in_order(operation) else _einsum(operation, a, b),)


def _evaluate_conv(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    image, weights = inputs
    return (_einsum(operation, _windows(operation, image, weights), weights),)


def _einsum(operation: Operation, a: Array, b: Array) -> Array:
    """The sum of products of views with one axis per dimension."""
    letters = {d: chr(ord("a") + i) for i, d in enumerate(operation.dims)}
    words = [
        "".join(letters[name] for operand_axis in axes for name in operand_axis.names)
        for axes in operation.axes
    ]
    summed: Array = np.einsum(f"{words[0]},{words[1]}->{words[2]}", a, b, optimize=True)
    return summed


def _windows(operation: Operation, image: Array, weights: Array) -> Array:
    """A view of the padded image with one axis per dimension of its windows."""
    sizes = dict(zip(operation.operands[1].dims, weights.shape, strict=True))
    pads = [(w.padding // 2, w.padding - w.padding // 2) for w in operation.axes[0]]
    padded = np.pad(image, pads)
    axis = 0
    for window in operation.axes[0]:
        if len(window.terms) > 1:
            (_, stride), (inner, _) = window.terms
            slid = np.lib.stride_tricks.sliding_window_view(padded, sizes[inner], axis)
            padded = np.moveaxis(slid, -1, axis + 1)
            padded = padded[(slice(None),) * axis + (slice(None, None, stride),)]
            axis += 1
        axis += 1
    return padded


def _bound(operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounded:
    sizes = zip(operation.operands[1].dims, inputs[1].value.shape, strict=True)
    terms = prod(size for dim, size in sizes if dim in operation.reduced)
    return summed(reference(operation), inputs, terms, dtypes[-1])


# ---- their text


def _text_matmul(operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    lead = operation.dims[:-3]
    a = oriented(arguments[0], operation.operands[0].dims, (*lead, "m", "k"))
    b = oriented(arguments[1], operation.operands[1].dims, (*lead, "k", "n"))
    return operator("@", a, b, result.dtype)


def _text_conv(operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    windows = {window.names[0]: window for window in operation.axes[0]}
    y, x = windows["y"], windows["x"]
    strides, padding = (y.terms[0][1], x.terms[0][1]), (y.padding // 2, x.padding // 2)
    channels_last = operation.operands[-1].dims[-1] == "f"
    options: list[tuple[str, str | int]] = []
    if strides != (1, 1):
        options.append(("stride", _pair(strides)))
    if padding != (0, 0):
        options.append(("padding", _pair(padding)))
    if channels_last:
        options.append(("layout", "NHWC"))
    ordered = conv(strides, padding, channels_last).operands
    words = [
        oriented(argument, operand.dims, like.dims)
        for argument, operand, like in zip(arguments, operation.operands, ordered, strict=False)
    ]
    return call("conv", words, options, result.dtype)


def _pair(values: Sequence[int]) -> str:
    return str(values[0]) if values[0] == values[1] else listed(values)


MATMUL = Primitive(
    "Matmul",
    variants=_matmuls,
    evaluate=_evaluate_matmul,
    bound=_bound,
    text=_text_matmul,
    flops=2,
    is_product=True,
    contracts="k",
    merge=lambda rank: reduce(SUM, rank, rank - 1),
)

CONV = Primitive(
    "Conv",
    variants=_convolutions,
    evaluate=_evaluate_conv,
    bound=_bound,
    text=_text_conv,
    flops=2,
    is_product=True,
    lowers_to=MATMUL,
    tiled_lowered=("x",),  # rows of pixels become rows of a matmul
)
