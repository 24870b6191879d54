"""Operators of the domain com.microsoft, which ONNX Runtime makes when it optimizes a model."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Array, Node, TensorType
from morello.graph.operators import Gather, PrimitiveOperator, Reduce, Transpose
from morello.graph.patterns.matching import sliced
from morello.importers.onnx.call import (
    FLOAT32,
    INT32,
    NARROW,
    LeftError,
    OnnxCall,
    Results,
    Translation,
    cast,
    constant,
    function,
    number,
    op,
    position,
    reshaped,
    translates,
)
from morello.importers.onnx.choosing import gather_slices
from morello.importers.onnx.elementwise import scaled, swished
from morello.importers.onnx.movement import numbers, pad, trilu
from morello.importers.onnx.products import conv, gemm, product
from morello.importers.onnx.reductions import layer_norm, rms_norm
from morello.ir.primitives import quantized_matmul
from morello.ir.primitives.quantized import LONGEST, ZERO, is_grouped, packed

MICROSOFT = "com.microsoft"


@translates("Gelu", domain=MICROSOFT)
def exact_gelu(call: OnnxCall) -> Node:
    return function("gelu", call[0])


@translates("BiasGelu", domain=MICROSOFT)
def bias_gelu(call: OnnxCall) -> Node:
    return function("gelu", function("add", call[0], call[1]))


@translates("FastGelu", domain=MICROSOFT)
def fast_gelu(call: OnnxCall) -> Node:
    bias = call.get(1)
    return function("gelu_tanh", call[0] if bias is None else function("add", call[0], bias))


@translates("QuickGelu", domain=MICROSOFT)
def quick_gelu(call: OnnxCall) -> Node:
    return swished(call[0], call.attribute("alpha", 1.702))


_AS_IN_ONNX: dict[str, Translation] = {
    "GatherND": gather_slices,
    "Pad": pad,
    "Range": numbers,
    "Trilu": trilu,
}


@translates(*_AS_IN_ONNX, domain=MICROSOFT)
def as_in_onnx(call: OnnxCall) -> Results:
    """The semantics of ONNX's operator of the same name, of opset 13."""
    return _AS_IN_ONNX[call.type](replace(call, version=13))


@translates("ExpandDims", domain=MICROSOFT)
def expand_dimensions(call: OnnxCall) -> Node:
    (axis,), shape = call.integers(1), [*call[0].shape]
    shape.insert(position(axis, len(shape) + 1), 1)
    return reshaped(call[0], shape)


@translates("TransposeMatMul", "FusedMatMul", domain=MICROSOFT)
def fused_matmul(call: OnnxCall) -> Node:
    a, b = (_stacked(x) if call.flag(f"transBatch{n}") else x
            for x, n in ((call[0], "A"), (call[1], "B")))  # fmt: skip
    a, b = (_turned(x) if call.flag(name) else x for x, name in ((a, "transA"), (b, "transB")))
    return scaled(product(a, b), call.attribute("alpha", 1.0))


def _stacked(x: Node) -> Node:
    """Tensors [m, batch..., n] as stacks [batch..., m, n]."""
    rank = x.type.rank
    return x if rank < 3 else op(Transpose((*range(1, rank - 1), 0, rank - 1)), x)


def _turned(x: Node) -> Node:
    """A stack of matrices, each transposed; a vector is none."""
    rank = x.type.rank
    return x if rank < 2 else op(Transpose((*range(rank - 2), rank - 1, rank - 2)), x)


@translates("FusedConv", domain=MICROSOFT)
def fused_conv(call: OnnxCall) -> Node:
    added = call.get(3)
    result = conv(replace(call, inputs=call.inputs[:3]))
    return _activated(call, result if added is None else function("add", result, added))  # type: ignore[arg-type]


@translates("FusedGemm", domain=MICROSOFT)
def fused_gemm(call: OnnxCall) -> Node:
    return _activated(call, gemm(call))  # type: ignore[arg-type]


def _activated(call: OnnxCall, x: Node) -> Node:
    """The activation of a fused node, whose parameters it has as attributes."""
    name = call.text("activation", "")
    params = [*call.attribute("activation_params", [])]
    params += [call.attribute(f"activation_{n}", 0.01) for n in ("alpha",) if not params]
    match name:
        case "":
            return x
        case "Relu" | "Sigmoid" | "Tanh":
            return function(name.lower(), x)
        case "LeakyRelu":
            return function("maximum", x, scaled(x, params[0]))
        case "Clip" if len(params) == 2:
            high = function("minimum", x, number(params[1], x))
            return function("maximum", high, number(params[0], x))
        case "HardSigmoid" if len(params) == 2:
            line = function("add", scaled(x, params[0]), number(params[1], x))
            return function("minimum", function("maximum", line, number(0, x)), number(1, x))
    raise LeftError(f"it ends with {name}")


