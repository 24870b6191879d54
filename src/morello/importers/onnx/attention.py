"""Attention of ONNX: heads, masks, and the keys and values of the tokens before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, reduce

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Attention, Concat, Constant, Pad, Transpose, Where
from morello.graph.patterns.matching import lowest
from morello.importers.attending import attended
from morello.importers.building import GraphBuilder
from morello.importers.onnx.call import (
    BOOL,
    FLOAT32,
    INT32,
    LeftError,
    OnnxCall,
    UndefinedError,
    along,
    cast,
    constant,
    function,
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
    cap = call.attribute("softcap", 0.0)
    if not 0 <= cap < math.inf:
        raise UndefinedError(f"its softcap is {cap}")
    if (mode := call.attribute("qk_matmul_output_mode", 0)) not in range(4):
        raise UndefinedError(f"its qk_matmul_output_mode is {mode}")
    call.floating()
    call.only(0, 1, 2)
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
    plain = Attention(scale, cap=cap or None)
    mask = _mask(call, q, k.shape[2], before)
    result = attended(GraphBuilder(), plain, (q, k, v), mask)
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


def _mask(call: OnnxCall, q: Node, columns: int, before: int) -> Node | None:
    """The attention mask, added or of bool: the one given, within what its attributes leave.

    Columns that a mask is too short for are hidden, and so are those that it adds the lowest
    number to, as in ONNX Runtime.
    """
    seen = _seen(call, q.shape[2], columns, before)
    mask = call.get(3)
    if mask is None:
        return seen
    if mask.dtype not in (BOOL, q.dtype) or not mask.type.rank:
        raise LeftError(f"its mask is {mask.type}")
    nothing = number(0 if mask.dtype == BOOL else lowest(mask.dtype), mask)
    if 1 < mask.shape[-1] < columns:
        more: Sequence[int] = (*(0,) * (mask.type.rank - 1), columns - mask.shape[-1])
        mask = op(Pad((0,) * mask.type.rank, tuple(more)), mask, nothing)
    kept = mask if mask.dtype == BOOL else function("greater", mask, nothing)
    seen = kept if seen is None else function("logical_and", seen, kept)
    return seen if mask.dtype == BOOL else op(Where(), seen, mask, number(-np.inf, mask))


def _seen(call: OnnxCall, rows: int, columns: int, before: int) -> Node | None:
    """Which columns each row may see by the attributes, and by the lengths of the sequences.

    Row i is the token `before` + i, or the last rows are the last tokens of each sequence.
    """
    left, right = (call.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    if call.flag("is_causal"):
        right = 0
    lengths = call.get(6)
    if lengths is None:
        return band(constant(np.arange(rows)[:, None] + before, INT32), columns, left, right)
    lengths = along(cast(lengths, INT32), 0, 4)
    places = function("add", lengths, constant(np.arange(rows)[:, None] - rows, INT32))
    within = function("less", constant(np.arange(columns), INT32), lengths)
    near = band(places, columns, left, right)
    return within if near is None else function("logical_and", within, near)


def band(places: Node, columns: int, left: int, right: int) -> Node | None:
    """Which columns lie from `left` before the places of rows [..., rows, 1] to `right` after them.

    A number below 0 is no limit; None if all columns are known to lie there.
    """
    every = constant(np.arange(columns), INT32)
    sides = ("greater_equal", left, -left), ("less_equal", right, right)
    limits = [
        function(comparison, every, function("add", places, number(shift, places)))
        for comparison, width, shift in sides
        if width >= 0
    ]
    if not limits:
        return None
    seen = reduce(partial(function, "logical_and"), limits)
    known = seen.operator
    return None if isinstance(known, Constant) and known.array.all() else seen
