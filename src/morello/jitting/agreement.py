"""Whether what kernels compute agrees with what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np

from morello.ir.dtype import BF16
from morello.models.checking import ROUNDED, error_of

TOLERANCES = {BF16.np: 5e-2, np.dtype(np.float16): 1e-2, np.dtype(np.float32): 2e-4}
"""The tolerance, as a fraction of each result and of the largest."""


def differing(computed: Any, expected: Any, *, exact: bool = True) -> str:
    """The difference of a function's result from the right one, in words; "" if there is none.

    Unless all is `exact`, integers may come from numbers that were rounded otherwise, as those of
    pixels do that lie between two. They are then compared as a whole.
    """
    if isinstance(expected, list | tuple):
        if type(computed) is not type(expected) or len(computed) != len(expected):
            return f"{_kind(computed)} in place of {_kind(expected)}"
        pairs = zip(computed, expected, strict=True)
        return next((text for pair in pairs if (text := differing(*pair, exact=exact))), "")
    if isinstance(expected, dict):
        if not isinstance(computed, dict) or computed.keys() != expected.keys():
            return "other keys"
        values = [computed[key] for key in expected]
        return differing(values, [*expected.values()], exact=exact)
    if isinstance(expected, np.ndarray | np.generic):
        return _arrays(computed, np.asarray(expected), exact)
    same = type(computed) is type(expected) and bool(computed == expected)
    return "" if same else f"{computed!r} in place of {expected!r}"


def _kind(value: Any) -> str:
    size = f" of {len(value)}" if isinstance(value, list | tuple) else ""
    return f"a {type(value).__name__}{size}"


def _arrays(computed: Any, expected: np.ndarray[Any, Any], exact: bool) -> str:
    if not isinstance(computed, np.ndarray | np.generic):
        return f"{_kind(computed)} in place of an array"
    given = np.asarray(computed)
    if (given.dtype, given.shape) != (expected.dtype, expected.shape):
        return f"{given.dtype}{given.shape} in place of {expected.dtype}{expected.shape}"
    tolerance = TOLERANCES.get(expected.dtype)
    if tolerance is None:
        if expected.dtype.kind in "fc":
            same = np.allclose(given, expected, equal_nan=True)
        else:
            same = np.array_equal(given, expected)
            same = same or (not exact and _error(given, expected) <= ROUNDED)
        return "" if same else f"other elements of {expected.dtype}"
    x, y = given.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(y)
    largest = np.abs(y[finite]).max(initial=0.0)
    same_where = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        close = np.abs(x - y) <= tolerance * (np.abs(y) + largest)
    wrong = ~(same_where | (close & finite))
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{x[place]:g} in place of {y[place]:g} at {list(place)}"


def _error(given: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """The error of integers as numbers."""
    return error_of(given.astype(np.float64), expected.astype(np.float64), exact=True)
