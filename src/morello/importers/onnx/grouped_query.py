"""Attention of a decoder to its cache, as ONNX Runtime's builders of models write it."""

from __future__ import annotations

import math

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Attention, Concat, Gather, Pad, Where
from morello.importers.attending import attended, attended_with_sinks
from morello.importers.building import GraphBuilder
from morello.importers.onnx.attention import apart, band, together
from morello.importers.onnx.call import (
    INT32,
    LeftError,
    OnnxCall,
    along,
    constant,
    function,
    number,
    one_type,
    op,
    reshaped,
    translates,
)
from morello.importers.onnx.contributed import MICROSOFT
from morello.importers.onnx.movement import between
from morello.importers.onnx.rotary import rotated

_UNKNOWN = {
    12: "its cache is quantized", 13: "its cache is quantized",
    14: "it has norms inside", 15: "it has norms inside", 16: "its rows are padded",
}  # fmt: skip
"""Inputs with which it is left to ONNX Runtime, and why."""


@translates("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(call: OnnxCall) -> list[Node]:
    """The result, and the cache of keys and values with those of this call written to it.

    Each sequence has as many tokens as its length says, which may be computed; the rows are the
    last of them. What lies after these in the cache is as before, or 0.
    """
    _check_left(call)
    q, k, v = _heads(call)
    one_type(q, k, v)
    batch, _, rows, size = q.shape
    (total,) = call.integers(6)
    if k.shape != v.shape or k.shape != (batch, k.shape[1], rows, size) or total < rows:
        raise GraphError(f"attention of {q.type} to {k.type} and {v.type} of {total} tokens.")
    if 0 in q.shape or q.shape[1] % k.shape[1]:
        raise LeftError(f"it is of {q.type} and {k.type}")
    before = _before(call, rows, total)
    places = function("add", before, constant(np.arange(rows)[:, None], INT32))
    if call.flag("do_rotary"):
        q, k = _rotated(call, places, q, k)
    caches = [_written(call.get(n), x, before, total) for n, x in ((3, k), (4, v))]
    k, v = (between(x, {2: (0, total, 1)}) for x in caches)
    window = call.attribute("local_window_size", -1)
    mask = band(places, total, window - 1 if window > 0 else -1, 0)
    bias = call.get(10)
    if bias is not None:
        one_type(q, bias)
        mask = bias if mask is None else op(Where(), mask, bias, number(-np.inf, q))
    scale = call.attribute("scale", 0.0) or 1 / math.sqrt(size)
    plain = Attention(scale, cap=call.attribute("softcap", 0.0) or None)
    sinks, build = _sinks(call, q), GraphBuilder()
    if sinks is None:
        result = attended(build, plain, (q, k, v), mask)
    else:
        result = attended_with_sinks(build, plain, (q, k, v), mask, sinks)
    return [together(result), *caches]


def _sinks(call: OnnxCall, q: Node) -> Node | None:
    """The score of each head that has no value; 0 for a smooth softmax."""
    sinks = call.get(11)
    if sinks is None and call.attribute("smooth_softmax", 0) > 0:
        return constant(np.zeros(q.shape[1]), q.dtype)
    if sinks is not None and sinks.shape != (q.shape[1],):
        raise GraphError(f"sinks of {sinks.type} for {q.type}.")
    return sinks


def _check_left(call: OnnxCall) -> None:
    """Leave what is not of the usual form."""
    call.floating()
    call.only(0, 1, 2)
    for index, reason in _UNKNOWN.items():
        if call.get(index) is not None:
            raise LeftError(reason)
    if call.flag("sliding_window_cache") or not call.flag("causal", default=True):
        raise LeftError("its cache slides, or its rows see what comes after them")


def _heads(call: OnnxCall) -> list[Node]:
    """Queries, keys and values as [b, heads, rows, size]; they may be given as one tensor."""
    counts = [call.attribute(name) for name in ("num_heads", "kv_num_heads", "kv_num_heads")]
    if call.get(1) is not None:
        return [
            apart(x, count) for x, count in zip((call[0], call[1], call[2]), counts, strict=True)
        ]
    every = apart(call[0], sum(counts))
    starts = 0, counts[0], counts[0] + counts[1]
    return [
        between(every, {1: (start, start + count, 1)})
        for start, count in zip(starts, counts, strict=True)
    ]


def _before(call: OnnxCall, rows: int, total: int) -> Node:
    """How many tokens of each sequence come before its rows: [b, 1, 1, 1]; none in a prompt."""
    if rows == total:
        return constant(np.zeros((1, 1, 1, 1)), INT32)
    if rows > 1 and call[0].shape[0] > 1:
        raise LeftError("several sequences go on by more than a token")
    return function("subtract", along(call[5], 0, 4), constant(rows - 1, INT32))


def _rotated(call: OnnxCall, places: Node, q: Node, k: Node) -> list[Node]:
    """Queries and keys, rotated by their places in a sequence, or by the positions given."""
    cos, sin, given = call[7], call[8], call.get(9)
    one_type(q, cos, sin)
    if cos.type.rank != 2 or 2 * cos.shape[1] > q.shape[3]:
        raise GraphError(f"{call.type} of {q.type} with {cos.type}.")
    ids = reshaped(places, (places.shape[0], places.shape[2])) if given is None else given
    cos, sin = (op(Gather(0), cache, ids) for cache in (cos, sin))
    interleaved = call.flag("rotary_interleaved")
    return [rotated(x, cos, sin, 1, interleaved) for x in (q, k)]


def _written(past: Node | None, new: Node, before: Node, total: int) -> Node:
    """A cache of at least `total` tokens, in which new ones follow those before."""
    rows = new.shape[2]
    if past is None or not past.shape[2]:
        if rows != total:
            raise GraphError(f"attention to {total} tokens, of which {rows} are given.")
        return new
    if past.shape != (*new.shape[:2], past.shape[2], new.shape[3]):
        raise GraphError(f"a cache of {past.type} for {new.type}.")
    one_type(past, new)
    size = max(past.shape[2], total)
    if rows == size:
        return new
    if rows == total:
        return op(Concat(2), new, between(past, {2: (rows, size, 1)}))
    if past.shape[2] < size:
        past = op(Pad((0,) * 4, (0, 0, size - past.shape[2], 0)), past, number(0, past))
    every = constant(np.arange(size)[:, None], INT32)
    if rows == 1:
        return op(Where(), function("equal", every, before), new, past)
    numbers = function("subtract", every, before)
    inside = function("logical_and", function("greater_equal", numbers, number(0, numbers)),
                      function("less", numbers, number(rows, numbers)))  # fmt: skip
    placed = op(Gather(2), new, reshaped(numbers, (size,)))
    return op(Where(), inside, placed, past)
