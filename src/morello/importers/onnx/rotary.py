"""Rotary embeddings of ONNX: pairs of numbers, each rotated by the angle of its position."""

from __future__ import annotations

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Concat, Gather
from morello.importers.onnx.call import (
    FLOATS,
    LeftError,
    OnnxCall,
    constant,
    function,
    one_type,
    op,
    reshaped,
    translates,
)
from morello.importers.onnx.contributed import MICROSOFT
from morello.importers.onnx.movement import between


@translates("RotaryEmbedding")
def rotary_embedding(call: OnnxCall) -> Node:
    """ONNX's own: without positions, the caches have a row for each token of each sequence."""
    x, cos, sin, places = call[0], call[1], call[2], call.get(3)
    if places is not None:
        cos, sin = (op(Gather(0), cache, places) for cache in (cos, sin))
    return _rotated(call, x, cos, sin)


@translates("RotaryEmbedding", domain=MICROSOFT)
def contributed_rotary_embedding(call: OnnxCall) -> Node:
    """ONNX Runtime's: a single position is that of the first token of each sequence."""
    x, places, cos, sin = call.all
    if call.flag("is_packed_batching") or call.attribute("scale", 1.0) != 1:
        raise LeftError("its sequences are packed, or it has a scale")
    if places.shape == (1,):
        length = x.shape[-2] if x.type.rank > 1 else 0
        places = function("add", places, constant(np.arange(length), places.dtype))
    return _rotated(call, x, *(op(Gather(0), cache, places) for cache in (cos, sin)))


def _rotated(call: OnnxCall, x: Node, cos: Node, sin: Node) -> Node:
    """The pairs of each head, rotated; what follows them in a head stays as it is.

    Heads are an axis before that of the tokens, or parts of each token.
    """
    one_type(x, cos, sin)
    pairs = cos.shape[-1] if cos.type.rank > 1 else 0
    if x.dtype not in FLOATS or x.type.rank not in (3, 4) or not pairs:
        raise LeftError(f"it is of {x.type} and {cos.type}")
    if x.type.rank == 3:
        count = call.attribute("num_heads", 0) or max(x.shape[-1] // (2 * pairs), 1)
        heads, axis = reshaped(x, (*x.shape[:2], count, x.shape[-1] // count)), 2
    else:
        heads, axis = x, 1
    size = heads.shape[-1]
    turning = call.attribute("rotary_embedding_dim", 0) or size
    if turning != 2 * pairs or turning > size:
        raise GraphError(f"{call.type} of {turning} of {size} numbers with {cos.type}.")
    interleaved = call.flag("interleaved")
    return reshaped(rotated(heads, cos, sin, axis, interleaved), x.shape)


def rotated(heads: Node, cos: Node, sin: Node, axis: int, interleaved: bool) -> Node:
    """Tensors of four dimensions whose heads lie along an axis, with their first pairs rotated."""
    turning, size = 2 * cos.shape[-1], heads.shape[3]
    cos, sin = (_among(cache, axis) for cache in (cos, sin))
    parts = _rotated_pairs(heads, cos, sin, interleaved)
    if turning < size:
        parts.append(between(heads, {3: (turning, size, 1)}))
    return parts[0] if len(parts) == 1 else op(Concat(3), *parts)


def _among(cache: Node, axis: int) -> Node:
    """A cache of one sequence or several, the same for all heads."""
    shape = [*cache.shape] if cache.type.rank == 3 else [1, *cache.shape]
    shape.insert(axis, 1)
    return reshaped(cache, shape)


def _rotated_pairs(x: Node, cos: Node, sin: Node, interleaved: bool) -> list[Node]:
    """Pairs (a, b) as (a cos - b sin, b cos + a sin), in parts along the last axis.

    A pair is two neighbors if they are interleaved; else it has one number of each half.
    """
    pairs = cos.shape[-1]
    if interleaved:
        a, b = (between(x, {3: (n, 2 * pairs, 2)}) for n in (0, 1))
    else:
        a, b = (between(x, {3: (n, n + pairs, 1)}) for n in (0, pairs))
    first = function("subtract", function("multiply", a, cos), function("multiply", b, sin))
    second = function("add", function("multiply", b, cos), function("multiply", a, sin))
    if not interleaved:
        return [first, second]
    first, second = (reshaped(each, (*each.shape, 1)) for each in (first, second))
    return [reshaped(op(Concat(4), first, second), (*x.shape[:3], 2 * pairs))]
