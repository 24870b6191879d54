"""Comparisons of what a program computes at its first call with what PyTorch does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from morello.graph.graph import Array
from morello.models.checking import error_of


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
    """The error of a result (see `error_of`); infinite for what is no tensor of the same type."""
    if not _is_tensor(given) or (given.shape, given.dtype) != (expected.shape, expected.dtype):
        return float("inf")
    if not expected.dtype.is_floating_point:
        return 0.0 if not exact or torch.equal(expected, given) else float("inf")
    return error_of(_array(given), _array(expected), exact)


def _array(tensor: torch.Tensor) -> Array:
    """Floats as an array of NumPy, which does not have all that are narrow."""
    wide = tensor if tensor.dtype is torch.float64 else tensor.float()
    array: Array = wide.numpy(force=True)
    return array
