"""Errors of what programs compute at their first calls, and how large these are without mistakes.

A program may round otherwise than the framework whose results are expected, so that single elements
of steep functions differ: results are compared as a whole, by norms.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from morello.graph.graph import Array, Graph

ROUNDED = 0.05
"""The largest error of what is computed in f32 that is no mistake: some functions are steep."""

NARROW = 0.5
"""That of what is computed in 16 bits: rounding may choose another expert of a mixture."""

_LEAST = 1e-5
"""The errors of results that are smaller, as what sums cancel to, are relative to this number."""


def tolerance_of(graph: Graph) -> float:
    """The largest error of a graph's results that is no mistake; 0 if it has no floats."""
    floats = [node.dtype for node in graph.nodes if node.dtype.kind not in "iub"]
    if any(dtype.itemsize < np.dtype(np.float32).itemsize for dtype in floats):
        return NARROW
    return ROUNDED if floats else 0.0


def error_of(given: Array, expected: Array) -> float:
    """The norm of the difference over that of what is expected; infinite for another type.

    Integers have no error: `Rounding` compares them. Where infinity or no number is expected,
    nothing is compared: narrow numbers overflow.
    """
    if (given.shape, given.dtype) != (expected.shape, expected.dtype):
        return float("inf")
    kind = expected.dtype.kind
    if kind in "iub":
        return 0.0
    wide = np.complex128 if kind == "c" else np.float64
    a, b = (each.astype(wide).ravel() for each in (expected, given))
    finite = np.isfinite(a)
    a, b = a[finite], b[finite]
    if not a.size:
        return 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        error = float(np.linalg.norm(b - a) / max(np.linalg.norm(a), _LEAST * a.size**0.5))
    return error if isfinite(error) else float("inf")
