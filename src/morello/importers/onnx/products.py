"""Products of matrices and convolutions of ONNX."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from morello.base.errors import GraphError, quoted
from morello.graph.graph import Node
from morello.graph.operators import Broadcast, Conv, Dot
from morello.importers import contractions
from morello.importers.gaps import transposed_convolution
from morello.importers.onnx.call import (
    LeftError,
    OnnxCall,
    along,
    function,
    one_type,
    op,
    reshaped,
    translates,
)
from morello.importers.onnx.elementwise import scaled

_TERM = r"[A-Za-z]*(\.\.\.)?[A-Za-z]*"
_EQUATION = re.compile(rf"{_TERM}(,{_TERM})*(->{_TERM})?")


@translates("MatMul")
def matmul(call: OnnxCall) -> Node:
    return product(call[0], call[1])


def product(a: Node, b: Node, dtype: np.dtype[np.generic] | None = None) -> Node:
    """The product as NumPy's `matmul` has it: vectors, and stacks that are broadcast, as well."""
    if dtype is None:
        one_type(a, b)
    m, n = a.type.rank, b.type.rank
    if not m or not n:
        raise GraphError(f"a product of {a.type} and {b.type}: numbers have no dimensions.")
    if n <= 2:
        return op(Dot((), ((m - 1, 0),), dtype), a, b)
    if m == 1:
        whole = product(reshaped(a, (1, *a.shape)), b, dtype)
        return reshaped(whole, (*whole.shape[:-2], whole.shape[-1]))
    try:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise GraphError(f"a product of {a.type} and {b.type}: the stacks differ.") from None
    rank = len(stack)
    a, b = (
        x if x.shape[:-2] == stack else op(Broadcast((*stack, *x.shape[-2:])), x) for x in (a, b)
    )
    batch = tuple((d, d) for d in range(rank))
    return op(Dot(batch, ((rank + 1, rank),), dtype), a, b)


@translates("Gemm")
def gemm(call: OnnxCall) -> Node:
    a, b, c = call[0], call[1], call.get(2)
    one_type(a, b)
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    if (alpha, beta) != (1, 1):
        call.floating()
    contracted = (0 if call.flag("transA") else 1, 1 if call.flag("transB") else 0)
    result = scaled(op(Dot((), (contracted,)), a, b), alpha)
    if c is None or beta == 0:
        return result
    return function("add", result, scaled(c, beta))


@translates("Conv")
def conv(call: OnnxCall) -> Node:
    call.floating()
    x, w, bias, rank = _operands(call, "convolution")
    taps = w.shape[2:]
    strides, dilations = steps(call, "strides", rank), steps(call, "dilations", rank)
    before, after = padding(call, x.shape[2:], taps, strides, dilations)
    result = op(Conv(strides, before, after, dilations, call.attribute("group", 1)), x, w)
    return result if bias is None else function("add", result, along(bias, 1, rank + 2))


@translates("ConvTranspose")
def transposed_conv(call: OnnxCall) -> Node:
    call.floating()
    x, w, bias, rank = _operands(call, "transposed convolution")
    strides, dilations = steps(call, "strides", rank), steps(call, "dilations", rank)
    more = tuple(map(int, call.attribute("output_padding", [0] * rank)))
    before, after = _cut(call, x.shape[2:], w.shape[2:], strides, dilations, more)
    ends = tuple(cut - n for cut, n in zip(after, more, strict=True))
    conv = Conv(strides, before, ends, dilations, call.attribute("group", 1))
    try:
        result = transposed_convolution(x, w, conv)
    except GraphError as error:
        raise LeftError(f"it is {str(error).removesuffix('.')}") from None
    return result if bias is None else function("add", result, along(bias, 1, rank + 2))


def _cut(
    call: OnnxCall,
    spatial: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    more: Sequence[int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ends that a transposed convolution cuts off, perhaps for the shape of its result."""
    mode = call.text("auto_pad", "NOTSET")
    wanted = call.attributes.get("output_shape")
    if wanted is None and mode not in ("SAME_UPPER", "SAME_LOWER"):
        return padding(call, spatial, taps, strides, dilations)
    if wanted is None:
        wanted = [n * stride for n, stride in zip(spatial, strides, strict=True)]
    total = [
        stride * (n - 1) + added + (k - 1) * step + 1 - size
        for n, k, stride, step, added, size in zip(
            spatial, taps, strides, dilations, more, wanted[-len(spatial) :], strict=True
        )
    ]
    if min(total) < 0:
        raise LeftError(f"its result is filled up to {tuple(wanted)}")
    return _halves(total, mode)


def _operands(call: OnnxCall, what: str) -> tuple[Node, Node, Node | None, int]:
    """The images, filters and bias of a convolution, and its number of spatial dimensions."""
    x, w = call[0], call[1]
    one_type(x, w)
    rank = x.type.rank - 2
    if rank < 1 or w.type.rank != rank + 2:
        raise GraphError(f"a {what} of {x.type} and {w.type}.")
    return x, w, call.get(2), rank


def steps(call: OnnxCall, name: str, rank: int) -> tuple[int, ...]:
    """Strides or dilations, one for each spatial dimension."""
    given = tuple(map(int, call.attribute(name, [1] * rank)))
    if len(given) != rank or min(given) < 1:
        raise GraphError(f"{call.type} has {name} {given}; give {rank} above 0.")
    return given


def padding(
    call: OnnxCall,
    spatial: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The padding before and after each spatial dimension."""
    rank, mode = len(spatial), call.text("auto_pad", "NOTSET")
    if mode == "VALID":
        return (0,) * rank, (0,) * rank
    if mode == "NOTSET":
        pads = tuple(map(int, call.attribute("pads", [0] * 2 * rank)))
        if len(pads) != 2 * rank or min(pads) < 0:
            raise LeftError(f"its padding is {pads}")
        return pads[:rank], pads[rank:]
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise GraphError(f"{call.type} has auto_pad {mode}.")
    total = [
        max((-(-n // stride) - 1) * stride + (k - 1) * step + 1 - n, 0)
        for n, k, stride, step in zip(spatial, taps, strides, dilations, strict=True)
    ]
    return _halves(total, mode)


def _halves(total: Sequence[int], mode: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The parts before and after; `SAME_UPPER` has the odd one after, `SAME_LOWER` before."""
    less, more = tuple(n // 2 for n in total), tuple(n - n // 2 for n in total)
    return (less, more) if mode == "SAME_UPPER" else (more, less)


@translates("Einsum")
def einsum(call: OnnxCall) -> Node:
    """A sum of products of any terms."""
    equation = call.text("equation", "").replace(" ", "")
    if not _EQUATION.fullmatch(equation):  # ONNX's inference of shapes may not end for some
        raise GraphError(f"there is no equation {quoted(equation)}.")
    one_type(*call.all)
    if any(0 in node.shape for node in call.all):
        raise LeftError("an input has no elements")
    return contractions.einsum(equation, *call.all)
