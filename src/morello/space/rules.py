"""The space of programs: which rewrites the search tries on which operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce

import numpy as np

from morello.ir.batch import Batch
from morello.ir.compose import batches_of, inputs_of, products_of
from morello.ir.joining import NO_JOINING
from morello.ir.operation import Operation
from morello.ir.placements import Bools, Ints, prod_columns
from morello.ir.primitives import PIXELS
from morello.ir.spec import MAX_SIZE
from morello.rewrites import (
    Crop,
    Divide,
    GroupRows,
    Join,
    MoveAll,
    Serial,
    SizedOverlap,
    SizedTile,
    SpatialSplit,
    cropped,
)
from morello.rewrites.conv import pixels_of
from morello.rewrites.move import SCHEDULED
from morello.space.guards import Guard, Rules, always
from morello.space.kernels import groups_share, kernel_rules, sums_by_two, usable_kernels
from morello.space.kind import Kind
from morello.space.loops import has_tile, loop_rules, one_by_one, register_rules
from morello.space.moves import copies_out_of_blocks, move_rules, stays
from morello.space.padding import padding_rules
from morello.space.parallel import parallel_rewrites, reduction_splits
from morello.space.sizes import Sizes
from morello.space.steps import step_rewrites
from morello.space.traits import PLAIN, RuleTraits
from morello.targets.target import Target

LARGE_MATRIX, LARGE_PRODUCT = 128, int(512**1.5)
"""The least elements of each matrix, and the least multiplications of each product, of a batch that
is looped over one by one, before any other loop. Several smaller matrices may share cache lines,
and that costs smaller products much. A product of three matrices of 512 elements has 512**1.5.
"""

SMALL, TINY = 0.25, 0.125
"""The shares of a cache up to which all operands are brought there before loops over equal parts,
and before all loops. Few operands of compositions with products are, so these may be tiled."""

LARGE_IMAGE = 400
"""The least pixels of each image of several that are looped over one by one, before their rows:
filters that are brought near for each of them are used so often that this costs little."""

BLOCKS = 1, 2, 4, 8, 16, 32, 64
"""The most rows of one matrix that may be multiplied at once: a program for each is tried."""

SHORT_WINDOW = 0.25
"""The share of all registers that a row of a window may fill whose pixels are not tiled."""


def rules(kind: Kind, target: Target, sizes: Sizes, traits: RuleTraits = PLAIN) -> list[Rules]:
    """The rewrites that the search tries on Specs of this kind, in order; ties go to the first.

    The traits are those of the goal.
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
    if operation.primitive is GroupRows.of:
        return [Rules(always, tuple(map(GroupRows, BLOCKS)))]
    groups = kernel_rules(kind, target)
    levels = range(0) if traits.crowded else _levels_of_loops(kind, target)
    for dim in operation.dims:
        loops = _loops(kind, dim, target, sizes, traits)
        groups += _once_near(loops, levels, target)
    for step in step_rewrites(kind, target, traits):
        held = partial(_sums_held, target.registers)
        groups.append(Rules(held if isinstance(step, SpatialSplit) else always, (step,)))
    groups += padding_rules(kind, target)
    if operation.components and (traits.long or not operation.sums_products):
        caches = target.levels[1 : target.registers]
        return [*groups, Rules(always, tuple(MoveAll(level.name) for level in caches))]
    for index in range(len(operation.operands)):
        if not operation.components or _feeds_product(operation, index):
            if traits.odd_even:
                groups += copies_out_of_blocks(kind, index, target)
            groups += move_rules(kind, index, target, traits)
    return [group for group in groups if group.rewrites]


def _loops(
    kind: Kind, dim: str, target: Target, sizes: Sizes, traits: RuleTraits
) -> Iterator[Rules]:
    """Loops over a dimension.

    A convolution's columns become the rows of a matmul, and are tiled then, or before, for tiles
    whose sums registers hold for all pixels of the filter. So are those of groups that share
    registers, and of every second pixel of rows, whose kernels compute a pixel of the filter.

    Large matrices of a batch, and `_large_images`, are looped over one by one, before all else.
    """
    operation, primitive = kind.operation, kind.operation.primitive
    as_rows = primitive and dim in primitive.tiled_lowered and not groups_share(kind, target)
    if as_rows and not sums_by_two(kind, target):
        return
    lowered, rows = operation.lowers_to is not None, _rows_before(operation, dim)
    loops = _cuts(operation, dim, target, sizes)
    sums = operation.contracted or (lowered and rows)
    if target.rows and sums and dim not in operation.reduced:
        loops.append(Rules(partial(has_tile, dim, sizes.rows), (SizedTile(dim, sizes.rows),)))
    if not (traits.interleaved or operation.windows) and (batches := batches_of(operation)):
        loops = _one_first(dim, batches, partial(_large_matrices, batches), loops)
    if images := _images(operation, dim):
        loops = _one_first(dim, images[:1], partial(_large_images, images), loops)
    if operation.contracted and (operation.output, dim) in operation.places:
        loops = _except(partial(_holds_long_sums, target.registers), loops)
    for group in loops:
        guard = group.guard
        if as_rows:
            guard = _of_held_columns(target.registers, guard)
        elif rows:
            guard = _of_single(rows, target.nearest if lowered else 0, guard)
        yield Rules(guard, group.rewrites)


