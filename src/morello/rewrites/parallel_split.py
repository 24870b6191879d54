"""Parallel reduction: every core reduces pieces, then their partial results are reduced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from morello.base.errors import RewriteError
from morello.ir.batch import Batch
from morello.ir.dtype import F32
from morello.ir.layout import Layout, row_major
from morello.ir.operation import Operation
from morello.ir.primitives import MAX_RANK, PRIMITIVES, SINGLE
from morello.ir.rounding import narrow
from morello.rewrites.buffer import buffer_codes
from morello.rewrites.rewrite import Application, Child, Edges, Rewrite, dim_index, everywhere
from morello.rewrites.tile import tiled, tiles_text
from morello.targets.target import Condition, Target


@dataclass(frozen=True)
class ParallelSplit(Rewrite):
    """Reduce pieces of a dimension on all cores, then reduce their partial results.

    Matmul(m=1, k=4096, n=8), k in 2 pieces
      -> parallel for k in 0..4096 by 2048: Matmul(m=1, k=2048, n=8)
         Sum(i=1, j=8, k=2)
    SoftmaxDenominatorAndMax(i=1, j=1000), j in 4 pieces
      -> parallel for j in 0..1000 by 250: SoftmaxDenominatorAndMax(i=1, j=250)
         SoftmaxDenominatorAndMaxFromParts(i=1, j=4)
    """

    dim: str
    pieces: int

    name = "parallel_split"
    style = "loop"
    indents = ("body",)

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        if self.pieces < 2:
            raise RewriteError(f"{self}: there must be at least 2 pieces.")
        operation, size = batch.operation, batch.sizes[dim_index(batch, self.dim)]
        known = ", ".join(name for name, primitive in PRIMITIVES.items() if primitive.merge)
        yield Condition(everywhere(batch, may_split(operation)), f"it is for {known}")
        reduced = self.dim in operation.reduced
        yield Condition(everywhere(batch, reduced), f"{self.dim} is not reduced; use parallel")
        small = len(operation.operands[operation.output].dims) < MAX_RANK
        yield Condition(everywhere(batch, small), f"{operation} has too many dimensions")
        yield Condition(everywhere(batch, batch.parallel), "it is not to be run in parallel")
        whole = (size > self.pieces) & (size % self.pieces == 0)
        yield Condition(whole, f"{self.dim} must have {self.pieces} equal pieces")
        shared = reduce(np.maximum, batch.levels) == 0
        yield Condition(shared, "its operands must be in main memory")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        operation, merged = batch.operation, merging(batch.operation)
        outputs, operands = operation.outputs, len(operation.operands)
        dtypes = tuple(F32 if narrow(batch.dtypes[i]) else batch.dtypes[i] for i in outputs)
        rows, here = batch.shape(operation.output), np.zeros(len(batch), np.int8)
        sizes = (*rows, np.full(len(batch), self.pieces, np.int32))
        shape = sizes[-len(merged.operands[0].dims) :]
        layout = _parts_layout(len(shape))
        parts = [buffer_codes(batch, shape, layout, 0, dtype) for dtype in dtypes]
        merge = Batch(
            merged, (*dtypes, *(batch.dtypes[i] for i in outputs)), batch.placements, sizes,
            (here,) * 2 * len(outputs),
            (*parts, *(batch.codes[i] for i in outputs)), batch.parallel,
        )  # fmt: skip
        piece = tiled(batch, self.dim, batch.size(self.dim) // self.pieces, target)
        codes, kinds, tensors = list(piece.codes), list(piece.dtypes), list(range(operands))
        for dtype, (buffer, output) in zip(dtypes, enumerate(outputs, start=operands), strict=True):
            codes[output] = buffer_codes(batch, rows, row_major(len(rows)), 0, dtype)
            kinds[output], tensors[output] = dtype, buffer
        piece = replace(piece, parallel=False, codes=tuple(codes), dtypes=tuple(kinds))
        children = (
            Child(piece, -(-self.pieces // target.cores), tensors=tuple(tensors)),
            Child(merge, role="step", tensors=(*(tensors[i] for i in outputs), *outputs)),
        )
        return [Edges(np.arange(len(batch)), target.fork, {}, children)]

    def __str__(self) -> str:
        return f"parallel_split({self.dim} in {self.pieces})"

    def words(self, applied: Application) -> str:
        size = applied.spec.size(self.dim)
        return f"parallel for {tiles_text(self.dim, size, size // self.pieces)}"


def may_split(operation: Operation) -> bool:
    """Whether partial results of the operation can be merged."""
    primitive = operation.primitive
    return primitive is not None and primitive.merge is not None and not operation.accumulates


def merging(operation: Operation) -> Operation:
    """The operation that merges partial results, which lie along its last dimension."""
    rows = operation.operands[operation.output].dims
    assert operation.primitive is not None and operation.primitive.merge is not None
    return operation.primitive.merge(len(rows) + (SINGLE not in rows))


def _parts_layout(rank: int) -> Layout:
    """The layout of partial results: pieces slowest, so that each writes a contiguous part."""
    return Layout((rank - 1, *range(rank - 1)))
