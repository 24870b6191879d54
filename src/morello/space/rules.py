"""The space of programs: which rewrites the search tries on which operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from morello.ir.batch import Batch
from morello.ir.compose import inputs_of
from morello.ir.joining import NO_JOINING
from morello.ir.operation import Operation
from morello.ir.placements import Bools
from morello.rewrites import Crop, Join, MoveAll, Serial, SizedTile, cropped
from morello.space.guards import Guard, Rules, always
from morello.space.kernels import kernel_rules
from morello.space.kind import Kind
from morello.space.loops import has_tile, loop_rules
from morello.space.moves import copies_out_of_blocks, move_rules
from morello.space.parallel import parallel_rewrites, reduction_splits
from morello.space.sizes import Sizes
from morello.space.steps import step_rewrites
from morello.targets.target import Target


def rules(kind: Kind, target: Target, sizes: Sizes, *, blocks: bool = False) -> list[Rules]:
    """The rewrites that the search tries on Specs of this kind, in order; ties go to the first.

    With `blocks`, operands of the goal may have odd-even layouts.
    """
    operation = kind.operation
    if kind.joining != NO_JOINING:
        return [Rules(always, (Join(kind.joining.groups, kind.joining.units),))]
    if cropped(operation) is not operation:
        return [Rules(always, (Crop(),))]
    if kind.parallel:
        return [
            Rules(always, (Serial(), *parallel_rewrites(kind, target))),
            *reduction_splits(kind, target),
        ]
    groups = kernel_rules(kind, target)
    for dim in operation.dims:
        groups += _loops(operation, dim, target, sizes)
    groups += [Rules(always, (step,)) for step in step_rewrites(kind, target)]
    if operation.components and not any(c.operation.is_product for c in operation.components):
        caches = target.levels[1 : target.registers]
        return [*groups, Rules(always, tuple(MoveAll(level.name) for level in caches))]
    for index in range(len(operation.operands)):
        if not operation.components or _feeds_product(operation, index):
            if blocks:
                groups += copies_out_of_blocks(kind, index, target)
            groups += move_rules(kind, index, target)
    return [group for group in groups if group.rewrites]


def _loops(operation: Operation, dim: str, target: Target, sizes: Sizes) -> Iterator[Rules]:
    """Loops over a dimension.

    The columns of a convolution become the rows of a matmul, and are tiled then, or before, so that
    registers hold a tile's sums for all pixels of the filter.
    """
    lowered = operation.lowers_to is not None
    later = operation.primitive is not None and dim in operation.primitive.tiled_lowered
    loops = []
    if operation.may_cut(dim) and not (later and operation.grouped):
        loops += loop_rules(dim, sizes, vectors=not lowered, overlap=operation.may_overlap(dim))
    rows = (operation.contracted and dim not in operation.reduced) or (later and loops)
    if target.rows and rows:
        loops.append(Rules(partial(has_tile, dim, sizes.rows), (SizedTile(dim, sizes.rows),)))
    for group in loops:
        yield replace(group, guard=_of_near_row(group.guard, target)) if later else group


def _of_near_row(guard: Guard, target: Target) -> Guard:
    """Where the output is a single row of an image, in the nearest cache, and a guard admits it."""

    def admits(batch: Batch) -> Bools:
        near: Bools = batch.levels[batch.operation.output] == target.nearest
        for dim in ("b", "y"):
            if dim in batch.operation.dims:
                near = near & (batch.size(dim) == 1)
        return near & guard(batch)

    return admits


def _feeds_product(operation: Operation, index: int) -> bool:
    """Whether an operand of a composition is an input of a sum of products within it."""
    # As a tensor number, the operand index of the output is that of an intermediate tensor.
    external = index < inputs_of(operation)
    return external and any(
        c.operation.is_product and index in c.inputs for c in operation.components
    )
