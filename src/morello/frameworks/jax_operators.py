"""The operators of graphs in JAX: what no kernel computes runs there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from morello.base.errors import GraphError
from morello.frameworks.stablehlo_calls import alone
from morello.graph.graph import Node, Operator
from morello.graph.operators import (
    ArgReduce,
    Attention,
    Broadcast,
    Cast,
    Concat,
    Constant,
    Conv,
    Cumulate,
    Dot,
    Foreign,
    Gather,
    Iota,
    LayerNorm,
    Map,
    Pad,
    Pooling,
    Reduce,
    Reshape,
    RmsNorm,
    Scatter,
    SegmentSum,
    Slice,
    Softmax,
    Transpose,
    Where,
)
from morello.importers.stablehlo import StableOperation

MAPS: Mapping[str, Callable[..., Any]] = {
    "abs": jnp.abs,
    "add": jnp.add,
    "atan2": jnp.arctan2,
    "bitwise_and": jnp.bitwise_and,
    "bitwise_not": jnp.bitwise_not,
    "bitwise_or": jnp.bitwise_or,
    "bitwise_xor": jnp.bitwise_xor,
    "ceil": jnp.ceil,
    "cos": jnp.cos,
    "divide": lambda a, b: lax.div(*jnp.broadcast_arrays(a, b)),
    "equal": jnp.equal,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "exp": jnp.exp,
    "exp2": jnp.exp2,
    "expm1": jnp.expm1,
    "floor": jnp.floor,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "gelu_tanh": lambda x: jax.nn.gelu(x, approximate=True),
    "greater": jnp.greater,
    "greater_equal": jnp.greater_equal,
    "leaky_relu": lambda a, b: jnp.where(a > 0, a, a * b),
    "left_shift": jnp.left_shift,
    "less": jnp.less,
    "less_equal": jnp.less_equal,
    "log": jnp.log,
    "log1p": jnp.log1p,
    "log2": jnp.log2,
    "logical_and": jnp.logical_and,
    "logical_not": jnp.logical_not,
    "logical_or": jnp.logical_or,
    "logical_xor": jnp.logical_xor,
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "multiply": jnp.multiply,
    "neg": jnp.negative,
    "not_equal": jnp.not_equal,
    "power": jnp.power,
    "reciprocal": jnp.reciprocal,
    "relu": jax.nn.relu,
    "remainder": lambda a, b: lax.rem(*jnp.broadcast_arrays(a, b)),
    "right_shift": jnp.right_shift,
    "round": jnp.rint,
    "rsqrt": lax.rsqrt,
    "sigmoid": jax.nn.sigmoid,
    "sign": jnp.sign,
    "silu": jax.nn.silu,
    "sin": jnp.sin,
    "softplus": jax.nn.softplus,
    "sqrt": jnp.sqrt,
    "square": jnp.square,
    "subtract": jnp.subtract,
    "tanh": jnp.tanh,
}
"""The functions of `Map`."""

_REDUCTIONS: Mapping[str, Callable[..., Any]] = {
    "max": jnp.max, "mean": jnp.mean, "min": jnp.min, "prod": jnp.prod, "sum": jnp.sum,
}  # fmt: skip


def check_known(node: Node) -> None:
    """Raise `GraphError` unless JAX has the operator of a node, and its dtypes."""
    operator = node.operator
    known = type(operator) in _RULES
    if isinstance(operator, Map):
        known = operator.name in MAPS
    if isinstance(operator, Foreign):
        known = isinstance(operator.key, StableOperation)
    if not known:
        raise GraphError(f"JAX has no {operator}.")
    for dtype in (each.dtype for each in (node, *node.inputs)):
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:  # as random numbers have within
            raise GraphError(f"arrays of JAX are {dtype} only if jax_enable_x64 is set.")
    if isinstance(operator, Foreign) and isinstance(operator.key, StableOperation):
        alone(operator.key.operation)


def computed(node: Node, inputs: list[Any], others: dict[Any, list[Any]]) -> Any:
    """The array of a node that is known, for those of its inputs.

    The results of operations with several are kept in `others`.
    """
    operator = node.operator
    if isinstance(operator, Foreign):
        key = operator.key
        assert isinstance(key, StableOperation)
        if key not in others:
            others[key] = alone(key.operation)(*inputs)
        return others[key][operator.index]
    return jnp.asarray(_RULES[type(operator)](operator, node, *inputs), node.dtype)


def _pad(operator: Pad, node: Node, x: Any, filler: Any) -> Any:
    widths = [(low, high, 0) for low, high in zip(operator.before, operator.after, strict=True)]
    return lax.pad(x, filler.reshape(()), widths)


def _gather(operator: Gather, node: Node, x: Any, numbers: Any) -> Any:
    size = x.shape[operator.axis]
    numbers = jnp.where(numbers < 0, numbers + size, numbers)
    return jnp.take(x, numbers, operator.axis, mode="clip")


def _scatter(operator: Scatter, node: Node, x: Any, numbers: Any, rows: Any) -> Any:
    places = x.at[jnp.where(numbers < 0, len(x), numbers)]
    methods = {"last": places.set, "max": places.max, "min": places.min, "sum": places.add}
    return methods[operator.kind](rows, mode="drop")


def _segment_sum(operator: SegmentSum, node: Node, rows: Any, numbers: Any) -> Any:
    zeros = jnp.zeros(node.shape, node.dtype)
    return _scatter(Scatter("sum"), node, zeros, numbers, rows)


def _dot(operator: Dot, node: Node, a: Any, b: Any) -> Any:
    batch, summed = (
        (tuple(i for i, _ in pairs), tuple(j for _, j in pairs))
        for pairs in (operator.batch, operator.contracted)
    )
    return lax.dot_general(a, b, (summed, batch), preferred_element_type=node.dtype)


def _conv(operator: Conv, node: Node, image: Any, filters: Any) -> Any:
    return lax.conv_general_dilated(
        image,
        filters,
        operator.strides,
        [*zip(operator.before, operator.after, strict=True)],
        rhs_dilation=operator.dilations,
        feature_group_count=operator.groups,
        preferred_element_type=node.dtype,
    )


def _reduce(operator: Reduce, node: Node, x: Any) -> Any:
    return _REDUCTIONS[operator.kind](x, axis=operator.axes, keepdims=operator.keepdims)


def _arg_reduce(operator: ArgReduce, node: Node, x: Any) -> Any:
    search = jnp.argmax if operator.kind == "max" else jnp.argmin
    return search(x, axis=operator.axis, keepdims=operator.keepdims)


def _layer_norm(operator: LayerNorm, node: Node, x: Any, gamma: Any, beta: Any) -> Any:
    x = _wide(x)
    x = x - jnp.mean(x, -1, keepdims=True)  # first: jax.nn's difference of squares cancels
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + operator.epsilon) * gamma + beta


def _rms_norm(operator: RmsNorm, node: Node, x: Any, gamma: Any) -> Any:
    x = _wide(x)
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + operator.epsilon) * gamma


def _softmax(operator: Softmax, node: Node, x: Any) -> Any:
    return jax.nn.softmax(_wide(x), axis=operator.axis)


def _attention(operator: Attention, node: Node, q: Any, k: Any, v: Any, *masks: Any) -> Any:
    if q.ndim > 2 and q.shape[-3] != k.shape[-3]:
        times = q.shape[-3] // k.shape[-3]
        k, v = jnp.repeat(k, times, -3), jnp.repeat(v, times, -3)
    scores = _wide(q) @ jnp.swapaxes(_wide(k), -1, -2) * operator.scale
    if operator.cap:
        scores = operator.cap * jnp.tanh(scores / operator.cap)
    for mask in masks:
        scores = scores + mask
    if operator.causal:
        m, n = scores.shape[-2:]
        scores = jnp.where(jnp.tri(m, n, n - m, dtype=bool), scores, -jnp.inf)
    return jax.nn.softmax(scores, axis=-1) @ _wide(v)


def _pooling(operator: Pooling, node: Node, x: Any) -> Any:
    widths = [(0, 0), (0, 0), *zip(operator.before, operator.after, strict=True)]

    def windows(padded: Any, combine: Callable[..., Any], start: float) -> Any:
        return lax.reduce_window(
            padded,
            jnp.asarray(start, padded.dtype),
            combine,
            (1, 1, *operator.window),
            (1, 1, *operator.strides),
            "VALID",
            window_dilation=(1, 1, *operator.dilations),
        )

    if operator.kind == "max":
        return windows(jnp.pad(x, widths, constant_values=-jnp.inf), lax.max, -jnp.inf)
    ones = jnp.ones_like(_wide(x))
    counted = jnp.pad(ones, widths, constant_values=1 if operator.counts_padding else 0)
    sums = windows(jnp.pad(_wide(x), widths), lax.add, 0.0)
    return sums / windows(counted, lax.add, 0.0)


def _wide(x: Any) -> Any:
    """An array in at least f32, as sums are computed."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


