"""The space of programs: which rewrites the search tries on which operations.

The *relaxed* space has the ideal layout in place of every other. For every program it has one
that costs no more, so its optimum is a lower bound of the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from morello.ir.batch import Batch
from morello.ir.compose import inputs_of, intermediates, producer
from morello.ir.layout import Layout, fastest, odd_even, panels, row_major
from morello.ir.operation import Operation, accumulating, has_accumulating_form
from morello.ir.placements import Bools, any_row, prod_columns
from morello.rewrites import (
    SCHEMES,
    Bufferize,
    Decompose,
    Divide,
    Move,
    MoveAll,
    Pack,
    PadFirst,
    ParallelSplit,
    Pointwise,
    Rewrite,
    Select,
    Serial,
    SizedTile,
    SpatialSplit,
    Spread,
    ToAccumulate,
    decomposes,
    may_split,
)
from morello.space.copies import copy_layouts
from morello.space.kind import Kind
from morello.space.sizes import FACTORS, MOST_CUTS, Cut, Sizes
from morello.targets.target import LeafKernel, Target

Guard = Callable[[Batch], Bools]

PIECES = (4, 2, 1)
"""The numbers of pieces per core that a parallel loop may have."""
GRID = (2, 4)
"""The numbers of pieces along each dimension of a parallel loop over two dimensions."""
MERGED = 16
"""A reduction is split over cores if it reads at least this many times what its pieces write."""


@dataclass(frozen=True)
class Rules:
    """Rewrites that the search tries on the rows of a batch that the guard admits."""

    guard: Guard
    rewrites: tuple[Rewrite, ...]


def relaxed(groups: Sequence[Rules]) -> list[Rules]:
    """The rules of the relaxed space. Rewrites that differ in layouts only become the same."""
    guards: dict[Rewrite, dict[Guard, None]] = {}
    for group in groups:
        for rewrite in group.rewrites:
            guards.setdefault(rewrite.relaxed(), {})[group.guard] = None
    rewrites: dict[tuple[Guard, ...], list[Rewrite]] = {}
    for rewrite, admitting in guards.items():
        rewrites.setdefault(tuple(admitting), []).append(rewrite)
    return [Rules(partial(_any, admitting), tuple(r)) for admitting, r in rewrites.items()]


def _any(guards: Sequence[Guard], batch: Batch) -> Bools:
    """The rows that any of the guards admits."""
    first, *others = guards
    admitted = first(batch)
    for guard in others:
        admitted = admitted | guard(batch)
    return admitted


def rules(kind: Kind, target: Target, sizes: Sizes, *, blocks: bool = False) -> list[Rules]:
    """The rewrites that the search tries on Specs of this kind, in order; ties go to the first.

    With `blocks`, operands of the goal may have odd-even layouts.
    """
    operation = kind.operation
    if kind.parallel:
        return [Rules(_always, (Serial(), *_parallel(kind, target))), *_reductions(kind, target)]
    groups = _kernels(kind, target)
    for dim in operation.dims:
        if operation.may_cut(dim) and not _is_tiled_later(operation, dim):
            groups += _loops(dim, sizes, vectors=operation.lowers_to is None)
        if target.cuts_to_rows and operation.contracted and dim not in operation.reduced:
            groups.append(Rules(partial(_has_rows, dim, sizes), (SizedTile(dim, sizes.rows),)))
    groups += [Rules(_always, (step,)) for step in _steps(kind, target)]
    if operation.components and not any(c.operation.is_product for c in operation.components):
        caches = target.levels[1 : target.registers]
        return [*groups, Rules(_always, tuple(MoveAll(level.name) for level in caches))]
    for index in range(len(operation.operands)):
        if not operation.components or _feeds_product(operation, index):
            if blocks:
                groups += _out_of_blocks(kind, index, target)
            groups += _moves(kind, index, target)
    return [group for group in groups if group.rewrites]


def closing_operation(kind: Kind) -> str:
    """The name of the operation whose leaf kernels finally implement Specs of this kind."""
    operation = kind.operation
    if operation.lowers_to is not None:
        return operation.lowers_to.accumulating_name
    return (accumulating(operation) if has_accumulating_form(operation) else operation).name


def _feeds_product(operation: Operation, index: int) -> bool:
    """Whether an operand of a composition is an input of a sum of products within it."""
    # As a tensor number, the operand index of the output is that of an intermediate tensor.
    external = index < inputs_of(operation)
    return external and any(
        c.operation.is_product and index in c.inputs for c in operation.components
    )


def _is_tiled_later(operation: Operation, dim: str) -> bool:
    """Whether a dimension is tiled only after its operation is lowered to another primitive's."""
    return operation.primitive is not None and dim in operation.primitive.tiled_lowered


