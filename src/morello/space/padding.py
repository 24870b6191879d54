"""Rewrites of windows that reach into the padding of an image."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from morello.ir.batch import Batch
from morello.ir.operation import Operation
from morello.ir.placements import Bools
from morello.ir.primitives import windows_of
from morello.rewrites import PadFirst, Peel
from morello.rewrites.conv import is_padded
from morello.rewrites.peel import lost_pixels, lost_windows
from morello.space.copies import channels_fastest, has_short_rows
from morello.space.guards import Rules, always, at
from morello.space.kind import Kind
from morello.targets.target import TILE_WIDTH, Target

FEW = 90
"""Rows are peeled if at least one in so many pixels of all their windows is padding."""


def padding_rules(kind: Kind, target: Target) -> Iterator[Rules]:
    """Copies of padded images, or pieces of a convolution that read no padding.

    Rows are peeled first. Columns whose sums are in registers are peeled by pixels of the filter;
    if they do not fit there, they are peeled by windows before.
    """
    operation = kind.operation
    if not is_padded(operation):
        return
    levels = target.levels[: target.registers]
    yield Rules(always, tuple(PadFirst(level.name) for level in levels))
    for layout in channels_fastest(operation, 0):
        short = partial(has_short_rows, target)
        yield Rules(short, tuple(PadFirst(level.name, layout) for level in levels[1:]))
    if has_padded_rows(operation):
        yield Rules(_reads_much_padding, (Peel("y"),))
    elif operation.lowers_to is not None and operation.accumulates:
        yield Rules(at(operation.output, target.registers), (Peel("q"),))
    elif operation.lowers_to is not None and _ends_fill_tiles(operation, target):
        yield Rules(partial(_long_and_cached, target), (Peel("x"),))


def has_padded_rows(operation: Operation) -> bool:
    """Whether an operation is a convolution by products, with padding above or below images."""
    if not is_padded(operation) or operation.lowers_to is None:
        return False
    return any(dim == "y" and rows.padded for dim, rows in windows_of(operation).items())


def _reads_much_padding(batch: Batch) -> Bools:
    pixels = batch.size("y") * batch.size("p")
    much: Bools = pixels <= FEW * lost_pixels(batch.operation, "y")
    return much


def _ends_fill_tiles(operation: Operation, target: Target) -> bool:
    """Whether columns at an end that read padding are enough for tiles of sums by themselves.

    Fewer leave multiply-add units idle, which costs more than the padding.
    """
    return lost_windows(operation, "x") * TILE_WIDTH >= target.in_flight


def _long_and_cached(target: Target, batch: Batch) -> Bools:
    """Where rows of sums leave no register for anything else, and are in a cache.

    Pieces that write to farther memory would go to caches one by one, which costs as much.
    """
    registers = target.registers
    long: Bools = batch.size("x") >= target.levels[registers].capacity
    output = batch.levels[batch.operation.output]
    long = long & (output > 0) & (output < registers)
    return long
