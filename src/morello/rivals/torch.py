"""PyTorch: the expression by its operators, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from morello.base.errors import GraphError
from morello.frontends.movement import pairs_of
from morello.frontends.reductions import EPSILON
from morello.ir.dtype import DType
from morello.ir.primitives.scattering import KINDS
from morello.rivals.functions import (
    ARITHMETIC,
    COMPARISONS,
    VIEWS,
    Functions,
    each,
    ends,
    function_of,
)
from morello.rivals.rival import RacedExpression, Rival
from morello.runtime.argument import Array


def prepare(raced: RacedExpression) -> Rival:
    """The expression on tensors that share the memory of the arrays."""
    torch.set_num_threads(raced.threads)
    sequence, version = raced.sequence, f"torch {torch.__version__}"
    function = function_of(sequence, _FUNCTIONS, "PyTorch")
    call: Callable[[], Any] = partial(function, *map(_tensor, raced.inputs))
    if sequence.calls[-1].function not in VIEWS and sequence.dtype is sequence.result.dtype:
        return Rival(version, call, _array)
    dtype = _dtype(sequence.dtype)
    return Rival(version, lambda: call().to(dtype).contiguous(), _array)


def _tensor(array: Array) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _array(tensor: Any) -> Array:
    result: Array = (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()
    return result


def _dtype(dtype: DType) -> Any:
    return getattr(torch, dtype.np.name)


def _alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Factors as products take them: integers in i32, floats of one dtype."""
    if not a.is_floating_point():
        return a.int(), b.int()
    dtype = torch.promote_types(a.dtype, b.dtype)
    return a.to(dtype), b.to(dtype)


def _matmul(a: Any, b: Any) -> Any:
    return torch.matmul(*_alike(a, b))


def _linear(x: Any, w: Any, b: Any = None) -> Any:
    x, w = _alike(x, w)
    return functional.linear(x, w.mT, b)


