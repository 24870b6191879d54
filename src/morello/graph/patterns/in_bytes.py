"""Products and convolutions of dequantized numbers, computed in the bytes that these stand for.

These are (x - zero) * scale, for bytes x, and constants w * scales, for integers w of 8 bits: sums
of x * w are exact in i32. The channels of images come last then, and functions of such images are
computed in that order: a convolution is a product of a window of bytes for each pixel, with
filters as columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from morello.graph.graph import Array, Graph, Node, Operator, apply
from morello.graph.operators import Cast, Constant, Conv, Dot, Map, Pad, Slice, Transpose
from morello.graph.patterns.expansion import padded
from morello.graph.patterns.matching import (
    Rule,
    constant,
    in_dtype,
    is_float,
    is_map,
    joined,
    mapped,
    number,
)
from morello.graph.patterns.views import simple_transpose
from morello.graph.rewriting import rewritten
from morello.ir.dtype import I8, I32, U8
from morello.targets.target import Target

GROUP = 4
"""How many products of bytes an instruction adds to each sum."""

_LONGEST = 2**31 // (255 * 128)
"""The most products of bytes of which any sum fits into i32."""

_FEWEST = 16
"""The fewest filters for which windows of several pixels are copied to be rows of a product."""

_INT8, _UINT8, _INT32 = map(np.dtype, (np.int8, np.uint8, np.int32))


def in_bytes(graph: Graph, machine: Target) -> Graph:
    """The graph with sums of products of bytes in i32, if a machine has instructions for these.

    It is given before constants are folded: their integers are not found in it afterwards.
    """
    if not any((*pack.inputs, pack.output) == (U8, I8, I32) for pack in machine.packs):
        return graph
    products: dict[type[Operator], tuple[Rule, ...]] = {
        Conv: (conv_of_bytes,),
        Dot: (dot_of_bytes,),
    }
    if not any(rule(n) for n in graph.nodes for rule in products.get(type(n.operator), ())):
        return graph
    turned = (before_turning,)
    return rewritten(graph, {**products, Cast: turned, Map: turned, Transpose: (simple_transpose,)})


@dataclass(frozen=True)
class _Numbers:
    """(integers - zero) * scale, a number of f32 for each of the integers, which are bytes."""

    integers: Node
    zero: int
    scale: float


def dot_of_bytes(node: Node) -> Node | None:
    """dot((x - zero) * scale, w * scales) -> (dot(x, w) - zero * sums of w) * (scale * scales)."""
    dot, (x, weights) = node.operator, node.inputs
    assert isinstance(dot, Dot)
    numbers, known = _dequantized(x), _weights(weights)
    if dot.batch or len(dot.contracted) != 1 or weights.type.rank != 2:
        return None
    if numbers is None or known is None or node.dtype != np.float32:
        return None
    ((along, summed),) = dot.contracted
    integers, scales = known
    scales = np.moveaxis(np.broadcast_to(scales, integers.shape), summed, 0)
    if along != x.type.rank - 1 or (scales != scales[0]).any():
        return None
    return _product(numbers, np.moveaxis(integers, summed, 0), scales[0])


def conv_of_bytes(node: Node) -> Node | None:
    """conv((x - zero) * scale, w * scales) -> dot(windows of x, w), scaled as by `dot_of_bytes`.

    For whole groups of channels, one scale for each filter, and filters that are worth a copy.
    """
    conv, (image, filters) = node.operator, node.inputs
    assert isinstance(conv, Conv)
    rank = len(conv.strides)
    inner = isinstance(image.operator, Transpose) and image.operator == _last(rank, back=True)
    numbers, known = _dequantized(image.inputs[0] if inner else image), _weights(filters)
    if numbers is None or known is None or node.dtype != np.float32:
        return None
    count, channels, *taps = filters.shape
    if conv.groups > 1 or channels % GROUP or (prod(taps) > 1 and count < _FEWEST):
        return None
    integers, scales = known
    scales = np.broadcast_to(scales, integers.shape).reshape(count, -1)
    if (scales != scales[:, :1]).any():
        return None
    if not inner:
        turned = apply(_last(rank), numbers.integers)
        numbers = _Numbers(turned, numbers.zero, numbers.scale)
    numbers = _in_u8(numbers)
    windows = _windows(numbers, conv, (*taps,), node.shape[2:])
    columns = np.moveaxis(integers, (0, 1), (-1, -2)).reshape(-1, count)
    result = _product(_Numbers(windows, numbers.zero, numbers.scale), columns, scales[:, 0])
    return result and apply(_last(rank, back=True), result)


def before_turning(node: Node) -> Node | None:
    """f(turned image, y) -> turned f(image, turned y), for images whose channels are last."""
    rank = node.type.rank
    if rank < 3 or not any(x.operator == _last(rank - 2, back=True) for x in node.inputs):
        return None
    if not all(
        x.type.size == 1 or x.type.rank == rank or isinstance(x.operator, Constant)
        for x in node.inputs
    ):
        return None
    inputs = [x if x.type.size == 1 else _turned(x, rank) for x in node.inputs]
    return apply(_last(rank - 2, back=True), apply(node.operator, *inputs))


def _turned(x: Node, rank: int) -> Node:
    """An image, or a constant that is broadcast to one, with its channels last."""
    order = _last(rank - 2)
    if isinstance(x.operator, Constant):
        whole = x.operator.array.reshape((1,) * (rank - x.type.rank) + x.shape)
        return constant(order.evaluate(whole), x.dtype)
    turned = apply(order, x)
    return simple_transpose(turned) or turned


def _last(rank: int, *, back: bool = False) -> Transpose:
    """The transposition from channels first to channels last, or back, of so many spatial dims."""
    spatial = range(2, rank + 2)
    return Transpose((0, rank + 1, *range(1, rank + 1)) if back else (0, *spatial, 1))


def _product(x: _Numbers, columns: Array, scales: Array) -> Node | None:
    """The product [..., f] of numbers [..., k] with columns [k, f], each times its scale."""
    x = _in_u8(x)
    factors = (x.scale * scales.astype(np.float64)).astype(np.float32)
    if len(columns) > _LONGEST or not np.isfinite(factors).all():
        return None
    weights = constant(columns, _INT8)
    sums = apply(Dot((), ((x.integers.type.rank - 1, 0),), _INT32), x.integers, weights)
    if x.zero:
        excess = x.zero * columns.astype(np.int64).sum(0)
        sums = mapped("subtract", sums, constant(excess, _INT32))
    return mapped("multiply", in_dtype(sums, factors.dtype), constant(factors, factors.dtype))


def _in_u8(x: _Numbers) -> _Numbers:
    """The numbers as unsigned bytes."""
    if x.integers.dtype == _UINT8:
        return x
    signed = x.integers
    if isinstance(signed.operator, Cast):  # of numbers that are shifted first
        (signed,) = signed.inputs
    wide = signed if is_float(signed.dtype) else in_dtype(signed, _INT32)
    shifted = mapped("add", wide, constant(128, wide.dtype))
    return _Numbers(in_dtype(shifted, _UINT8), x.zero + 128, x.scale)


def _windows(image: _Numbers, conv: Conv, taps: tuple[int, ...], counts: tuple[int, ...]) -> Node:
    """The bytes [b, y, x, taps * c] that each element of a convolution of [b, h, w, c] reads."""
    x = image.integers
    if any((*conv.before, *conv.after)):
        pad = Pad((0, *conv.before, 0), (0, *conv.after, 0))
        wider = padded(apply(pad, x, constant(image.zero, x.dtype)))
        assert wider is not None
        x = wider
    batch, *_, channels = x.shape
    parts = []
    for tap in product(*map(range, taps)):
        starts = [n * step for n, step in zip(tap, conv.dilations, strict=True)]
        stops = [
            start + (count - 1) * stride + 1
            for start, count, stride in zip(starts, counts, conv.strides, strict=True)
        ]
        apart = prod(taps) == 1 and max(conv.strides) > 1  # copied, to be rows of a product
        part = Slice((0, *starts, 0), (batch, *stops, channels), (1, *conv.strides, 1), apart)
        parts.append(apply(part, x))
    return joined(parts, x.type.rank - 1)


def _dequantized(node: Node) -> _Numbers | None:
    """The operands of the dequantization (x - zero) * scale that a node is; None if it is none."""
    if not is_map(node, "multiply") or node.dtype != np.float32:
        return None
    wide, scale = node.inputs
    factor = number(scale)
    if factor is None or not isinstance(wide.operator, Cast) or wide.shape != node.shape:
        return None
    (integers,) = wide.inputs
    zero: float | None = 0
    if is_map(integers, "subtract"):
        integers, subtracted = integers.inputs
        zero = number(subtracted)
    if isinstance(integers.operator, Cast) and integers.dtype == _INT32:
        (integers,) = integers.inputs
    if zero is None or integers.dtype not in (_INT8, _UINT8) or integers.shape != node.shape:
        return None
    info = np.iinfo(integers.dtype)
    return _Numbers(integers, int(zero), factor) if info.min <= zero <= info.max else None


def _weights(node: Node) -> tuple[Array, Array] | None:
    """The integers of 8 bits, and their scales, that a node multiplies; None if there are none."""
    if not is_map(node, "multiply"):
        return None
    integers, scales = (source.operator for source in node.inputs)
    if not (isinstance(integers, Constant) and isinstance(scales, Constant)):
        return None
    narrow = integers.array.astype(_INT8)
    return (narrow, scales.array) if bool((narrow == integers.array).all()) else None
