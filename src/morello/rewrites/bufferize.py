"""Cutting a composition in two at an intermediate tensor, which gets a buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from morello.ir.axes import axis
from morello.ir.batch import Batch
from morello.ir.compose import Part, inputs_of, intermediates, part, producer
from morello.ir.dtype import DType
from morello.ir.kept import NONE, Kept
from morello.ir.layout import Layout, unpaneled
from morello.ir.operation import Operation
from morello.ir.placements import Ints
from morello.ir.tensor import IDEAL
from morello.rewrites.buffer import (
    buffer_codes,
    buffer_conditions,
    check_rank,
    level_number,
    place_text,
)
from morello.rewrites.rewrite import Application, Child, Edges, Rank, Rewrite, everywhere
from morello.targets.target import Condition, Target


@dataclass(frozen=True)
class Bufferize(Rewrite):
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

    name = "bufferize"
    lowers = Rank.OPERATION

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
        code = self._codes(batch)
        here = np.full(len(batch), level, np.int8)
        producer = part(operation, tensor)
        consumer = part(operation, inputs_of(operation) + len(operation.components) - 1, (tensor,))
        inner = (tensor, here, code)
        children = tuple(
            Child(
                _batch(batch, piece, inner), role=role,
                tensors=tuple(_tensor_number(operation, t, tensor) for t in piece.tensors),
            )
            for piece, role in ((producer, "step"), (consumer, "body"))
        )  # fmt: skip
        step = children[0].batch
        output = step.operation.output
        registers = level == target.registers
        held = step.registers(output) if registers else step.lines(output)
        allocation = {level: held} if level else {}
        return [Edges(np.arange(len(batch)), 0.0, allocation, children)]

    def __str__(self) -> str:
        vector = f", vector={self.vector}" if self.vector else ""
        return f"bufferize({self.component} in {self.level}, {self.layout}{vector})"

    def relaxed(self, *, kept: Kept) -> Rewrite:
        if kept == NONE:
            return replace(self, layout=IDEAL.layout)
        return _Along(self.component, self.level, unpaneled(self.layout), self.vector)

    def words(self, applied: Application) -> str:
        producer = applied.holes[0].operation
        dims = producer.operands[producer.output].dims
        text = place_text(self.layout, self.vector, dims)
        return f"t{self.component} -> {self.level}{text}"

    def _tensor(self, operation: Operation) -> int:
        return inputs_of(operation) + self.component

    def _codes(self, batch: Batch) -> Ints:
        """The placements of the buffers, as codes."""
        dtype = self._dtype(batch.operation)
        return buffer_codes(batch, self._shape(batch), self.layout, self.vector, dtype)

    def _shape(self, batch: Batch) -> tuple[Ints, ...]:
        dims = producer(batch.operation, self._tensor(batch.operation)).result_dims
        check_rank(self, self.layout, len(dims), "the tensor")
        named = dict(zip(batch.operation.dims, batch.sizes, strict=True))
        return tuple(axis(d).extent(named) for d in dims)

    def _dtype(self, operation: Operation) -> DType:
        return producer(operation, self._tensor(operation)).dtype


@dataclass(frozen=True)
class _Along(Bufferize):
    """`Bufferize` into a buffer whose layout is ideal, except for the dimension of neighbours."""

    name = ""

    def _codes(self, batch: Batch) -> Ints:
        return batch.placements.relaxed_along(super()._codes(batch))


def _batch(batch: Batch, piece: Part, inner: tuple[int, Ints, Ints]) -> Batch:
    """The Specs of a part of a batch's composition."""
    operation = batch.operation
    named = dict(zip(operation.dims, batch.sizes, strict=True))
    tensor, level, code = inner
    levels, codes, dtypes = [], [], []
    for t in piece.tensors:
        operand = _tensor_number(operation, t, tensor)
        if operand == len(operation.operands):
            levels.append(level)
            codes.append(code)
            dtypes.append(producer(operation, t).dtype)
        else:
            levels.append(batch.levels[operand])
            codes.append(batch.codes[operand])
            dtypes.append(batch.dtypes[operand])
    sizes = tuple(axis(d).extent(named).astype(np.int32) for d in piece.dims)
    return Batch(
        piece.operation, tuple(dtypes), batch.placements, sizes, tuple(levels), tuple(codes),
        batch.parallel,
    )  # fmt: skip


def _tensor_number(operation: Operation, number: int, buffered: int) -> int:
    """The number of a composition's tensor: its operand's, or the next one if buffered."""
    if number == buffered:
        return len(operation.operands)
    return min(number, operation.output)
