"""Splitting a running softmax over cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from morello.errors import RewriteError
from morello.ir.batch import Batch
from morello.ir.dtype import F32
from morello.ir.layout import Layout, row_major
from morello.ir.primitives import softmax
from morello.ir.spec import Spec
from morello.rewrites.buffer import buffer_codes
from morello.rewrites.rewrite import Child, Edges, Rewrite, everywhere
from morello.rewrites.tile import tiled
from morello.targets.target import Condition, Target

PART = "SoftmaxDenominatorAndMax"


@dataclass(frozen=True)
class ParallelSplitSoftmax:
    """Give every core a piece of the scan, then merge their maxima and denominators.

    SoftmaxDenominatorAndMax(i=1, j=1000), size 500
      -> parallel for j in 0..1000 by 500: SoftmaxDenominatorAndMax(i=1, j=500)
         SoftmaxDenominatorAndMaxFromParts(i=1, j=2)
    """

    size: int

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        if self.size < 1:
            raise RewriteError(f"{self}: a piece must have at least 1 element.")
        yield Condition(everywhere(batch, batch.operation.name == PART), f"it is for {PART}")
        if batch.operation.name != PART:
            return
        yield Condition(everywhere(batch, batch.parallel), "it is not to be run in parallel")
        last = batch.operation.operands[0].dims[-1] == batch.operation.reduced[0]
        yield Condition(everywhere(batch, last), "it must scan the last dimension")
        scan = batch.size(batch.operation.reduced[0])
        whole = (scan > self.size) & (scan % self.size == 0)
        yield Condition(whole, f"the scan must have several whole pieces of {self.size}")
        shared = np.maximum.reduce(batch.levels) == 0
        yield Condition(shared, "its operands must be in main memory")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        operation, rows = batch.operation, batch.shape(1)
        dim = operation.reduced[0]
        pieces = (batch.size(dim) // self.size).astype(np.int32)
        here = np.zeros(len(batch), np.int8)
        shape = (*rows, pieces) if len(batch.shape(0)) > 1 else (pieces,)
        code = buffer_codes(batch, shape, parts_layout(len(shape)), 0, F32)
        part = buffer_codes(batch, rows, row_major(len(rows)), 0, F32)
        piece = tiled(batch, dim, np.full(len(batch), self.size, np.int32))
        piece = replace(piece, parallel=False, codes=(piece.codes[0], part, part))
        merged = softmax(f"{PART}FromParts", len(shape), len(shape) - 1)
        merge = Batch(
            merged, (F32,) * 4, batch.forms, (*batch.sizes[:-1], pieces),
            (here, here, *batch.levels[1:]), (code, code, *batch.codes[1:]), False,
        )  # fmt: skip
        count = len(operation.operands)
        children = (
            Child(piece, -(-pieces // target.cores), wires=(0, count, count + 1)),
            Child(merge, role="step", wires=(count, count + 1, 1, 2)),
        )
        return [Edges(np.arange(len(batch)), target.fork, {}, children)]

    def concrete(self, spec: Spec) -> Rewrite:
        return self

    def data(self) -> dict[str, Any]:
        return {"name": "parallel_split_softmax", "size": self.size}

    def __str__(self) -> str:
        return f"parallel_split_softmax({self.size})"


def parts_layout(rank: int) -> Layout:
    """The pieces slowest, so that each core writes a part of the buffer by itself."""
    return Layout((rank - 1, *range(rank - 1)))