def _kernels(kind: Kind, target: Target) -> list[Rules]:
    """Leaf kernels: operands are in the nearest cache, or, if they are prefetched, in the next."""
    usable = [k for k in target.kernels_of(kind.operation.name) if k.dtypes == kind.dtypes]
    near = tuple(Select(kernel.name) for kernel in usable if not kernel.streams)
    further = tuple(Select(kernel.name) for kernel in usable if kernel.streams)
    nearest = target.nearest
    return [Rules(_all_from(nearest), near), Rules(_all_from(nearest - 1), further)]


# ---- parallel rewrites


def _counts(target: Target) -> list[int]:
    """The numbers of pieces that a parallel loop over one dimension may have."""
    return [target.cores * n for n in PIECES]


def _parallel(kind: Kind, target: Target) -> Iterator[Rewrite]:
    """Parallel loops, and rewrites into several Specs that are each still parallel."""
    operation = kind.operation
    dims = operation.operands[operation.output].dims
    free = [d for d in dims if d in operation.dims and d not in operation.whole]
    for dim in free:
        yield from (Spread(((dim, count),)) for count in _counts(target))
    for first in free:
        for second in free[free.index(first) + 1 :]:
            yield from (Spread(((first, n), (second, m))) for n in GRID for m in GRID)
    memory = target.levels[0].name
    yield from _decompositions(kind, (memory,))
    for tensor in cut_points(operation):
        rank = len(producer(operation, tensor).result_dims)
        yield Bufferize(tensor - inputs_of(operation), memory, row_major(rank))


def _reductions(kind: Kind, target: Target) -> Iterator[Rules]:
    """Splits of the reduction dimensions into pieces for all cores."""
    operation = kind.operation
    if may_split(operation):
        for count in _counts(target):
            pieces = tuple(ParallelSplit(dim, count) for dim in operation.reduced)
            yield Rules(partial(_outweighs, count=count), pieces)


def _outweighs(batch: Batch, count: int) -> Bools:
    """Where so much more is read than written that an output for each piece hardly matters."""
    operands, outputs = range(len(batch.operation.operands)), batch.operation.outputs
    read = sum(prod_columns(batch.shape(o)) for o in operands if o not in outputs)
    written = sum(prod_columns(batch.shape(o)) for o in outputs)
    result: Bools = np.greater_equal(read, MERGED * count * written)
    return result


# ---- steps


def _steps(kind: Kind, target: Target) -> Iterator[Rewrite]:
    """Rewrites into other operations."""
    operation = kind.operation
    if has_accumulating_form(operation):
        yield ToAccumulate()
    if operation.lowers_to is not None and operation.accumulates:
        yield from (SpatialSplit(), Pointwise())
    if operation.is_product and any(axis.padding for axis in operation.axes[0]):
        yield from (PadFirst(level.name) for level in target.levels[: target.registers])
    if operation.contracted and not operation.accumulates and target.packs:
        yield Pack()
    yield from _decompositions(kind, (target.levels[target.nearest].name, target.levels[0].name))
    if operation.components:
        yield from _buffers(kind, target)


def _decompositions(kind: Kind, levels: tuple[str, ...]) -> Iterator[Rewrite]:
    for name, scheme in SCHEMES.items():
        if scheme.searched and decomposes(name, kind.operation):
            yield from (Decompose(name, level) for level in levels)


def cut_points(operation: Operation) -> list[int]:
    """The intermediate tensors at which the search cuts a composition in two.

    These are where the shape changes, before and after sums of products, and before the last
    component. Other cuts between elementwise maps of the same shape are not needed: a smaller
    tile and several of these cuts give the same programs.
    """
    if not operation.components:
        return []
    tensors = []
    for tensor in intermediates(operation):
        source = producer(operation, tensor)
        users = [c for c in operation.components if tensor in c.inputs]
        changes = any(set(user.result_dims) != set(source.result_dims) for user in users)
        products = any(component.operation.is_product for component in (source, *users))
        if changes or products or operation.components[-1] in users:
            tensors.append(tensor)
    return tensors


def _buffers(kind: Kind, target: Target) -> Iterator[Rewrite]:
    """Buffers at the cut points of a composition, at every memory level and in registers."""
    operation = kind.operation
    for tensor in cut_points(operation):
        source = producer(operation, tensor)
        component, rank = tensor - inputs_of(operation), len(source.result_dims)
        layouts = [row_major(rank)]
        users = [c for c in operation.components if tensor in c.inputs]
        for user in users:
            position = user.inputs.index(tensor)
            layouts += copy_layouts(user.operation, position, source.dtype, target)
        streams = not any(component.operation.is_product for component in (source, *users))
        for level in target.levels[int(streams) : target.registers]:
            distinct = dict.fromkeys(layouts)
            yield from (Bufferize(component, level.name, layout) for layout in distinct)
        name = target.levels[target.registers].name
        for width in target.widths(source.dtype):
            yield Bufferize(component, name, row_major(rank), width)


