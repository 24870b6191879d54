"""ATen operations that combine elements: products, convolutions, reductions, norms, attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from morello.graph.graph import Node, TensorType
from morello.graph.operators import (
    ArgReduce,
    Attention,
    Conv,
    Cumulate,
    Dot,
    Gather,
    LayerNorm,
    Pooling,
    RmsNorm,
    Softmax,
    Where,
)
from morello.graph.patterns.matching import is_float
from morello.importers import contractions
from morello.importers.aten_calls import TORCH_DTYPES, AtenCall, Handler
from morello.importers.aten_elementwise import in_few_bits
from morello.importers.attending import attended
from morello.importers.folding import FoldedAxis
from morello.importers.normalizing import norm_of_groups
from morello.importers.pooling import largest, unpooled
from morello.importers.prefixes import cumulated, log_of_sums
from morello.importers.resampling import means, resampled


def linear(call: AtenCall) -> Node:
    return linear_of(call, call["input"], call["weight"], call["bias"])


def linear_of(call: AtenCall, x: Node, weight: Node, bias: Node | None) -> Node:
    contracted = ((x.type.rank - 1, weight.type.rank - 1),)
    return biased(call, call.apply(Dot((), contracted), call.cast(x), call.cast(weight)), bias)


def biased(call: AtenCall, product: Node, bias: Node | None, rank: int = 0) -> Node:
    """The sum of a product and a bias, which is one number a channel of images of this rank."""
    return product if bias is None else call.map("add", product, per_channel(call, bias, rank))


def per_channel(call: AtenCall, vector: Node, rank: int) -> Node:
    """A vector with one number a channel, as it is combined with images of this rank."""
    return call.cast(call.reshape(vector, (*vector.shape, *(1,) * rank)))


def matmul(call: AtenCall) -> Node:
    """matmul, and mm, bmm, mv and dot, which are for certain ranks."""
    a, b = (each for each in call.arguments.values() if isinstance(each, Node))
    return _product(call, a, b)


def _product(call: AtenCall, a: Node, b: Node) -> Node:
    i, j = a.type.rank - 1, max(b.type.rank - 2, 0)
    if min(a.type.rank, b.type.rank) <= 2 and b.type.rank <= 2:
        return call.apply(Dot((), ((i, j),)), a, b)
    if a.type.rank == 1:
        a = call.reshape(a, (1, *a.shape))
        return call.reshape(_product(call, a, b), call.type.shape)
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = call.broadcast(a, (*leading, *a.shape[-2:]))
    b = call.broadcast(b, (*leading, *b.shape[-2:]))
    n = len(leading)
    return call.apply(Dot(tuple((d, d) for d in range(n)), ((n + 1, n),)), a, b)


def added_product(call: AtenCall) -> Node:
    """beta * a + alpha * (b @ c): addmm, addmv and baddbmm."""
    a, b, c = (each for each in call.arguments.values() if isinstance(each, Node))
    product = _scaled(call, _product(call, b, c), call["alpha"])
    if call["beta"] == 0:
        return product
    return call.map("add", _scaled(call, a, call["beta"]), product)


def added_products(call: AtenCall) -> Node:
    """addbmm: beta * a + alpha * the sum of all products of two stacks of matrices."""
    product = contractions.einsum("bij,bjk->ik", call["batch1"], call["batch2"])
    product = _scaled(call, product, call["alpha"])
    return call.map("add", _scaled(call, call.x, call["beta"]), product)


def _scaled(call: AtenCall, x: Node, factor: float | None) -> Node:
    return x if factor in (None, 1) else call.map("multiply", x, factor)


def einsum(call: AtenCall) -> Node:
    """einsum of any terms; each tensor is cast to the dtype of the result."""
    return contractions.einsum(call["equation"], *map(call.cast, call["tensors"]))


def bilinear(call: AtenCall) -> Node:
    """The sum of x[i] w[o, i, j] y[j], plus a bias."""
    x, y, weight = call["input1"], call["input2"], call["weight"]
    return biased(call, contractions.einsum("...i,oij,...j->...o", x, weight, y), call["bias"])


def convolution(call: AtenCall) -> Node:
    """conv1d, conv2d, conv3d, and convolution itself if it is not transposed."""
    image, weight = call["input"], call["weight"]
    rank = weight.type.rank - 2
    if call["transposed"]:
        raise call.refuse("transposed")
    strides, dilations = several(call["stride"], rank), several(call["dilation"], rank)
    before, after = _padding(call["padding"], weight.shape[2:], dilations)
    conv = Conv(strides, before, after, dilations, call["groups"])
    return biased(call, call.apply(conv, image, weight), call["bias"], rank)


def several(given: Any, rank: int) -> tuple[int, ...]:
    """A number for each spatial dimension; one alone is for all."""
    every = (given,) if isinstance(given, int) else tuple(given)
    return every * rank if len(every) == 1 else every


def _padding(
    given: Any, taps: tuple[int, ...], dilations: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The zeros before and after; `same` has the odd one after."""
    rank = len(taps)
    if given == "valid":
        return (0,) * rank, (0,) * rank
    if given == "same":
        total = [(k - 1) * step for k, step in zip(taps, dilations, strict=True)]
        return tuple(n // 2 for n in total), tuple(n - n // 2 for n in total)
    return several(given, rank), several(given, rank)


def pooling(call: AtenCall) -> Node | tuple[Node, ...]:
    kind = "max" if call.name.startswith("max") else "mean"
    rank = call.x.type.rank - 2
    if kind == "mean" and not is_float(call.x.dtype):
        raise call.refuse("of integers")
    window = several(call["kernel_size"], rank)
    strides = several(call["stride"], rank) if call["stride"] else window
    around = several(call["padding"], rank)
    dilations = several(call["dilation"] or 1, rank)
    divisor = call["divisor_override"]
    counts = bool(divisor or (any(around) and call["count_include_pad"]))
    shapes = call.type.shape[2:], call.x.shape[2:]
    sizes = zip(*shapes, window, strides, around, dilations, strict=True)
    after = [
        max(edge, (m - 1) * stride + (k - 1) * dilation + 1 - n - edge)
        for m, n, k, stride, edge, dilation in sizes
    ]
    if 1 in call.used:
        each = call.x.shape[2:], window, dilations, around, after, strides
        return largest(call.x, [*map(FoldedAxis, *each)])
    if counts and not divisor and tuple(after) != around:
        raise call.refuse("that counts its padding, but not what rounding up adds to it,")
    pooled = call.apply(
        Pooling(kind, window, strides, around, (*after,), dilations, counts), call.x
    )
    result = _scaled(call, pooled, math.prod(window) / divisor) if divisor else pooled
    return (result,) if call.name.endswith("indices") else result


def adaptive_pooling(call: AtenCall) -> Node | tuple[Node, ...]:
    """Pooling of windows whose sizes differ by one at most; a single window has all elements."""
    kind = "max" if "max" in call.name else "mean"
    rank = int(call.name[-2])
    sizes, out = call.x.shape[-rank:], call.type.shape[-rank:]
    if 0 in out:
        raise call.refuse("to no elements")
    if 1 in call.used:
        return _adapted_with_places(call, sizes, out)
    result = _adapted(call, kind, sizes, out)
    return (result,) if kind == "max" else result


def _adapted(call: AtenCall, kind: str, sizes: tuple[int, ...], out: tuple[int, ...]) -> Node:
    if set(out) == {1}:
        last = call.x.type.rank
        return call.reduce(kind, call.x, (*range(last - len(sizes), last),), keepdims=True)
    if kind == "max" and any(n % m for n, m in zip(sizes, out, strict=True)):
        raise call.refuse("to windows of several sizes")
    if any(n % m for n, m in zip(sizes, out, strict=True)):
        return resampled(call.x, [means(m, n) for n, m in zip(sizes, out, strict=True)])
    window = tuple(n // m for n, m in zip(sizes, out, strict=True))
    none, each = (0,) * len(window), (1,) * len(window)
    return call.apply(Pooling(kind, window, window, none, none, each), call.x)


def _adapted_with_places(
    call: AtenCall, sizes: tuple[int, ...], out: tuple[int, ...]
) -> tuple[Node, Node]:
    if any(n % m for n, m in zip(sizes, out, strict=True)):
        raise call.refuse("to windows of several sizes")
    wide = [(n, n // m) for n, m in zip(sizes, out, strict=True)]
    return largest(call.x, [FoldedAxis(n, k, 1, 0, 0, k) for n, k in wide])


def unpooling(call: AtenCall) -> Node:
    """max_unpool2d and max_unpool3d: places are those in the image of each channel."""
    given = call.x.shape[: call.x.type.rank - int(call.name[-2])]
    return unpooled(call.x, call["indices"], math.prod(given), call.type.shape)


def reduction(call: AtenCall) -> Node:
    """sum, mean, prod, amax, amin, any, all, and the largest of all."""
    kind = {"amax": "max", "amin": "min", "any": "max", "all": "min"}.get(call.name, call.name)
    x = call.x
    if call.name in ("any", "all") and x.dtype != bool:
        x = call.map("not_equal", x, 0)
    axes = call.axes()
    kept = bool(call["keepdim"])
    result = in_few_bits(call, lambda x: call.reduce(kind, x, axes, kept), call.cast(x))
    return call.reshape(result, call.type.shape)


def extreme(call: AtenCall) -> Node | tuple[Node, ...]:
    """max and min: of two tensors, along a dimension with the places, or of all elements."""
    kind = call.name
    if call["other"] is not None:
        return call.map(f"{kind}imum", call.cast(call.x), call.cast(call["other"]))
    if call["dim"] is None:
        return call.reduce(kind, call.x, call.axes())
    axis, kept = call.axis(), bool(call["keepdim"])
    places = ArgReduce(kind, axis, np.dtype(np.int64), kept)
    return call.reduce(kind, call.x, (axis,), kept), call.apply(places, call.x)


def place_of_extreme(call: AtenCall) -> Node:
    x = call.x
    if call["dim"] is None:
        x = call.reshape(x, (x.type.size,))
    axis = 0 if call["dim"] is None else call.axis()
    place = ArgReduce(call.name[3:], axis, call.type.dtype, bool(call["keepdim"]))
    return call.reshape(call.apply(place, x), call.type.shape)


def variance(call: AtenCall) -> Node:
    """var and std, with a correction of the number of elements."""
    axes = call.axes()
    count = math.prod(call.x.shape[d] for d in axes)
    correction = 1 if call["correction"] is None else call["correction"]
    if call["unbiased"] is not None:
        correction = int(call["unbiased"])
    if count <= correction:
        raise call.refuse("of too few elements")
    centred = call.map("subtract", call.x, call.reduce("mean", call.x, axes, keepdims=True))
    kept = bool(call["keepdim"])
    mean = call.reduce("mean", call.map("square", centred), axes, kept)
    result = _scaled(call, mean, count / (count - correction))
    result = call.map("sqrt", result) if call.name == "std" else result
    return call.reshape(result, call.type.shape)


def with_mean(call: AtenCall) -> tuple[Node, Node]:
    """std_mean and var_mean: either of them, and the mean."""
    first = replace(call, name=call.name.removesuffix("_mean"), types=call.types[:1])
    mean = call.reduce("mean", call.x, call.axes(), bool(call["keepdim"]))
    return variance(first), call.reshape(mean, call.type.shape)


def vector_norm(call: AtenCall) -> Node:
    """Norms of vectors, and linalg_norm of matrices where that is the same."""
    order, axes = call["ord"], call.axes()
    if call.name == "linalg_vector_norm" and order in _SIMPLE_NORMS:
        sizes = call.map("abs", call.x)
        total = call.reduce(_SIMPLE_NORMS[order], sizes, axes, bool(call["keepdim"]))
        return call.reshape(total, call.type.shape)
    if order not in (None, 2) or (call.name == "linalg_norm" and order == 2 and len(axes) > 1):
        raise call.refuse(f"of order {order}")
    total = call.reduce("sum", call.map("square", call.x), axes, bool(call["keepdim"]))
    return call.map("sqrt", call.reshape(total, call.type.shape))


def cosine(call: AtenCall) -> Node:
    """x . y / (max(|x|, eps) max(|y|, eps)) along a dimension."""
    given = call["x1"], call["x2"]
    shape = np.broadcast_shapes(*(each.shape for each in given))
    x, y = (call.broadcast(call.cast(each), shape) for each in given)
    axes = (call.axis(rank=x.type.rank),)
    product = call.reduce("sum", call.map("multiply", x, y), axes)
    for each in (x, y):
        norm = call.map("sqrt", call.reduce("sum", call.map("square", each), axes))
        product = call.map("divide", product, call.map("maximum", norm, call["eps"]))
    return product


def cumulative_sum(call: AtenCall) -> Node:
    operator = Cumulate(call.axis())
    return in_few_bits(call, lambda x: call.apply(operator, x), call.cast(call.x))


def cumulative_product(call: AtenCall) -> Node:
    return cumulated("prod", call.cast(call.x), call.axis())


def cumulative_log_sum(call: AtenCall) -> Node:
    return log_of_sums(call.x, call.axis())


MOST_DIFFERENCES = 1 << 24
"""The most differences that distances are made of."""


def distances(call: AtenCall) -> Node:
    """cdist and pdist: between all vectors of two tensors, or of one, by their differences.

    They are exact where vectors are close, as those by products are not.
    """
    order = call["p"]
    if call.name == "pdist":
        pairs = np.triu_indices(call.x.shape[0], 1)
        a, b = (call.apply(Gather(0), call.x, call.build.constant(rows)) for rows in pairs)
    else:
        a, b = (call.cast(call[name]) for name in ("x1", "x2"))
        a = call.reshape(a, (*a.shape[:-1], 1, a.shape[-1]))
        b = call.reshape(b, (*b.shape[:-2], 1, *b.shape[-2:]))
    if order not in (1, 2, math.inf) or call.type.size * a.shape[-1] > MOST_DIFFERENCES:
        raise call.refuse(f"of order {order}, or of many vectors")
    difference = call.map("subtract", a, b)
    sizes = call.map("square" if order == 2 else "abs", difference)
    kind = "max" if order == math.inf else "sum"
    total = call.reduce(kind, sizes, (sizes.type.rank - 1,))
    return call.map("sqrt", total) if order == 2 else total


def softmax(call: AtenCall) -> Node:
    return call.apply(Softmax(call.axis()), call.cast(call.x))


def safe_softmax(call: AtenCall) -> Node:
    """Softmax of rows; 0 in rows of which all elements are -inf."""
    x, dtype = call.cast(call.x), call.type.dtype
    highest = call.build.cast(call.reduce("max", x, call.axes(), True), np.dtype(np.float32))
    hidden = call.map("less", highest, -float(np.finfo(np.float32).max))
    zero = call.build.number(0, dtype)
    return call.apply(Where(), hidden, zero, softmax(call))


def log_softmax(call: AtenCall) -> Node:
    x, axes = call.cast(call.x), (call.axis(),)
    centred = call.map("subtract", x, call.reduce("max", x, axes, keepdims=True))
    total = call.reduce("sum", call.map("exp", centred), axes, keepdims=True)
    return call.map("subtract", centred, call.map("log", total))


def layer_norm(call: AtenCall) -> Node:
    x, size = _rows(call)
    gamma = _flat(call, call["weight"], size, 1)
    beta = _flat(call, call["bias"], size, 0)
    return call.reshape(call.apply(LayerNorm(call["eps"]), x, gamma, beta), call.type.shape)


def rms_norm(call: AtenCall) -> Node:
    x, size = _rows(call)
    epsilon = call["eps"]
    if epsilon is None:
        epsilon = torch.finfo(TORCH_DTYPES[x.dtype]).eps
    normed = call.apply(RmsNorm(epsilon), x, _flat(call, call["weight"], size, 1))
    return call.reshape(normed, call.type.shape)


def _rows(call: AtenCall) -> tuple[Node, int]:
    """The input of a norm with its normalized dimensions as one, and the size of that one."""
    shape = tuple(call["normalized_shape"])
    size = math.prod(shape)
    x = call.x if len(shape) == 1 else call.reshape(call.x, (call.x.type.size // size, size))
    return x, size


def _flat(call: AtenCall, vector: Node | None, size: int, default: float) -> Node:
    """A norm's weights as a vector, in the dtype of the result."""
    if vector is None:
        return call.full(default, (size,))
    return call.cast(call.reshape(vector, (size,)))


def group_norm(call: AtenCall) -> Node:
    return norm_of_groups(call.x, call["num_groups"], call["weight"], call["bias"], call["eps"])


def batch_norm(call: AtenCall) -> Node:
    """A product and a sum, with known means and variances, or those of the batch."""
    mean, variance = call["running_mean"], call["running_var"]
    rank = call.x.type.rank - 2
    if mean is None:
        axes = (0, *range(2, 2 + rank))
        mean = call.reduce("mean", call.x, axes)
        centred = call.map("subtract", call.x, per_channel(call, mean, rank))
        variance = call.reduce("mean", call.map("square", centred), axes)
    elif call["training"]:
        raise call.refuse("in training")
    return standardized(call, mean, variance)


def standardized(call: AtenCall, mean: Node, variance: Node) -> Node:
    """The channels by these means and variances, scaled and shifted by the weights of a norm."""
    rank = call.x.type.rank - 2
    factor = call.map("rsqrt", call.map("add", call.cast(variance), call["eps"]))
    if call["weight"] is not None:
        factor = call.map("multiply", factor, call.cast(call["weight"]))
    shift = call.map("neg", call.map("multiply", call.cast(mean), factor))
    if call["bias"] is not None:
        shift = call.map("add", shift, call.cast(call["bias"]))
    scaled = call.map("multiply", call.x, per_channel(call, factor, rank))
    return call.map("add", scaled, per_channel(call, shift, rank))


def attention(call: AtenCall) -> Node:
    """A row whose columns are all hidden is 0, as in torch; a causal mask starts top left."""
    q, k, v, mask = call["query"], call["key"], call["value"], call["attn_mask"]
    if call["dropout_p"]:
        raise call.refuse("with dropout")
    leading = np.broadcast_shapes(q.shape[:-2], k.shape[:-2]) if not call["enable_gqa"] else ()
    if leading:
        q, k, v = (call.broadcast(n, (*leading, *n.shape[-2:])) for n in (q, k, v))
    scale = call["scale"]
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    m, n = q.shape[-2], k.shape[-2]
    if call["is_causal"] and m == n:
        return call.apply(Attention(scale, causal=True), q, k, v)
    if call["is_causal"]:
        mask = call.build.constant(np.tri(m, n, dtype=bool))
    return attended(call.build, Attention(scale), (q, k, v), mask)


def first_of(handler: Callable[[AtenCall], Node]) -> Handler:
    """The handler of an operation with more results, as those are that torch.autocast casts."""

    def handle(call: AtenCall) -> tuple[Node, ...]:
        if call.used != {0}:
            raise call.refuse("with other results")
        return (handler(call),)

    return handle


_SIMPLE_NORMS = {1: "sum", math.inf: "max", -math.inf: "min"}
"""The reductions of absolute values that norms of an order are."""


def with_batch(handler: Handler, rank: int) -> Handler:
    """The handler of a function of images with so many dimensions, also without a batch."""

    def handle(call: AtenCall) -> Node | tuple[Node, ...]:
        if call.x.type.rank != rank + 1:
            return handler(call)
        name, x = next(iter(call.arguments)), call.reshape(call.x, (1, *call.x.shape))
        types = tuple(TensorType((1, *each.shape), each.dtype) for each in call.types)
        result = handler(replace(call, arguments={**call.arguments, name: x}, types=types))
        if isinstance(result, Node):
            return call.reshape(result, call.type.shape)
        return tuple(call.reshape(n, t.shape) for n, t in zip(result, call.types, strict=False))

    return handle


def _of_one_dtype(product: Handler) -> Handler:
    """The handler of a product, which is left to torch, to refuse it, for several dtypes."""

    def handle(call: AtenCall) -> Node | tuple[Node, ...]:
        given = (*call.arguments.values(), *(call["tensors"] or ()))
        dtypes = {each.dtype for each in given if isinstance(each, Node)}
        if len(dtypes) > 1:
            raise call.refuse(f"of {' and '.join(sorted(map(str, dtypes)))}")
        return product(call)

    return handle


NETWORKS: dict[str, Handler] = {
    **dict.fromkeys(("bmm", "dot", "matmul", "mm", "mv"), _of_one_dtype(matmul)),
    **dict.fromkeys(("addmm", "addmv", "baddbmm"), _of_one_dtype(added_product)),
    "addbmm": _of_one_dtype(added_products),
    **{f"conv{d}d": with_batch(_of_one_dtype(convolution), d) for d in (1, 2, 3)},
    "convolution": _of_one_dtype(convolution),
    **{f"{kind}_pool{d}d": with_batch(pooling, d) for kind in ("avg", "max") for d in (1, 2, 3)},
    **{f"max_pool{d}d_with_indices": with_batch(pooling, d) for d in (1, 2, 3)},
    **{f"max_unpool{d}d": unpooling for d in (2, 3)},
    **{
        f"adaptive_{kind}_pool{d}d": with_batch(adaptive_pooling, d)
        for kind in ("avg", "max")
        for d in (1, 2, 3)
    },
    **dict.fromkeys(("all", "amax", "amin", "any", "mean", "prod", "sum"), reduction),
    **dict.fromkeys(("max", "min"), extreme),
    **dict.fromkeys(("argmax", "argmin"), place_of_extreme),
    **dict.fromkeys(("std", "var"), variance),
    **dict.fromkeys(("std_mean", "var_mean"), with_mean),
    **dict.fromkeys(("_softmax", "softmax"), softmax),
    **dict.fromkeys(("_log_softmax", "log_softmax"), log_softmax),
    "batch_norm": batch_norm,
    "bilinear": _of_one_dtype(bilinear),
    "cosine_similarity": cosine,
    **dict.fromkeys(("cdist", "pdist"), distances),
    "cumprod": cumulative_product,
    "cumsum": cumulative_sum,
    "einsum": _of_one_dtype(einsum),
    "group_norm": group_norm,
    "layer_norm": layer_norm,
    **dict.fromkeys(("linalg_norm", "linalg_vector_norm"), vector_norm),
    "logcumsumexp": cumulative_log_sum,
    "linear": _of_one_dtype(linear),
    "rms_norm": rms_norm,
    "_safe_softmax": safe_softmax,
    "native_batch_norm": first_of(batch_norm),
    "_scaled_dot_product_flash_attention_for_cpu": first_of(attention),
    "scaled_dot_product_attention": attention,
}  # fmt: skip
