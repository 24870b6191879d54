"""Attention of ONNX: heads, masks, and the keys and values of the tokens before."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Concat, Pad, Transpose, Where
from morello.importers.attending import attended, masked_score
from morello.importers.building import GraphBuilder
from morello.importers.onnx.call import (
    BOOL,
    FLOAT32,
    LeftError,
    OnnxCall,
    constant,
    known_dtype,
    number,
    one_type,
    op,
    reshaped,
    translates,
)


@translates("Attention")
def attention(call: OnnxCall) -> list[Node]:
    """The heads' results, and all keys and values: those before, and those of this call."""
    call.floating()
    call.only(0, 1, 2)
    if call.get(6) is not None or call.attribute("softcap", 0.0):
        raise LeftError("its sequences have lengths of their own, or its scores are capped")
    if known_dtype(call.attribute("softmax_precision", 1)) not in (FLOAT32, call[0].dtype):
        raise LeftError("its softmax has a dtype of its own")
    names = "q_num_heads", "kv_num_heads", "kv_num_heads"
    q, k, v = (_heads(call, n, name) for n, name in enumerate(names))
    one_type(q, k, v)
    before = 0
    if call.get(4) is not None:
        before = call[4].shape[2]
        k, v = (op(Concat(2), call[n], x) for n, x in ((4, k), (5, v)))
    if k.shape[:3] != v.shape[:3] or q.shape[3] != k.shape[3] or q.shape[1] % k.shape[1]:
        raise GraphError(f"attention of {q.type} to {k.type} and {v.type}.")
    if 0 in (*q.shape, *k.shape, *v.shape):
        raise LeftError("it has no elements")
    scale = call.attribute("scale", 1 / math.sqrt(q.shape[3]))
    mask = _mask(call, q, q.shape[2], k.shape[2], before)
    result = attended(GraphBuilder(), q, k, v, mask, scale)
    return [together(result) if call[0].type.rank == 3 else result, k, v]


def _heads(call: OnnxCall, index: int, name: str) -> Node:
    """An input as [b, heads, tokens, size], as which it may be given."""
    x = call[index]
    return x if x.type.rank == 4 else apart(x, call.attribute(name))


def apart(x: Node, heads: int) -> Node:
    """A tensor [b, tokens, heads * size] as [b, heads, tokens, size]."""
    if x.type.rank != 3 or heads < 1 or x.shape[2] % heads:
        raise GraphError(f"{heads} heads of {x.type}.")
    batch, length, width = x.shape
    return op(Transpose((0, 2, 1, 3)), reshaped(x, (batch, length, heads, width // heads)))


def together(x: Node) -> Node:
    """A tensor [b, heads, tokens, size] as [b, tokens, heads * size]."""
    batch, heads, length, size = x.shape
    return reshaped(op(Transpose((0, 2, 1, 3)), x), (batch, length, heads * size))


def _mask(call: OnnxCall, q: Node, rows: int, columns: int, before: int) -> Node | None:
    """The attention mask, added or of bool: the one given, within the band that attributes leave.

    Row i is the token `before` + i. Columns that a mask is too short for are hidden.
    """
    seen = _band(call, rows, columns, before)
    mask = call.get(3)
    if mask is None:
        return None if seen.all() else constant(seen)
    if mask.dtype not in (BOOL, q.dtype) or not mask.type.rank:
        raise LeftError(f"its mask is {mask.type}")
    hidden = number(0 if mask.dtype == BOOL else masked_score(q.dtype), mask)
    if 1 < mask.shape[-1] < columns:
        more: Sequence[int] = (*(0,) * (mask.type.rank - 1), columns - mask.shape[-1])
        mask = op(Pad((0,) * mask.type.rank, tuple(more)), mask, hidden)
    return mask if seen.all() else op(Where(), constant(seen), mask, hidden)


def _band(call: OnnxCall, rows: int, columns: int, before: int) -> np.ndarray:
    """Which columns each row may see, by the attributes: [rows, columns]."""
    ahead = np.arange(columns) - (np.arange(rows)[:, None] + before)
    left, right = (call.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    seen = np.full((rows, columns), True)
    if call.attribute("is_causal", 0):
        seen &= ahead <= 0
    if left >= 0:
        seen &= ahead >= -left
    if right >= 0:
        seen &= ahead <= right
    return seen
