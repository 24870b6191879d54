"""ATen operations that are whole layers: torch calls these where no gradients are needed."""

from __future__ import annotations

import math

from morello.graph.graph import Node
from morello.graph.operators import Attention, Dot, LayerNorm
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.aten_movement import part


def encoder_layer(call: AtenCall) -> Node:
    """Attention and a perceptron, each with a residual and a norm, before or after."""
    x, first = call["src"], call["norm_first"]
    if call["mask"] is not None or x.type.rank != 3:
        raise call.refuse("with a mask or without a batch")

    def norm(x: Node, number: int) -> Node:
        gamma, beta = call[f"norm_weight_{number}"], call[f"norm_bias_{number}"]
        return call.apply(LayerNorm(call["eps"]), x, gamma, beta)

    def attended(x: Node) -> Node:
        return _self_attention(call, x, call["num_heads"])

    def perceptron(x: Node) -> Node:
        hidden = _linear(call, x, call["ffn_weight_1"], call["ffn_bias_1"])
        active = call.map("gelu" if call["use_gelu"] else "relu", hidden)
        return _linear(call, active, call["ffn_weight_2"], call["ffn_bias_2"])

    for number, layer in enumerate((attended, perceptron), start=1):
        if first:
            x = call.map("add", x, layer(norm(x, number)))
        else:
            x = norm(call.map("add", x, layer(x)), number)
    result: Node = x
    return result


def multi_head_attention(call: AtenCall) -> tuple[Node, ...]:
    """Attention of a tensor to itself, without its second result, the weights."""
    x, rank = call["query"], call["query"].type.rank
    if call["mask"] is not None or call["need_weights"] or rank != 3:
        raise call.refuse("with a mask, or with its weights,")
    if x is not call["key"] or x is not call["value"]:
        raise call.refuse("of several tensors")
    nothing = call.build.number(0, x.dtype)
    return _self_attention(call, x, call["num_head"]), call.reshape(nothing, call.types[1].shape)


def _linear(call: AtenCall, x: Node, weight: Node, bias: Node) -> Node:
    return call.map("add", call.apply(Dot((), ((x.type.rank - 1, 1),)), x, weight), bias)


def _self_attention(call: AtenCall, x: Node, heads: int) -> Node:
    batch, length, width = x.shape
    every = _linear(call, x, call["qkv_weight"], call["qkv_bias"])
    size = width // heads
    apart = call.reshape(every, (batch, length, 3, heads, size))
    q, k, v = (
        call.transpose(call.reshape(part(call, apart, 2, n, n + 1), (batch, length, heads, size)),
                       (0, 2, 1, 3))
        for n in range(3)
    )  # fmt: skip
    seen = call.transpose(call.apply(Attention(1 / math.sqrt(size)), q, k, v), (0, 2, 1, 3))
    joined = call.reshape(seen, (batch, length, width))
    return _linear(call, joined, call["proj_weight"], call["proj_bias"])


FUSED: dict[str, Handler] = {
    "_native_multi_head_attention": multi_head_attention,
    "_transformer_encoder_layer_fwd": encoder_layer,
}
