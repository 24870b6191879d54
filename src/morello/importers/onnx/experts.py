"""Mixtures of experts, as ONNX Runtime has them: each row goes through the experts it chooses."""

from __future__ import annotations

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
from morello.importers.onnx.contributed import MICROSOFT
from morello.importers.onnx.elementwise import swished
from morello.importers.ordering import extremes
from morello.importers.taking import taken_along


@translates("MoE", domain=MICROSOFT)
def mixture(call: OnnxCall) -> Node:
    x, scores, first, second = call[0], call[1], call[2], call[4]
    if call.get(6) is not None:
        raise LeftError("its gates have matrices of their own")
    if call.attribute("use_sparse_mixer", 0):
        raise LeftError("it mixes sparsely")
    if x.dtype != FLOAT32 or scores.type.rank != 2:
        raise LeftError(f"it is of {x.type} and {scores.type}")
    (tokens, count), chosen = scores.shape, call.attribute("k", 1)
    with left_if_refused():
        places = extremes(scores, chosen, 1)
    if call.attribute("normalize_routing_weights", 0):
        weights = op(Softmax(1), taken_along(scores, places, 1))
    else:
        weights = taken_along(op(Softmax(1), scores), places, 1)
    ids = reshaped(cast(places, INT32), (tokens * chosen,))
    whole = reshaped(x, (prod(x.shape[:-1]), x.shape[-1]))
    numbers = constant(np.repeat(np.arange(tokens), chosen), INT32)
    order = places_by_value(ids, count)
    sources, ids = at_places(numbers, order), at_places(ids, order)
    inner = _linear(op(Gather(0), whole, sources), first, call.get(3), ids)
    outer = _linear(_activated(call, inner), second, call.get(5), ids)
    each = reshaped(op(Gather(0), outer, order), (tokens, chosen, outer.shape[1]))
    each = function("multiply", each, reshaped(weights, (tokens, chosen, 1)))
    return reshaped(op(Reduce("sum", (1,)), each), x.shape)


def _linear(x: Node, weights: Node, bias: Node | None, ids: Node) -> Node:
    """Rows of x by the transposed weights of their experts, plus their biases."""
    if weights.type.rank != 3:
        raise GraphError(f"experts of {weights.type}.")
    result = grouped_product(x, op(Transpose((0, 2, 1)), weights), ids)
    return result if bias is None else function("add", result, op(Gather(0), bias, ids))


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
