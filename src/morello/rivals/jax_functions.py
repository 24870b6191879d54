"""The functions of the language in JAX."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from morello.frameworks.jax_operators import MAPS
from morello.ir.dtype import DType
from morello.rivals.composed import functions_by
from morello.rivals.functions import ARITHMETIC, Functions, along, comparisons, each, ends


def _summed(a: Any, b: Any) -> Any:
    """The dtype of products: i32 of integers, at least f32 of floats."""
    if jnp.issubdtype(a.dtype, jnp.integer):
        return jnp.int32
    return jnp.promote_types(jnp.promote_types(a.dtype, b.dtype), jnp.float32)


def _matmul(a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, preferred_element_type=_summed(a, b))


def _einsum(subscripts: str, *operands: Any) -> Any:
    dtype = _summed(operands[0], operands[-1])
    return jnp.atleast_1d(jnp.einsum(subscripts, *operands, preferred_element_type=dtype))


def _conv(
    image: Any,
    filters: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCHW",
) -> Any:
    rank = image.ndim - 2
    names = ("NCHW", "OIHW") if layout == "NCHW" else ("NHWC", "HWIO")
    data, taps = (name.replace("HW", "HW"[2 - rank :]) for name in names)
    return lax.conv_general_dilated(
        image,
        filters,
        each(stride, rank),
        ends(padding, rank),
        rhs_dilation=each(dilation, rank),
        dimension_numbers=(data, taps, data),
        feature_group_count=groups,
        preferred_element_type=_summed(image, filters),
    )


def _pool(start: float, combine: Callable[..., Any]) -> Callable[..., Any]:
    def pooled(
        x: Any,
        window: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        layout: str = "NCHW",
    ) -> Any:
        rank, last = x.ndim - 2, layout == "NHWC"

        def around(plain: Any, inner: Any) -> tuple[Any, ...]:
            return (plain, *inner, plain) if last else (plain, plain, *inner)

        return lax.reduce_window(
            x,
            jnp.asarray(start, x.dtype),
            combine,
            around(1, each(window, rank)),
            around(1, each(stride, rank)),
            around((0, 0), ends(padding, rank)),
            window_dilation=around(1, each(dilation, rank)),
        )

    return pooled


_sum_pool = _pool(0.0, lax.add)


def _avg_pool(x: Any, window: Any, count_include_pad: bool = True, **options: Any) -> Any:
    return _sum_pool(x, window, **options) / prod(each(window, x.ndim - 2))


def _cast(x: Any, dtype: DType) -> Any:
    return x.astype(dtype.np)


def _broadcast(x: Any, axis: int, size: int) -> Any:
    return jnp.repeat(jnp.expand_dims(x, axis), size, axis)


def _take(table: Any, ids: Any) -> Any:
    return jnp.take(table, jnp.where(ids < 0, ids + len(table), ids), 0, mode="clip")


def _scatter(method: str) -> Callable[..., Any]:
    def scatter(table: Any, ids: Any, rows: Any) -> Any:
        places = jnp.where(ids < 0, len(table), ids)
        return getattr(table.at[places], method)(rows, mode="drop")

    return scatter


def _grouped_matmul(x: Any, matrices: Any, ids: Any) -> Any:
    """A ragged product of the rows in the order of their matrices, those of none last."""
    count = len(matrices)
    places = jnp.where((ids >= 0) & (ids < count), ids, count)
    order = jnp.argsort(places)
    sizes = jnp.bincount(places, length=count + 1)[:count].astype(jnp.int32)
    sums = lax.ragged_dot(x[order], matrices, sizes)
    return jnp.zeros_like(sums).at[order].set(sums)


FUNCTIONS: Functions = {
    **MAPS,
    **ARITHMETIC,
    **comparisons(jnp.result_type),
    **functions_by(jnp),
    "argmax": along(jnp.argmax),
    "argmin": along(jnp.argmin),
    "atan": jnp.arctan,
    "avg_pool": _avg_pool,
    "broadcast": _broadcast,
    "cast": _cast,
    "clip": jnp.clip,
    "conv": _conv,
    "cumsum": along(jnp.cumsum),
    "einsum": _einsum,
    "elu": jax.nn.elu,
    "expand_dims": jnp.expand_dims,
    "grouped_matmul": _grouped_matmul,
    "hardsigmoid": jax.nn.hard_sigmoid,
    "hardswish": jax.nn.hard_swish,
    "linear": lambda x, w, *b: sum(b, _matmul(x, w)),
    "matmul": _matmul,
    "max": along(jnp.max),
    "max_pool": _pool(-np.inf, lax.max),
    "mean": along(jnp.mean),
    "min": along(jnp.min),
    "move": jnp.copy,
    "pow": jnp.power,
    "quotient": MAPS["divide"],
    "softmax": along(jax.nn.softmax),
    "sum": along(jnp.sum),
    "sum_pool": _sum_pool,
    "scatter_last": _scatter("set"),
    "scatter_max": _scatter("max"),
    "scatter_min": _scatter("min"),
    "scatter_sum": _scatter("add"),
    "segment_sum": lambda rows, ids, count: jax.ops.segment_sum(
        rows, jnp.where(ids < 0, count, ids), count
    ),
    "take": _take,
    "transpose": lambda x, order=None: jnp.transpose(x, order),
    "where": lambda condition, a, b: jnp.where(condition != 0, a, b),
}
