"""Sums of products: matmul, and what it shares with convolutions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import prod
from operator import or_
from string import ascii_lowercase

import numpy as np

from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, accumulating, operation
from morello.ir.primitives.copies import bound_moved, called
from morello.ir.primitives.reductions import SUM, reduce
from morello.ir.rounding import Bounded, Bounds, summed
from morello.ir.semantics import reference
from morello.ir.text import Result, Text, call, operator, oriented

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
def unbias(product: Operation) -> Operation:
    """c[m,n] = -128 times the sum over k of b[k,n]: the start of sums of products of signed bytes.

    An instruction that takes a as unsigned adds up (a + 128) b, which is 128 b too much each time.
    """
    _, b, c = product.operands
    return _unbias(product.dims, b.dims, c.dims)


def _unbias(dims: Labels, b: Labels, c: Labels) -> Operation:
    operands = Operand("b", b), Operand("c", c, written=True)
    return operation(UNBIAS, dims, operands, untiled=tuple(d for d in dims if d in MATRIX))


def _unbiases(like: Operation) -> Iterator[Operation]:
    """The unbias operation whose operands have the same dimensions."""
    operands = [operand.dims for operand in like.operands]
    known = all({*dims} <= {*like.dims} and len({*dims}) == len(dims) for dims in operands)
    if len(operands) == 2 and known:
        yield _unbias(like.dims, *operands)


def _matmuls(like: Operation) -> Iterator[Operation]:
    """The product whose operands have the same dimensions, as far as they may have names."""
    operands = tuple(operand.dims for operand in like.operands)
    known = all({*dims} <= {*like.dims} and len({*dims}) == len(dims) for dims in operands)
    if len(operands) == 3 and known and {*operands[0]} & {*operands[1]} - {*operands[2]}:
        yield _product(like.dims, operands)


# ---- what they compute


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


def einsum(operation: Operation, a: Array, b: Array) -> Array:
    """The sum of products of views with one axis per dimension."""
    letters = {d: chr(ord("a") + i) for i, d in enumerate(operation.dims)}
    words = [
        "".join(letters[name] for operand_axis in axes for name in operand_axis.names)
        for axes in operation.axes
    ]
    summed: Array = np.einsum(f"{words[0]},{words[1]}->{words[2]}", a, b, optimize=True)
    return summed


def bound_product(
    operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]
) -> Bounds:
    sizes = zip(operation.operands[1].dims, inputs[1].value.shape, strict=True)
    terms = prod(size for dim, size in sizes if dim in operation.reduced)
    return (summed(reference(operation), inputs, terms, dtypes[-1]),)


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


MATMUL = Primitive(
    "Matmul",
    variants=_matmuls,
    evaluate=_evaluate_matmul,
    bound=bound_product,
    text=_text_matmul,
    flops=2,
    is_product=True,
    contracts="k",
    merge=lambda rank: reduce(SUM, rank, rank - 1),
)
UNBIAS = Primitive(
    "Unbias",
    variants=_unbiases,
    bound=bound_moved,
    text=called("Unbias"),
)
