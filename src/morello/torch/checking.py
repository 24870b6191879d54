"""Comparisons of what a program computes at its first call with what PyTorch does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import isfinite
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from morello.graph.graph import Graph

_ROUNDED = 0.05
"""The largest error of what is computed in f32 that is no mistake: some functions are steep."""

_NARROW = 0.5
"""That of what is computed in 16 bits: rounding may choose another expert of a mixture."""

_LEAST = 1e-5
"""The errors of results that are smaller, as what sums cancel to, are relative to this number."""


def tolerance_of(graph: Graph) -> float:
    """The largest error of a graph's results that is no mistake; 0 if it has no floats."""
    floats = [node.dtype for node in graph.nodes if node.dtype.kind not in "iub"]
    if any(dtype.itemsize < np.dtype(np.float32).itemsize for dtype in floats):
        return _NARROW
    return _ROUNDED if floats else 0.0


class Expected:
    """Results of PyTorch for the arguments of a call, some of which it changes.

    It is given copies of those; `changed` has their numbers. The state of random numbers is as it
    was before.
    """

    def __init__(
        self, run: Callable[..., Any], arguments: Sequence[Any], changed: Collection[int]
    ) -> None:
        given = [_copied(a) if n in changed else a for n, a in enumerate(arguments)]
        with torch.random.fork_rng(devices=()):
            self.results = run(*given)
            self._random = torch.get_rng_state()
        self._changed = {n: given[n] for n in changed}

    def error_of(self, results: Sequence[Any], arguments: Sequence[Any], exact: bool) -> float:
        """The largest error of the results, and of the arguments that the same call changed.

        Integers are compared if nothing is rounded, so that all is `exact`.
        """
        theirs = [*tree_leaves(self.results), *self._changed.values()]
        ours = [*tree_leaves(results), *(arguments[n] for n in self._changed)]
        pairs = zip(theirs, ours, strict=True)
        return max((_error(a, b, exact) for a, b in pairs if _is_tensor(a)), default=0.0)

    def restore(self, arguments: Sequence[Any]) -> None:
        """Change the arguments, and the state of random numbers, as PyTorch does."""
        for number, copy in self._changed.items():
            arguments[number].copy_(copy)
        torch.set_rng_state(self._random)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor that lies in a copy of the same storage, as others may be views of it."""
    storage = tensor.untyped_storage().clone()
    place = tensor.storage_offset(), tensor.size(), tensor.stride()
    return tensor.new_empty(0).set_(storage, *place)


def _error(expected: torch.Tensor, given: Any, exact: bool) -> float:
    """The norm of the difference over that of what is expected; infinite for another type.

    Where infinity or no number is expected, nothing is compared: narrow numbers overflow.
    """
    if not _is_tensor(given) or (given.shape, given.dtype) != (expected.shape, expected.dtype):
        return float("inf")
    if not expected.dtype.is_floating_point:
        return 0.0 if not exact or torch.equal(expected, given) else float("inf")
    a, b = (each if each.dtype is torch.float64 else each.float() for each in (expected, given))
    finite = torch.isfinite(a)
    if not finite.all():
        a, b = a[finite], b[finite]
    if not a.numel():
        return 0.0
    difference, size = (
        float(torch.linalg.vector_norm(each, dtype=torch.float64)) for each in (b - a, a)
    )
    error = difference / max(size, _LEAST * a.numel() ** 0.5)
    return error if isfinite(error) else float("inf")
