"""NumPy, with the BLAS that it was built with: the expression as people write it, in f32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from morello.frontends.text import CallSequence
from morello.graph.operators import (
    Conv,
    Pooling,
    SegmentSum,
    Softmax,
)
from morello.ir.functions import BINARY, UNARY
from morello.ir.primitives.quantized import dequantized
from morello.ir.primitives.scattering import KINDS, combined
from morello.rivals.composed import functions_by
from morello.rivals.functions import (
    ARITHMETIC,
    VIEWS,
    Functions,
    along,
    comparisons,
    each,
    ends,
    function_of,
)
from morello.rivals.rival import RacedExpression, Rival
from morello.runtime.argument import Array


def prepare(raced: RacedExpression) -> Rival:
    """The expression in NumPy; a product of matrices writes to an array that is there."""
    sequence, functions = raced.sequence, _FUNCTIONS
    if _is_one_product(sequence, raced.inputs):
        functions = {**functions, "matmul": partial(np.matmul, out=raced.out)}
    function, dtype = function_of(sequence, functions, "NumPy"), sequence.dtype.np
    viewed = sequence.calls[-1].function in VIEWS

    def call() -> Array:
        result = np.asarray(function(*map(_wide, raced.inputs)))
        if viewed:
            result = np.ascontiguousarray(result)
        return result if result.dtype == dtype else result.astype(dtype)

    return Rival(version(), call, np.asarray)


def _is_one_product(sequence: CallSequence, inputs: Sequence[Array]) -> bool:
    """Whether a product of matrices of one dtype is all that there is."""
    whole = [call.function for call in sequence.calls] == ["matmul"]
    return whole and all(x.ndim > 1 and x.dtype == sequence.dtype.np for x in inputs)


def _wide(x: Array) -> Array:
    """The array, or its numbers in f32 if they are narrower floats."""
    narrow = x.dtype.itemsize < 4 and x.dtype.kind not in "iu"
    return x.astype(np.float32) if narrow else x


def _factors(*factors: Array) -> list[Array]:
    """Factors as products take them: integers in i32."""
    return [x.astype(np.int32) if x.dtype.kind in "iu" else _wide(x) for x in factors]


def _matmul(a: Array, b: Array) -> Any:
    return np.matmul(*_factors(a, b))


def _linear(x: Array, w: Array, *bias: Array) -> Any:
    return sum(bias, _matmul(x, w))


def _einsum(subscripts: str, *operands: Array) -> Any:
    return np.atleast_1d(np.einsum(subscripts, *_factors(*operands), optimize=True))


def _windows(stride: Any, padding: Any, dilation: Any, rank: int) -> dict[str, Any]:
    """The options of windows, as operators of graphs have them."""
    sides = ends(padding, rank)
    before, after = (tuple(side[end] for side in sides) for end in (0, 1))
    steps = {"strides": each(stride, rank), "dilations": each(dilation, rank)}
    return {**steps, "before": before, "after": after}


def _conv(
    image: Array,
    filters: Array,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCHW",
) -> Any:
    image, filters = _factors(image, filters)
    operator = Conv(**_windows(stride, padding, dilation, image.ndim - 2), groups=groups)
    if layout == "NCHW":
        return operator.evaluate(image, filters)
    filters = np.moveaxis(filters, (-1, -2), (0, 1))
    return np.moveaxis(operator.evaluate(np.moveaxis(image, -1, 1), filters), 1, -1)


def _pool(kind: str) -> Callable[..., Any]:
    def pooled(
        x: Array,
        window: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        count_include_pad: bool = True,
        layout: str = "NCHW",
    ) -> Any:
        rank = x.ndim - 2
        windows = _windows(stride, padding, dilation, rank)
        operator = Pooling(kind, each(window, rank), **windows, counts_padding=True)
        if layout == "NCHW":
            return operator.evaluate(x)
        return np.moveaxis(operator.evaluate(np.moveaxis(x, -1, 1)), 1, -1)

    return pooled


def _sum_pool(x: Array, window: Any, **options: Any) -> Any:
    return _pool("mean")(x, window, **options) * prod(each(window, x.ndim - 2))


def _summed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy whose sums have the dtype of their terms."""
    return lambda x, axis=-1, **options: function(x, axis=axis, dtype=x.dtype, **options)


def _elu(x: Array, alpha: float) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(x))


def _hardsigmoid(x: Array) -> Any:
    return np.clip(x + 3, 0, 6) / 6


def _take(table: Array, ids: Array) -> Any:
    return table[np.clip(np.where(ids < 0, ids + len(table), ids), 0, len(table) - 1)]


def _grouped_matmul(x: Array, matrices: Array, ids: Array) -> Any:
    """The rows of each matrix that is chosen together, as in mixtures of experts."""
    out = np.zeros((len(x), matrices.shape[2]), np.result_type(x, matrices))
    for chosen in np.unique(ids):
        if 0 <= chosen < len(matrices):
            rows = ids == chosen
            out[rows] = x[rows] @ matrices[chosen]
    return out


def _quantized_matmul(x: Array, weights: Array, scales: Array) -> Any:
    return x @ dequantized(weights, scales, x.shape[1]).T


_FUNCTIONS: Functions = {
    **UNARY,
    **BINARY,
    **ARITHMETIC,
    **comparisons(np.result_type),
    **functions_by(np),
    "argmax": along(np.argmax),
    "argmin": along(np.argmin),
    "atan": np.arctan,
    "avg_pool": _pool("mean"),
    "broadcast": lambda x, axis, size: np.repeat(np.expand_dims(x, axis), size, axis),
    "cast": lambda x, dtype: x.astype(dtype.np),
    "clip": np.clip,
    "conv": _conv,
    "cumsum": _summed(np.cumsum),
    "einsum": _einsum,
    "elu": _elu,
    "expand_dims": np.expand_dims,
    "grouped_matmul": _grouped_matmul,
    "hardsigmoid": _hardsigmoid,
    "hardswish": lambda x: x * _hardsigmoid(x),
    "linear": _linear,
    "matmul": _matmul,
    "max": along(np.max),
    "max_pool": _pool("max"),
    "mean": along(np.mean),
    "min": along(np.min),
    "move": np.copy,
    "pow": np.power,
    "quantized_matmul": _quantized_matmul,
    "segment_sum": lambda rows, ids, count: SegmentSum(count).evaluate(rows, ids),
    "softmax": lambda x, axis=-1: Softmax(axis).evaluate(x),
    "sum": _summed(np.sum),
    "sum_pool": _sum_pool,
    **{f"scatter_{kind}": partial(combined, kind) for kind in KINDS},
    "take": _take,
    "transpose": lambda x, order=None: np.transpose(x, order),
    "where": lambda condition, a, b: np.where(condition != 0, a, b),
}


def version() -> str:
    """The versions of NumPy and of the BLAS library that it uses."""
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    name = f"numpy {np.__version__}"
    blas = next((library for library in threadpool_info() if library["user_api"] == "blas"), None)
    if blas is None:
        return name
    parts = (blas.get(key) for key in ("internal_api", "version", "architecture"))
    return f"{name}, {' '.join(str(part) for part in parts if part)}"
