"""A kernel for rows of the output of a depthwise filter with a stride of two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import F32
from morello.targets.helpers.depthwise import ROWS
from morello.targets.kernels.conditions import contiguous, no_panels, unit_sizes
from morello.targets.kernels.names import kind_of
from morello.targets.target import Column, Condition, LeafKernel

PIXELS = 7
"""The most rows and columns of a filter, all of whose pixels are in the code."""
START, PIXEL, TERM, STORE = 4.0, 0.55, 0.5, 0.5
"""Cycles to begin, to bring a row of the image to its place for a pixel of the filter's row, of a
multiply-add, and to store a register.
"""


def depthwise_rows_by_two(width: int) -> LeafKernel:
    """Rows of one channel's output, by windows two pixels apart, whose padding is stored.

    They have at least as many columns as a register. Shorter ones, with a part of it, cost as much
    as registers of channels, and take 1.1 to 1.5 times as long on a Zen 4.
    """

    def applies(s: Batch) -> Iterator[Condition]:
        right = _begin_every_second(s)
        reason = "dense windows must begin two rows and pixels apart, without padding"
        yield Condition(np.full(len(s), right), reason)
        if not right:
            return
        yield from unit_sizes(s, but=("y", "x", "p", "q"))
        yield Condition(s.size("y") <= ROWS, f"y must be at most {ROWS}")
        yield Condition(s.size("x") >= width, f"x must be at least {width}")
        small = (s.size("p") <= PIXELS) & (s.size("q") <= PIXELS)
        yield Condition(small, f"filters must have at most {PIXELS} rows and columns")
        yield Condition(contiguous(s, 0, "x"), "pixels of a row must lie next to each other")
        yield Condition(contiguous(s, 2, "x"), "sums of a row must lie next to each other")
        for operand in range(3):
            yield no_panels(s, operand)

    def cost(s: Batch) -> Column:
        y, p, q = s.size("y"), s.size("p"), s.size("q")
        read = PIXEL * (2 * (y - 1) + p) * q
        registers = -(-s.size("x") // width)
        cycles: Column = START + registers * (read + TERM * y * p * q + STORE * y)
        return cycles

    def semantics(image: Any, weights: Any) -> Any:  # the dimensions before have a size of 1
        pixels = weights.shape[-2:]
        windows = np.lib.stride_tricks.sliding_window_view(image, pixels, axis=(-2, -1))
        return (windows[..., ::2, ::2, :, :] * weights.reshape(pixels)).sum(axis=(-2, -1))

    name = f"depthwise_rows_by_two_{kind_of(F32, width)}"
    return LeafKernel(
        name, "DepthwiseConv", (F32,) * 3, (None,) * 3,
        f"{name}(&{{image}}, {{image_p}}, &{{filter}}, {{filter_p}}, {{filter_q}}, "
        "&{out}, {out_y}, {x}, {y}, {p}, {q});",
        semantics, applies, cost, registers=ROWS + 5, group="products",
    )  # fmt: skip


def _begin_every_second(s: Batch) -> bool:
    """Whether dense windows begin two rows and two pixels apart, without padding."""
    places = s.operation.places
    if (0, "y") not in places or any(axis.before or axis.after for axis in s.operation.axes[0]):
        return False
    strides = [places[0, dim][1] for dim in ("y", "x", "p", "q")]
    return strides == [2, 2, 1, 1]
