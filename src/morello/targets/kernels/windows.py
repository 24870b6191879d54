"""Kernels for sums and extrema of few neighbours: windows side by side, and short rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import F32
from morello.ir.placements import Ints, prod_columns
from morello.targets.helpers.windows import NEIGHBOURS
from morello.targets.kernels.conditions import contiguous, flat, no_panels, scan, unit_sizes
from morello.targets.kernels.names import kind_of
from morello.targets.target import Column, Condition, LeafKernel

WINDOWS = 2, 3, 4, 5
"""The columns of windows that there are kernels for."""
ROWS = 8
"""The most rows of a window, all of which are in the code."""
START, LOAD, SHUFFLE = 4.0, 0.6, 0.6
"""Cycles to begin, to load a register and combine it with others, and to shuffle one."""


def windows_side_by_side(width: int) -> tuple[LeafKernel, ...]:
    """Pools of a channel's rows by windows, each of which begins where the one before it ends.

    There are at least as many windows as a register has floats.
    """
    return tuple(
        _windows(name, function, count, width)
        for name, function in (("sum", np.sum), ("max", np.max))
        for count in WINDOWS
    )


def _windows(name: str, function: Any, count: int, width: int) -> LeafKernel:
    kind = kind_of(F32, width)

    def applies(s: Batch) -> Iterator[Condition]:
        right = s.operation.places[0, "x"][1] == count and _dense(s)
        reason = f"dense windows must begin {count} pixels apart, without padding"
        yield Condition(np.full(len(s), right), reason)
        if not right:
            return
        yield from unit_sizes(s, but=("x", "p", "q"))
        yield Condition(s.size("q") == count, f"q must be {count}")
        rows = prod_columns(s.sizes) // (count * s.size("x"))
        yield Condition(rows <= ROWS, f"p must be at most {ROWS}")
        yield Condition(s.size("x") >= width, f"x must be at least {width}")
        yield Condition(contiguous(s, 0, "x"), "pixels of a row must lie next to each other")
        yield Condition(contiguous(s, 1, "x"), "results of a row must lie next to each other")
        for operand in range(2):
            yield no_panels(s, operand)

    def cost(s: Batch) -> Column:
        x = s.size("x")
        return _cycles(x, prod_columns(s.sizes) // x, _shuffles(count), width)

    def semantics(image: Any) -> Any:  # one row of results, of one channel
        rows = image.reshape(-1, image.shape[-1] // count, count)
        return function(rows, axis=(0, 2))

    return LeafKernel(
        f"{name}_windows_{count}_{kind}", f"{name.capitalize()}Pool", (F32,) * 2, (None, None),
        f"{name}_of_{count}_{kind}(&{{image}}, {{image_rows}}, &{{out}}, {{x}}, "
        f"{{reduced}} / {count});",
        semantics, applies, cost, registers=count + 4, group="reductions",
    )  # fmt: skip


def short_rows(width: int) -> tuple[LeafKernel, ...]:
    """Sums and extrema of short rows without gaps, of at least as many as a register has floats."""
    kind, longest = kind_of(F32, width), NEIGHBOURS[-1]

    def applies(s: Batch) -> Iterator[Condition]:
        along = scan(s)
        short = (s.size(along) >= NEIGHBOURS[0]) & (s.size(along) <= longest)
        yield Condition(short, f"{along} must be from {NEIGHBOURS[0]} to {longest}")
        rows = prod_columns(s.sizes) // s.size(along)
        single = reduce(np.maximum, [s.size(d) for d in s.operation.dims if d != along])
        yield Condition(single == rows, "rows must lie along one dimension")
        yield Condition(rows >= width, f"there must be at least {width} rows")
        place, _ = s.operation.places[0, along]
        yield Condition(s.placements.gapless_along(s.codes[0], place), "rows must have no gaps")
        yield no_panels(s, 0)
        yield flat(s, 1)

    def cost(s: Batch) -> Column:
        count = s.size(scan(s))
        shuffles = sum((count == n) * _shuffles(n) for n in NEIGHBOURS)
        return _cycles(prod_columns(s.sizes) // count, count, shuffles, width)

    def fold(name: str, function: Any) -> LeafKernel:
        return LeafKernel(
            f"{name}_of_short_rows_{kind}", name.capitalize(), (F32, F32), (None, None),
            f"{name}_of_{{reduced}}_{kind}(&{{x}}, 0, &{{out}}, {{elements}} / {{reduced}}, 1);",
            lambda x: function(x, axis=-1), applies, cost,
            registers=longest + 4, group="reductions",
        )  # fmt: skip

    return fold("sum", np.sum), fold("max", np.max), fold("min", np.min)


def _shuffles(count: int) -> int:
    """The shuffles of a register of results: of pairs of neighbours, while there are any."""
    if count == 1:
        return 0
    return count + _shuffles(count // 2) if count % 2 == 0 else count * count


def _cycles(results: Ints, pixels: Ints, shuffles: Ints | int, width: int) -> Column:
    """Cycles of so many results of so many pixels each."""
    cycles: Column = START + -(-results // width) * (LOAD * pixels + SHUFFLE * shuffles)
    return cycles


def _dense(s: Batch) -> bool:
    """Whether the pixels of windows lie next to each other, and there is no padding."""
    places = s.operation.places
    if any(axis.before or axis.after for axis in s.operation.axes[0]):
        return False
    return all(places[0, dim][1] == 1 for dim in ("p", "q") if (0, dim) in places)