def _cuts(operation: Operation, dim: str, target: Target, sizes: Sizes) -> list[Rules]:
    """Loops over tiles of a dimension, if it may be cut.

    All kernels compute one pixel of a window, so few of them are looped over one by one.

    Without masks, whole registers take the place of remainders, but not in products, whose tiles
    have several, nor in copies.
    """
    if not operation.may_cut(dim):
        return []
    overlaps = operation.may_overlap(dim)
    loops = loop_rules(dim, sizes, vectors=operation.lowers_to is None, overlap=overlaps)
    if operation.primitive and operation.windows and dim in PIXELS.values():
        registers = target.levels[target.registers].capacity
        loops = one_by_one(dim, int(registers * SHORT_WINDOW), loops)
    if overlaps and not (operation.sums_products or operation.copies or target.masks):
        loops += register_rules(dim, sizes)
    return loops


def _one_first(
    dim: str, several: Sequence[str], large: Guard, loops: Sequence[Rules]
) -> list[Rules]:
    """Loops over a dimension; where `large` holds, the dimensions `several` are looped over one by
    one, before all others.
    """
    return one_by_one(dim, MAX_SIZE, loops, large) if dim in several else _except(large, loops)


def _except(excluded: Guard, loops: Iterable[Rules]) -> list[Rules]:
    """Loops only where a guard does not hold."""
    return [Rules(_unless(excluded, group.guard), group.rewrites) for group in loops]


def _once_near(loops: Iterable[Rules], levels: range, target: Target) -> Iterator[Rules]:
    """Loops only once small operands are near: at one of these levels, if there are any.

    Loops over parts of them would cost as much.
    """
    if not levels:
        yield from loops
        return
    for group in loops:
        (loop,) = group.rewrites
        assert isinstance(loop, Divide | SizedTile | SizedOverlap)
        small = partial(_small_and_far, levels, target, loop)
        yield Rules(_unless(small, group.guard), group.rewrites)


def _large_matrices(batches: tuple[str, ...], batch: Batch) -> Bools:
    """Where there are several products, all of which are large.

    Products by vectors are not: rows of a matrix that are apart are brought near only for them.
    """
    large: Bools = prod_columns([batch.size(dim) for dim in batches]) > 1
    for matrices in products_of(batch.operation):
        multiplications = _elements(batch, frozenset.union(*matrices).difference(batches))
        large = large & (multiplications >= LARGE_PRODUCT)
        for dims in matrices:
            elements = _elements(batch, dims.difference(batches))
            large = large & (elements >= LARGE_MATRIX) & (elements < multiplications)
    return large


def _large_images(images: tuple[str, ...], batch: Batch) -> Bools:
    """Where there are several images, in each of which filters have much use.

    `images` are the dimensions of these, and of their rows and columns (see `_images`).
    """
    several, *pixels = map(batch.size, images)
    large: Bools = (several > 1) & (prod_columns(pixels) >= LARGE_IMAGE)
    return large


def _elements(batch: Batch, dims: frozenset[str]) -> Ints:
    """The product of the sizes of some dimensions."""
    return prod_columns([np.ones(len(batch), np.int64), *map(batch.size, sorted(dims))])


def _levels_of_loops(kind: Kind, target: Target) -> range:
    """The caches that small operands are brought into before loops.

    Not the nearest, if kernels take all operands from the one beyond it. None in copies, or where
    some operands are not brought to any, as in compositions with products.
    """
    operation = kind.operation
    if operation.copies or (operation.components and operation.sums_products):
        return range(0)
    if any(stays(kind, index, target) for index in range(len(kind.dtypes))):
        return range(0)
    streamed = any(len(k.streams) == len(k.held) for k in usable_kernels(kind, target))
    return range(1, target.nearest + (not streamed))


