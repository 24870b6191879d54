"""Moves of an operand: into a cache as it is used, by a copy, and into registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce

import numpy as np

from morello.ir.axes import Axis
from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.layout import Layout, fastest, odd_even, panels, row_major
from morello.ir.operation import Operation
from morello.ir.placements import Bools, any_row
from morello.ir.rounding import narrow
from morello.ir.spec import MAX_SIZE
from morello.rewrites import Move
from morello.rewrites.conv import ROLES
from morello.space.copies import (
    channels_fastest,
    columns_fastest,
    copy_layouts,
    fills_by_channels,
    panel_width,
    places_in_rows,
)
from morello.space.guards import Guard, Rules, all_from, at
from morello.space.kernels import kernels_of, usable_kernels
from morello.space.kind import Kind
from morello.space.padding import has_padded_rows
from morello.space.sizes import FEWEST_ROWS
from morello.space.traits import PLAIN, RuleTraits
from morello.targets.target import LeafKernel, Target


def move_rules(kind: Kind, index: int, target: Target, traits: RuleTraits = PLAIN) -> list[Rules]:
    """Every move of one operand: into a cache as it is used, by a copy, and into registers.

    Maps copy operands into the order of their results if a goal is `transposed`.
    """
    operation = kind.operation
    if stays(kind, index, target):
        return []
    name = operation.operands[index].name
    groups: list[Rules] = []
    for number, level in enumerate(target.levels[1 : target.registers]):
        groups.append(Rules(at(index, number), (Move(name, level.name),)))
        if not operation.copies:
            groups += _copies(kind, index, number, target, traits)
    if _held_in_registers(operation, index):
        closing = kernels_of if operation.grouped else usable_kernels
        groups += _register_moves(kind, index, target, closing(kind, target))
    return groups


def _copies(
    kind: Kind, index: int, number: int, target: Target, traits: RuleTraits
) -> Iterator[Rules]:
    """Copies of one operand from a level, by its number, to the next cache."""
    operation = kind.operation
    operand, dtype = operation.operands[index], kind.dtypes[index]
    rank, level = len(operand.dims), target.levels[number + 1]
    nearest = number + 1 == target.nearest
    usable = usable_kernels(kind, target)
    dtypes = {k.dtypes[index] for k in usable} if not operation.components else {dtype}
    others = [d for d in sorted(dtypes, key=str) if d is not dtype]
    casts = (None, *others)
    if operand.written:
        casts = tuple(others) if narrow(dtype) else (None,)  # sums of 16-bit floats are of f32

    def copies(layout: Layout, casts: Sequence[DType | None] = (None,)) -> tuple[Move, ...]:
        return tuple(Move(operand.name, level.name, layout, dtype=cast) for cast in casts)

    if others and nearest and _converted_in_cache(operation, dtype):
        yield Rules(at(index, number), copies(row_major(rank), others))
    layouts = copy_layouts(operation, index, dtype, target)
    most_columns = _most_columns(operation, target) if operand.written else 0
    if index == 0:
        blocks = {k.odd_even for k in usable if k.odd_even}
        layouts += [odd_even(rank, block) for block in sorted(blocks)]
    packed = _packs(kind, index, target)
    for layout in layouts:
        guard = _copied_from(index, number, layout, most_columns)
        yield Rules(guard, copies(layout, casts[:1] if packed else casts))
        if packed and nearest:
            yield Rules(partial(_all_near, number, guard), copies(layout, casts[1:]))
    for layout in columns_fastest(operation, index) if nearest and not operand.written else ():
        guard = _in_uneven_panels(index, number, layout, panel_width(dtype, target))
        yield Rules(guard, copies(layout))
    for place in places_in_rows(operation, index) if nearest and traits.transposed else ():
        yield Rules(_across_rows(index, number, place), copies(fastest(rank, place)))
    for layout in channels_fastest(operation, index) if index else ():
        yield Rules(_for_channels(index, number, target), copies(layout))
    if operand.written and number == 0 and operation.lowers_to is None and rank > 1:
        for width, most in sorted({k.panel for k in usable if k.panel[0]}):
            yield Rules(_few_rows(index, most), copies(panels(rank, rank - 1, width), casts))


def stays(kind: Kind, index: int, target: Target) -> bool:
    """Whether all kernels take an operand from where it is."""
    usable = usable_kernels(kind, target)
    return bool(usable) and all(index in kernel.anywhere for kernel in usable)


def _converted_in_cache(operation: Operation, dtype: DType) -> bool:
    """Whether operands are copied only to be converted, to what kernels take from the cache."""
    pools = operation.primitive is not None and operation.primitive.pools
    own = operation.is_product or operation.components or (operation.windows and not pools)
    return narrow(dtype) and not own  # these have other copies


def packed_inputs(dtypes: tuple[DType, ...], target: Target) -> bool:
    """Whether there are instructions that sum several products of inputs of these dtypes."""
    return any(packing.inputs == dtypes for packing in target.packs)


def _packs(kind: Kind, index: int, target: Target) -> bool:
    """Whether an input may be packed in groups, for instructions that sum several products.

    Then it is only converted on its way to the nearest cache, once all operands are as near as
    that: farther off it would take twice the room, and only small products gain by it at all.
    """
    inputs = kind.dtypes[:-1]
    return index < len(inputs) and packed_inputs(inputs, target)


def _all_near(level: int, guard: Guard, batch: Batch) -> Bools:
    """Where no operand is farther than a level, and a guard admits it."""
    return all_from(level)(batch) & guard(batch)


def _most_columns(operation: Operation, target: Target) -> int:
    """The most columns of a row-major output that is transposed: the rows of a register tile.

    A convolution's may be of several rows, whose sums then stay in a cache for more filters.
    """
    return target.rows if operation.lowers_to is None else MAX_SIZE


def _held_in_registers(operation: Operation, index: int) -> bool:
    """Whether the search moves an operand into registers.

    Of a convolution, it does so only with the output, whose sums stay there for all pixels of the
    filter. Rows with padding above or below them are peeled before.
    """
    if has_padded_rows(operation):
        return False
    if operation.lowers_to is not None:
        return index == operation.output
    return not (operation.components or operation.copies)


def copies_out_of_blocks(kind: Kind, index: int, target: Target) -> Iterator[Rules]:
    """Copies of an odd-even operand to row-major, also as the first step of another copy."""
    operand = kind.operation.operands[index]
    layout = row_major(len(operand.dims))
    for number, level in enumerate(target.levels[1 : target.registers]):
        copy = Move(operand.name, level.name, layout)
        yield Rules(partial(_in_blocks, index=index, level=number), (copy,))


def _register_moves(
    kind: Kind, index: int, target: Target, usable: Sequence[LeafKernel]
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
        # without any of these dimensions, a register holds one element
        lowered = operation.lowers_to and not operation.grouped
        roles = [ROLES.get(a.names[0]) if lowered else a.names[0] for a in axes]
        return [i for i, role in enumerate(roles) if role in dims] or [len(axes) - 1]
    return [i for i, axis in enumerate(axes) if axis.plain or _slides_by_one(axis)]


def _slides_by_one(axis: Axis) -> bool:
    """Whether the windows at neighbours begin at neighbours."""
    return axis.terms[0][1] == 1 and not (axis.before or axis.after)


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


def _in_blocks(batch: Batch, index: int, level: int) -> Bools:
    """Where an operand at a level is odd-even; in a copy, the other operand must not be nearer."""
    here: Bools = (batch.levels[index] == level) & batch.placements.odd_even(batch.codes[index])
    if batch.operation.copies:
        here = here & (reduce(np.maximum, batch.levels) == level) & (len(batch.levels) > 1)
    return here


def _copied_from(index: int, level: int, layout: Layout, most: int) -> Guard:
    """Where an operand at a level is not in panels, nor row-major if the copy transposes it.

    A row-major one may be transposed if it has at least `FEWEST_ROWS` columns and at most so many.
    """
    transposes = layout.panel is None and not layout.row_major

    def guard(batch: Batch) -> Bools:
        here: Bools = batch.levels[index] == level
        if not any_row(here):
            return here
        placements, codes = batch.placements, batch.codes[index]
        here = here & ~placements.paneled(codes)
        if not transposes:
            return here
        shape = batch.shape(index)
        few = (shape[-1] >= FEWEST_ROWS) & (shape[-1] <= most)
        return here & (placements.not_row_major(codes, shape) | few)

    return guard


def _in_uneven_panels(index: int, level: int, layout: Layout, width: int) -> Guard:
    """Where a row-major operand at a level is copied to a `layout` that transposes it, since its
    columns are no whole number of panels of this width, or a single one.
    """
    columns = layout.order[-1]

    def guard(batch: Batch) -> Bools:
        here: Bools = batch.levels[index] == level
        shape = batch.shape(index)
        count = shape[columns]
        here = here & (count > 1) & ((count % width != 0) | (count == width))
        return here & ~batch.placements.not_row_major(batch.codes[index], shape)

    return guard


def _across_rows(index: int, level: int, place: int) -> Guard:
    """Where neighbours of the output along a dimension are none of an operand at a level."""

    def guard(batch: Batch) -> Bools:
        here: Bools = batch.levels[index] == level
        if not any_row(here):
            return here
        operation, placements, codes = batch.operation, batch.placements, batch.codes
        output = operation.output
        along = operation.operands[output].dims.index(operation.operands[index].dims[place])
        here = here & (batch.shape(index)[place] > 1)
        here = here & placements.unit_stride(codes[output], batch.shape(output), along)
        return here & placements.runs_across(codes[index], place)

    return guard


def _for_channels(index: int, level: int, target: Target) -> Guard:
    """Where an operand at a level is copied so that registers hold channels, as in the image.

    Nothing is copied once registers hold the sums.
    """

    def guard(batch: Batch) -> Bools:
        here: Bools = batch.levels[index] == level
        here = here & (batch.levels[batch.operation.output] < target.registers)
        channels, _ = batch.operation.places[0, "g"]
        here = here & batch.placements.runs_along(batch.codes[0], (channels,))
        return here & fills_by_channels(target, batch)

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
