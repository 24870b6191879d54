"""Whether what kernels compute agrees with what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np

from morello.graph.graph import Array
from morello.ir.dtype import BF16
from morello.models.rounding import EXACT, Rounding

TOLERANCES = {BF16.np: 5e-2, np.dtype(np.float16): 1e-2, np.dtype(np.float32): 2e-4}
"""The tolerance, as a fraction of each result and of the largest."""


def differing(computed: Any, expected: Any, rounding: Rounding = EXACT) -> str:
    """The difference of a function's result from the right one, in words; "" if there is none.

    Integers are the same but where `rounding` explains that they are not; it knows the leaves of
    the result by number.
    """
    pairs: list[tuple[Any, Any]] = []
    if difference := _paired(computed, expected, pairs):
        return difference
    texts = (_leaves(*pair, number, rounding) for number, pair in enumerate(pairs))
    return next(filter(None, texts), "")


def _paired(computed: Any, expected: Any, pairs: list[tuple[Any, Any]]) -> str:
    """Add the leaves of two results to the pairs; returns how the results differ in form."""
    if isinstance(expected, list | tuple):
        if type(computed) is not type(expected) or len(computed) != len(expected):
            return f"{_kind(computed)} in place of {_kind(expected)}"
        both = zip(computed, expected, strict=True)
        return next((text for pair in both if (text := _paired(*pair, pairs))), "")
    if isinstance(expected, dict):
        if not isinstance(computed, dict) or computed.keys() != expected.keys():
            return "other keys"
        return _paired([computed[key] for key in expected], [*expected.values()], pairs)
    pairs.append((computed, expected))
    return ""


def _leaves(computed: Any, expected: Any, number: int, rounding: Rounding) -> str:
    if isinstance(expected, np.ndarray | np.generic):
        return _arrays(computed, np.asarray(expected), number, rounding)
    same = type(computed) is type(expected) and bool(computed == expected)
    return "" if same else f"{computed!r} in place of {expected!r}"


def _kind(value: Any) -> str:
    size = f" of {len(value)}" if isinstance(value, list | tuple) else ""
    return f"a {type(value).__name__}{size}"


def _arrays(computed: Any, expected: Array, number: int, rounding: Rounding) -> str:
    if not isinstance(computed, np.ndarray | np.generic):
        return f"{_kind(computed)} in place of an array"
    given = np.asarray(computed)
    if (given.dtype, given.shape) != (expected.dtype, expected.shape):
        return f"{given.dtype}{given.shape} in place of {expected.dtype}{expected.shape}"
    tolerance = TOLERANCES.get(expected.dtype)
    if tolerance is None:
        if expected.dtype.kind in "iub":
            return rounding.difference(number, given, expected)
        same = np.allclose(given, expected, equal_nan=expected.dtype.kind in "fc")
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
