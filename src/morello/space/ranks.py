"""The rank of a Spec, which every rewrite lowers; the search expands Specs by falling rank."""

from __future__ import annotations

from functools import cache

import numpy as np

from morello.ir.batch import Batch
from morello.ir.operation import Operation, Primitive, has_accumulating_form
from morello.ir.placements import Ints
from morello.rewrites import REWRITES
from morello.space.kind import Kind
from morello.space.sizes import Sizes
from morello.targets.target import Target

SpecRank = tuple[float, ...]
"""Its parts, in the order of `rewrites.Rank`."""


def ranks(batch: Batch, target: Target, sizes: Sizes) -> tuple[SpecRank, Ints]:
    """The ranks of a batch's Specs: the parts that they have in common, and each one's last."""
    return common_rank(Kind.of(batch)), extents(batch, target, sizes)


def common_rank(kind: Kind) -> SpecRank:
    """All parts but the last of the rank of a kind's Specs."""
    operation = kind.operation
    single = all(dtype.lanes == 1 for dtype in kind.dtypes)
    return kind.parallel, weight(operation), single, has_accumulating_form(operation)


def extents(batch: Batch, target: Target, sizes: Sizes) -> Ints:
    """The last part of the ranks of a batch's Specs."""
    result = np.zeros(len(batch), np.int32)
    for size in batch.sizes:
        result += sizes.depth(size)
    for level in batch.levels:
        result += target.registers - level
    return result


@cache
def weight(operation: Operation) -> int:
    """A number larger than that of every operation that this one can be decomposed into."""
    if operation.primitive is None:
        return 1 + sum(max(1, weight(component.operation)) for component in operation.components)
    if operation.copies:
        return 0
    padded = any(axis.padding for axes in operation.axes for axis in axes)
    return _weight(operation.primitive) + padded


@cache
def _weight(primitive: Primitive) -> int:
    """The weight of a primitive's operations: 1 more than those that rewrites leave of them."""
    successors = (step for rewrite in REWRITES.values() for step in rewrite.successors(primitive))
    return 1 + max(map(_weight, successors), default=0)
