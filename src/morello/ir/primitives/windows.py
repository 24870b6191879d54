"""Windows that slide over an image: how they lie, and the options of a call that say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morello.ir.axes import Axis
from morello.ir.operation import Operation
from morello.ir.text import Options, listed

PIXELS = {"y": "p", "x": "q"}
"""The rows and columns of a window, by those of the output."""


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


def spatial(windows: Sequence[Windows]) -> dict[str, Windows]:
    """The windows along the output's rows and columns, or its columns only, by its dimensions."""
    dims = [*PIXELS][-len(windows) :]
    return dict(zip(dims, windows, strict=True))


def whole(along: dict[str, Windows]) -> tuple[str, ...]:
    """The dimensions of padded windows: a tile of a padded image has padding on some sides only."""
    return tuple(d for dim, window in along.items() if window.padded for d in (dim, PIXELS[dim]))


def window_options(windows: Sequence[Windows], channels_last: bool) -> Options:
    """The options of a call that slides these windows, but for their sizes."""
    options: list[tuple[str, str | int]] = []
    if any(window.stride != 1 for window in windows):
        options.append(("stride", short([window.stride for window in windows])))
    # elements in no window need not be said: the image's size tells
    if all(0 <= window.before - window.after < window.stride for window in windows):
        if any(window.before for window in windows):
            options.append(("padding", short([window.before for window in windows])))
    else:
        ends = [n for window in windows for n in (window.before, max(0, window.after))]
        options.append(("padding", listed(ends)))
    if any(window.dilation != 1 for window in windows):
        options.append(("dilation", short([window.dilation for window in windows])))
    if channels_last:
        options.append(("layout", "NHWC"))
    return options


def short(values: Sequence[int]) -> str:
    """A number for each dimension as text: a single one if all are the same."""
    return str(values[0]) if len({*values}) == 1 else listed(values)


def begin_every_second(operation: Operation) -> bool:
    """Whether windows begin two pixels apart along the rows of an image without padding."""
    _, stride = operation.places[0, "x"]
    return stride == 2 and not any(axis.before or axis.after for axis in operation.axes[0])
