"""Parts of tensors that a number in another tensor picks, as gathers and scatters.

Torch reads the number to know which part it is, and a trace has no such numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import torch
from torch import fx
from torch.overrides import TorchFunctionMode

from morello.base.errors import GraphError
from morello.importers.aten_trace import changed_by, storages

_INTEGERS = {torch.int8, torch.int16, torch.int32, torch.int64}
_BASIC = (int, torch.SymInt, slice, EllipsisType, type(None))


class Picking(TorchFunctionMode):  # type: ignore[misc]  # torch has no types
    """Indices that are tensors without dimensions are vectors of one. So the parts are copies."""

    def __init__(self) -> None:
        super().__init__()
        self._copied: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function is torch.Tensor.__getitem__ and (numbers := _numbers(args[1])):
            part = args[0]
            picked = _get(part, _several(args[1]), numbers)
            self._copied.append((part, picked))
            return picked
        if function is torch.Tensor.__setitem__ and len(numbers := _numbers(args[1])) == 1:
            part, axis, row = _around(args[0], _several(args[1]), numbers[0])
            value = args[2]
            if isinstance(value, torch.Tensor) and value.ndim >= part.ndim - axis:
                value = value.unsqueeze(value.ndim - (part.ndim - axis - 1))
            part[(*(slice(None),) * axis, row)] = value
            return None
        return function(*args, **(kwargs or {}))

    def check(self, trace: fx.GraphModule) -> None:
        """Raise `GraphError` if a copy, or what it is of, may change where torch has a view."""
        nodes = [*trace.graph.nodes]
        given = {each for node in nodes if node.op == "placeholder" for each in storages(node)}
        results = {each for node in nodes[-1].all_input_nodes for each in storages(node)}
        for whole, picked in self._copied:
            old, new = (each.untyped_storage()._cdata for each in (whole, picked))
            holding = [place for place, node in enumerate(nodes) if new in storages(node)]
            later = nodes[min(holding, default=len(nodes)) :]
            if any(node and storages(node) & {old, new} for node in map(changed_by, later)):
                raise GraphError("a part that the number of a tensor picks is changed.")
            if new in results and old in given:
                raise GraphError(
                    "a part of an input that the number of a tensor picks is a result."
                )


def _several(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _numbers(index: Any) -> list[int]:
    """The places of unknown numbers among indices which otherwise say what is a view; or none."""
    every = _several(index)
    numbers = [
        place
        for place, each in enumerate(every)
        if isinstance(each, torch.Tensor) and not each.ndim and each.dtype in _INTEGERS
    ]
    basic = all(
        place in numbers or (isinstance(each, _BASIC) and not isinstance(each, bool))
        for place, each in enumerate(every)
    )
    return numbers if basic else []


def _get(whole: torch.Tensor, index: tuple[Any, ...], numbers: Sequence[int]) -> torch.Tensor:
    """The part at these indices, those at the places `numbers` being tensors."""
    if not numbers:
        return whole[index]
    part, axis, row = _around(whole, index, numbers[-1], numbers[:-1])
    return part[(*(slice(None),) * axis, row)].squeeze(axis)


def _around(
    whole: torch.Tensor, index: tuple[Any, ...], place: int, before: Sequence[int] = ()
) -> tuple[torch.Tensor, int, torch.Tensor]:
    """The part at all indices but that at a place, its axis there, and that index as a vector.

    Of the indices before it, those at the places `before` are tensors as well.
    """
    every = (*index[:place], slice(None), *index[place + 1 :])
    part = _get(whole, every, before)
    kept = [each is None or isinstance(each, slice) for each in index]
    from_end = any(each is Ellipsis for each in index[:place])
    axis = part.ndim - 1 - sum(kept[place + 1 :]) if from_end else sum(kept[:place])
    return part, axis, index[place].reshape(1)
