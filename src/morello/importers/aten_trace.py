"""Calls of ATen operations in a trace: what they compute and change, and how torch does them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import fx

from morello.base.errors import GraphError
from morello.graph.graph import TensorType
from morello.importers.aten_calls import type_of
from morello.importers.aten_numbers import gives_number


@dataclass(frozen=True)
class TorchCall:
    """A call of the trace that torch does; it takes the tensors of its input nodes, in order.

    Where it `copies`, what it changes is a copy of its first argument.
    """

    node: fx.Node
    copies: bool = False

    def __call__(self, *tensors: torch.Tensor) -> Any:
        """Its results; tensors beyond those of its inputs are ignored."""
        return self.of(dict(zip(self.node.all_input_nodes, tensors, strict=False)))

    def of(self, given: dict[fx.Node, torch.Tensor]) -> Any:
        """Its results, for the tensors of its input nodes."""
        if self.copies:
            given[self.node.args[0]] = given[self.node.args[0]].clone()

        def tensor(node: fx.Node) -> Any:
            value = given[node if node in given else origin(node)]
            return value.item() if gives_number(node) else value

        args = fx.node.map_arg(self.node.args, tensor)
        kwargs = fx.node.map_arg(self.node.kwargs, tensor)
        return self.node.target(*args, **kwargs)


@dataclass(frozen=True)
class TorchCheck:
    """A call that raises an error if a condition, its first argument, does not hold."""

    call: TorchCall

    def __call__(self, condition: torch.Tensor) -> torch.Tensor:
        """The condition, if it holds."""
        self.call(condition)
        return condition


@dataclass(frozen=True)
class TorchChain:
    """Calls that torch does one after the other. Its result is that of the last one, or a tensor
    that they change.

    It takes the tensors of its input nodes, in order; further ones are ignored.
    """

    inputs: tuple[fx.Node, ...]
    calls: tuple[TorchCall, ...]
    changed: fx.Node | None = None
    """The input of which a part is changed, if one is; it is the result."""

    @property
    def changes(self) -> int | None:
        """The number of the tensor that they change, if they change one."""
        return None if self.changed is None else self.inputs.index(self.changed)

    def __call__(self, *tensors: torch.Tensor) -> Any:
        given: dict[fx.Node, Any] = dict(zip(self.inputs, tensors, strict=False))
        for call in self.calls:
            given[call.node] = call.of(given)
        return given[self.changed or self.calls[-1].node]


def chain(calls: Sequence[TorchCall], changed: fx.Node | None = None) -> TorchChain:
    """The chain of calls in topological order; what else they read is its inputs."""
    inside = {call.node for call in calls}
    read = dict.fromkeys(origin(node) for call in calls for node in call.node.all_input_nodes)
    return TorchChain(tuple(node for node in read if node not in inside), (*calls,), changed)


def views_between(outer: fx.Node, view: fx.Node) -> list[TorchCall]:
    """The calls that make a view of an input or constant; raises `GraphError` if some do not."""
    calls: list[TorchCall] = []
    while view is not outer:
        changed = changed_by(view)
        seen = [each for each in view.all_input_nodes if storages(each) & storages(outer)]
        if not seen:
            raise GraphError(f"{view.target} is no view of what it reads.")
        if changed is None:
            calls.append(TorchCall(view))
        view = changed or seen[0]
    return calls[::-1]


_MOVING = {"aten::resize_", "aten::set_"}
"""Operations that change where a tensor lies, not its elements."""


def types_of(node: fx.Node) -> tuple[TensorType, ...]:
    """The types of a call's results; raises `GraphError` unless all are tensors."""
    value = node.meta.get("val")
    values = value if isinstance(value, Sequence) else (value,)
    if not values or not all(isinstance(each, torch.Tensor) for each in values):
        raise GraphError(f"{node.target} computes what is no tensor.")
    return tuple(map(type_of, values))


def read_of(node: fx.Node) -> frozenset[int]:
    """The numbers of the results of a call that others read."""
    if isinstance(node.meta.get("val"), torch.Tensor):
        return frozenset({0})
    return frozenset(user.args[1] for user in node.users if user.users)


