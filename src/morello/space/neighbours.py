"""Where a relaxed space keeps along which dimension neighbours of operands are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from morello.ir.primitives import PIXELS
from morello.ir.spec import Spec, SpecPart
from morello.space.tiling import VECTOR, is_long

SHORT = 4 * VECTOR
"""The longest rows that are short if they do not fill their last vector."""

LARGE = 1 << 21
"""The least operations of a convolution whose search would take longer than the larger bound."""


def keeps_neighbours(goals: Iterable[Sequence[Spec]]) -> bool:
    """Whether a relaxed space keeps the neighbours of operands of sums of products.

    It has two to four times as many Specs then. That pays where rows of sums are short, and where
    filters are transposed: if all layouts are ideal, columns are computed and stored, and filters
    transposed, for nothing, and bounds are far below the costs. A goal of several Specs, which
    differ in layouts, keeps no neighbours.
    """
    return all(len(goal) == 1 and _keeps(goal[0]) for goal in goals)


def _keeps(goal: Spec) -> bool:
    """Whether a product of matrices has short rows, or a convolution is large."""
    if is_long(goal.operation):
        return False
    return any(
        _is_large_convolution(part) if part.operation.windows else _has_short_rows(part)
        for part in goal.parts
        if part.operation.is_product
    )


def _has_short_rows(part: SpecPart) -> bool:
    operation = part.operation
    size = int(operation.axes[operation.output][-1].extent(part.sizes))
    return size <= SHORT and size % VECTOR > 0


def _is_large_convolution(part: SpecPart) -> bool:
    """Whether it is of images, by filters of several pixels, without groups, and not small."""
    operation = part.operation
    if operation.lowers_to is None or operation.grouped or not {*PIXELS} <= {*operation.dims}:
        return False
    return prod(part.sizes[d] for d in PIXELS.values()) > 1 and part.flops >= LARGE
