"""Nodes that read no other, and nodes whose operators only their framework knows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from morello.base.errors import GraphError, SpecError
from morello.frontends.values import Value
from morello.graph.graph import Array, Operator, TensorType

_SOME = 16
"""How many elements of an array are looked at first."""


class _Source(Operator):
    """An operator without inputs."""

    type: TensorType

    def result(self, *inputs: TensorType) -> TensorType:
        return self.type

    def value(self, *inputs: Value) -> Value:
        raise SpecError(f"{self} is not computed", "give it to the kernel as an input")


@dataclass(frozen=True, eq=False)
class Input(_Source):
    """An array that is given in each call."""

    type: TensorType
    name: str = ""

    def evaluate(self, *inputs: Array) -> Array:
        raise GraphError(f"the input {self.name} has no value; give an array for it.")

    def __str__(self) -> str:
        return f"input {self.name}".rstrip()


@dataclass(frozen=True, eq=False)
class Constant(_Source):
    """An array that is the same in each call; it must not be changed afterwards."""

    array: Array

    @property
    def type(self) -> TensorType:  # type: ignore[override]
        return TensorType(self.array.shape, self.array.dtype)

    @cached_property
    def uniform(self) -> bool:
        """Whether there are elements, and all are equal."""
        array = self.array
        some = array.flat[:: max(1, array.size // _SOME)]  # of most arrays, they tell
        return bool(some.size and (some == some[0]).all() and (array == some[0]).all())

    def evaluate(self, *inputs: Array) -> Array:
        return self.array

    def __str__(self) -> str:
        return f"constant {self.array.item():g}" if self.array.size == 1 else "constant"


@dataclass(frozen=True)
class Iota(_Source):
    """The numbers 0, 1, 2, ... along one axis, the same along all others."""

    type: TensorType
    axis: int

    def evaluate(self, *inputs: Array) -> Array:
        shape = [1] * self.type.rank
        shape[self.axis] = -1
        numbers = np.arange(self.type.shape[self.axis], dtype=self.type.dtype)
        return np.broadcast_to(numbers.reshape(shape), self.type.shape)


@dataclass(frozen=True)
class Foreign(Operator):
    """A result of an operation that is left to the framework, which knows it by its `key`.

    One with several results is a node for each: `index` tells them apart.
    """

    type: TensorType
    key: Hashable
    name: str
    index: int = 0

    def result(self, *inputs: TensorType) -> TensorType:
        return self.type

    def evaluate(self, *inputs: Array) -> Array:
        raise GraphError(f"{self.name} has no reference in NumPy; its framework computes it.")

    def value(self, *inputs: Value) -> Value:
        raise SpecError(f"{self.name} is left to the framework", "compute it there")

    def __str__(self) -> str:
        return f"foreign {self.name}" + (f".{self.index}" if self.index else "")
