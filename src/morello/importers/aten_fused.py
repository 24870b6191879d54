"""ATen operations that are whole layers: torch calls these where no gradients are needed."""

from __future__ import annotations

import math

from morello.graph.graph import Node
from morello.graph.operators import Attention, LayerNorm
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.aten_movement import part
from morello.importers.aten_networks import linear_of
from morello.importers.attending import attended, unchanged

_PADDING = 1
"""The type of masks that say which columns of each sequence are padding."""


def encoder_layer(call: AtenCall) -> Node:
    """Attention and a perceptron, each with a residual and a norm, before or after."""
    x, first = call["src"], call["norm_first"]
    if x.type.rank != 3:
        raise call.refuse("without a batch")

    def norm(x: Node, number: int) -> Node:
        gamma, beta = call[f"norm_weight_{number}"], call[f"norm_bias_{number}"]
        return call.apply(LayerNorm(call["eps"]), x, gamma, beta)

    def attention(x: Node) -> Node:
        return _self_attention(call, x, call["num_heads"])

    def perceptron(x: Node) -> Node:
        hidden = linear_of(call, x, call["ffn_weight_1"], call["ffn_bias_1"])
        active = call.map("gelu" if call["use_gelu"] else "relu", hidden)
        return linear_of(call, active, call["ffn_weight_2"], call["ffn_bias_2"])

    for number, layer in enumerate((attention, perceptron), start=1):
        if first:
            x = call.map("add", x, layer(norm(x, number)))
        else:
            x = norm(call.map("add", x, layer(x)), number)
    result: Node = x
    return result


def multi_head_attention(call: AtenCall) -> tuple[Node, ...]:
    """Attention of a tensor to itself, without its second result, the weights."""
    x, rank = call["query"], call["query"].type.rank
    if call["need_weights"] or rank != 3:
        raise call.refuse("with its weights, or without a batch,")
    if x is not call["key"] or x is not call["value"]:
        raise call.refuse("of several tensors")
    nothing = call.build.number(0, x.dtype)
    return _self_attention(call, x, call["num_head"]), call.reshape(nothing, call.types[1].shape)


def _self_attention(call: AtenCall, x: Node, heads: int) -> Node:
    batch, length, width = x.shape
    every = linear_of(call, x, call["qkv_weight"], call["qkv_bias"])
    size = width // heads
    apart = call.reshape(every, (batch, length, 3, heads, size))
    q, k, v = (
        call.transpose(call.reshape(part(call, apart, 2, n, n + 1), (batch, length, heads, size)),
                       (0, 2, 1, 3))
        for n in range(3)
    )  # fmt: skip
    result = attended(call.build, Attention(1 / math.sqrt(size)), (q, k, v), _seen(call))
    joined = call.reshape(call.transpose(result, (0, 2, 1, 3)), (batch, length, width))
    return linear_of(call, joined, call["proj_weight"], call["proj_bias"])


def _seen(call: AtenCall) -> Node | None:
    """The elements that each row may see, if there is a mask.

    Masks are [rows, columns], [batch, columns] or whole, by their type. Whatever is not 0 hides, as
    in torch, which makes -inf of masks of bool.
    """
    mask: Node | None = call["mask"]
    if mask is None:
        return None
    seen = call.map("logical_not", mask) if mask.dtype == bool else unchanged(call.build, mask)
    if call["mask_type"] == _PADDING:
        batch, columns = mask.shape
        seen = call.reshape(seen, (batch, 1, 1, columns))
    return seen


FUSED: dict[str, Handler] = {
    "_native_multi_head_attention": multi_head_attention,
    "_transformer_encoder_layer_fwd": encoder_layer,
}
