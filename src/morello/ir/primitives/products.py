"""Sums of products: matmul and convolution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import prod
from operator import or_
from string import ascii_lowercase

import numpy as np

from morello.ir.axes import axis
from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, accumulating, operation
from morello.ir.primitives.reductions import SUM, reduce
from morello.ir.rounding import Bounded, summed
from morello.ir.semantics import reference
from morello.ir.text import Result, Text, call, listed, operator, oriented

Labels = tuple[str, ...]
"""The dimensions of an operand, by names that are the same wherever they go together."""


@cache
def matmul(batch: int = 0, accumulates: bool = False) -> Operation:
    """c[m,n] = sum over k of a[m,k] * b[k,n], for each of `batch` leading dimensions."""
    lead = tuple(f"b{i}" for i in range(batch))
    return contraction((*lead, "m", "k"), (*lead, "k", "n"), (*lead, "m", "n"), accumulates)


@cache
def contraction(a: Labels, b: Labels, c: Labels, accumulates: bool = False) -> Operation:
    """c = sums of products of a and b, whose dimensions are those with the same labels.

    What a and b have and c has not is summed over, and there must be such a dimension. What a
    single operand has must be of size 1.
    """
    overwriting = _product(tuple(dict.fromkeys((*c, *a, *b))), (a, b, c))
    return accumulating(overwriting) if accumulates else overwriting


def _product(order: Labels, operands: Sequence[Labels]) -> Operation:
    """The product of operands with these labels, whose dimensions are numbered in this order.

    They are named by what they are: b for batches, m for rows of a, k for what is summed over, n
    for columns of b. Kernels work along the last of each. Every product has an m and an n, which
    no operand may have; these are of size 1 then.
    """
    labels: dict[str, list[str]] = {"b": [], "m": [], "k": [], "n": []}
    for label in order:
        a, b, c = (label in operand for operand in operands)
        if a or b or c:
            labels[_NAMES.get((a, b, c), "k")].append(label)
    labels["k"].sort(key=lambda label: label in operands[0] and label in operands[1])
    dims = {letter: _numbered(letter, len(group)) for letter, group in labels.items()}
    names = {
        label: name
        for letter, group in labels.items()
        for label, name in zip(group, dims[letter], strict=True)
    }
    left, right, result = (tuple(names[label] for label in operand) for operand in operands)
    return operation(
        MATMUL,
        (*dims["b"], *(dims["m"] or ("m",)), *dims["k"], *(dims["n"] or ("n",))),
        (
            Operand("a", left),
            Operand("b", right),
            Operand("c", result, written=True, start="zero"),
        ),
        reduced=dims["k"],
    )


MATRIX = ("m", "k", "n")
"""The dimensions of a product of matrices; a product's others are looped over."""

_NAMES = {
    (True, True, True): "b",
    (True, False, True): "m",
    (False, True, True): "n",
    (False, False, True): "m",
}
"""The names of dimensions that c has, by which of a, b and c have them."""


def _numbered(letter: str, count: int) -> tuple[str, ...]:
    """The names of the dimensions of a product that go by a letter, such as m0, m1, m."""
    if letter == "b" and count > 1:
        return tuple(f"b{i}" for i in range(count))
    return (*(f"{letter}{i}" for i in range(count - 1)), letter) if count else ()


def matmul_labels(a: Sequence[int], b: Sequence[int]) -> tuple[Labels, Labels, Labels]:
    """The labels of a, b and a @ b for operands of these shapes, by NumPy's rules.

    Leading dimensions are aligned at the last; one of size 1 goes with one of any size. A vector
    lacks the rows of a, or the columns of b. What is left of two vectors has a dimension of size 1.
    """
    lead = max(len(a), len(b), 2) - 2
    rows, columns = ("m",) * (len(a) > 1), ("n",) * (len(b) > 1)
    result = (*map(str, range(lead)), *rows, *columns) or ("single",)
    left, right = _leading(a, b, lead, "of a"), _leading(b, a, lead, "of b")
    return (*left, *rows, "k"), (*right, "k", *columns), result


