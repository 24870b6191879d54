"""The primitive operations of the language, of which text consists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from morello.base.errors import SpecError
from morello.frontends.values import Value, apply_operation
from morello.graph.graph import Array, Operator, TensorType
from morello.ir.operation import Operation
from morello.ir.semantics import evaluate


@dataclass(frozen=True)
class PrimitiveOperator(Operator):
    """A primitive operation, with the sizes of its dimensions and the type of its result."""

    operation: Operation
    sizes: tuple[int, ...]
    type: TensorType

    @property
    def heavy(self) -> bool:  # type: ignore[override]  # of others it is constant
        return not self.elementwise

    @property
    def is_product(self) -> bool:  # type: ignore[override]  # of others it is constant
        return self.operation.is_product

    @property
    def elementwise(self) -> bool:  # type: ignore[override]  # of others it is constant
        return self.operation.function is not None

    keeps_units = True

    def result(self, *inputs: TensorType) -> TensorType:
        return self.type

    def evaluate(self, *inputs: Array) -> Array:
        return np.asarray(evaluate(self.operation, inputs, self.sizes)[0])

    def value(self, *inputs: Value) -> Value:
        element = self.type.element
        assert element is not None
        if any(isinstance(each, float) for each in inputs):
            raise SpecError(f"{self.operation} takes no numbers", "give it an array")
        arguments = [each.without_new_axes for each in inputs]
        return apply_operation(self.operation, arguments, self.type.shape, element)

    def __str__(self) -> str:
        return str(self.operation)