_RULES: dict[type[Operator], Callable[..., Any]] = {
    ArgReduce: _arg_reduce,
    Attention: _attention,
    Broadcast: lambda operator, node, x: jnp.broadcast_to(x, operator.shape),
    Cast: lambda operator, node, x: lax.convert_element_type(x, operator.dtype),
    Concat: lambda operator, node, *inputs: lax.concatenate(inputs, operator.axis),
    Constant: lambda operator, node: operator.array,
    Conv: _conv,
    Cumulate: lambda operator, node, x: jnp.cumsum(x, operator.axis),
    Dot: _dot,
    Gather: _gather,
    Iota: lambda operator, node: lax.broadcasted_iota(node.dtype, node.shape, operator.axis),
    LayerNorm: _layer_norm,
    Map: lambda operator, node, *inputs: MAPS[operator.name](*inputs),
    Pad: _pad,
    Pooling: _pooling,
    Reduce: _reduce,
    Reshape: lambda operator, node, x: x.reshape(operator.shape),
    RmsNorm: _rms_norm,
    Scatter: _scatter,
    SegmentSum: _segment_sum,
    Slice: lambda operator, node, x: lax.slice(x, operator.starts, operator.stops, operator.steps),
    Softmax: _softmax,
    Transpose: lambda operator, node, x: lax.transpose(x, operator.order),
    Where: lambda operator, node, *inputs: jnp.where(*inputs),
}