def is_complex(node: fx.Node) -> bool:
    """Whether a call computes complex numbers."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype.is_complex


def layout_of(node: fx.Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes and the strides of a traced tensor."""
    tensor = node.meta["val"]
    return tuple(tensor.shape), tuple(tensor.stride())


@dataclass(frozen=True)
class Lying:
    """Where a tensor lies in torch: in which memory, from which of its elements on, and how."""

    memory: int
    first: int
    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def order(self) -> tuple[int, ...] | None:
        """The dimensions, outermost first, if the elements lie so without gaps; else None."""
        wide = [d for d, n in enumerate(self.shape) if n > 1]
        wide.sort(key=self.strides.__getitem__)
        step = 1
        for d in wide:
            if self.strides[d] != step:
                return None
            step *= self.shape[d]
        outermost = reversed(wide)
        return tuple(next(outermost) if n > 1 else d for d, n in enumerate(self.shape))

    @property
    def in_rows(self) -> bool:
        """Whether the elements lie row by row, without gaps."""
        return self.order == (*range(len(self.shape)),)

    def holds(self, other: Lying) -> bool:
        """Whether the memory of this tensor covers that of another one."""
        steps = zip(other.shape, other.strides, strict=True)
        last = other.first + sum((n - 1) * step for n, step in steps)
        same = (self.memory, self.dtype) == (other.memory, other.dtype)
        inside = self.first <= other.first and last < self.first + prod(self.shape)
        return same and inside and self.order is not None


def lying(node: fx.Node) -> Lying | None:
    """Where a traced value lies; None if it is no tensor."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return None
    first, (shape, strides) = int(value.storage_offset()), layout_of(node)
    return Lying(memory_of(node), first, value.dtype, shape, strides)


def storages(node: fx.Node) -> set[int]:
    """The storages of a traced tensor, or of several, as identifiers."""
    value = node.meta.get("val")
    values = value if isinstance(value, Sequence) else (value,)
    return {each.untyped_storage()._cdata for each in values if isinstance(each, torch.Tensor)}


def memory_of(node: fx.Node) -> int:
    """The memory of a traced tensor; 0 if it is none."""
    return min(storages(node), default=0)


def changed_by(node: fx.Node) -> fx.Node | None:
    """The tensor that a node of any kind changes, if it changes one."""
    return written_by(node) if isinstance(node.target, torch._ops.OpOverload) else None


def origin(node: fx.Node) -> fx.Node:
    """The tensor that a call gives back, as it changes that; else the node itself."""
    while (changed := changed_by(node)) is not None:
        node = changed
    return node


def written_by(node: fx.Node) -> fx.Node | None:
    """The tensor that a call changes, if it changes one."""
    schema = node.target._schema
    if _changes_statistics(node):
        raise GraphError(f"{node.target} changes its statistics in place.")
    if not schema.is_mutable or schema.name == "aten::detach_":
        return None
    first = node.args[0] if node.args else None
    changed = [a for a in schema.arguments if a.alias_info and a.alias_info.is_write]
    if (
        schema.name in _MOVING
        or len(changed) != 1
        or changed[0] is not schema.arguments[0]
        or not isinstance(first, fx.Node)
    ):
        raise GraphError(f"{node.target} changes tensors in place.")
    return first


def draws_nothing(node: fx.Node) -> bool:
    """Whether an operation that may draw random numbers draws none."""
    given = _arguments(node)
    return given.get("train", given.get("training")) is False or given.get("dropout_p") == 0


_NORMS = {"aten::batch_norm", "aten::instance_norm", "aten::native_batch_norm"}


def _changes_statistics(node: fx.Node) -> bool:
    """Whether a batch or instance norm updates its running statistics in place.

    The operators' schemas do not mark these arguments as mutated.
    """
    if node.target._schema.name not in _NORMS:
        return False
    given = _arguments(node)
    learns = given.get("training") or given.get("use_input_stats")
    return bool(learns) and given["running_mean"] is not None


def _arguments(node: fx.Node) -> dict[str, Any]:
    """The arguments of a call by the names that the operation gives them."""
    arguments = node.target._schema.arguments
    given: dict[str, Any] = {a.name: a.default_value for a in arguments}
    given |= {a.name: value for a, value in zip(arguments, node.args, strict=False)}
    given |= node.kwargs
    return given
