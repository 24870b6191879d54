"""Where a relaxed space keeps along which dimension neighbours of operands are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from morello.ir.dtype import F32
from morello.ir.primitives import PIXELS
from morello.ir.spec import Spec, SpecPart
from morello.space.tiling import VECTOR, is_long

SHORT = 4 * VECTOR
"""The longest rows that are short if they do not fill their last vector."""

LARGE = 1 << 21
"""The fewest operations of a convolution for which neighbours are worth keeping."""

MEDIUM = 1 << 26
"""The most operations of a product that transposes an input for which they are."""


def keeps_neighbours(goals: Iterable[Sequence[Spec]]) -> bool:
    """Whether a relaxed space keeps the neighbours of operands of sums of products.

    It has two to four times as many Specs then. That pays where rows of sums are short, and where
    filters or inputs are transposed: if all layouts are ideal, columns are computed and stored, and
    operands transposed, for nothing, and bounds are far below the costs. A goal of several Specs,
    which differ in layouts, keeps no neighbours.
    """
    return all(len(goal) == 1 and _keeps(goal[0]) for goal in goals)


def _keeps(goal: Spec) -> bool:
    """Whether a goal has a product or a convolution for which neighbours are worth keeping."""
    operation = goal.operation
    if is_long(operation):
        return False
    mapped = [component.dims for component in operation.components] or [operation.dims]
    return any(
        _is_large_convolution(part)
        if part.operation.windows
        else _has_short_rows(part) or _transposes(part, dims, goal)
        for part, dims in zip(goal.parts, mapped, strict=True)
        if part.operation.is_product
    )


def _has_short_rows(part: SpecPart) -> bool:
    size = _row(part)
    return size <= SHORT and size % VECTOR > 0


def _row(part: SpecPart) -> int:
    """The elements in a row of a product."""
    operation = part.operation
    return int(operation.axes[operation.output][-1].extent(part.sizes))


def _transposes(part: SpecPart, dims: Sequence[str], goal: Spec) -> bool:
    """Whether a product of f32 that is not large has an input that it transposes, and uneven rows.

    Neighbours of a first factor are summed, and those of a second one are not, or it transposes
    them. Products of narrower elements have several times as many kinds of Specs. `dims` are those
    of the goal that the product's are mapped to.
    """
    wide = all(dtype.bytes == F32.bytes for dtype in goal.dtypes)
    if not wide or part.flops > MEDIUM or _row(part) % VECTOR == 0:
        return False
    operation = part.operation
    summed = dims[operation.dims.index(operation.contracted)]
    first, second = (_neighbours(goal, tensor) for tensor in part.inputs[:2])
    return first not in ("", summed) or second == summed


def _neighbours(goal: Spec, tensor: int) -> str:
    """The dimension along which neighbours of an input of a goal are; empty for other tensors."""
    *inputs, _ = goal.operation.operands
    if tensor >= len(inputs):
        return ""
    return inputs[tensor].dims[goal.placements[tensor].layout.order[-1]]


def _is_large_convolution(part: SpecPart) -> bool:
    """Whether a convolution of images without groups has large filters and many operations."""
    operation = part.operation
    if operation.lowers_to is None or operation.grouped or not {*PIXELS} <= {*operation.dims}:
        return False
    return prod(part.sizes[d] for d in PIXELS.values()) > 1 and part.flops >= LARGE
