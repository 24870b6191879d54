"""Rewrites of Specs that may use all cores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from morello.ir.batch import Batch
from morello.ir.compose import inputs_of, producer
from morello.ir.layout import row_major
from morello.ir.placements import Bools, prod_columns
from morello.rewrites import Bufferize, ParallelSplit, Rewrite, Spread, may_split
from morello.space.guards import Rules
from morello.space.kind import Kind
from morello.space.steps import cut_points, decompositions
from morello.targets.target import Target

PIECES = (4, 2, 1)
"""The numbers of pieces per core that a parallel loop may have."""
GRID = (2, 4)
"""The numbers of pieces along each dimension of a parallel loop over two dimensions."""
MERGED = 16
"""A reduction is split over cores if it reads at least this many times what its pieces write."""


def parallel_rewrites(kind: Kind, target: Target) -> Iterator[Rewrite]:
    """Parallel loops, and rewrites into several Specs that are each still parallel."""
    operation = kind.operation
    names = [name for axis in operation.axes[operation.output] for name in axis.names]
    free = [d for d in names if d not in operation.untiled]
    for dim in free:
        yield from (Spread(((dim, count),)) for count in _counts(target))
    for first in free:
        for second in free[free.index(first) + 1 :]:
            yield from (Spread(((first, n), (second, m))) for n in GRID for m in GRID)
    memory = target.levels[0].name
    yield from decompositions(kind, (memory,))
    for tensor in cut_points(operation):
        rank = len(producer(operation, tensor).result_dims)
        yield Bufferize(tensor - inputs_of(operation), memory, row_major(rank))


def reduction_splits(kind: Kind, target: Target) -> Iterator[Rules]:
    """Splits of the reduction dimensions into pieces for all cores."""
    operation = kind.operation
    if may_split(operation):
        for count in _counts(target):
            pieces = tuple(ParallelSplit(dim, count) for dim in operation.reduced)
            yield Rules(partial(_outweighs, count=count), pieces)


def _counts(target: Target) -> list[int]:
    """The numbers of pieces that a parallel loop over one dimension may have."""
    return [target.cores * n for n in PIECES]


def _outweighs(batch: Batch, count: int) -> Bools:
    """Where so much more is read than written that an output for each piece hardly matters."""
    operands, outputs = range(len(batch.operation.operands)), batch.operation.outputs
    read = sum(prod_columns(batch.shape(o)) for o in operands if o not in outputs)
    written = sum(prod_columns(batch.shape(o)) for o in outputs)
    result: Bools = np.greater_equal(read, MERGED * count * written)
    return result