def _leading(shape: Sequence[int], other: Sequence[int], lead: int, owner: str) -> Iterator[str]:
    """The labels of the dimensions before the last two, which are numbered up to `lead`."""
    for number in range(lead - max(0, len(shape) - 2), lead):
        place = number - lead - 2
        shared = -place <= len(other)
        alone = shared and shape[place] == 1 and other[place] > 1
        yield f"{number} {owner}" if alone else str(number)


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
    """The product whose operands have the same dimensions, as far as they may have names."""
    operands = tuple(operand.dims for operand in like.operands)
    known = all({*dims} <= {*like.dims} and len({*dims}) == len(dims) for dims in operands)
    if len(operands) == 3 and known and {*operands[0]} & {*operands[1]} - {*operands[2]}:
        yield _product(like.dims, operands)


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


def is_in_order(product: Operation) -> bool:
    """Whether its operands are those of NumPy's matmul: a[..., m, k], b[..., k, n], c[..., m, n].

    What NumPy broadcasts may be missing, but no dimension may be of size 1 for that.
    """
    a, b, c = (operand.dims for operand in product.operands)
    plain = contraction(*matmul_labels((2,) * len(a), (2,) * len(b)))
    return (a, b, c) == tuple(operand.dims for operand in plain.operands) and bool({*a, *b} & {*c})


def _evaluate_matmul(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The product of matrices, whose rows and columns are those of all dimensions with a role."""
    sizes: dict[str, int] = {}
    for operand, x in zip(operation.operands, inputs, strict=False):
        sizes |= zip(operand.dims, x.shape, strict=True)
    batch, rows, summed, columns = (
        tuple(d for d in operation.dims if d.startswith(letter)) for letter in "bmkn"
    )
    a, b = (
        _folded(x, operand.dims, groups, sizes)
        for operand, x, groups in zip(
            operation.operands, inputs, ((batch, rows, summed), (batch, summed, columns)),
            strict=False,
        )
    )  # fmt: skip
    dims = operation.operands[2].dims
    whole = [d for d in (*batch, *rows, *columns) if d in dims]
    result = np.matmul(a, b).reshape([sizes.get(d, 1) for d in whole])
    return (result.transpose([whole.index(d) for d in dims]),)


def _folded(
    x: Array, dims: Sequence[str], groups: Sequence[Sequence[str]], sizes: Mapping[str, int]
) -> Array:
    """x with one axis for each group of dimensions."""
    order = [dims.index(d) for group in groups for d in group if d in dims]
    return x.transpose(order).reshape([prod(sizes.get(d, 1) for d in group) for group in groups])


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
    dims = [operand.dims for operand in operation.operands]
    shapes = [[result.sizes[d] for d in own] for own in dims[:2]]
    plain = [operand.dims for operand in contraction(*matmul_labels(*shapes)).operands]
    turned = [{*own} == {*like} for own, like in zip(dims, plain, strict=True)]
    in_place = [own == like for own, like in zip(dims, plain, strict=True)]
    external = [argument.external for argument in arguments]
    if in_place[2] and all(turned) and all(map(or_, in_place, external)):
        left, right = (oriented(*each) for each in zip(arguments, dims, plain, strict=False))
        return operator("@", left, right, result.dtype)
    letters = dict(zip(operation.dims, _letters(operation.dims), strict=True))
    known = {*dims[0], *dims[1]}
    a, b, c = ("".join(letters[d] for d in own if d in known) for own in dims)
    words = [Text(f'"{a},{b}->{c}"', result.dtype), *arguments]
    return call("einsum", words, (), result.dtype)


def _letters(dims: Sequence[str]) -> Iterator[str]:
    """A letter for each dimension: that of its name for the last with this letter."""
    own = {d[0] for d in dims}
    others = (letter for letter in ascii_lowercase if letter not in own)
    for number, dim in enumerate(dims):
        again = any(later[0] == dim[0] for later in dims[number + 1 :])
        yield next(others) if again else dim[0]


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
