"""Rounding errors of kernels: tensors with error bounds, and what adds to these.

The bounds are those of a first-order running error analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from morello.ir.dtype import DType

Array = NDArray[Any]
Floats = NDArray[np.float64]
Compute = Callable[..., Array]
"""A function of the inputs of an operation: its output."""

# The error of a sum of k rounded terms is about sqrt(k) roundings; these are added for the
# rounding of each term itself. Few enough that one missing product is detected at k = 4096.
ROUNDINGS = 8.0

FLUSHED = 2.0**-120
"""Results of functions that are smaller than this may be flushed to zero."""

EPSILON = 2.0**-23
"""The machine epsilon of f32, in which everything but integers is computed."""

MAX_EXACT = 2.0**53
"""float64 represents integers up to this exactly."""

LIMIT = 2.0**63 - 2.0**10
"""The largest number of float64 that int64 has."""


_MANY = 1 << 16
"""Arrays of more elements are looked at in parts, which lie in a cache."""


@dataclass(frozen=True)
class Bounded:
    """A tensor: its value, and an error bound for each element (None: it is exact).

    The values of floating-point dtypes are in float64, those of integers in int64.
    """

    value: Array
    error: Floats | None = None

    @property
    def bound(self) -> Floats:
        """The error bounds; zeros if the tensor is exact."""
        return np.zeros(self.value.shape) if self.error is None else self.error


Bounds = tuple[Bounded, ...]
"""The outputs of an operation."""


def epsilon(dtype: DType) -> float:
    """The machine epsilon of a dtype; for integers, that of the float64 that represents them."""
    if not dtype.is_float:
        return float(np.finfo(np.float64).eps)
    return float(ml_dtypes.finfo(dtype.np).eps)  # type: ignore[no-untyped-call]


def lowest(dtype: DType) -> float:
    """The lowest value of a dtype."""
    return -np.inf if dtype.is_float else float(integers(dtype).min)


def highest(dtype: DType) -> float:
    """The highest value of a dtype."""
    return np.inf if dtype.is_float else float(integers(dtype).max)


def integers(dtype: DType) -> np.iinfo[Any]:
    """The range of an integer dtype."""
    return np.iinfo(dtype.np)


# ---- storing


def stored(x: Bounded, dtype: DType) -> Bounded:
    """The tensor stored in a dtype. Exact values are rounded; others get a larger error bound.

    The bound is infinite where the value may overflow.
    """
    if not dtype.is_float:
        return _truncated(x, dtype)
    if x.error is None:
        return Bounded(_nearest(x.value, dtype))
    limits, size = ml_dtypes.finfo(dtype.np), np.abs(x.value)  # type: ignore[no-untyped-call]
    spacing = np.maximum(epsilon(dtype) * (size + x.error), float(limits.smallest_subnormal))
    error = x.error + spacing / 2
    error = np.where(size + error > float(limits.max), np.inf, error)
    exact = x.error == 0
    if not exact.any():
        return Bounded(x.value, error)
    return Bounded(np.where(exact, _nearest(x.value, dtype), x.value), np.where(exact, 0.0, error))


def _nearest(value: Array, dtype: DType) -> Array:
    return value.astype(dtype.np).astype(np.float64)


def _truncated(x: Bounded, dtype: DType) -> Bounded:
    """The tensor truncated to integers; the error is infinite where they may be out of range."""
    low, high = x.value - x.bound, x.value + x.bound
    value, low, high = (np.trunc(numbers) for numbers in (x.value, low, high))
    error = np.maximum(high - value, value - low)
    reached = (low >= integers(dtype).min) & (high <= integers(dtype).max)
    error = np.where(reached, error, np.inf)
    whole = np.where(np.isfinite(value), value, 0).clip(-LIMIT, LIMIT).astype(np.int64)
    return Bounded(wrapped(whole, dtype), error if error.any() else None)


def wrapped(value: Array, dtype: DType) -> Array:
    """Integers as a dtype holds them, modulo its range."""
    return value.astype(dtype.np).astype(np.int64)


def rounded(value: Array, error: Floats | None, rounding: Array, exact: Array | bool) -> Bounded:
    """A value with the error propagated from its inputs, plus `rounding` where not `exact`."""
    own = np.where(exact, 0.0, rounding)
    total = own if error is None else own + error
    return Bounded(value, total if total.any() else None)


# ---- computing


def summed(compute: Compute, inputs: Sequence[Bounded], terms: int, dtype: DType) -> Bounded:
    """A sum of this many elements of an input, or products of elements of several inputs.

    The rounding errors of its accumulation are proportional to the sum of the terms' magnitudes.
    Sums of floats of any dtype are accumulated in f32, and rounded to it when they are stored.
    """
    magnitudes = [np.abs(x.value) for x in inputs]
    value, scale = compute(*(x.value for x in inputs)), compute(*magnitudes)
    error = None
    factors = ((m, x.error) for m, x in zip(magnitudes, inputs, strict=True))
    for chosen in list(product(*factors))[1:]:  # the first has no error in it
        if all(factor is not None for factor in chosen):
            error = plus(error, compute(*chosen))
    precision = EPSILON if dtype.is_float else epsilon(dtype)
    rounding = precision * (terms**0.5 + ROUNDINGS) * scale
    whole = error is None and all(_is_whole(x.value) for x in inputs)
    return rounded(value, error, rounding, exact=whole & (scale <= 2 / precision))


def _is_whole(values: Array) -> bool:
    """Whether all values are integers: looked at row by row, up to the first that is none."""
    if values.ndim > 1 and values.size > _MANY:
        return all(map(_is_whole, values))
    return bool((values == np.rint(values)).all())


def narrow(dtype: DType) -> bool:
    return dtype.is_float and dtype.bytes < 4


def propagated(
    compute: Compute, inputs: Sequence[Bounded], value: Array, floor: float = -np.inf
) -> Floats | None:
    """The error propagated from the inputs of an operation that is monotonic in each of them.

    No input is below the `floor`.
    """
    error = None
    for position, x in enumerate(inputs):
        if x.error is not None:
            ends = []
            for end in (np.maximum(x.value - x.error, floor), x.value + x.error):
                values = [end if i == position else y.value for i, y in enumerate(inputs)]
                ends.append(np.abs(compute(*values) - value))
            error = plus(error, np.maximum(*ends))
    return error


def plus(error: Floats | None, more: Floats) -> Floats:
    return more if error is None else error + more


def moved(compute: Compute, inputs: Sequence[Bounded]) -> Bounded:
    """Copies and maxima, which add no rounding error."""
    value = compute(*(x.value for x in inputs))
    if all(x.error is None for x in inputs):
        return Bounded(value)
    return Bounded(value, compute(*(x.bound for x in inputs)))