# ---- moves


def _moves(kind: Kind, index: int, target: Target) -> list[Rules]:
    """Every move of one operand: into a cache as it is used, by a copy, and into registers."""
    operation = kind.operation
    operand, dtype = operation.operands[index], kind.dtypes[index]
    groups = []
    usable = _usable_kernels(kind, target)
    dtypes = {k.dtypes[index] for k in usable} if not operation.components else {dtype}
    for number, level in enumerate(target.levels[1 : target.registers]):
        groups.append(Rules(_at(index, number), (Move(operand.name, level.name),)))
        if operation.copies:
            continue
        layouts = copy_layouts(operation, index, dtype, target)
        rank = len(operand.dims)
        if index == 0:
            blocks = {k.odd_even for k in usable if k.odd_even}
            layouts += [odd_even(rank, block) for block in sorted(blocks)]
        for layout in layouts:
            casts = (
                [] if operand.written else [d for d in sorted(dtypes, key=str) if d is not dtype]
            )
            copies = tuple(
                Move(operand.name, level.name, layout, dtype=cast) for cast in (None, *casts)
            )
            groups.append(Rules(_copied_from(index, number, layout), copies))
        if operand.written and number == 0 and operation.lowers_to is None:
            for width, most in sorted({k.panel for k in usable if k.panel[0]}):
                panel = Move(operand.name, level.name, panels(rank, rank - 1, width))
                groups.append(Rules(_few_rows(index, most), (panel,)))
    if not (operation.components or operation.copies or operation.lowers_to):
        groups += _register_moves(kind, index, target, usable)
    return groups


def _out_of_blocks(kind: Kind, index: int, target: Target) -> Iterator[Rules]:
    """Copies of an odd-even operand to row-major, also as the first step of another copy."""
    operand = kind.operation.operands[index]
    layout = row_major(len(operand.dims))
    for number, level in enumerate(target.levels[1 : target.registers]):
        copy = Move(operand.name, level.name, layout)
        yield Rules(partial(_in_blocks, index=index, level=number), (copy,))


def _in_blocks(batch: Batch, index: int, level: int) -> Bools:
    """Where an operand at a level is odd-even; in a copy, the other operand must not be nearer."""
    here: Bools = (batch.levels[index] == level) & batch.placements.odd_even(batch.codes[index])
    if batch.operation.copies:
        here = here & (np.maximum.reduce(batch.levels) == level) & (len(batch.levels) > 1)
    return here


def _usable_kernels(kind: Kind, target: Target) -> list[LeafKernel]:
    """The kernels that may implement Specs of this kind once operands are converted."""
    usable = []
    for kernel in target.kernels_of(closing_operation(kind)):
        if len(kernel.dtypes) == len(kind.dtypes) and all(
            _convertible(kind, operand, kernel, target) for operand in range(len(kind.dtypes))
        ):
            usable.append(kernel)
    return usable


def _convertible(kind: Kind, operand: int, kernel: LeafKernel, target: Target) -> bool:
    """Whether an operand has the kernel's dtype or may be widened to it (narrowed, if written)."""
    here, wanted = kind.dtypes[operand], kernel.dtypes[operand]
    if here is wanted:
        return True
    if wanted.bytes <= here.bytes:
        return False
    legal = target.casts_to(here, wanted) or not kind.operation.reads(operand)
    if kind.operation.operands[operand].written:
        legal = legal and target.casts_to(wanted, here)
    return legal


def _register_moves(
    kind: Kind, index: int, target: Target, usable: list[LeafKernel]
) -> list[Rules]:
    """Moves of one operand into registers, in each dtype and width that a kernel wants."""
    operation, here = kind.operation, kind.dtypes[index]
    operand = operation.operands[index]
    rank = len(operand.dims)
    name = target.levels[target.registers].name
    groups = []
    wanted = {(k.dtypes[index], held.width) for k in usable if (held := k.held[index]) is not None}
    for dtype, width in sorted(wanted, key=lambda w: (-w[1], str(w[0]))):
        kernels = [
            k for k in usable
            if k.dtypes[index] is dtype and (held := k.held[index]) and held.width == width
        ]  # fmt: skip
        guard = _kernel_accepts(kind, index, kernels, target)
        cast = None if dtype is here else dtype
        for position in _vector_positions(kind, index, kernels) if width > 1 else [rank - 1]:
            order = fastest(rank, position)
            unit_stride = partial(_has_unit_stride, index=index, position=position)
            admits = guard if width == 1 else _loadable(guard, unit_stride, kind)
            groups.append(Rules(admits, (Move(operand.name, name, order, width, cast),)))
    return groups


