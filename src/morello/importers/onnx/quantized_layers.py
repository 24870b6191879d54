"""Layers of ONNX and ONNX Runtime on quantized numbers.

Each is the layer of floats on what the numbers stand for, the result of which is quantized again.
Products and convolutions of them become those of bytes (see `graph.patterns.in_bytes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from morello.graph.graph import Node
from morello.graph.operators import Concat, Constant, Where
from morello.importers.onnx.call import (
    FLOAT32,
    INT32,
    LeftError,
    OnnxCall,
    Results,
    cast,
    constant,
    function,
    op,
    translates,
)
from morello.importers.onnx.contributed import MICROSOFT
from morello.importers.onnx.elementwise import leaky_relu, scaled
from morello.importers.onnx.pooling import global_pool, pool
from morello.importers.onnx.products import conv, gemm
from morello.importers.onnx.quantized import (
    QuantizedNode,
    dequantized,
    quantized,
    quantized_by_range,
    shifted_product,
)
from morello.importers.onnx.reductions import softmax

_LARGEST = 255 * 255
"""The largest product of two bytes less their zero points."""


def _numbers(call: OnnxCall, first: int, axis: int = 1) -> Node:
    """The dequantized input at `first`, whose scale and zero point are the next two inputs.

    If the scale is not finite, 0 times it is NaN, which layers of ONNX Runtime do not all keep.
    """
    scale = call[first + 1].operator
    if isinstance(scale, Constant) and not np.isfinite(scale.array).all():
        raise LeftError("its scale is not finite")
    return dequantized(call[first], call[first + 1], call.get(first + 2), axis)


def _plain(call: OnnxCall) -> None:
    if call.flag("channels_last"):
        raise LeftError("its channels are last")


@translates("QLinearConv")
def q_linear_conv(call: OnnxCall) -> Node:
    """Its bias is an integer for each filter, with the scales of the image and the filter."""
    _plain(call)
    image, filters, bias = _numbers(call, 0), _numbers(call, 3, axis=0), call.get(8)
    if bias is not None:
        bias = dequantized(bias, function("multiply", call[1], call[4]), None, axis=0)
    result = conv(replace(call, inputs=(image, filters, bias)))
    return quantized(_one(result), call[6], call.get(7))


@translates("ConvInteger")
def conv_integer(call: OnnxCall) -> Node:
    """A convolution of integers, computed in f32, which holds all sums if these are short."""
    x, w, zeros = call[0], call[1], (call.get(2), call.get(3))
    if prod(w.shape[1:]) * _LARGEST > 2**24:
        raise LeftError("its sums may need more than 24 bits")
    unit = constant(1, FLOAT32)
    image, filters = (
        dequantized(each, unit, zero, axis)
        for each, zero, axis in zip((x, w), zeros, (1, 0), strict=True)
    )
    return cast(_one(conv(replace(call, inputs=(image, filters)))), INT32)


@translates("QGemm", domain=MICROSOFT)
def q_gemm(call: OnnxCall) -> Node:
    """Its third operand is of integers, with the scales of the other two; the result may be f32."""
    alpha, b_axis = call.attribute("alpha", 1.0), 0 if call.flag("transB") else 1
    a, b, c = _numbers(call, 0), _numbers(call, 3, b_axis), call.get(6)
    if c is not None:
        scales = function("multiply", call[1], call[4])
        scales = scaled(scales, alpha)
        c = dequantized(c, scales, None, axis=c.type.rank - 1)
    result = _one(gemm(replace(call, inputs=(a, b, c))))
    return result if call.get(7) is None else quantized(result, call[7], call.get(8))


@translates("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def q_linear_of_two(call: OnnxCall) -> Node:
    name = "add" if call.type == "QLinearAdd" else "multiply"
    return quantized(function(name, _numbers(call, 0), _numbers(call, 3)), call[6], call.get(7))


_OF_ONE: dict[str, Callable[[OnnxCall], Results]] = {
    "QLinearAveragePool": lambda call: pool(replace(call, type="AveragePool")),
    "QLinearGlobalAveragePool": lambda call: global_pool(replace(call, type="GlobalAveragePool")),
    "QLinearLeakyRelu": leaky_relu,
    "QLinearSigmoid": lambda call: function("sigmoid", call[0]),
    "QLinearSoftmax": lambda call: softmax(
        replace(call, type="Softmax", version=call.attribute("opset", 13))
    ),
}
"""Layers with a single operand, by operator, as functions of dequantized floats."""


@translates(*_OF_ONE, domain=MICROSOFT)
def q_linear_of_one(call: OnnxCall) -> Node:
    _plain(call)
    result = _OF_ONE[call.type](replace(call, inputs=(_numbers(call, 0),)))
    return quantized(_one(result), call[3], call.get(4))


@translates("QLinearConcat", domain=MICROSOFT)
def q_linear_concat(call: OnnxCall) -> Node:
    parts = [_numbers(call, first) for first in range(2, len(call.inputs), 3)]
    axis = call.axis(rank=parts[0].type.rank)
    joined = parts[0] if len(parts) == 1 else op(Concat(axis), *parts)
    return quantized(joined, call[0], call.get(1))


@translates("QLinearWhere", domain=MICROSOFT)
def q_linear_where(call: OnnxCall) -> Node:
    return quantized(op(Where(), call[0], _numbers(call, 1), _numbers(call, 4)), call[7], call[8])


@translates("MatMulIntegerToFloat", domain=MICROSOFT)
def product_in_floats(call: OnnxCall) -> Node:
    a, b = (QuantizedNode(call[n], call[n + 2], call.get(n + 4)) for n in range(2))
    return product_of_numbers(a, b, call.get(6))


@translates("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_product(call: OnnxCall) -> Node:
    matrix = QuantizedNode(call[1], call[2], call.get(3))
    return product_of_range(call[0], matrix, call.get(4))


def product_of_range(a: Node, b: QuantizedNode, bias: Node | None) -> Node:
    """The product of numbers, quantized by their range, with a quantized matrix."""
    return product_of_numbers(QuantizedNode(*quantized_by_range(a)), b, bias)


def product_of_numbers(a: QuantizedNode, b: QuantizedNode, bias: Node | None) -> Node:
    """The product of quantized tensors, as numbers."""
    if a.scale.type.size > 1:
        raise LeftError("it has a scale for each row")
    total = cast(shifted_product(a.integers, b.integers, a.zero, b.zero), FLOAT32)
    result = function("multiply", total, function("multiply", a.scale, b.scale))
    return result if bias is None else function("add", result, bias)


def _one(results: Results) -> Node:
    assert isinstance(results, Node)
    return results