@translates("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(call: OnnxCall) -> list[Node]:
    """The norm of a sum; the sum is the fourth output, and the two between are for training."""
    call.only(0, 3)
    x, skip, gamma = call[0], call[1], call[2]
    simplified = call.type.startswith("SkipSimplified")
    bias = call.get(3 if simplified else 4)
    if not x.type.rank or x.shape[-1:] != gamma.shape:
        raise GraphError(f"{call.type} of {x.type} with a scale of {gamma.type}.")
    total = function("add", x, skip)
    if bias is not None:
        total = function("add", total, bias)
    epsilon = call.attribute("epsilon", 1e-12)
    if simplified:
        normed = rms_norm(total, gamma, epsilon)
    else:
        normed = layer_norm(total, gamma, call.get(3), epsilon)
    return [normed, normed, normed, total]


@translates("MatMulNBits", domain=MICROSOFT)
def matmul_n_bits(call: OnnxCall) -> Node:
    """A product with weights of 4 or 8 bits, whose blocks are laid out as kernels read them."""
    x, weights, scales, bias = call[0], call.static(1), call.static(2), call.get(5)
    size, columns, bits, group = (
        call.attribute(name, default)
        for name, default in (("K", 0), ("N", 0), ("bits", 4), ("block_size", 0))
    )
    if call.get(4) is not None and (call.static(4) != np.arange(size) // group).any():
        raise LeftError("its groups are not of neighbours")
    if x.dtype not in NARROW or scales.dtype not in NARROW:
        raise LeftError(f"it is of {x.type}, with scales of {scales.dtype}")
    if bits not in (4, 8) or not is_grouped(size, group) or size > LONGEST:
        raise LeftError(f"it has {bits} bits, and groups of {group} of {size} numbers")
    groups, rows = size // group, weights.reshape(columns, -1)
    if bits == 4:
        laid = packed(nibbles(rows, size).astype(np.int8) - ZERO)
    else:
        laid = (rows ^ 128).view(np.int8)
    count = prod(x.shape[:-1])
    flat = reshaped(cast(x, FLOAT32), (count, size))
    sizes = (count, columns, size, laid.shape[1], groups)
    kind = TensorType((count, columns), FLOAT32)
    product_of_groups = PrimitiveOperator(quantized_matmul(), sizes, kind)
    scales = scales.reshape(columns, groups)
    result = op(product_of_groups, flat, constant(laid), constant(scales))
    if call.get(3) is not None:
        zeros = zero_points(call.static(3), columns, groups, bits)
        offsets = scales.astype(np.float32) * (2.0 ** (bits - 1) - zeros)
        if offsets.any():
            sums = op(Reduce("sum", (2,)), reshaped(flat, (count, groups, group)))
            by_offsets = product(reshaped(sums, (count, groups)), constant(offsets.T))
            result = function("add", by_offsets, result)
    result = cast(reshaped(result, (*x.shape[:-1], columns)), x.dtype)
    return result if bias is None else function("add", result, bias)


@translates("GatherBlockQuantized", domain=MICROSOFT)
def gathered_blocks(call: OnnxCall) -> Node:
    """Rows of a table of 2, 4 or 8 bits, converted to floats once they are gathered."""
    table, index, scales = call[0], call[1], call[2]
    bits, group = call.attribute("bits", 4), call.attribute("block_size", 128)
    last = table.type.rank - 1
    axes = call.attribute("gather_axis", 0), call.attribute("quantize_axis", 1)
    if table.dtype != np.uint8 or bits not in (2, 4, 8):
        raise LeftError(f"its table is of {bits} bits, in {table.dtype}")
    if scales.dtype not in NARROW or tuple(position(axis, last + 1) for axis in axes) != (0, last):
        raise LeftError(f"its axes are {axes} of {table.type}, with scales of {scales.dtype}")
    groups, size = scales.shape[-1], table.shape[last] * 8 // bits
    if size != groups * group or 0 in (*table.shape, *index.shape):
        raise LeftError(f"it has {groups} groups of {group} of {size} numbers")
    rows, factors = op(Gather(0), table, index), op(Gather(0), scales, index)
    shape = (*rows.shape[:-1], groups)
    offsets = constant(2 ** (bits - 1), INT32)
    if call.get(3) is not None:
        zeros = _unpacked(op(Gather(0), call[3], index), bits, groups)
        offsets = reshaped(zeros, (*shape, 1))
    blocks = reshaped(_unpacked(rows, bits, size), (*shape, group))
    shifted = cast(function("subtract", blocks, offsets), FLOAT32)
    result = function("multiply", shifted, reshaped(cast(factors, FLOAT32), (*shape, 1)))
    return cast(reshaped(result, (*shape[:-1], size)), scales.dtype)


def _unpacked(packed: Node, bits: int, count: int) -> Node:
    """The first `count` numbers of so many bits along the last axis of bytes, in i32."""
    whole = cast(packed, INT32)
    if bits == 8:
        return whole
    *outer, width = whole.shape
    places = np.arange(0, 8, bits)
    shifted = function("right_shift", reshaped(whole, (*outer, width, 1)), constant(places, INT32))
    parts = function("bitwise_and", shifted, constant(2**bits - 1, INT32))
    return sliced(reshaped(parts, (*outer, places.size * width)), len(outer), 0, count)


def nibbles(rows: Array, size: int) -> Array:
    """The first `size` numbers of each row, of bytes with two neighbours each."""
    return np.stack([rows & 15, rows >> 4], -1).reshape(len(rows), -1)[:, :size]


def zero_points(zeros: Array, columns: int, groups: int, bits: int) -> Array:
    """The zero points of each group, which are floats, or integers packed as the weights are."""
    if zeros.dtype.kind != "u":
        return zeros.reshape(columns, groups).astype(np.float32)
    rows = zeros.reshape(columns, -1)
    return (nibbles(rows, groups) if bits == 4 else rows).astype(np.float32)
