"""Whether what kernels compute agrees with what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np

from morello.ir.dtype import BF16

TOLERANCES = {BF16.np: 5e-2, np.dtype(np.float16): 1e-2, np.dtype(np.float32): 2e-4}
"""The tolerance, as a fraction of each result and of the largest."""


def differing(computed: Any, expected: Any) -> str:
    """The difference of a function's result from the right one, in words; "" if there is none."""
    if isinstance(expected, list | tuple):
        if type(computed) is not type(expected) or len(computed) != len(expected):
            return f"{_kind(computed)} in place of {_kind(expected)}"
        pairs = zip(computed, expected, strict=True)
        return next((text for pair in pairs if (text := differing(*pair))), "")
    if isinstance(expected, dict):
        if not isinstance(computed, dict) or computed.keys() != expected.keys():
            return "other keys"
        return differing([computed[key] for key in expected], [*expected.values()])
    if isinstance(expected, np.ndarray | np.generic):
        return _arrays(computed, np.asarray(expected))
    same = type(computed) is type(expected) and bool(computed == expected)
    return "" if same else f"{computed!r} in place of {expected!r}"


def _kind(value: Any) -> str:
    size = f" of {len(value)}" if isinstance(value, list | tuple) else ""
    return f"a {type(value).__name__}{size}"


def _arrays(computed: Any, expected: np.ndarray[Any, Any]) -> str:
    if not isinstance(computed, np.ndarray | np.generic):
        return f"{_kind(computed)} in place of an array"
    given = np.asarray(computed)
    if (given.dtype, given.shape) != (expected.dtype, expected.shape):
        return f"{given.dtype}{given.shape} in place of {expected.dtype}{expected.shape}"
    tolerance = TOLERANCES.get(expected.dtype)
    if tolerance is None:
        rounded = expected.dtype.kind in "fc"
        same = (
            np.allclose(given, expected, equal_nan=True) if rounded else (given == expected).all()
        )
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