def _attention(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
    m, n = q.shape[-2], k.shape[-2]
    if mask is not None and not mask.is_floating_point():
        mask = mask != 0
    if causal and (mask is not None or m != n):
        seen = torch.ones(m, n, dtype=torch.bool).tril(n - m)
        if mask is None or mask.dtype is torch.bool:
            mask = seen if mask is None else mask & seen
        else:
            mask = mask.masked_fill(~seen, -torch.inf)
        causal = False
    grouped = q.ndim > 2 and q.shape[-3] != k.shape[-3]
    return functional.scaled_dot_product_attention(
        q, k, v, mask, is_causal=causal, enable_gqa=grouped
    )


def _einsum(subscripts: str, *operands: Any) -> Any:
    return torch.atleast_1d(torch.einsum(subscripts, *operands))


def _pad(x: Any, padding: Any, value: float = 0.0, mode: str = "constant") -> Any:
    if mode != "constant":
        raise GraphError("only padding by a number is raced against PyTorch.")
    widths = [width for pair in reversed(pairs_of(padding, x.ndim)) for width in pair]
    return functional.pad(x, widths, value=value)


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """The variance or the standard deviation."""
    return lambda x, axis=-1, keepdims=False, ddof=0: torch.atleast_1d(
        function(x, axis, correction=ddof, keepdim=keepdims)
    )


def _padded(x: Any, padding: Any, filler: float = 0.0) -> tuple[Any, Any]:
    """An image, and the padding of both ends that is left to an operator."""
    sides = ends(padding, x.ndim - 2)
    if all(before == after for before, after in sides):
        return x, [before for before, _ in sides]
    widths = [width for side in reversed(sides) for width in side]
    return functional.pad(x, widths, value=filler), 0


def _nchw(layout: str) -> None:
    if layout != "NCHW":
        raise GraphError(f"{layout} is not raced against PyTorch, which has NCHW.")


def _conv(image: Any, filters: Any, padding: Any = 0, layout: str = "NCHW", **options: Any) -> Any:
    _nchw(layout)
    image, filters = _alike(image, filters)
    image, padding = _padded(image, padding)
    call = functional.conv1d if image.ndim == 3 else functional.conv2d
    return call(image, filters, padding=padding, **options)


def _max_pool(
    x: Any,
    window: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    layout: str = "NCHW",
) -> Any:
    _nchw(layout)
    x, padding = _padded(x, padding, -np.inf)
    call = functional.max_pool1d if x.ndim == 3 else functional.max_pool2d
    return call(x, window, stride, padding, dilation)


def _avg_pool(
    x: Any,
    window: Any,
    stride: Any = 1,
    padding: Any = 0,
    count_include_pad: bool = True,
    layout: str = "NCHW",
) -> Any:
    _nchw(layout)
    x, padding = _padded(x, padding)
    call = functional.avg_pool1d if x.ndim == 3 else functional.avg_pool2d
    return call(x, window, stride, padding)


def _sum_pool(x: Any, window: Any, dilation: Any = 1, **options: Any) -> Any:
    if any(step > 1 for step in each(dilation, x.ndim - 2)):
        raise GraphError("sums of windows with gaps are not raced against PyTorch.")
    return _avg_pool(x, window, **options) * prod(each(window, x.ndim - 2))


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis=-1, keepdims=False: function(x, axis, keepdims)


def _layer_norm(x: Any, gamma: Any = None, beta: Any = None, epsilon: float = EPSILON) -> Any:
    return functional.layer_norm(x, x.shape[-1:], gamma, beta, epsilon)


def _group_norm(
    x: Any, gamma: Any = None, beta: Any = None, *, groups: int, epsilon: float = EPSILON
) -> Any:
    return functional.group_norm(x, groups, gamma, beta, epsilon)


def _rms_norm(x: Any, gamma: Any = None, epsilon: float = EPSILON) -> Any:
    return functional.rms_norm(x, x.shape[-1:], gamma, epsilon)


def _sum(x: Any, axis: Any = -1, keepdims: bool = False) -> Any:
    return torch.sum(x, axis, keepdims, dtype=x.dtype)


def _indexed(x: Any, at: tuple[Any, ...]) -> Any:
    """Subscripts, of which PyTorch has no negative steps: these dimensions are turned first."""
    rest, place = [*at], 0
    given = sum(isinstance(subscript, int | slice) for subscript in at)
    for number, subscript in enumerate(at):
        if subscript is ...:
            place += x.ndim - given
        if isinstance(subscript, slice) and subscript.step is not None and subscript.step < 0:
            x = torch.flip(x, (place,))
            taken = range(x.shape[place])[subscript]
            last = x.shape[place] - 1
            rest[number] = slice(last - taken[0], last - taken[-1] + 1, -taken.step)
        place += isinstance(subscript, int | slice)
    return x[tuple(rest)]


def _bounded(by_tensor: Callable[..., Any], bound: str) -> Callable[..., Any]:
    """A maximum or minimum of tensors, or of a tensor and a number."""

    def bounded(a: Any, b: Any) -> Any:
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return by_tensor(a, b)
        x, number = (a, b) if isinstance(a, torch.Tensor) else (b, a)
        return torch.clamp(x, **{bound: number})

    return bounded


def _leaky_relu(x: Any, slope: Any) -> Any:
    if isinstance(slope, torch.Tensor):
        return torch.where(x > 0, x, x * slope)
    return functional.leaky_relu(x, slope)


def _truth(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compared(a: Any, b: Any) -> Any:
        dtype = torch.result_type(a, b)
        return compare(a, b).to(dtype)

    return compared


def _transpose(x: Any, order: Any = None) -> Any:
    return x.permute(order or (*reversed(range(x.ndim)),))


def _broadcast(x: Any, axis: int, size: int) -> Any:
    return torch.repeat_interleave(torch.unsqueeze(x, axis), size, axis)


def _take(table: Any, ids: Any) -> Any:
    return table[torch.where(ids < 0, ids + len(table), ids).clamp(0, len(table) - 1).long()]


def _scatter(kind: str) -> Callable[..., Any]:
    """Rows of no number are combined with one more row, which is left out."""

    def scatter(table: Any, ids: Any, rows: Any) -> Any:
        places = torch.where((ids >= 0) & (ids < len(table)), ids, len(table)).long()
        longer = torch.cat([table, table[:1]])
        if kind == "last":
            return longer.index_copy(0, places, rows)[:-1]
        if kind == "sum":
            return longer.index_add(0, places, rows)[:-1]
        return longer.index_reduce(0, places, rows, f"a{kind}")[:-1]

    return scatter


def _grouped_matmul(x: Any, matrices: Any, ids: Any) -> Any:
    """The rows of each matrix that is chosen together, as in mixtures of experts."""
    out = x.new_zeros(len(x), matrices.shape[2])
    for chosen in ids.unique().tolist():
        if 0 <= chosen < len(matrices):
            rows = torch.nonzero(ids == chosen)[:, 0]
            out[rows] = x[rows] @ matrices[chosen]
    return out


def _segment_sum(rows: Any, ids: Any, count: int) -> Any:
    return _scatter("sum")(rows.new_zeros(count, rows.shape[1]), ids, rows)


_SAME = (
    "abs", "atan", "ceil", "cos", "erf", "erfc", "exp", "exp2", "expm1", "floor", "log", "log1p",
    "log2", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sqrt", "square",
    "tanh", "clip", "pow", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
)  # fmt: skip
"""The functions that PyTorch calls as the language does."""

_FUNCTIONS: Functions = {
    **ARITHMETIC,
    **{name: getattr(torch, name) for name in _SAME},
    **{name: _truth(compare) for name, compare in COMPARISONS.items()},
    "argmax": lambda x, axis=-1: torch.argmax(x, axis),
    "argmin": lambda x, axis=-1: torch.argmin(x, axis),
    "atan2": lambda y, x: torch.atan2(y, torch.as_tensor(x, dtype=y.dtype)),
    "attention": _attention,
    "avg_pool": _avg_pool,
    "broadcast": _broadcast,
    "cast": lambda x, dtype: x.to(_dtype(dtype)),
    "conv": _conv,
    "cumsum": lambda x, axis=-1: torch.cumsum(x, axis, dtype=x.dtype),
    "elu": functional.elu,
    "expand_dims": lambda x, axis: torch.unsqueeze(x, axis),
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "grouped_matmul": _grouped_matmul,
    "hardsigmoid": functional.hardsigmoid,
    "hardswish": functional.hardswish,
    "layer_norm": _layer_norm,
    "leaky_relu": _leaky_relu,
    "left_shift": torch.bitwise_left_shift,
    "linear": _linear,
    "matmul": _matmul,
    "max": _reduced(torch.amax),
    "max_pool": _max_pool,
    "maximum": _bounded(torch.maximum, "min"),
    "mean": _reduced(torch.mean),
    "min": _reduced(torch.amin),
    "minimum": _bounded(torch.minimum, "max"),
    "move": torch.clone,
    "quotient": partial(torch.div, rounding_mode="trunc"),
    "remainder": torch.fmod,
    "right_shift": torch.bitwise_right_shift,
    "rms_norm": _rms_norm,
    "silu": functional.silu,
    "softmax": lambda x, axis=-1: torch.softmax(x, axis),
    "softplus": functional.softplus,
    "sum": _sum,
    "sum_pool": _sum_pool,
    **{f"scatter_{kind}": _scatter(kind) for kind in KINDS},
    "segment_sum": _segment_sum,
    "take": _take,
    "transpose": _transpose,
    "concat": lambda *parts, axis: torch.cat(parts, axis),
    "cosine_similarity": lambda a, b, axis=-1: functional.cosine_similarity(a, b, axis),
    "diff": lambda x, axis=-1: torch.diff(x, dim=axis),
    "einsum": _einsum,
    "flip": lambda x, axis: torch.flip(x, (axis,) if isinstance(axis, int) else axis),
    "group_norm": _group_norm,
    "log_softmax": lambda x, axis=-1: functional.log_softmax(x, axis),
    "logsumexp": lambda x, axis=-1, keepdims=False: torch.logsumexp(x, axis, keepdims),
    "norm": lambda x, axis=-1, keepdims=False, order=2.0: torch.linalg.vector_norm(
        x, order, axis, keepdims
    ),
    "normalize": lambda x, axis=-1, epsilon=1e-12: functional.normalize(x, 2.0, axis, epsilon),
    "pad": _pad,
    "repeat": lambda x, count, axis: torch.repeat_interleave(x, count, axis),
    "roll": lambda x, shift, axis: torch.roll(x, shift, axis),
    "squeeze": lambda x, axis: torch.squeeze(x, axis),
    "stack": lambda *parts, axis=0: torch.stack(parts, axis),
    "std": _spread(torch.std),
    "tile": lambda x, counts: torch.tile(x, (counts,) if isinstance(counts, int) else counts),
    "tril": lambda x, diagonal=0: torch.tril(x, diagonal),
    "triu": lambda x, diagonal=0: torch.triu(x, diagonal),
    "var": _spread(torch.var),
    "index": _indexed,
    "reshape": lambda x, shape: torch.reshape(x, (shape,) if isinstance(shape, int) else shape),
    "where": lambda condition, a, b: torch.where(condition != 0, a, b),
}
