"""First calls of programs, compared with what JAX computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from morello.graph.graph import Array, Graph
from morello.models.checking import NARROW, error_of, tolerance_of

_NUDGES = 3
"""How often arguments are changed a little, to see whether results change a lot."""

_SHARE, _NARROW_SHARE = 2.0**-18, 2.0**-7
"""By how much of their values, at most: a few times what rounds them, in 32 and in 16 bits."""


def mistake(
    graphs: Iterable[Graph],
    right: Callable[..., Sequence[Any]],
    arrays: Sequence[Any],
    results: Sequence[Any],
) -> str:
    """How results for these arrays, by kernels of graphs, differ from the right ones; "" if not.

    Functions whose right results change as much if the arrays change by what rounds them, such as
    loops that choose what the next step does, have no mistake that can be told from rounding.
    """
    tolerance = max(map(tolerance_of, graphs))
    expected = [*map(_array, right(*arrays))]

    def error(given: Sequence[Any]) -> float:
        pairs = zip(map(_array, given), expected, strict=True)
        return max((error_of(*pair, exact=not tolerance) for pair in pairs), default=0.0)

    largest = error(results)
    if largest <= tolerance:
        return ""
    share = _NARROW_SHARE if tolerance == NARROW else _SHARE
    random = np.random.default_rng(0)
    for _ in range(_NUDGES if tolerance else 0):
        if error(right(*(_nudged(array, share, random) for array in arrays))) > tolerance:
            return ""
    return f"an error of {largest:.1e}"


def _array(array: Any) -> Array:
    return np.asarray(array)


def _nudged(given: Any, share: float, random: np.random.Generator) -> Any:
    """An argument whose floats are changed by up to this share of each; another one as it is."""
    is_array = isinstance(given, np.ndarray | jax.Array) and not getattr(given, "weak_type", False)
    if not is_array or not jax.dtypes.issubdtype(given.dtype, np.floating):
        return given
    array = np.asarray(given)
    factors = 1 + share * random.uniform(-1, 1, array.shape)
    return (array.astype(np.float64) * factors).astype(array.dtype)
