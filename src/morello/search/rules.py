"""The space of programs: which rewrites the search tries on which operations.

The *relaxed* space treats every layout as the best imaginable one. It holds a cheaper
image of every program, so that its optimum bounds the real one from below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from morello.ir.batch import Batch
from morello.ir.forms import Bools
from morello.ir.layout import Layout, column_major, panels, row_major
from morello.ir.operation import Operation
from morello.rewrites import Divide, Move, Rewrite, Select, Split, Tile, ToAccumulate
from morello.search.sizes import FACTORS, Sizes, cuts
from morello.targets.target import Target

Guard = Callable[[Batch], Bools]

PANEL_REGISTERS = (1, 2, 4)
"""Panels are this many registers wide."""


@dataclass(frozen=True)
class Rule:
    """A rewrite that the search tries, on the rows that the guard admits."""

    rewrite: Rewrite
    guard: Guard | None = None


def rules(
    operation: Operation, target: Target, sizes: Sizes, *, relaxed: bool = False
) -> list[Rule]:
    """What the search tries on Specs of this operation, in order; ties go to the first."""
    found = [
        Rule(Select(kernel.name))
        for kernel in target.kernels
        if kernel.operation == operation.name.removeprefix("Batch")
    ]
    for dim in operation.dims:
        if operation.accumulates or dim not in operation.reduced:
            found += _loops(operation, dim, sizes)
    if operation.reduced and not operation.accumulates:
        found.append(Rule(ToAccumulate()))
    for operand in operation.operands:
        rank = len(operand.dims)
        for level in target.levels[1 : target.registers]:
            found.append(Rule(Move(operand.name, level.name)))
            if operation.reduced and not relaxed:
                for layout in copy_layouts(rank, operand.written, target):
                    found.append(Rule(Move(operand.name, level.name, layout)))
        if operation.reduced:
            nearest = target.levels[target.registers].name
            orders = (Layout(()),) if relaxed else (row_major(rank), column_major(rank))
            for width in target.widths:
                for order in orders[:1] if width == 1 else orders:
                    found.append(Rule(Move(operand.name, nearest, order, width)))
    return found


def copy_layouts(rank: int, written: bool, target: Target) -> list[Layout]:
    """The layouts a copy may have: row- and column-major; panels for what is only read."""
    layouts = [row_major(rank), column_major(rank)]
    if not written:
        widths = [target.widths[0] * n for n in PANEL_REGISTERS]
        layouts += [panels(rank, dim, w) for dim in (rank - 1, rank - 2) for w in widths]
    return layouts


def _loops(operation: Operation, dim: str, sizes: Sizes) -> list[Rule]:
    def smooth(batch: Batch) -> Bools:
        return sizes.is_smooth(batch.size(dim))

    def ragged(batch: Batch) -> Bools:
        return ~sizes.is_smooth(batch.size(dim))

    kind = Split if dim in operation.reduced else Tile
    tiles = sorted({t for size in sizes.values.tolist() for t in cuts(size)}, reverse=True)
    return [Rule(Divide(dim, factor), smooth) for factor in FACTORS] + [
        Rule(kind(dim, tile), ragged) for tile in tiles
    ]
