"""Graphs of tensor operations: what every front-end makes of a program.

A graph is independent of the framework that it comes from, and of Specs: it may have thousands of
nodes. Each node applies an operator to the results of others; `operators/` has all operators.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from morello.base.errors import GraphError
from morello.base.ordering import topological
from morello.frontends.values import Value
from morello.ir.dtype import DTYPES, U8, DType

Array = npt.NDArray[Any]

_NAMES = {dtype.np: dtype for dtype in DTYPES.values()}


@dataclass(frozen=True)
class TensorType:
    """The shape and the NumPy dtype of a tensor; kernels know only some of the dtypes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def element(self) -> DType | None:
        """The dtype as that of kernels, or None if no kernel has it."""
        return _NAMES.get(self.dtype)

    @property
    def stored(self) -> DType | None:
        """The dtype of arrays in memory that kernels read, where a bool is a byte of 0 or 1."""
        return U8 if self.dtype == bool else self.element

    def __str__(self) -> str:
        return f"{self.element or self.dtype.name}[{','.join(map(str, self.shape))}]"


class Operator(ABC):
    """An operation of a graph: its type rule, its semantics in NumPy, its lowering to a Spec.

    Subclasses are frozen dataclasses whose fields are the attributes, so that equal operators on
    equal inputs compute the same.
    """

    heavy: ClassVar[bool] = False
    """Whether the operator is the root of a fusion group, such as a product, a reduction or a norm:
    the elementwise operators that follow are fused into it as an epilogue.
    """
    is_product: ClassVar[bool] = False
    """Whether the operator reuses elements of its inputs, so that a producer that is fused into its
    loops would compute them again for each use.
    """
    elementwise: ClassVar[bool] = False
    """Whether the operator maps elements to elements, and so can be another kernel's epilogue."""
    keeps_units: ClassVar[bool] = False
    """Whether the inputs must keep their dimensions of size 1, as images must."""

    @abstractmethod
    def result(self, *inputs: TensorType) -> TensorType:
        """The type of the result; raises `GraphError` if the operator does not take such inputs."""

    @abstractmethod
    def evaluate(self, *inputs: Array) -> Array:
        """The result, in the precision of the inputs: float64, int64 or bool."""

    @abstractmethod
    def value(self, *inputs: Value) -> Value:
        """The result as an expression of the language; raises `SpecError` if it has none."""

    def __str__(self) -> str:
        unset = None, (), False
        written = ", ".join(
            f"{name}={_text(value)}"
            for name, value in vars(self).items()
            if not any(value is default for default in unset)
        )
        return f"{type(self).__name__.lower()}{f'[{written}]' if written else ''}"


def _text(value: object) -> str:
    return str(value).replace(" ", "") if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """The result of an operator on other nodes; two nodes are equal only if they are the same."""

    operator: Operator
    inputs: tuple[Node, ...]
    type: TensorType

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype

    def __repr__(self) -> str:
        return f"<{self.operator} : {self.type}>"


def apply(operator: Operator, *inputs: Node) -> Node:
    """The node that applies an operator; raises `GraphError` if it does not take these inputs."""
    return Node(operator, inputs, operator.result(*(node.type for node in inputs)))


@dataclass(frozen=True)
class Graph:
    """A program: its inputs, in the order in which arrays are given, and its outputs."""

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node that an output needs, each after its inputs."""
        return tuple(in_order(self.outputs))

    @cached_property
    def positions(self) -> Mapping[Node, int]:
        """The index of each node in `nodes`."""
        return {node: position for position, node in enumerate(self.nodes)}

    @cached_property
    def users(self) -> Mapping[Node, tuple[Node, ...]]:
        """The nodes that read each node, in order; one that reads it twice is listed once."""
        users: dict[Node, dict[Node, None]] = {node: {} for node in (*self.nodes, *self.inputs)}
        for node in self.nodes:
            for source in node.inputs:
                users[source][node] = None
        return {node: tuple(readers) for node, readers in users.items()}


def in_order(outputs: Sequence[Node]) -> Iterator[Node]:
    """The nodes that these need, each after its inputs, and these themselves."""
    return topological(outputs, lambda node: node.inputs)


def check(graph: Graph) -> None:
    """Raise `GraphError` unless every node has the type that its operator gives it."""
    for node in graph.nodes:
        expected = node.operator.result(*(source.type for source in node.inputs))
        if expected != node.type:
            raise GraphError(f"{node.operator} computes {expected}, and its node is {node.type}.")
