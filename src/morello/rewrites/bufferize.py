"""Cutting a composition in two at an intermediate tensor, which gets a buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from morello.errors import RewriteError
from morello.ir.axes import axis
from morello.ir.batch import Batch
from morello.ir.compose import Part, inputs_of, intermediates, maker, part
from morello.ir.dtype import DType
from morello.ir.layout import Layout
from morello.ir.operation import Operation
from morello.ir.placements import Ints
from morello.ir.spec import Spec
from morello.rewrites.buffer import buffer_codes, buffer_conditions, level_number
from morello.rewrites.rewrite import Child, Edges, Rewrite, everywhere
from morello.targets.target import Condition, Target


@dataclass(frozen=True)
class Bufferize:
    """Store the result of a component at a level, in a layout, or in registers.

    Its producer runs first, then its consumer.

    Compose(Relu of Matmul; m=8, k=8, n=16), component 0 into registers
      -> Matmul(m=8, k=8, n=16; c in registers)
         Relu(i=8, j=16; x in registers)
    """

    component: int
    level: str
    layout: Layout
    vector: int = 0

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        operation = batch.operation
        if not operation.components or self._tensor(operation) not in intermediates(operation):
            count = max(0, len(operation.components) - 1)
            yield Condition(
                everywhere(batch, False), f"{operation} has {count} tensors between components"
            )
            return
        shape, dtype = self._shape(batch), self._dtype(operation)
        yield from buffer_conditions(self, shape, dtype, batch, target)

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        operation, level = batch.operation, level_number(self, self.level, target)
        tensor = self._tensor(operation)
        shape = self._shape(batch)
        code = buffer_codes(batch, shape, self.layout, self.vector, self._dtype(operation))
        here = np.full(len(batch), level, np.int8)
        producer = part(operation, tensor)
        consumer = part(operation, inputs_of(operation) + len(operation.components) - 1, (tensor,))
        inner = (tensor, here, code)
        children = tuple(
            Child(
                _batch(batch, piece, inner), role=role,
                wires=tuple(_wire(operation, t, tensor) for t in piece.tensors),
            )
            for piece, role in ((producer, "step"), (consumer, "body"))
        )  # fmt: skip
        step = children[0].batch
        output = step.operation.output
        registers = level == target.registers
        held = step.registers(output) if registers else step.lines(output)
        allocation = {level: held} if level else {}
        return [Edges(np.arange(len(batch)), 0.0, allocation, children)]

    def concrete(self, spec: Spec) -> Rewrite:
        return self

    def data(self) -> dict[str, Any]:
        data = {
            "name": "bufferize",
            "component": self.component,
            "level": self.level,
            "layout": str(self.layout),
        }
        return data | ({"vector": self.vector} if self.vector else {})

    def __str__(self) -> str:
        vector = f", vector={self.vector}" if self.vector else ""
        return f"bufferize({self.component} in {self.level}, {self.layout}{vector})"

    def _tensor(self, operation: Operation) -> int:
        return inputs_of(operation) + self.component

    def _shape(self, batch: Batch) -> tuple[Ints, ...]:
        dims = maker(batch.operation, self._tensor(batch.operation)).result_dims
        if self.layout.order and self.layout.rank != len(dims):
            raise RewriteError(f"{self}: the tensor has {len(dims)} dimensions.")
        named = dict(zip(batch.operation.dims, batch.sizes, strict=True))
        return tuple(axis(d).extent(named) for d in dims)

    def _dtype(self, operation: Operation) -> DType:
        return maker(operation, self._tensor(operation)).dtype


def _batch(batch: Batch, piece: Part, inner: tuple[int, Ints, Ints]) -> Batch:
    """The Specs of a part of a batch's composition."""
    operation = batch.operation
    named = dict(zip(operation.dims, batch.sizes, strict=True))
    tensor, level, code = inner
    levels, codes, dtypes = [], [], []
    for t in piece.tensors:
        operand = _wire(operation, t, tensor)
        if operand == len(operation.operands):
            levels.append(level)
            codes.append(code)
            dtypes.append(maker(operation, t).dtype)
        else:
            levels.append(batch.levels[operand])
            codes.append(batch.codes[operand])
            dtypes.append(batch.dtypes[operand])
    sizes = tuple(axis(d).extent(named).astype(np.int32) for d in piece.dims)
    return Batch(
        piece.operation, tuple(dtypes), batch.forms, sizes, tuple(levels), tuple(codes),
        batch.parallel,
    )  # fmt: skip


def _wire(operation: Operation, number: int, buffered: int) -> int:
    """The wire of a composition's tensor: its operand's number, or the next one if buffered."""
    if number == buffered:
        return len(operation.operands)
    return min(number, operation.output)
