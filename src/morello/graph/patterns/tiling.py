"""A cost model of Winograd convolutions, which chooses the height of the stripes of an image.

The transformed input and the products are written to memory and read again. In stripes, each of
some rows of tiles, they are few enough to stay in L2 until they are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, prod

from morello.graph.graph import Node
from morello.graph.patterns.layers import VOLUME
from morello.ir.dtype import F32
from morello.ir.primitives.winograd import TAPS, Transforms, points
from morello.ir.tensor import LINE_BYTES
from morello.targets.costs import factor_of
from morello.targets.kernels.products import MULTIPLY_ADD
from morello.targets.kernels.winograd import CYCLES
from morello.targets.target import Level, Target

REACHED = 0.8
"""The fraction of the peak rate of multiply-adds that kernels of products reach."""

RESIDENT = 0.5
"""The fraction of L2, as the target counts it, that the points of a stripe may fill.

Smaller stripes were faster, down to 0.2 MiB of 1.
"""

RESIDENT_LAST = 0.25
"""The fraction of the last cache that the points of a stripe of a volume may fill: a stripe has all
layers, so that few would stay in L2.
"""

FEWER_STRIPES = 0.9
"""The most of its cost that a volume may have by stripes for L2, which are more kernels."""

HELD = 1.5
"""The fraction of L2 that weights and the points of a stripe may fill, if weights are to stay in it
from stripe to stripe. It is above 1, as targets count less of L2 than there is.
"""

_PER_LINE = LINE_BYTES // F32.bytes


@dataclass(frozen=True)
class Tiling:
    """Tiles of `tile` rows and columns, in stripes of so many rows of tiles.

    A stripe is of so many `images`, which divide all.
    """

    tile: int
    rows: int
    images: int


def tilings(node: Node, tile: int, machine: Target) -> Iterable[Tiling]:
    """The ways to do a convolution by tiles of this size: at once, or in stripes for a cache."""
    near, images = RESIDENT * _cached(machine), _images(node)[0]
    if node.type.rank < VOLUME:
        yield Tiling(tile, ceil(node.shape[-2] / tile), images)
        fits = _lines(node, Tiling(tile, 1, images)) <= near
        yield _in_stripes(node, tile, images if fits else 1, near)
        return
    whole = _in_stripes(node, tile, images, max(near, RESIDENT_LAST * machine.last_cache))
    smaller = _in_stripes(node, tile, images, near)
    yield whole
    if cycles(node, machine, smaller) < FEWER_STRIPES * cycles(node, machine, whole):
        yield smaller


def _in_stripes(node: Node, tile: int, images: int, room: float) -> Tiling:
    """Stripes of so many images whose points have so many lines at most, or of one row of tiles.

    They are as even as can be, as different ones need different kernels.
    """
    rows = ceil(node.shape[-2] / tile)
    most = max(int(room // _lines(node, Tiling(tile, 1, images))), 1)
    stripes = least = ceil(rows / most)
    if least > 1:
        stripes = next((n for n in range(least, 2 * least) if rows % n == 0), least)
    return Tiling(tile, ceil(rows / stripes), images)


def cycles(node: Node, machine: Target, tiling: Tiling | None = None) -> float:
    """About how many cycles a convolution takes by tiles, or with None by itself.

    One of a volume then reads copies of the layers that a layer of its result is made of.
    """
    batch, filters, rows, columns = _images(node)
    channels, layers = node.inputs[1].shape[1], prod(node.inputs[1].shape[2:-2])
    weights, far = channels * filters * layers, machine.levels[0]
    if not tiling:
        multiplied = batch * rows * columns * TAPS**2 * weights
        copied = batch * rows * columns * channels * layers if layers > 1 else 0
        return (
            _products(machine, multiplied, prod(node.shape))
            + far.per_line * TAPS**2 * weights / _PER_LINE
            + 2 * _touched(far) * copied / _PER_LINE
        )
    tile = tiling.tile
    count, tiles = points(tile), batch * ceil(rows / tile) * ceil(columns / tile)
    stripes = batch // tiling.images * ceil(ceil(rows / tile) / tiling.rows)
    stripe, lines = _lines(node, tiling), count * weights / _PER_LINE
    near = machine.levels[machine.nearest - 1]
    again = near if lines + stripe <= HELD * _cached(machine) else far
    moved = far.per_line * lines + again.per_line * (stripes - 1) * lines
    touched = _touched(near if stripe <= _cached(machine) else far)
    if stripe > RESIDENT_LAST * machine.last_cache > 0:
        touched += machine.refetch
    # written and read, before the products and after them
    moved += 2 * touched * count * tiles * (channels + filters) / _PER_LINE
    if rows % tile or columns % tile:  # what reaches over the image is left out by a copy
        moved += 2 * _touched(far) * prod(node.shape) / _PER_LINE
    return (
        _products(machine, count * tiles * weights, count * tiles * filters)
        + moved
        + _transforms(node, machine, tile, tiles)
    )


def signal_cycles(node: Node, machine: Target, turns: Transforms | None = None) -> float:
    """About how many cycles a convolution of signals takes by tiles, or with None by itself.

    By tiles, windows, their points, products and tiles are written and read.
    """
    batch, filters, length = node.shape
    _, channels, taps = node.inputs[1].shape
    weights, far = channels * filters, machine.levels[0]
    if turns is None:
        results = batch * length
        return (
            _products(machine, results * taps * weights, results * filters)
            + far.per_line * taps * weights / _PER_LINE
        )
    count, tile = len(turns.input), len(turns.out)
    window, tiles = tile + taps - 1, batch * ceil(length / tile)
    moved = tiles * ((window + count) * channels + (count + tile) * filters)
    return (
        _products(machine, count * tiles * weights, count * tiles * filters)
        + _products(machine, window * count * tiles * channels, count * tiles * channels)
        + _products(machine, count * tile * tiles * filters, tile * tiles * filters)
        + (far.per_line * count * weights + 2 * _touched(far) * moved) / _PER_LINE
    )


def _products(machine: Target, multiplied: int, sums: int) -> float:
    """The cycles of so many multiply-adds, for so many sums.

    A register of sums is begun, and written to a row, often a power of two from those before it.
    """
    each = MULTIPLY_ADD * factor_of(machine, "products") / REACHED
    apart = machine.accumulator_start + machine.levels[machine.nearest - 1].per_alias_written
    return (multiplied * each + sums * apart) / machine.widths(F32)[0]


def _transforms(node: Node, machine: Target, tile: int, tiles: int) -> float:
    """The cycles of the transforms of so many tiles whose operands are near."""
    width = machine.widths(F32)[0]
    filters, channels = (ceil(count / width) for count in node.inputs[1].shape[:2])
    each = factor_of(machine, "arithmetic") * tiles
    return each * (CYCLES[tile, 1] * channels + CYCLES[tile, 0] * filters)


def _touched(level: Level) -> float:
    """The cycles to read or to write a line, in the mean."""
    return level.per_line + level.per_write / 2


def _lines(node: Node, tiling: Tiling) -> float:
    """The lines of the points of a stripe, and of their products."""
    _, filters, _, columns = _images(node)
    tiles = tiling.images * tiling.rows * ceil(columns / tiling.tile)
    return points(tiling.tile) * tiles * (node.inputs[1].shape[1] + filters) / _PER_LINE


def _images(node: Node) -> tuple[int, int, int, int]:
    """The number of images of a result, their channels, rows and columns; a layer is one."""
    batch, filters, *depth, rows, columns = node.shape
    return batch * prod(depth), filters, rows, columns


def _cached(machine: Target) -> int:
    """The lines of the caches beyond the nearest ones that programs count on, of all cores."""
    return machine.levels[machine.nearest - 1].capacity * machine.cores
