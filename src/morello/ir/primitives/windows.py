"""Windows that slide over an image: how they lie, and views of an image with an axis for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from morello.ir.axes import Axis
from morello.ir.operation import Array, Operation

PIXELS = {"y": "p", "x": "q"}
"""By the output's rows and columns: the rows and columns of a window."""


@dataclass(frozen=True)
class Windows:
    """How windows lie along the rows or the columns of an image.

    They begin a `stride` apart, and their own elements are a `dilation` apart. The image has so
    many elements of padding `before` and `after` it. If `after` is negative, so many of its last
    elements are in no window.
    """

    stride: int = 1
    before: int = 0
    after: int = 0
    dilation: int = 1

    @property
    def padded(self) -> bool:
        return self.before > 0 or self.after > 0

    def axis(self, dim: str) -> Axis:
        """The axis of the image for windows along this dimension of the output."""
        terms = (dim, self.stride), (PIXELS[dim], self.dilation)
        return Axis(terms, self.before, self.after)


def windows_of(operation: Operation) -> dict[str, Windows]:
    """The windows of an operation's first operand, by the dimension of the output."""
    slid = {axis.names[0]: axis for axis in operation.axes[0] if len(axis.terms) == 2}
    return {
        dim: Windows(
            slid[dim].terms[0][1], slid[dim].before, slid[dim].after, slid[dim].terms[1][1]
        )
        for dim, pixels in PIXELS.items()
        if dim in slid and slid[dim].names[1] == pixels
    }


def unfolded(
    operation: Operation, operand: int, value: Array, sizes: Mapping[str, int], padding: float = 0
) -> Array:
    """A view of an operand, with its padding, with one axis for each dimension of its windows.

    `sizes` are those of the windows, by dimension.
    """
    pads = [(window.before, max(0, window.after)) for window in operation.axes[operand]]
    padded = np.pad(value, pads, constant_values=padding)
    axis = 0
    for window in operation.axes[operand]:
        if len(window.terms) > 1:
            (_, stride), (inner, dilation) = window.terms
            span = dilation * (sizes[inner] - 1) + 1
            slid = np.lib.stride_tricks.sliding_window_view(padded, span, axis)
            padded = np.moveaxis(slid, -1, axis + 1)
            steps = slice(None, None, stride), slice(None, None, dilation)
            padded = padded[(slice(None),) * axis + steps]
            axis += 1
        axis += 1
    return padded
