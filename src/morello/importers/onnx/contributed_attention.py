"""Attention of the domain com.microsoft, which ONNX Runtime's tools make of many operators."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Attention, Concat, Gather, Reduce, Where
from morello.graph.patterns.matching import selected
from morello.importers.attending import attended, masked_score
from morello.importers.building import GraphBuilder
from morello.importers.onnx.attention import apart, together
from morello.importers.onnx.call import (
    INT32,
    LeftError,
    OnnxCall,
    along,
    constant,
    function,
    number,
    op,
    reshaped,
    translates,
)
from morello.importers.onnx.contributed import MICROSOFT
from morello.importers.onnx.movement import between
from morello.importers.onnx.products import product
from morello.importers.onnx.quantized import QuantizedNode
from morello.importers.onnx.quantized_layers import product_of_numbers
from morello.importers.onnx.reductions import layer_norm


@translates("Attention", domain=MICROSOFT)
def attention(call: OnnxCall) -> list[Node]:
    """Attention of tokens to each other, whose queries, keys and values are one product."""
    call.floating()
    return _of_itself(call, product(call[0], call[1]), call.get(2), mask=3, past=4, bias=5)


@translates("QAttention", domain=MICROSOFT)
def quantized_attention(call: OnnxCall) -> list[Node]:
    """That product is one of quantized numbers."""
    x, w = call[0], call[1]
    if x.type.rank != 3 or w.type.rank != 2:
        raise LeftError(f"it is of {x.type} and {w.type}")
    tokens, weights = QuantizedNode(x, call[3], call.get(6)), QuantizedNode(w, call[4], call.get(7))
    every = product_of_numbers(tokens, weights, None)
    return _of_itself(call, every, call.get(2), mask=5, past=8, bias=9)


def _of_itself(
    call: OnnxCall, every: Node, shift: Node | None, mask: int, past: int, bias: int
) -> list[Node]:
    """The result, and the keys and values of all tokens; some inputs are given by number."""
    every = every if shift is None else function("add", every, shift)
    if every.type.rank != 3 or call.flag("do_rotary") or call.attribute("rotary_embedding_dim", 0):
        raise LeftError(f"it is of {every.type}, or turns its tokens")
    heads, width = call.attribute("num_heads"), every.shape[2]
    sizes = [int(n) for n in call.attribute("qkv_hidden_sizes", [width // 3] * 3)]
    if sum(sizes) != width or len(sizes) != 3:
        raise GraphError(f"{every.type} is not split into {sizes}.")
    q, k, v = (apart(each, heads) for each in _divided(every, 2, sizes))
    if call.get(past) is not None:
        k, v = (op(Concat(2), selected(call[past], 0, n), x) for n, x in enumerate((k, v)))
    result = _attended(call, q, k, v, call.get(mask), call.get(bias))
    if call.used <= {0}:
        return [result]
    return [result, op(Concat(0), *(reshaped(x, (1, *x.shape)) for x in (k, v)))]


@translates("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(call: OnnxCall) -> list[Node]:
    """Queries, keys and values are given apart, those of cross attention as heads."""
    call.floating()
    call.only(0, 1, 2)
    heads, q, k, v, shift = (
        call.attribute("num_heads"),
        call[0],
        call.get(1),
        call.get(2),
        call.get(3),
    )
    if (
        q.type.rank != 3
        or k is None
        or v is None
        or k.type.rank not in (3, 4)
        or len(call.inputs) > 8
    ):
        raise LeftError("its queries, keys and values are one tensor, or in a buffer")
    given = [q, k, v]
    if shift is not None:
        width = q.shape[2]
        parts = _divided(shift, 0, (width, width, shift.type.size - 2 * width))
        given = [
            x if x.type.rank == 4 else function("add", x, part)
            for x, part in zip(given, parts, strict=True)
        ]
    q, k, v = (x if x.type.rank == 4 else apart(x, heads) for x in given)
    if call.get(6) is not None:
        k, v = (op(Concat(2), call[n], x) for n, x in ((6, k), (7, v)))
    return [_attended(call, q, k, v, call.get(4), call.get(5)), k, v]


def _divided(x: Node, axis: int, sizes: Sequence[int]) -> list[Node]:
    """Parts of these sizes along an axis, one after the other."""
    ends = np.cumsum(sizes).tolist()
    return [between(x, {axis: (n - size, n, 1)}) for n, size in zip(ends, sizes, strict=True)]


def _attended(
    call: OnnxCall, q: Node, k: Node, v: Node, hidden: Node | None, bias: Node | None
) -> Node:
    """The heads' results, side by side, for masks of columns and numbers added to scores."""
    m, n = q.shape[2], k.shape[2]
    if 0 in (*q.shape, *k.shape):
        raise LeftError("it has no elements")
    mask = None if hidden is None else _column_mask(call, hidden, q, n)
    if bias is not None:
        mask = bias if mask is None else function("add", mask, bias)
    if call.flag("unidirectional"):
        seen = constant(np.tri(m, n, n - m, dtype=bool))
        mask = seen if mask is None else op(Where(), seen, mask, number(-np.inf, q))
    scale = call.attribute("scale", 0.0) or 1 / math.sqrt(q.shape[3])
    return together(attended(GraphBuilder(), Attention(scale), (q, k, v), mask))


def _column_mask(call: OnnxCall, hidden: Node, q: Node, columns: int) -> Node:
    """The additive mask of scores, from a mask that is 0 for hidden columns, or rows' lengths."""
    batch = q.shape[0]
    places: Sequence[int] = (batch, 1, 1, columns)
    if hidden.dtype != INT32:
        raise LeftError(f"its mask is {hidden.type}")
    if hidden.shape == (batch, columns):
        seen = function("greater", reshaped(hidden, places), number(0, hidden))
    elif hidden.shape == (batch, q.shape[2], columns):
        seen = function(
            "greater", reshaped(hidden, (batch, 1, *hidden.shape[1:])), number(0, hidden)
        )
    elif hidden.shape == (batch,):
        numbers = along(constant(np.arange(columns), INT32), 3, 4)
        seen = function("less", numbers, along(hidden, 0, 4))
    else:
        raise LeftError(f"its mask is {hidden.type}")
    low = call.attribute("mask_filter_value", -10000.0)
    return op(Where(), seen, number(0, q), number(max(low, masked_score(q.dtype)), q))


@translates("EmbedLayerNormalization", domain=MICROSOFT)
def embedded(call: OnnxCall) -> list[Node]:
    """The norm of the sum of the vectors of words, positions and segments, and the sum.

    The second output is how many words a mask shows of each sentence, or 0 without one.
    """
    ids, segments, words, positions, kinds = call[0], call.get(1), call[2], call[3], call.get(4)
    total = op(Gather(0), words, ids)
    if call.get(8) is not None:
        total = function("add", total, op(Gather(0), positions, call[8]))
    else:
        total = function("add", total, between(positions, {0: (0, ids.shape[1], 1)}))
    if segments is not None and kinds is not None:
        total = function("add", total, op(Gather(0), kinds, segments))
    normed = layer_norm(total, call[5], call[6], call.attribute("epsilon", 1e-12))
    mask = call.get(7)
    if mask is None:
        return [normed, constant(np.zeros(ids.shape[0]), INT32), total]
    return [normed, op(Reduce("sum", (1,)), mask), total]
