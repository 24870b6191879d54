"""Windows over images: what `stride=`, `padding=`, `dilation=` and `layout=` say."""

from __future__ import annotations

from collections.abc import Sequence

from morello.frontends.values import MisuseError, Numbers, Value
from morello.ir.primitives import Windows

_LONGEST = 999
"""The largest stride, padding or dilation."""


def channels_last(layout: str) -> bool:
    """Whether a layout has the channels last; raises `MisuseError` if it is none."""
    if layout not in ("NCHW", "NHWC"):
        raise MisuseError(f"no layout {layout}", "use NCHW or NHWC", at="layout")
    return layout == "NHWC"


def slide(
    image: Value,
    size: Sequence[int],
    pixels: Sequence[int],
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    of: str,
) -> tuple[tuple[Windows, ...], tuple[int, ...]]:
    """The windows of so many `pixels` along each dimension of an image, and their counts.

    The image has this `size` along each; the windows are those `of` a filter, say. Raises
    `MisuseError`, also where a window has no place.
    """
    rank = len(size)
    strides = each_number("stride", stride, rank, lowest=1)
    dilations = each_number("dilation", dilation, rank, lowest=1)
    pads = _ends(padding, rank)
    if any(map(any, pads)) and not image.external:
        fix = "compute the image as a Spec of its own"
        raise MisuseError("what is computed cannot be padded", fix, at="padding")
    what = ("rows", "columns")[-rank:]
    slid = [
        _windows(of, *each)
        for each in zip(what, size, pixels, strides, pads, dilations, strict=True)
    ]
    return tuple(windows for windows, _ in slid), tuple(count for _, count in slid)


def _windows(
    of: str, what: str, size: int, pixels: int, stride: int, padding: tuple[int, int], dilation: int
) -> tuple[Windows, int]:
    """The windows of so many `pixels` along a dimension, and how many there are.

    Elements at the end that do not fill a window are not read, be they padding or the image's own.
    """
    before, after = padding
    spread = f" with dilation {dilation}" if dilation > 1 else ""
    spanned = dilation * (pixels - 1) + 1
    if max(padding) >= spanned:
        fix = f"use less than the {of}'s {spanned} {what}{spread}"
        raise MisuseError(
            f"with {max(padding)} {what} of padding, a window can be all padding", fix, at="padding"
        )
    room = size + before + after - spanned
    if room < 0:
        there = f"{size} {what}" + (f" and {before + after} of padding" if before + after else "")
        fix = f"use a {of} of at most {(size + before + after - 1) // dilation + 1}"
        less = f"less than the {of}'s {pixels} {what}{spread}"
        raise MisuseError(
            f"the image has {there}, {less}", fix, at=1 if of == "filter" else "window"
        )
    count = room // stride + 1
    if pixels == 1:
        dilation = 1
    return Windows(stride, before, after - room % stride, dilation), count


def each_number(name: str, value: Numbers, rank: int, *, lowest: int) -> tuple[int, ...]:
    """An option's value for each dimension; a single number is used for all."""
    values = (value,) * rank if isinstance(value, int) else value
    if len(values) != rank:
        write = f"write {name}=2" + f", or {name}=[2,1]" * (rank > 1)
        raise MisuseError(f"{len(values)} numbers", write, at=name)
    for number in values:
        if not lowest <= number <= _LONGEST:
            fix = f"use a number from {lowest} to {_LONGEST}"
            raise MisuseError(f"{name} is {number}", fix, at=name)
    return values


def _ends(padding: Numbers, rank: int) -> list[tuple[int, int]]:
    """The padding before and after each dimension.

    A number for each dimension is for both its ends; two for each are what is before and after
    it: of an image, above, below, left and right.
    """
    if isinstance(padding, int) or len(padding) != 2 * rank:
        return [(both, both) for both in each_number("padding", padding, rank, lowest=0)]
    ends = each_number("padding", padding, 2 * rank, lowest=0)
    return list(zip(ends[::2], ends[1::2], strict=True))
