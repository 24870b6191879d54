"""From an operation that overwrites its output to one that adds to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.operation import accumulating, fill_zero
from morello.ir.spec import Spec
from morello.rewrites.rewrite import Child, Edges, Rewrite, everywhere
from morello.targets.target import Condition, Target


@dataclass(frozen=True)
class ToAccumulate:
    """Fill the output with zeros, then accumulate into it.

    Matmul(m=8, k=8, n=8)
      -> FillZero(i=8, j=8)
         MatmulAccum(m=8, k=8, n=8)
    """

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        operation = batch.operation
        fresh = bool(operation.reduced) and not operation.accumulates
        yield Condition(everywhere(batch, fresh), f"{operation} has no accumulating form")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        output = batch.operation.output
        shape = batch.shape(output)
        fill = Batch(
            fill_zero(len(shape)),
            (batch.dtypes[output],),
            batch.forms,
            shape,
            (batch.levels[output],),
            (batch.codes[output],),
        )
        body = replace(batch, operation=accumulating(batch.operation))
        return [Edges(np.arange(len(batch)), children=(Child(fill, role="fill"), Child(body)))]

    def concrete(self, spec: Spec) -> Rewrite:
        return self

    def data(self) -> dict[str, Any]:
        return {"name": "to_accumulate"}

    def __str__(self) -> str:
        return "to_accumulate()"
