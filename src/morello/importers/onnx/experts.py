"""Mixtures of experts, as ONNX Runtime has them: each row goes through the experts it chooses."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Gather, Reduce, Softmax, Transpose
from morello.graph.patterns.experts import grouped_product
from morello.graph.patterns.matching import selected
from morello.importers.counting import at_places, places_by_value
from morello.importers.onnx.call import (
    FLOAT32,
    INT32,
    MOST_FOLDED,
    NARROW,
    LeftError,
    OnnxCall,
    cast,
    constant,
    function,
    left_if_refused,
    number,
    op,
    reshaped,
    translates,
)
from morello.importers.onnx.contributed import MICROSOFT, nibbles, zero_points
from morello.importers.onnx.elementwise import swished
from morello.importers.ordering import extremes
from morello.importers.taking import taken_along


@translates("MoE", domain=MICROSOFT)
def mixture(call: OnnxCall) -> Node:
    if call.get(6) is not None:
        raise LeftError(_GATES)
    first, second = (_Layer(call[n], call.get(n + 1)) for n in (2, 4))
    return _mixed(call, first, second, call.flag("normalize_routing_weights"))


@translates("QMoE", domain=MICROSOFT)
def quantized_mixture(call: OnnxCall) -> Node:
    """Its matrices are converted to f32 once, where ONNX Runtime does so in each call."""
    if any(call.get(n) is not None for n in (8, 9, 10, 13)):
        raise LeftError(_GATES)
    if call.get(14) is not None:
        raise LeftError("what weighs its experts is not what chooses them")
    first, second = (
        _Layer(_converted(call, n, zeros), call.get(n + 2)) for n, zeros in ((2, 11), (5, 12))
    )
    return _mixed(call, first, second, normalized=True)


_GATES = "its gates have matrices of their own"


@dataclass(frozen=True)
class _Layer:
    """The matrices [e, n, k] of all experts, and their biases [e, n], if there are any."""

    weights: Node
    biases: Node | None

    def of(self, x: Node, ids: Node) -> Node:
        """Rows of x by the transposed weights of their experts, plus their biases."""
        if self.weights.type.rank != 3:
            raise GraphError(f"experts of {self.weights.type}.")
        weights = op(Transpose((0, 2, 1)), cast(self.weights, x.dtype))
        result = grouped_product(x, weights, ids)
        if self.biases is None:
            return result
        return function("add", result, op(Gather(0), cast(self.biases, x.dtype), ids))


def _mixed(call: OnnxCall, first: _Layer, second: _Layer, normalized: bool) -> Node:
    """The sum of the results of the experts that each row chooses, weighted by its scores.

    The weights sum to 1 over those experts if they are `normalized`, else over all.
    """
    if call.flag("use_sparse_mixer"):
        raise LeftError("it mixes sparsely")
    if call[0].dtype not in NARROW or call[1].type.rank != 2:
        raise LeftError(f"it is of {call[0].type} and {call[1].type}")
    x, scores = cast(call[0], FLOAT32), cast(call[1], FLOAT32)
    (tokens, count), chosen = scores.shape, call.attribute("k", 1)
    with left_if_refused():
        places = extremes(scores, chosen, 1)
    if normalized:
        weights = op(Softmax(1), taken_along(scores, places, 1))
    else:
        weights = taken_along(op(Softmax(1), scores), places, 1)
    ids = reshaped(cast(places, INT32), (tokens * chosen,))
    whole = reshaped(x, (prod(x.shape[:-1]), x.shape[-1]))
    numbers = constant(np.repeat(np.arange(tokens), chosen), INT32)
    order = places_by_value(ids, count)
    sources, ids = at_places(numbers, order), at_places(ids, order)
    inner = first.of(op(Gather(0), whole, sources), ids)
    outer = second.of(_activated(call, inner), ids)
    each = reshaped(op(Gather(0), outer, order), (tokens, chosen, outer.shape[1]))
    each = function("multiply", each, reshaped(weights, (tokens, chosen, 1)))
    return cast(reshaped(op(Reduce("sum", (1,)), each), x.shape), call[0].dtype)


def _converted(call: OnnxCall, place: int, zeros: int) -> Node:
    """The matrices [e, n, k] of an input of 4 or 8 bits in f32; its scales are the next input."""
    weights, scales = call.static(place), call.static(place + 1)
    bits, group = call.attribute("expert_weight_bits", 4), call.attribute("block_size", 0)
    plain = call.text("quant_type", "int") == "int" and "zero_point_offset" not in call.attributes
    if bits not in (4, 8) or weights.dtype != np.uint8 or weights.ndim != 3 or not plain:
        raise LeftError(f"its experts have {bits} bits, in {weights.dtype}")
    *outer, width = weights.shape
    size = width * 8 // bits
    if prod(outer) * size > MOST_FOLDED:
        raise LeftError("its experts are too large to be converted to f32")
    rows = weights.reshape(-1, width)
    numbers = nibbles(rows, size) if bits == 4 else rows
    factors = scales.reshape(len(rows), -1).astype(np.float32)
    groups = factors.shape[1]
    offsets = np.full_like(factors, 2 ** (bits - 1))
    if call.get(zeros) is not None:
        given = call.static(zeros)
        if given.size != len(rows) * -(-groups * bits // 8):
            raise LeftError("its zero points are of other groups")
        offsets = zero_points(given, len(rows), groups, bits)
    if groups > 1 and -(-size // max(group, 1)) != groups:
        raise GraphError(f"{groups} groups of {group} of {size} numbers.")
    each = np.minimum(np.arange(size) // (group if groups > 1 else size), groups - 1)
    return constant(((numbers - offsets[:, each]) * factors[:, each]).reshape(*outer, size))


def _activated(call: OnnxCall, x: Node) -> Node:
    name = call.text("activation_type", "relu")
    match name:
        case "identity":
            return x
        case "relu" | "silu":
            return function(name, x)
        case "gelu":
            return function("gelu_tanh", x)
        case "swiglu" if call.attribute("swiglu_fusion", 0) == 1:
            return _swiglu(call, x)
    raise LeftError(f"its activation is {name}")


def _swiglu(call: OnnxCall, x: Node) -> Node:
    """The gate of each pair of neighbours, swished, times the other one."""
    rows, columns = x.shape
    pairs = reshaped(x, (rows, columns // 2, 2))
    gate, value = (selected(pairs, 2, n) for n in (0, 1))
    limit = call.attribute("swiglu_limit", np.inf)
    if np.isfinite(limit):
        gate = function("minimum", gate, number(limit, x))
        value = function("minimum", value, number(limit, x))
        value = function("maximum", value, number(-limit, x))
    shifted = function("add", value, number(call.attribute("activation_beta", 0.0), x))
    return function("multiply", swished(gate, call.attribute("activation_alpha", 1.0)), shifted)
