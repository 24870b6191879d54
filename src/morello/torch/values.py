"""The operators of graphs in torch, for the nodes that no kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional

from morello.graph.graph import Node
from morello.graph.interpreter import widened
from morello.graph.operators import (
    Attention,
    Broadcast,
    Cast,
    Concat,
    Conv,
    Dot,
    Gather,
    LayerNorm,
    Map,
    Reduce,
    Reshape,
    RmsNorm,
    Slice,
    Softmax,
    Transpose,
    Where,
)
from morello.importers.aten_calls import TORCH_DTYPES, array_of, tensor_of


def _divide(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The quotient; of integers without its fraction."""
    return torch.div(a, b, rounding_mode=None if a.is_floating_point() else "trunc")


MAPS = {
    "divide": _divide,
    "equal": torch.eq,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "leaky_relu": lambda x, slope: torch.where(x < 0, x * slope, x),
    "left_shift": torch.bitwise_left_shift,
    "less": torch.lt,
    "less_equal": torch.le,
    "not_equal": torch.ne,
    "power": torch.pow,
    "remainder": torch.fmod,
    "right_shift": torch.bitwise_right_shift,
    "silu": functional.silu,
    "softplus": functional.softplus,
}
"""The functions of `Map` that torch calls by another name."""

_REDUCTIONS = {"max": torch.amax, "mean": torch.mean, "min": torch.amin}


def computing(node: Node) -> Callable[..., torch.Tensor]:
    """A function that computes a node from the tensors of its inputs."""
    operator, shape = node.operator, node.shape
    match operator:
        case Reshape():
            return lambda x: x.reshape(shape)
        case Transpose():
            return lambda x: x.permute(operator.order)
        case Broadcast():
            return lambda x: x.broadcast_to(shape)
        case Slice():
            return lambda x: x[operator.slices]
        case Concat():
            return lambda *tensors: torch.cat(tensors, operator.axis)
        case Gather():
            return lambda x, numbers: x[(slice(None),) * operator.axis + (numbers,)]
        case Cast():
            return lambda x: x.to(TORCH_DTYPES[operator.dtype])
        case Where():
            return lambda condition, a, b: torch.where(condition, a, b)
        case Softmax():
            return lambda x: x.softmax(operator.axis)
        case LayerNorm():
            return lambda x, g, b: functional.layer_norm(x, shape[-1:], g, b, operator.epsilon)
        case RmsNorm():
            return lambda x, g: functional.rms_norm(x, shape[-1:], g, operator.epsilon)
        case Reduce("sum"):
            dtype = TORCH_DTYPES[node.dtype]  # torch's own choice is 64 bits for any integers
            return lambda x: x.sum(operator.axes, operator.keepdims, dtype=dtype)
        case Reduce() if operator.kind in _REDUCTIONS:
            reduce = _REDUCTIONS[operator.kind]
            return lambda x: reduce(x, operator.axes, operator.keepdims)
        case Map() if operator.name in MAPS or hasattr(torch, operator.name):
            function: Callable[..., torch.Tensor] = MAPS.get(operator.name) or getattr(
                torch, operator.name
            )
            return function
        case Dot() if operator.dtype in (None, node.inputs[0].dtype):
            return _dot(operator, node)
        case Conv() if operator.before == operator.after and len(operator.strides) < 4:
            return _conv(operator)
        case Attention() if operator.cap is None:
            return _attention(operator)
    return _by_numpy(node)


def _by_numpy(node: Node) -> Callable[..., torch.Tensor]:
    """A function that computes a node by NumPy in float64, and rounds once."""

    def compute(*tensors: Any) -> torch.Tensor:
        result = node.operator.evaluate(*(widened(array_of(each)) for each in tensors))
        return tensor_of(np.asarray(result).astype(node.dtype))

    return compute


def _dot(operator: Dot, node: Node) -> Callable[..., torch.Tensor]:
    a, b = (source.type.rank for source in node.inputs)
    letters = "abcdefghijklmnopqrstuvwxyz"
    left, right = [*letters[:a]], [*letters[a : a + b]]
    for i, j in (*operator.batch, *operator.contracted):
        right[j] = left[i]
    out = [left[i] for i, _ in operator.batch]
    out += [left[d] for d in operator.free(0, a)] + [right[d] for d in operator.free(1, b)]
    equation = f"{''.join(left)},{''.join(right)}->{''.join(out)}"
    return lambda x, y: torch.einsum(equation, x, y)


def _conv(operator: Conv) -> Callable[..., torch.Tensor]:
    convolve = (functional.conv1d, functional.conv2d, functional.conv3d)[len(operator.strides) - 1]
    rest = operator.strides, operator.before, operator.dilations, operator.groups
    return lambda image, filters: convolve(image, filters, None, *rest)


def _attention(operator: Attention) -> Callable[..., torch.Tensor]:
    def compute(q: Any, k: Any, v: Any, mask: Any = None) -> torch.Tensor:
        m, n = q.shape[-2], k.shape[-2]
        square = operator.causal and m == n and mask is None
        if operator.causal and not square:
            shown = torch.ones(m, n, dtype=torch.bool).tril(n - m)
            mask = torch.where(shown, 0.0 if mask is None else mask, -torch.inf).to(q.dtype)
        if q.ndim > k.ndim:
            k, v = k.unsqueeze(-3), v.unsqueeze(-3)
        grouped = q.ndim > 2 and q.shape[-3] != k.shape[-3]
        return functional.scaled_dot_product_attention(
            q, k, v, mask, is_causal=square, scale=operator.scale, enable_gqa=grouped
        )

    return compute
