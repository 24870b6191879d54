"""The space of programs: which rewrites the search tries on which operations.

The *relaxed* space treats every layout as the best imaginable one. It holds a cheaper
image of every program, so that its optimum bounds the real one from below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from morello.ir.batch import Batch
from morello.ir.forms import Bools, some
from morello.ir.layout import Layout, column_major, panels, row_major
from morello.ir.operation import Operation
from morello.rewrites import Divide, Move, Rewrite, Select, Split, Tile, ToAccumulate
from morello.search.sizes import FACTORS, Sizes, cuts
from morello.targets.target import Target

Guard = Callable[[Batch], Bools]

PANEL_REGISTERS = (1, 2, 4)
"""Panels are this many registers wide."""


@dataclass(frozen=True)
class Rules:
    """Rewrites that the search tries on the rows of a batch that the guard admits."""

    guard: Guard
    rewrites: tuple[Rewrite, ...]


def rules(
    operation: Operation, target: Target, sizes: Sizes, *, relaxed: bool = False
) -> list[Rules]:
    """What the search tries on Specs of this operation, in order; ties go to the first."""
    groups = [Rules(_all_near(target), _kernels(operation, target))]
    for dim in operation.dims:
        if operation.accumulates or dim not in operation.reduced:
            groups += _loops(operation, dim, sizes)
    if operation.reduced and not operation.accumulates:
        groups.append(Rules(_always, (ToAccumulate(),)))
    for index in range(len(operation.operands)):
        groups += _moves(operation, index, target, relaxed)
    return groups


def _kernels(operation: Operation, target: Target) -> tuple[Rewrite, ...]:
    name = operation.name.removeprefix("Batch")
    return tuple(Select(kernel.name) for kernel in target.kernels if kernel.operation == name)


def _moves(operation: Operation, index: int, target: Target, relaxed: bool) -> list[Rules]:
    """Every move of one operand: by the caches themselves, by copies, and into registers."""
    operand = operation.operands[index]
    rank = len(operand.dims)
    groups = []
    for number, level in enumerate(target.levels[1 : target.registers]):
        groups.append(Rules(_at(index, number), (Move(operand.name, level.name),)))
        if operation.reduced and not relaxed:
            for transposes in (False, True):
                copies = tuple(
                    Move(operand.name, level.name, layout)
                    for layout in copy_layouts(operation, index, target)
                    if (layout == column_major(rank)) == transposes
                )
                groups.append(Rules(_copied_from(index, number, transposes), copies))
    if operation.reduced:
        name = target.levels[target.registers].name
        orders = (Layout(()),) if relaxed else (row_major(rank), column_major(rank))
        for width in target.widths:
            loads = tuple(
                Move(operand.name, name, order, width)
                for order in (orders[:1] if width == 1 else orders)
            )
            groups.append(Rules(_some_kernel_takes(operation, index, width, target), loads))
    return groups


def _always(batch: Batch) -> Bools:
    return np.ones(len(batch), np.bool_)


def _all_near(target: Target) -> Guard:
    """Nothing lies beyond the nearest cache."""

    def guard(batch: Batch) -> Bools:
        result: Bools = np.minimum.reduce(batch.levels) >= target.nearest
        return result

    return guard


def _at(index: int, level: int) -> Guard:
    return lambda batch: batch.levels[index] == level


def _copied_from(index: int, level: int, transposes: bool) -> Guard:
    """What lies in panels is not copied again, nor is a row-major operand transposed."""

    def guard(batch: Batch) -> Bools:
        here: Bools = batch.levels[index] == level
        if not some(here):
            return here
        forms, codes = batch.forms, batch.codes[index]
        here = here & (forms.panel_dim[codes] < 0)
        return here & ~forms.row_major[codes] if transposes else here

    return guard


def copy_layouts(operation: Operation, index: int, target: Target) -> list[Layout]:
    """The layouts a copy may have: row- and column-major; of what is only read, also panels.

    Panels run along the operand's last dimension that is not reduced. They are one
    register wide, or several where that is the output's fastest dimension.
    """
    operand = operation.operands[index]
    rank = len(operand.dims)
    layouts = [row_major(rank), column_major(rank)]
    if not operand.written:
        along = max(d for d, name in enumerate(operand.dims) if name not in operation.reduced)
        fastest = operation.operands[operation.output].dims[-1] == operand.dims[along]
        registers = PANEL_REGISTERS if fastest else PANEL_REGISTERS[:1]
        layouts += [panels(rank, along, target.widths[0] * n) for n in registers]
    return layouts


def _some_kernel_takes(operation: Operation, index: int, width: int, target: Target) -> Guard:
    """A kernel holds this operand in such registers, and the others as they are held now."""
    placements = {
        tuple(held.width if held else 0 for held in kernel.held)
        for kernel in target.kernels
        if kernel.operation == operation.name.removeprefix("Batch").removesuffix("Accum") + "Accum"
    }
    wanted = sorted(p for p in placements if p[index] == width)

    def guard(batch: Batch) -> Bools:
        near: Bools = batch.levels[index] == target.nearest
        if not some(near):
            return near
        result = np.zeros(len(batch), np.bool_)
        for placement in wanted:
            taken = np.ones(len(batch), np.bool_)
            for other, other_width in enumerate(placement):
                if other != index:
                    held = batch.levels[other] == target.registers
                    vector = batch.forms.vector[batch.codes[other]]
                    taken &= ~held | (vector == other_width)
            result |= taken
        admitted: Bools = result & near
        return admitted

    return guard


def _loops(operation: Operation, dim: str, sizes: Sizes) -> list[Rules]:
    """Smooth sizes are divided by small primes, others cut to smooth tiles."""
    kind = Split if dim in operation.reduced else Tile
    allowed = [cuts(size, sizes.widths) for size in sizes.values.tolist()]
    tiles = sorted({tile for one in allowed for tile in one}, reverse=True)

    def smooth(batch: Batch) -> Bools:
        return sizes.is_smooth(batch.size(dim)) & (batch.size(dim) > 1)

    def cut_to(tile: int) -> Guard:
        admits = np.array([tile in one for one in allowed])
        return lambda batch: admits[sizes.index[batch.size(dim)]]

    factors = [f for f in FACTORS if np.any(sizes.smooth & (sizes.values % f == 0))]
    divisions = tuple(Divide(dim, factor) for factor in factors)
    return [Rules(smooth, divisions)] + [Rules(cut_to(t), (kind(dim, t),)) for t in tiles]
