"""Kernels for the steps of Winograd's convolutions: all points of a run of channels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import F32
from morello.ir.operation import Operation
from morello.ir.primitives.winograd import (
    TRANSFORMS,
    tile_of,
    winograd_input,
    winograd_output,
)
from morello.ir.semantics import evaluate
from morello.targets.kernels.conditions import contiguous, no_panels, unit_sizes
from morello.targets.kernels.names import kind_of
from morello.targets.target import Column, Condition, LeafKernel

START = 4.0
"""The fixed cycles of a run."""

CYCLES = {(2, 1): 32.0, (2, 0): 24.0, (4, 1): 130.0, (4, 0): 100.0}
"""Cycles of a register of channels: by the rows of a tile, to points (1) and from them (0)."""


def winograd_steps(width: int) -> tuple[LeafKernel, ...]:
    """Kernels that turn a run of channels of one square into points, or points into one tile.

    Points and pixels are far apart, often by a power of two, so that more of them are at the same
    places of the nearest cache than stay there: all are read and written in the next one.
    """
    kind = kind_of(F32, width)
    kernels = []
    for tile in TRANSFORMS:
        turn, back = f"winograd_input_{tile}_{kind}", f"winograd_output_{tile}_{kind}"
        kernels += [
            _step(
                turn, winograd_input(tile, channels_last=True), "c", 1, width,
                f"{turn}(&{{image}}, {{image_p}}, {{image_q}}, &{{out}}, {{out_t}}, {{c}});",
            ),
            _step(
                back, winograd_output(tile, channels_last=True), "f", 0, width,
                f"{back}(&{{x}}, {{x_t}}, &{{out}}, {{out_i}}, {{out_j}}, {{f}});",
            ),
        ]  # fmt: skip
    return tuple(kernels)


def _step(
    name: str, operation: Operation, channels: str, apart: int, width: int, line: str
) -> LeafKernel:
    """A kernel for an operation, whose points are the operand `apart`.

    Its semantics take dimensions in that order, and the kernel any.
    """
    tile = tile_of(operation)

    def applies(s: Batch) -> Iterator[Condition]:
        same = tile_of(s.operation) == tile
        yield Condition(np.full(len(s), same), f"tiles must have {tile} rows")
        yield from unit_sizes(s, but=(*operation.untiled, channels))
        for operand in range(2):
            label = s.operation.operands[operand].name
            beside = contiguous(s, operand, channels)
            yield Condition(beside, f"{label}'s channels must lie next to each other")
            yield no_panels(s, operand)

    def cost(s: Batch) -> Column:
        registers = -(-s.size(channels) // width)
        cycles: Column = START + CYCLES[tile, apart] * registers
        return cycles

    return LeafKernel(
        name, operation.name, (F32, F32), (None, None), line,
        lambda source: evaluate(operation, [source])[0], applies, cost,
        registers=16, streams=(0, 1),
    )  # fmt: skip
