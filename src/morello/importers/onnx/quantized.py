"""Quantized numbers of ONNX: integers that stand for (integer - zero point) * scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from morello.graph.graph import Node
from morello.graph.operators import Constant, Reduce, Where
from morello.graph.patterns.matching import mapped
from morello.importers.onnx.call import (
    FLOAT32,
    FLOATS,
    INT32,
    LeftError,
    OnnxCall,
    along,
    cast,
    constant,
    function,
    number,
    op,
    position,
    reshaped,
    translates,
)
from morello.importers.onnx.contributed import MICROSOFT
from morello.importers.onnx.products import product


class QuantizedNode(NamedTuple):
    """A tensor of integers, with the scale and zero point of the numbers that they stand for."""

    integers: Node
    scale: Node
    zero: Node | None


_NARROW = frozenset(map(np.dtype, (np.int8, np.uint8)))
_QUANTIZED = _NARROW | frozenset(map(np.dtype, (np.int16, np.uint16)))


@translates("QuantizeLinear", domain=MICROSOFT)
@translates("QuantizeLinear")
def quantize_linear(call: OnnxCall) -> Node:
    x, scale, zero = call[0], call[1], call.get(2)
    _plain(call)
    said = any(call.attribute(name, 0) for name in ("output_dtype", "precision"))
    if x.dtype != FLOAT32 or scale.dtype != FLOAT32 or said:
        raise LeftError(f"it is of {x.type} and {scale.type}")
    return quantized(x, scale, zero, call.attribute("axis", 1))


@translates("DequantizeLinear", domain=MICROSOFT)
@translates("DequantizeLinear")
def dequantize_linear(call: OnnxCall) -> Node:
    _plain(call)
    return dequantized(call[0], call[1], call.get(2), call.attribute("axis", 1))


def dequantized(x: Node, scale: Node, zero: Node | None, axis: int = 1) -> Node:
    """(x - zero) * scale, with a scale and a zero point for all, or for each place on an axis."""
    if x.dtype not in _QUANTIZED | {INT32} or scale.dtype not in FLOATS:
        raise LeftError(f"it is of {x.type} and {scale.type}")
    shifted = cast(x, INT32)
    if zero is not None and not _is_zero(zero):
        shifted = function("subtract", shifted, cast(_spread(x, zero, axis), INT32))
    numbers, factors = cast(shifted, scale.dtype), _spread(x, scale, axis)
    if isinstance(x.operator, Constant) and x.dtype in _NARROW and x.type.rank > 1:
        return mapped("multiply", numbers, factors)  # not folded yet: see `in_bytes`
    return function("multiply", numbers, factors)


@translates("DynamicQuantizeLinear")
def dynamic_quantize_linear(call: OnnxCall) -> list[Node]:
    return [*quantized_by_range(call[0])]


def quantized_by_range(x: Node) -> tuple[Node, Node, Node]:
    """The numbers in u8, and the scale and zero point that the smallest and largest one give."""
    axes, nothing = tuple(range(x.type.rank)), number(0, x)
    if not axes or 0 in x.shape:
        raise LeftError(f"it is of {x.type}")
    low = function("minimum", op(Reduce("min", axes), x), nothing)
    high = function("maximum", op(Reduce("max", axes), x), nothing)
    span = function("subtract", high, low)
    span = op(Where(), function("equal", span, nothing), number(255, x), span)  # if all are 0
    scale = function("divide", span, number(255, x))
    start = function("round", function("divide", function("neg", low), scale))
    zero = cast(_saturated(start, np.dtype(np.uint8)), np.dtype(np.uint8))
    return quantized(x, scale, zero), scale, zero


@translates("MatMulInteger")
def matmul_integer(call: OnnxCall) -> Node:
    a, b = call[0], call[1]
    return shifted_product(a, b, call.get(2), call.get(3))


@translates("QLinearMatMul")
def q_linear_matmul(call: OnnxCall) -> Node:
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = call.all
    if a_scale.dtype != FLOAT32 or a_scale.type.size != 1 or scale.type.size != 1:
        raise LeftError("it has a scale for each row")
    total = cast(shifted_product(a, b, a_zero, b_zero), FLOAT32)
    factor = function("divide", function("multiply", a_scale, b_scale), scale)
    factor = reshaped(factor, ()) if factor.type.size == 1 else factor
    zero = reshaped(zero, ()) if zero.type.size == 1 else zero
    return _rounded(function("multiply", total, factor), zero, zero.dtype)


def shifted_product(a: Node, b: Node, a_zero: Node | None, b_zero: Node | None) -> Node:
    """The product in i32 of two tensors of u8 or i8, less their zero points.

    (a - y) (b - z) = a b - y (sums of b's columns) - (sums of a's rows) z + k y z: the sums of
    constants are constants.
    """
    if a.dtype not in _NARROW or b.dtype not in _NARROW or min(a.type.rank, b.type.rank) < 2:
        raise LeftError(f"it is of {a.type} and {b.type}")
    result = product(a, b, INT32)
    y, z = _zero(a_zero, a, -2), _zero(b_zero, b, -1)
    if y is not None:
        columns = op(Reduce("sum", (b.type.rank - 2,), keepdims=True), cast(b, INT32))
        result = function("subtract", result, function("multiply", y, columns))
    if z is not None:
        rows = op(Reduce("sum", (a.type.rank - 1,), keepdims=True), cast(a, INT32))
        result = function("subtract", result, function("multiply", rows, z))
    if y is not None and z is not None:
        corner = function("multiply", function("multiply", y, z), number(a.shape[-1], y))
        result = function("add", result, corner)
    return result


def _zero(zero: Node | None, x: Node, axis: int) -> Node | None:
    """A zero point in i32, for each element along an axis of `x` if it is several; None if 0."""
    if zero is None or _is_zero(zero):
        return None
    if zero.type.size == 1:
        return reshaped(cast(zero, INT32), ())
    if zero.type.rank > 1 or zero.type.size != x.shape[axis]:
        raise LeftError(f"its zero points are {zero.type}")
    return along(cast(zero, INT32), 2 + axis, 2)


def _is_zero(zero: Node) -> bool:
    return isinstance(zero.operator, Constant) and not zero.operator.array.any()


def quantized(x: Node, scale: Node, zero: Node | None, axis: int = 1) -> Node:
    """x / scale, rounded, plus the zero point, within what its dtype holds: u8 if there is none."""
    dtype = np.dtype(np.uint8) if zero is None else zero.dtype
    if dtype not in _QUANTIZED:
        raise LeftError(f"it makes {dtype}")
    zero = None if zero is None else _spread(x, zero, axis)
    return _rounded(function("divide", x, _spread(x, scale, axis)), zero, dtype)


def _rounded(x: Node, zero: Node | None, dtype: np.dtype[np.generic]) -> Node:
    rounded = function("round", x)
    if zero is not None and not _is_zero(zero):
        rounded = function("add", rounded, cast(zero, x.dtype))
    return cast(_saturated(rounded, dtype), dtype)


def _saturated(x: Node, dtype: np.dtype[np.generic]) -> Node:
    """Numbers within what a dtype holds; NaN becomes the least, as in ONNX Runtime."""
    limits = np.iinfo(dtype)  # type: ignore[type-var]
    low, high = (constant(n, x.dtype) for n in (limits.min, limits.max))
    above = op(Where(), function("greater", x, low), x, low)
    return function("minimum", above, high)


def _plain(call: OnnxCall) -> None:
    if call.attribute("block_size", 0):
        raise LeftError("it is quantized in blocks")


def _spread(like: Node, x: Node, axis: int) -> Node:
    """A number, or a vector along an axis of a node."""
    if x.type.size == 1:
        return reshaped(x, ())
    axis = position(axis, like.type.rank)
    if x.type.rank != 1 or x.type.size != like.shape[axis]:
        raise LeftError(f"its scale is {x.type}")
    return along(x, axis, like.type.rank)
