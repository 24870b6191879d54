"""Reference values with bounds on the error of a kernel's results.

A tensor's values are in float64, those of integer dtypes in int64, exact modulo the dtype's
range. An infinite error means that any result is allowed: where an intermediate sum may overflow,
or where an inexact value decides between a number and NaN. If a value is NaN or infinite with an
error of 0, the result must be, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]

DTYPES: dict[str, np.dtype[Any]] = {
    "u8": np.dtype(np.uint8), "i8": np.dtype(np.int8), "u16": np.dtype(np.uint16),
    "i16": np.dtype(np.int16), "u32": np.dtype(np.uint32), "i32": np.dtype(np.int32),
    "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32),
}  # fmt: skip

FLOATS = ("f16", "bf16", "f32")
EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23}
LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38}
TINY = {"f16": 2.0**-24, "bf16": 2.0**-126, "f32": 2.0**-149}
"""The largest values that may be flushed to zero, by dtype: bf16 instructions flush subnormals."""
FLUSHED = 2.0**-118
"""Results smaller than this may be flushed to zero."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """A tensor's reference values, with an absolute error bound of each."""

    value: Array
    error: Floats
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def wild(self) -> NDArray[np.bool_]:
        """A mask of the elements that may be anything."""
        return np.isinf(self.error)

    def seen(self, function: Callable[[Array], Array]) -> Bounded:
        """A view or a selection of the elements: `function` of the values and of the errors."""
        return Bounded(function(self.value), function(self.error), self.dtype)


def exactly(array: Array, dtype: str) -> Bounded:
    """An exactly known tensor, such as an input."""
    value = array.astype(np.float64 if dtype in FLOATS else np.int64)
    return Bounded(value, np.zeros(value.shape), dtype)


def number(value: float, dtype: str) -> Bounded:
    """A constant, which a kernel may hold in the dtype or in f32."""
    if dtype not in FLOATS:
        return Bounded(np.array(int(value)), np.zeros(()), dtype)
    with np.errstate(all="ignore"):
        held = np.array(value).astype(DTYPES[dtype]).astype(np.float64)
    error = np.abs(held - value) if np.isfinite(held) else np.inf
    return Bounded(np.array(value), np.asarray(error), dtype)


def integers(value: Array, dtype: str) -> Bounded:
    """Integers, wrapped around as the dtype does."""
    wrapped = value.astype(np.int64).astype(DTYPES[dtype]).astype(np.int64)
    return Bounded(wrapped, np.zeros(wrapped.shape), dtype)


def apart(a: Array, b: Array) -> Floats:
    """The absolute difference; 0 between two NaNs, infinite between NaN and a number."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    distance = np.abs(a - b)
    return np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))


def monotone(function: Callable[..., Array], *arguments: Bounded) -> tuple[Array, Floats]:
    """A function monotonic in each argument, and its propagated error."""
    value = function(*(x.value for x in arguments))
    error = np.zeros(value.shape)
    ends = [(x.value - x.error, x.value + x.error) if x.error.any() else (x.value,)
            for x in arguments]  # fmt: skip
    for corner in product(*ends):
        error = np.maximum(error, apart(function(*corner), value))
    for x in arguments:
        error = np.where(x.wild, np.inf, error)
    return value, error


def rounded(
    value: Array, error: Floats, dtype: str, *, ulps: float = 0.0, least: float = 0.0,
    last: bool = False,
) -> Bounded:  # fmt: skip
    """Results rounded as a kernel may: within some ulps of f32, then converted to a dtype.

    If this is the `last` operation, values beyond the dtype's range become infinite; an
    intermediate value may or may not.
    """
    finite = np.isfinite(value)
    size = np.where(finite, np.abs(value), 0.0) + np.where(np.isinf(error), 0.0, error)
    relative = ulps * EPSILON["f32"] + EPSILON[dtype]
    total = error + np.where(finite, relative * size + TINY[dtype] + least, 0.0)
    return overflowed(value, total, dtype, last=last)


def overflowed(value: Array, error: Floats, dtype: str, *, last: bool) -> Bounded:
    """Numbers converted to a dtype whose range they may exceed."""
    finite = np.isfinite(value)
    size = np.abs(value)
    over = finite & (size + error > LARGEST[dtype])
    surely = over & last & (size - error > LARGEST[dtype] * (1 + EPSILON[dtype]))
    value = np.where(surely, np.copysign(np.inf, value), value)
    error = np.where(surely, 0.0, np.where(over, np.inf, error))
    return Bounded(value, error, dtype)


def summed(
    terms: Bounded,
    axes: Sequence[int],
    dtype: str,
    lost: Array | float = 0.0,
    *,
    last: bool = False,
) -> Bounded:
    """Sums along axes, in any order: of floats, sums in f32 that are rounded to the dtype once.

    `lost` is an additional error of each sum; of `last`, see `rounded`.
    """
    along = tuple(axes)
    if not terms.is_float:
        return integers(terms.value.sum(along), dtype)
    count = int(np.prod([terms.shape[a] for a in along]))
    value = terms.value.sum(along)
    finite = np.isfinite(terms.value)
    error = terms.error.sum(along) + lost
    scale = np.where(finite, np.abs(terms.value), 0.0).sum(along)
    scale += np.where(np.isinf(error), 0.0, error)
    total = error + (count + 8) * EPSILON["f32"] * scale + (count + 1) * TINY["f32"]
    total = np.where(scale > LARGEST["f32"] * (1 - EPSILON["f32"]), np.inf, total)
    exact = ~np.isfinite(value) & np.isfinite(total) & (terms.error.sum(along) < np.inf)
    total = np.where(exact, 0.0, total)
    if dtype == "f32":
        return Bounded(value, total, dtype)
    size = np.where(np.isfinite(value + total), np.abs(value) + total, 0.0)
    rounding = np.where(exact, 0.0, EPSILON[dtype] / 2 * size + TINY[dtype])
    return overflowed(value, total + rounding, dtype, last=last)
