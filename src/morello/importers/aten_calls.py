"""Calls of ATen operations, with nodes of a graph as their tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import torch

from morello.base.errors import GraphError
from morello.graph.graph import Array, Node, Operator, TensorType
from morello.graph.operators import Broadcast, Concat, Reduce, Transpose
from morello.importers import eight_bits
from morello.importers.building import GraphBuilder

BF16 = np.dtype(ml_dtypes.bfloat16)

DTYPES: dict[torch.dtype, np.dtype[Any]] = {
    torch.bfloat16: BF16,
    torch.bool: np.dtype(bool),
    **{
        getattr(torch, name): dtype
        for name, dtype in eight_bits.FLOATS.items()
        if hasattr(torch, name)
    },
    **{
        getattr(torch, name): np.dtype(name)
        for name in (
            "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
            "uint16", "uint32",
        )
    },
}  # fmt: skip
"""NumPy's dtypes by those of torch's tensors."""

TORCH_DTYPES = {dtype: name for name, dtype in DTYPES.items()}

_WORDS = {torch.bfloat16: torch.int16} | {
    dtype: torch.int8 for dtype, kind in DTYPES.items() if kind in eight_bits.FLOATS.values()
}
"""The integers as which NumPy and torch pass floats to each other that NumPy itself lacks."""

Result: TypeAlias = Node | tuple[Node, ...]


def type_of(tensor: torch.Tensor) -> TensorType:
    """The type of a tensor; raises `GraphError` if a graph has none such."""
    if tensor.dtype not in DTYPES:
        raise GraphError(f"there are no graphs of {tensor.dtype}; cast it to another dtype.")
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        raise GraphError(f"a tensor is {tensor.layout} on {tensor.device}, not dense on the CPU.")
    return TensorType(tuple(int(n) for n in tensor.shape), DTYPES[tensor.dtype])


def array_of(tensor: torch.Tensor) -> Array:
    """A tensor's elements, in row-major order: where they lie, if they lie so."""
    dense = tensor.detach().resolve_neg().contiguous()
    held = _WORDS.get(dense.dtype)
    words = dense if held is None else dense.view(held)
    array: Array = words.numpy(force=True)  # second derivatives have zeros without memory
    return array if held is None else array.view(DTYPES[dense.dtype])


def tensor_of(array: Array) -> torch.Tensor:
    """A tensor where an array lies."""
    dtype = TORCH_DTYPES.get(array.dtype)
    if dtype in _WORDS:
        return torch.from_numpy(array.view(f"i{array.itemsize}")).view(dtype)
    return torch.from_numpy(array)


def places_within(whole: torch.Tensor, part: torch.Tensor) -> Array:
    """The numbers, in row-major order, of those elements of a tensor that are in a view of it."""
    known, wanted = _addresses(whole).ravel(), _addresses(part)
    order = np.argsort(known)
    nearest = np.minimum(np.searchsorted(known, wanted, sorter=order), known.size - 1)
    places: Array = order[nearest]
    if whole.dtype is not part.dtype or not np.array_equal(known[places], wanted):
        raise GraphError("a part of a tensor is written that is no part of it.")
    return places


def _addresses(tensor: torch.Tensor) -> Array:
    """Where the elements lie in the storage, counted in elements."""
    result = np.array(tensor.storage_offset())
    for size, step in zip(tensor.shape, tensor.stride(), strict=True):
        result = result[..., None] + np.arange(size) * step
    return result


@dataclass(frozen=True)
class AtenCall:
    """One call: the operation's name, its arguments by their names in ATen, and its results.

    A handler may leave out the last results if nothing reads them: `used` has the numbers of those
    that are read.
    """

    build: GraphBuilder
    name: str
    arguments: Mapping[str, Any]
    types: tuple[TensorType, ...]
    used: frozenset[int] = frozenset({0})

    def __getitem__(self, name: str) -> Any:
        """An argument; None if the operation has none of that name."""
        return self.arguments.get(name)

    @property
    def type(self) -> TensorType:
        return self.types[0]

    @property
    def x(self) -> Node:
        """The first argument, a tensor."""
        first = next(iter(self.arguments.values()))
        if not isinstance(first, Node):
            raise GraphError(f"{self.name} of {first}, which is no tensor.")
        return first

    def apply(self, operator: Operator, *inputs: Node) -> Node:
        return self.build.apply(operator, *inputs)

    def map(self, name: str, *operands: Node | float) -> Node:
        return self.build.map(name, *operands)

    def cast(self, node: Node) -> Node:
        """A node in the dtype of the result."""
        return self.build.cast(node, self.type.dtype)

    def operand(self, value: Any) -> Node | float:
        """A tensor in the dtype of the result, or a number."""
        if isinstance(value, Node):
            return self.cast(value)
        if isinstance(value, bool | int | float):
            return value
        raise GraphError(f"{self.name} of {value!r}, which is no tensor and no number.")

    def reshape(self, node: Node, shape: tuple[int, ...]) -> Node:
        return self.build.reshape(node, shape)

    def broadcast(self, node: Node, shape: tuple[int, ...]) -> Node:
        return node if node.shape == shape else self.apply(Broadcast(shape), node)

    def transpose(self, node: Node, order: tuple[int, ...]) -> Node:
        return node if order == (*range(len(order)),) else self.apply(Transpose(order), node)

    def join(self, axis: int, *nodes: Node) -> Node:
        return nodes[0] if len(nodes) == 1 else self.apply(Concat(axis), *nodes)

    def reduce(self, kind: str, node: Node, axes: tuple[int, ...], keepdims: bool = False) -> Node:
        """A reduction; without axes, nothing is reduced."""
        return self.apply(Reduce(kind, axes, keepdims), node) if axes else node

    def axis(self, name: str = "dim", rank: int | None = None) -> int:
        """A dimension that an argument names, counted from the front."""
        return self.axes(name, rank)[0]

    def axes(self, name: str = "dim", rank: int | None = None) -> tuple[int, ...]:
        """The dimensions that an argument names; all if it names none."""
        rank = self.x.type.rank if rank is None else rank
        given = self[name]
        every = (given,) if isinstance(given, int) else tuple(given or range(rank))
        return tuple(d % rank if rank else 0 for d in every)

    def full(self, value: float, shape: tuple[int, ...]) -> Node:
        """A number, repeated, in the dtype of the result."""
        return self.broadcast(self.build.number(value, self.type.dtype), shape)

    def refuse(self, what: str) -> GraphError:
        return GraphError(f"{self.name} {what} is left to torch.")


Handler: TypeAlias = Callable[[AtenCall], Result]


def promoted(call: AtenCall, *operands: Any) -> list[Node | float]:
    """Operands in the dtype that torch compares or combines them in; it rounds numbers to it."""
    given = [each if isinstance(each, Node) else None for each in operands]
    kinds = [
        each
        if node is None
        else torch.empty((1,) * min(node.type.rank, 1), dtype=TORCH_DTYPES[node.dtype])
        for each, node in zip(operands, given, strict=True)
    ]
    dtype = DTYPES[torch.result_type(*kinds)]
    return [
        _rounded(each, dtype) if node is None else call.build.cast(node, dtype)
        for each, node in zip(operands, given, strict=True)
    ]


def _rounded(number: float, dtype: np.dtype[Any]) -> float:
    """A number, rounded if the dtype is a float of 16 bits."""
    narrow = dtype.kind not in "iub" and dtype.itemsize < 4
    return float(np.array(number, dtype)) if narrow else number
