"""Tensors that programs take for constants, and whether they changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

_COMPARED_BYTES = 1 << 16
"""Buffers that extend over at most so many bytes are compared by their elements in each call."""


class ConstantWeights:
    """Tensors that were taken for constants: their versions and addresses, as they were.

    Of small buffers also the bytes: a batch norm in training changes its statistics and not their
    version. They are kept in lists, as all of them are compared before each call.
    """

    def __init__(self, given: Mapping[int, torch.Tensor], others: Iterable[torch.Tensor]) -> None:
        """The weights that are given as arguments, by number, and others."""
        self._numbers, self._given = [*given], [*given.values()]
        self._tensors = [*self._given, *others]
        self._versions = [tensor._version for tensor in self._tensors]
        self._addresses = [*map(torch.Tensor.data_ptr, self._tensors)]
        self._memories = [_memory(each) for each in self._tensors if _is_compared(each)]
        self._contents = b"".join(self._memories)

    def unchanged(self, arguments: Sequence[Any]) -> bool:
        """Whether they are as they were, and among the arguments."""
        tensors = self._tensors
        return (
            all(map(is_, map(arguments.__getitem__, self._numbers), self._given))
            and [tensor._version for tensor in tensors] == self._versions
            and [*map(torch.Tensor.data_ptr, tensors)] == self._addresses
            and b"".join(self._memories) == self._contents
        )


def is_weight(argument: Any) -> bool:
    """Whether an argument is a parameter or buffer of a module, whose changes can be seen."""
    static = getattr(argument, "_dynamo_static_input_type", None) is not None
    return (isinstance(argument, torch.nn.Parameter) or static) and not argument.is_inference()


def extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The addresses of the first element, and after the last one; a tensor has some."""
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.data_ptr()
    return start, start + (last + 1) * tensor.element_size()


def _is_compared(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a small buffer."""
    if isinstance(tensor, torch.nn.Parameter) or not tensor.numel():
        return False
    first, end = extent(tensor)
    return end - first <= _COMPARED_BYTES


def _memory(tensor: torch.Tensor) -> memoryview:
    """The bytes from the first to the last element of a tensor, where they lie."""
    first, end = extent(tensor)
    flat = tensor.detach().as_strided(((end - first) // tensor.element_size(),), (1,))
    result: memoryview = flat.view(torch.uint8).numpy().data
    return result


def _count_change(optimizer: torch.optim.Optimizer, *_: object) -> None:
    """Raise the versions of what an optimizer changed; those in one kernel do not do so."""
    for group in optimizer.param_groups:
        if group.get("fused"):
            torch.autograd.graph.increment_version(group["params"])


register_optimizer_step_post_hook(_count_change)