def _vector_positions(kind: Kind, index: int, kernels: list[LeafKernel]) -> list[int]:
    """The positions of an operand's dimensions along which vector registers may hold it."""
    operation = kind.operation
    axes = operation.axes[index]
    if operation.is_product:
        dims = {held.along for k in kernels if (held := k.held[index])}
        return [i for i, axis in enumerate(axes) if axis.names[0] in dims]
    return [i for i, axis in enumerate(axes) if axis.plain]


def _loadable(guard: Guard, unit_stride: Callable[[Batch], Bools], kind: Kind) -> Guard:
    """Require unit stride too, except for sums of products, which may load single elements."""
    if kind.operation.is_product:
        return guard
    return lambda batch: guard(batch) & unit_stride(batch)


def _has_unit_stride(batch: Batch, index: int, position: int) -> Bools:
    """Where neighbours along a dimension are neighbours in memory, or there is only one element."""
    result: Bools = batch.placements.unit_stride(batch.codes[index], batch.shape(index), position)
    return result


def _kernel_accepts(kind: Kind, index: int, kernels: list[LeafKernel], target: Target) -> Guard:
    """Where this operand is in the nearest cache, and a kernel accepts those held in registers."""
    placements = set()
    for kernel in kernels:
        placements.add(
            tuple(
                (held.width if held else 0, kernel.dtypes[o]) for o, held in enumerate(kernel.held)
            )
        )

    def guard(batch: Batch) -> Bools:
        near: Bools = batch.levels[index] == target.nearest
        if not any_row(near):
            return near
        result = np.zeros(len(batch), np.bool_)
        for placement in placements:
            fits = np.ones(len(batch), np.bool_)
            for other, (width, dtype) in enumerate(placement):
                if other != index:
                    held = batch.levels[other] == target.registers
                    vector = batch.placements.vector[batch.codes[other]]
                    right = (vector == width) & (kind.dtypes[other] is dtype)
                    fits &= ~held | right
            result |= fits
        admitted: Bools = result & near
        return admitted

    return guard


def _always(batch: Batch) -> Bools:
    return np.ones(len(batch), np.bool_)


def _all_from(level: int) -> Guard:
    """Where no operand is farther than a level."""

    def guard(batch: Batch) -> Bools:
        result: Bools = np.minimum.reduce(batch.levels) >= level
        return result

    return guard


def _at(index: int, level: int) -> Guard:
    return lambda batch: batch.levels[index] == level


def _copied_from(index: int, level: int, layout: Layout) -> Guard:
    """Where an operand at a level is not in panels, nor row-major if the copy transposes it."""
    transposes = layout.panel is None and not layout.row_major

    def guard(batch: Batch) -> Bools:
        here: Bools = batch.levels[index] == level
        if not any_row(here):
            return here
        placements, codes = batch.placements, batch.codes[index]
        here = here & ~placements.paneled(codes)
        return here & placements.not_row_major(codes) if transposes else here

    return guard


def _few_rows(index: int, most: int) -> Guard:
    """Where an operand is a matrix in main memory with more than one row, and at most `most`."""

    def guard(batch: Batch) -> Bools:
        *others, rows, _ = batch.shape(index)
        here: Bools = (batch.levels[index] == 0) & (rows > 1) & (rows <= most)
        for size in others:
            here &= size == 1
        return here

    return guard


def _has_rows(dim: str, sizes: Sizes, batch: Batch) -> Bools:
    """Where a dimension may be cut to `sizes.ROWS`, which fills the registers."""
    result: Bools = sizes.rows(batch.size(dim)) > 0
    return result


def _loops(dim: str, sizes: Sizes, *, vectors: bool) -> list[Rules]:
    """Loops over a dimension: smooth sizes are divided by small primes, others cut to tiles.

    With `vectors`, smooth sizes are also cut to tiles of whole vectors or panels.
    """

    def smooth(batch: Batch) -> Bools:
        size = batch.size(dim)
        return sizes.is_smooth(size) & (size > 1)

    def has(rank: int) -> Guard:
        def guard(batch: Batch) -> Bools:
            size = batch.size(dim)
            has_tile: Bools = sizes.cut(size, rank) > 0
            return has_tile if vectors else has_tile & ~sizes.is_smooth(size)

        return guard

    divisions = tuple(Divide(dim, factor) for factor in FACTORS)
    cuts = [Rules(has(rank), (SizedTile(dim, Cut(sizes, rank)),)) for rank in range(MOST_CUTS)]
    return [Rules(smooth, divisions), *cuts]
