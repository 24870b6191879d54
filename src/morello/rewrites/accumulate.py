"""From an operation that overwrites its outputs to one that accumulates into them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.operation import Operation, accumulating, has_accumulating_form
from morello.ir.primitives import fill
from morello.ir.rounding import narrow
from morello.ir.spec import Spec
from morello.rewrites.rewrite import Application, Child, Edges, Rank, Rewrite, everywhere
from morello.targets.target import Condition, Target


@dataclass(frozen=True)
class ToAccumulate(Rewrite):
    """Fill the outputs with their initial values, then accumulate into them.

    Matmul(m=8, k=8, n=8)
      -> FillZero(i=8, j=8)
         MatmulAccum(m=8, k=8, n=8)
    Max(i=8, j=8)
      -> FillLowest(i=8)
         MaxAccum(i=8, j=8)
    """

    name = "to_accumulate"
    lowers = Rank.OVERWRITES

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        operation = batch.operation
        fresh = has_accumulating_form(operation)
        yield Condition(everywhere(batch, fresh), f"{operation} has no accumulating form")
        yield from wide_sums(batch)

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        fills = [
            Child(_fill(batch, index, operand.start), role="fill", tensors=(index,))
            for index, operand in enumerate(batch.operation.operands)
            if operand.start
        ]
        body = replace(batch, operation=accumulating(batch.operation))
        return [Edges(np.arange(len(batch)), children=(*fills, Child(body)))]

    def words(self, applied: Application) -> str:
        filled = [o for o in applied.spec.operation.operands if o.start]
        return ", ".join(f"{applied.name(o.name)} = {_STARTS[o.start]}" for o in filled)

    def trait(self, spec: Spec) -> str:
        return ""


def narrow_sums(operation: Operation, dtypes: Sequence[DType]) -> str:
    """The name of an operand of a 16-bit float dtype that sums are stored in; "" if none is."""
    for operand, dtype in zip(operation.operands, dtypes, strict=True):
        if operand.start == "zero" and narrow(dtype):
            return operand.name
    return ""


def wide_sums(batch: Batch) -> Iterator[Condition]:
    """Partial sums are not stored in a 16-bit float dtype, which would round each of them."""
    if name := narrow_sums(batch.operation, batch.dtypes):
        reason = f"partial sums would be rounded in {name}; move it to f32 first"
        yield Condition(everywhere(batch, False), reason)


_STARTS = {"zero": "0", "lowest": "lowest", "highest": "highest"}
"""Initial values in words."""


def _fill(batch: Batch, operand: int, start: str) -> Batch:
    """The Specs of filling an operand with its initial value."""
    shape = batch.shape(operand)
    return Batch(
        fill(len(shape), start),
        (batch.dtypes[operand],),
        batch.placements,
        shape,
        (batch.levels[operand],),
        (batch.codes[operand],),
        batch.parallel,
    )
