"""Random graphs of primitives, to be composed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from morello.ir.computation import Tensor
from morello.ir.dtype import F32
from morello.ir.functions import Function
from morello.ir.primitives import (
    MAX,
    SOFTMAX,
    SUM,
    Windows,
    broadcast,
    conv,
    elementwise,
    matmul,
    move,
    one_prefix,
    reduce,
    softmax,
)
from morello.ir.semantics import evaluate

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]

sizes = st.integers(1, 4)


def tensor(shape: Iterable[int]) -> Tensor:
    return Tensor(tuple(shape), F32)


@st.composite
def graphs(draw: st.DrawFn, most: int = 6) -> Tensor:
    """One to `most` primitives on top of each other; tensors may be used several times."""
    shape = tuple(draw(st.lists(sizes, min_size=1, max_size=4)))
    known = [tensor(shape)]
    for _ in range(draw(st.integers(1, most))):
        known.append(draw(primitives(known)))
    return known[-1]


@st.composite
def primitives(draw: st.DrawFn, known: list[Tensor]) -> Tensor:
    """A primitive of the last tensor that there is, and of others or new ones."""
    x = known[-1]
    rank = len(x.shape)
    kinds = ["unary", "binary", "binary", "constant", "softmax", "reduce", "turn"]
    kinds += ["matmul", "matmul"] * (2 <= rank <= 4)
    kinds += ["broadcast", "prefix"] * (rank < 4)
    kinds += ["conv", "conv"] * (rank == 4)
    kind = draw(st.sampled_from(kinds))
    whole = tuple(range(rank))
    if kind == "unary":
        name = draw(st.sampled_from(["relu", "neg", "square", "abs"]))
        return Tensor(x.shape, F32, elementwise(Function(name), (whole,), rank), (x,))
    if kind == "constant":
        one = elementwise(Function("add", draw(st.sampled_from([1.0, -2.5]))), (whole,), rank)
        return Tensor(x.shape, F32, one, (x,))
    if kind == "binary":
        return draw(binaries(known))
    if kind == "softmax":
        one = softmax(SOFTMAX, rank, draw(st.integers(0, rank - 1)))
        return Tensor(x.shape, F32, one, (x,))
    if kind == "reduce":
        dim = draw(st.integers(0, rank - 1))
        one = reduce(draw(st.sampled_from([SUM, MAX])), rank, dim)
        left = (*x.shape[:dim], *x.shape[dim + 1 :]) or (1,)
        return Tensor(left, F32, one, (x,))
    if kind == "turn":
        order = tuple(draw(st.permutations(range(rank))))
        return Tensor(tuple(x.shape[d] for d in order), F32, move(rank, order), (x,))
    if kind == "matmul":
        return draw(products(x))
    if kind == "broadcast":
        dim = draw(st.integers(0, rank))
        shape = (*x.shape[:dim], draw(sizes), *x.shape[dim:])
        return Tensor(shape, F32, broadcast(rank + 1, dim), (x,))
    if kind == "prefix":
        return Tensor((1, *x.shape), F32, one_prefix(rank), (x,))
    return draw(convolutions(x))


@st.composite
def binaries(draw: st.DrawFn, known: list[Tensor]) -> Tensor:
    """Functions of a tensor and a known one of its shape, a new one, or one of fewer dimensions."""
    x = known[-1]
    rank = len(x.shape)
    function = Function(draw(st.sampled_from(["add", "subtract", "multiply", "maximum"])))
    span = tuple(sorted(draw(st.sets(st.sampled_from(range(rank)), min_size=1))))
    alike = [t for t in known[:-1] if t.shape == tuple(x.shape[d] for d in span)]
    other = draw(st.sampled_from([*alike, tensor(x.shape[d] for d in span)]))
    both = [(tuple(range(rank)), x), (span, other)]
    if draw(st.booleans()):
        both.reverse()
    spans, inputs = zip(*both, strict=True)
    return Tensor(x.shape, F32, elementwise(function, spans, rank), inputs)


@st.composite
def products(draw: st.DrawFn, x: Tensor) -> Tensor:
    *lead, m, k = x.shape
    n = draw(sizes)
    if draw(st.booleans()):
        inputs, shape = (x, tensor((*lead, k, n))), (*lead, m, n)
    else:
        inputs, shape = (tensor((*lead, n, m)), x), (*lead, n, k)
    return Tensor(shape, F32, matmul(len(lead)), inputs)


@st.composite
def convolutions(draw: st.DrawFn, x: Tensor) -> Tensor:
    """Convolutions of computed images, with strides; only inputs are padded."""
    last = draw(st.booleans())
    batch, *other = x.shape
    channels = other.pop(-1 if last else 0)
    filters = draw(sizes)
    pixels = [draw(st.integers(1, size)) for size in other]
    strides = [draw(st.sampled_from([1, 2, 3])) for _ in other]
    unread = [(size - p) % s for size, p, s in zip(other, pixels, strides, strict=True)]
    out = [(size - p) // s + 1 for size, p, s in zip(other, pixels, strides, strict=True)]
    windows = tuple(Windows(s, after=-left) for s, left in zip(strides, unread, strict=True))
    one = conv(windows, last)
    if last:
        weights, shape = tensor((*pixels, channels, filters)), (batch, *out, filters)
    else:
        weights, shape = tensor((filters, channels, *pixels)), (batch, filters, *out)
    return Tensor(shape, F32, one, (x, weights))


def value_of(result: Tensor, inputs: dict[Tensor, Array]) -> Array:
    """The result of a graph, primitive by primitive. New inputs get random values."""
    known: dict[Tensor, Array] = {}

    def visit(one: Tensor) -> Array:
        if one.operation is None:
            if one not in inputs:
                random = np.random.default_rng([len(inputs), *one.shape])
                inputs[one] = random.uniform(-2, 2, one.shape)
            return inputs[one]
        if one not in known:
            (made,) = evaluate(one.operation, [visit(t) for t in one.inputs])
            known[one] = np.broadcast_to(made, one.shape)
        return known[one]

    return visit(result)
