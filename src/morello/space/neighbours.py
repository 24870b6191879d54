"""Where a relaxed space keeps along which dimension neighbours of operands are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from morello.ir.axes import axis
from morello.ir.spec import Spec
from morello.space.tiling import VECTOR, is_long

SHORT = 4 * VECTOR
"""The longest rows that are short if they do not fill their last vector."""


def keeps_neighbours(goals: Iterable[Sequence[Spec]]) -> bool:
    """Whether a relaxed space keeps the neighbours of operands of sums of products.

    It has two to four times as many Specs then. That pays where rows of sums are short: if all
    layouts are ideal, columns are computed and stored for nothing, and bounds are far below the
    costs. A goal of several Specs, which differ in layouts, keeps no neighbours.
    """
    return all(len(goal) == 1 and _has_short_rows(goal[0]) for goal in goals)


def _has_short_rows(goal: Spec) -> bool:
    """Whether a product of matrices has short rows."""
    operation = goal.operation
    if is_long(operation):
        return False
    named = dict(zip(operation.dims, goal.sizes, strict=True))
    products = [(c.operation, c.result_dims) for c in operation.components] or [
        (operation, operation.operands[operation.output].dims)
    ]
    return any(
        product.is_product and not product.windows and _short(axis(dims[-1]).extent(named))
        for product, dims in products
    )


def _short(size: int) -> bool:
    return size <= SHORT and size % VECTOR > 0
