"""Comparisons of what a program computes at its first call with what PyTorch does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from morello.graph.graph import Array
from morello.models.rounding import EXACT, Change, Rounding, mistake, share_of
from morello.torch.program import TorchProgram

_LARGE = 1 << 24
"""Tensors of more elements are not changed to see what rounding does, which would take long."""


class Expected:
    """Results of PyTorch for the arguments of a call, some of which it changes.

    It is given copies of those; `changed` has their numbers. The state of random numbers is as it
    was before.
    """

    def __init__(
        self, run: Callable[..., Any], arguments: Sequence[Any], changed: Collection[int]
    ) -> None:
        self._run, self._before = run, torch.get_rng_state()
        given = [_copied(a) if n in changed else a for n, a in enumerate(arguments)]
        with torch.random.fork_rng(devices=()):
            self.results = run(*given)
            self._random = torch.get_rng_state()
        self._changed = {n: given[n] for n in changed}

    def mistake(
        self, program: TorchProgram, results: Sequence[Any], arguments: Sequence[Any]
    ) -> str:
        """How results of a program, and the arguments that it changed, are wrong; "" if not."""
        theirs = [*tree_leaves(self.results), *self._changed.values()]
        ours = [*tree_leaves(results), *(arguments[n] for n in self._changed)]
        pairs = [
            (number, a, b)
            for number, (a, b) in enumerate(zip(theirs, ours, strict=True))
            if _is_tensor(a)
        ]
        for _, expected, given in pairs:
            if _described(given) != _described(expected):
                return f"{_described(given)} in place of {_described(expected)}"
        rounding = EXACT
        if program.tolerance:
            numbers = [number for number, _, _ in pairs]
            changes = dict(enumerate(program.changes()))
            known = [changes.get(number, Change.CHOICE) for number in numbers]
            again = None if self._changed else partial(self._again, arguments, numbers)
            rounding = Rounding(known, again, share_of(program.tolerance))
        arrays = ((_array(ours), _array(theirs)) for _, theirs, ours in pairs)
        return mistake(arrays, program.tolerance, rounding)

    def _again(
        self,
        arguments: Sequence[Any],
        numbers: Sequence[int],
        change: Callable[[Array], Array],
    ) -> list[Array]:
        """The results of these numbers for arguments whose floats are changed."""

        def changed(each: Any) -> Any:
            if not _is_tensor(each) or not each.is_floating_point() or each.numel() > _LARGE:
                return each
            return torch.from_numpy(change(_array(each))).to(each.dtype)

        with torch.random.fork_rng(devices=()), torch.no_grad():
            torch.set_rng_state(self._before)
            results = tree_leaves(self._run(*map(changed, arguments)))
        return [_array(results[number]) for number in numbers]

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


def _described(result: Any) -> str:
    return f"{result.dtype}{[*result.shape]}" if _is_tensor(result) else type(result).__name__


def _array(tensor: torch.Tensor) -> Array:
    """A tensor as an array of NumPy, which does not have all floats that are narrow."""
    narrow = tensor.is_floating_point() and tensor.dtype is not torch.float64
    array: Array = (tensor.float() if narrow else tensor).numpy(force=True)
    return array
