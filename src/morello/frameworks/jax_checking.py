"""First calls of programs, compared with what JAX computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from morello.graph.graph import Array, Graph
from morello.models import rounding
from morello.models.checking import error_of, tolerance_of
from morello.models.rounding import EXACT, Change, Rounding, changes_of, nudged, share_of

_NUDGES = 3
"""How often arguments are changed a little, to see whether results change a lot."""


def mistake(
    graphs: Sequence[Graph],
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

    def again(change: Callable[[Array], Array]) -> list[Array]:
        return [*map(_array, right(*(_changed(array, change) for array in arrays)))]

    share = share_of(tolerance)
    around = Rounding(_changes(graphs, len(expected)), again, share) if tolerance else EXACT
    pairs = zip(map(_array, results), expected, strict=True)
    why = rounding.mistake(pairs, tolerance, around)
    if why and tolerance:
        random = np.random.default_rng(0)
        for _ in range(_NUDGES):
            others = again(lambda each: nudged(each, share, random))
            if max(map(error_of, others, expected), default=0.0) > tolerance:
                return ""
    return why


def _changes(graphs: Sequence[Graph], results: int) -> Sequence[Change]:
    """How rounding may change each result; of several graphs, it is not known which are whose."""
    if len(graphs) == 1 and len(graphs[0].outputs) == results:
        return changes_of(graphs[0])
    return [Change.CHOICE] * results


def _array(array: Any) -> Array:
    return np.asarray(array)


def _changed(given: Any, change: Callable[[Array], Array]) -> Any:
    """An argument whose floats are changed; a number of Python as it is."""
    is_array = isinstance(given, np.ndarray | jax.Array) and not getattr(given, "weak_type", False)
    return change(np.asarray(given)) if is_array else given
