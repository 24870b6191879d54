"""The rank of a Spec, which every rewrite lowers; the search expands Specs by falling rank."""

from __future__ import annotations

from functools import cache

from morello.ir.joining import NO_JOINING
from morello.ir.operation import Operation, Primitive, has_accumulating_form
from morello.ir.primitives import is_ragged
from morello.rewrites import REWRITES
from morello.space.kind import Kind

SpecRank = tuple[float, ...]
"""Its parts, in the order of `rewrites.Rank`."""


def common_rank(kind: Kind) -> SpecRank:
    """All parts of the rank of a kind's Specs but the last; see also `SpecEncoding.extents`."""
    operation = kind.operation
    single = all(dtype.lanes == 1 for dtype in kind.dtypes)
    operations = weight(operation) + (kind.joining != NO_JOINING)
    return kind.parallel, operations, single, has_accumulating_form(operation)


@cache
def weight(operation: Operation) -> int:
    """A number larger than that of every operation that this one can be decomposed into."""
    if operation.primitive is None:
        return 1 + sum(max(1, weight(component.operation)) for component in operation.components)
    if operation.copies:
        return int(is_ragged(operation))
    axes = [axis for axes in operation.axes for axis in axes]
    padded, unread = sum(axis.padded for axis in axes), any(axis.unread for axis in axes)
    return _weight(operation.primitive) + padded + unread


@cache
def _weight(primitive: Primitive) -> int:
    """The weight of a primitive's operations: 1 more than those that rewrites leave of them."""
    successors = (step for rewrite in REWRITES.values() for step in rewrite.successors(primitive))
    return 1 + max(map(_weight, successors), default=0)