def _small_and_far(
    levels: range, target: Target, loop: Divide | SizedTile | SizedOverlap, batch: Batch
) -> Bools:
    """Where all operands together fill little of a cache, and some are farther.

    Loops would bring the same lines there, or some of them several times. But parts that are not
    alike, and single columns of the output, may be copied to other layouts than the whole: where
    operands are not tiny, these loops come first.
    """
    operation, size = batch.operation, batch.size(loop.dim)
    tile = size // loop.factor if isinstance(loop, Divide) else loop.tile(batch)
    alike: Bools = size % np.maximum(tile, 1) == 0
    if operation.operands[operation.output].dims[-1:] == (loop.dim,):
        alike = alike & (tile > 1)
    farthest, lines = reduce(np.minimum, batch.levels), batch.least_lines
    small: Bools = np.zeros(len(batch), np.bool_)
    for level in levels:
        capacity = target.levels[level].capacity
        most = np.where(alike, int(capacity * SMALL), int(capacity * TINY))
        small = small | (farthest < level) & (lines <= most)
    return small & ~_waits_for_pages(target, loop.dim, batch)


def _waits_for_pages(target: Target, dim: str, batch: Batch) -> Bools:
    """Where rows from memory may be on so many pages that fewer of them cost less each.

    See `Target.transfer`: an odd number of rows would have no tiles that do not wait for pages.
    """
    operation, most = batch.operation, target.levels[target.registers].capacity
    waits: Bools = np.zeros(len(batch), np.bool_)
    if not (target.from_memory and target.tlb.pages) or dim != operation.contracted:
        return waits
    for operand, level in enumerate(batch.levels):
        if (operand, dim) in operation.places:
            waits = waits | ((level == 0) & (batch.uses(operand) < most))
    return waits & (2 * batch.size(dim) > target.tlb.pages)


def _holds_long_sums(registers: int, batch: Batch) -> Bools:
    """Where registers hold vectors of sums of more products than a core schedules at once.

    Fewer of these sums at a time would wait for each other's latency, which `Move` has priced for
    all of them; so the reduction is split first.
    """
    output, contracted = batch.operation.output, batch.operation.contracted
    vectors = batch.placements.vector[batch.codes[output]] > 1
    result: Bools = vectors & (batch.levels[output] == registers)
    result = result & (batch.size(contracted) > SCHEDULED)
    return result


def _sums_held(registers: int, batch: Batch) -> Bools:
    """Where registers hold a convolution's sums, or its filters have one pixel.

    They stay there for all pixels. Sums in memory would be loaded and stored for each.
    """
    pixels = [batch.size(dim) for dim in pixels_of(batch.operation).values()]
    held: Bools = (batch.levels[batch.operation.output] == registers) | (prod_columns(pixels) == 1)
    return held


def _unless(excluded: Guard, guard: Guard) -> Guard:
    """Where `guard` holds, and `excluded` does not."""
    return lambda batch: ~excluded(batch) & guard(batch)


def _rows_before(operation: Operation, dim: str) -> tuple[str, ...]:
    """The dimensions that are cut to 1 before a dimension, if that is a convolution's columns.

    Where kernels compute windows themselves, tiles of several rows may be better: they share rows
    of the image in registers.
    """
    *rows, columns = _images(operation, dim) or ("",)
    return tuple(rows) if dim == columns else ()


def _images(operation: Operation, dim: str) -> tuple[str, ...]:
    """The dimensions of images, rows and columns of a convolution by products that has `dim` among
    them, if any. Rows and columns that another convolution reads are no dimensions of their own.
    """
    components = [(c.operation, c.dims) for c in operation.components]
    for primitive, dims in components or [(operation, operation.dims)]:
        if primitive.lowers_to is not None:
            names = dict(zip(primitive.dims, dims, strict=True))
            images = tuple(names[own] for own in ("b", *pixels_of(primitive)))
            if dim in images and set(images) <= set(operation.dims):
                return images
    return ()


def _of_single(dims: tuple[str, ...], level: int, guard: Guard) -> Guard:
    """Where these dimensions are 1, the output is at a level or nearer, and a guard admits it."""

    def admits(batch: Batch) -> Bools:
        result: Bools = batch.levels[batch.operation.output] >= level
        for dim in dims:
            result = result & (batch.size(dim) == 1)
        return result & guard(batch)

    return admits


def _of_held_columns(registers: int, guard: Guard) -> Guard:
    """Where registers hold neighbouring columns of the output, and a guard admits it."""

    def admits(batch: Batch) -> Bools:
        output = batch.operation.output
        columns, _ = batch.operation.places[output, "x"]
        along = batch.placements.runs_along(batch.codes[output], (columns,))
        result: Bools = (batch.levels[output] == registers) & along & guard(batch)
        return result

    return admits


def _feeds_product(operation: Operation, index: int) -> bool:
    """Whether an operand of a composition is an input of a sum of products within it."""
    # As a tensor number, the operand index of the output is that of an intermediate tensor.
    external = index < inputs_of(operation)
    return external and any(
        c.operation.is_product and index in c.inputs for c in operation.components
    )
