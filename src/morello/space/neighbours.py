"""Where a relaxed space keeps along which dimension neighbours of operands are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from morello.ir.compose import batches_of
from morello.ir.kept import EVERY, NONE, Kept
from morello.ir.spec import Spec, SpecPart
from morello.space.traits import VECTOR, is_long

SHORT = 4 * VECTOR
"""The longest rows that are short if they do not fill their last vector."""

MEDIUM = 1 << 26
"""The most operations of a product that transposes an input for which they are."""


def neighbours_kept(goals: Iterable[Sequence[Spec]]) -> Kept:
    """The operands of sums of products whose neighbours a relaxed space keeps.

    It has two to four times as many Specs then. That pays where rows of sums are short, and where
    filters or inputs are transposed, or have a batch as their fastest dimension: if all layouts are
    ideal, columns are computed and stored, and operands transposed, for nothing, and bounds are far
    below the costs. So are rows that fill no vectors packed (see `_of_uneven_rows`). A goal of
    several Specs, which differ in layouts, keeps no neighbours.
    """
    kept = {_kept(goal[0]) if len(goal) == 1 else NONE for goal in goals}
    return kept.pop() if len(kept) == 1 else NONE


def _kept(goal: Spec) -> Kept:
    along = _along_batches(goal)
    if along and _is_narrow(goal):
        return along
    return EVERY if _keeps_every(goal) else along or _of_uneven_rows(goal)


def _along_batches(goal: Spec) -> Kept:
    """The inputs of a product whose neighbours are along a batch; both if rows fill no vectors.

    Where they do, the other's gain nothing. Where not, there are a sixth to a half of the Specs
    with both, and twice the relaxed ones. With those of all operands, bounds take longer still.
    That is too long for narrow elements, which are also packed: those along a batch do there.
    """
    operation = goal.operation
    summed = operation.is_product and operation.contracted
    if not summed or operation.windows or is_long(operation) or goal.size(summed) == 1:
        return NONE
    batches = [dim for dim in batches_of(operation) if goal.size(dim) > 1]
    along = [tensor for tensor in (0, 1) if _neighbours(goal, tensor) in batches]
    if along and not _is_narrow(goal) and _row(goal.parts[0]) % VECTOR:
        along = [0, 1]
    return tuple(operation.operands[tensor].name for tensor in along)


def _of_uneven_rows(goal: Spec) -> Kept:
    """The second factor of a product whose rows fill no vectors, and another operand.

    The other is the result or, if elements are narrow, the first factor, as packing takes pairs of
    it. With both, there are about half more relaxed Specs, and a half to a tenth of the others.
    Where a factor is transposed, more neighbours cost more: of bytes, only those of the second
    factor are kept, and of wide elements, none if that is the transposed one.

    So it is where maps of wide elements follow the product. With maps of narrow ones, a bound that
    keeps the neighbours of all operands takes no longer, unless a factor is transposed.
    """
    if not _is_single_product(goal) or _row(goal.parts[0]) % VECTOR == 0:
        return NONE
    operation, size = goal.parts[0].operation, goal.dtypes[1].bytes
    components = goal.operation.components
    dims = components[0].dims if components else operation.dims
    summed = dims[operation.dims.index(operation.contracted)]
    first = _neighbours(goal, 0) != summed  # whether it is transposed
    second = _neighbours(goal, 1) == summed
    if components and size < 4:
        return NONE if first or second else EVERY
    numbers: tuple[int, ...] = 0, 1
    if size >= 4:
        numbers = () if second else (1, operation.output)
    elif size == 1 and (first or second):
        numbers = (1,)
    return tuple(operation.operands[number].name for number in numbers)


def _is_narrow(goal: Spec) -> bool:
    """Whether the second factor of a product has elements of fewer than four bytes."""
    return goal.dtypes[1].bytes < 4


def _is_single_product(goal: Spec) -> bool:
    """Whether a goal is one product of two matrices that sums, or maps of it.

    The matrices are the first operands of the goal, and have the same names there.
    """
    product, *maps = goal.parts
    operation = product.operation
    summed = operation.is_product and operation.contracted
    return bool(
        summed and not operation.windows and product.sizes[summed] > 1
        and all(product.sizes[dim] == 1 for dim in batches_of(operation))
        and product.inputs == (0, 1) and all(part.operation.function for part in maps)
    )  # fmt: skip


def _keeps_every(goal: Spec) -> bool:
    """Whether a goal has a product or a convolution for which all neighbours are worth keeping."""
    operation = goal.operation
    if is_long(operation):
        return False
    single = not operation.components and _is_single_product(goal)
    narrow = single and _is_narrow(goal)
    mapped = [component.dims for component in operation.components] or [operation.dims]
    return any(
        _is_uneven(part, dims, goal)
        if part.operation.windows
        else _has_short_rows(part) or (not narrow and _transposes(part, dims, goal))
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
    them. `dims` are those of the goal that the product's are mapped to.
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
