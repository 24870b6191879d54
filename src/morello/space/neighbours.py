"""Where a relaxed space keeps along which dimension neighbours of operands are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from morello.ir.compose import batches_of
from morello.ir.spec import Spec, SpecPart
from morello.space.tiling import VECTOR, is_long

SHORT = 4 * VECTOR
"""The longest rows that are short if they do not fill their last vector."""

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
        _is_uneven(part, dims, goal)
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
    """Whether a product that is not large has an input that it transposes, and uneven rows.

    Neighbours of a first factor are summed, and those of a second one are not, or it transposes
    them. Those along a batch do not pay: there are seven times as many relaxed Specs then. `dims`
    are those of the goal that the product's are mapped to.
    """
    operation = part.operation
    if part.flops > MEDIUM or _row(part) % VECTOR == 0 or part.sizes[operation.contracted] == 1:
        return False
    summed = dims[operation.dims.index(operation.contracted)]
    batches = {dims[operation.dims.index(dim)] for dim in batches_of(operation)}
    first, second = (_neighbours(goal, tensor) for tensor in part.inputs[:2])
    return first not in ("", summed, *batches) or second == summed


def _neighbours(goal: Spec, tensor: int) -> str:
    """The dimension along which neighbours of an input of a goal are; empty for other tensors."""
    *inputs, _ = goal.operation.operands
    if tensor >= len(inputs):
        return ""
    return inputs[tensor].dims[goal.placements[tensor].layout.order[-1]]


def _is_uneven(part: SpecPart, dims: Sequence[str], goal: Spec) -> bool:
    """Whether a convolution has uneven rows, or filters whose neighbours are not those of rows.

    Or it is one in groups: with neighbours, elementwise operations around it have fewer Specs.
    """
    operation = part.operation
    if operation.grouped or _row(part) % VECTOR:
        return True
    along = dims[operation.dims.index(operation.operands[operation.output].dims[-1])]
    return _neighbours(goal, part.inputs[1]) != along
