"""The steps of a convolution by 3x3 filters in fewer multiplications."""

from __future__ import annotations

from morello.frontends.values import MisuseError, Value, apply_operation
from morello.frontends.windows import channels_last
from morello.ir.primitives.winograd import (
    TAPS,
    TRANSFORMS,
    points,
)
from morello.ir.primitives.winograd import winograd_input as input_operation
from morello.ir.primitives.winograd import winograd_output as output_operation
from morello.ir.text import listed

_RANK = 4
"""The dimensions of images."""


def winograd_input(image: Value, *, tile: int = 2, layout: str = "NCHW") -> Value:
    """The points [t,b,y,x,c] of the squares of an image, whose tiles have so many rows."""
    last = channels_last(layout)
    _check_tile(tile)
    image = image.without_new_axes
    if image.rank != _RANK:
        fix = "it should be [b,h,w,c]" if last else "it should be [b,c,h,w]"
        raise MisuseError(f"the image has {image.rank} dimensions", f"for {layout} {fix}", at=0)
    rows, columns = image.shape[1:3] if last else image.shape[2:]
    overlap = TAPS - 1
    for size in (rows, columns):
        if size <= overlap or (size - overlap) % tile:
            fix = f"pad it to {overlap} and a multiple of {tile}"
            raise MisuseError(f"squares do not cover {size} pixels", fix, at=0)
    counts = ((rows - overlap) // tile, (columns - overlap) // tile)
    shape = (points(tile), image.shape[0], *counts, image.shape[-1 if last else 1])
    return apply_operation(input_operation(tile, last), [image], shape)


def winograd_output(x: Value, *, tile: int = 2, layout: str = "NCHW") -> Value:
    """The image whose tiles have the points x[t,b,y,x,f]."""
    last = channels_last(layout)
    _check_tile(tile)
    x = x.without_new_axes
    if x.rank != _RANK + 1 or x.shape[0] != points(tile):
        fix = f"it should be [{points(tile)},b,y,x,f]"
        raise MisuseError(f"{listed(x.shape)} are no points of tiles", fix, at=0)
    _, batch, rows, columns, filters = x.shape
    size = (tile * rows, tile * columns)
    shape = (batch, *size, filters) if last else (batch, filters, *size)
    return apply_operation(output_operation(tile, last), [x], shape)


def _check_tile(tile: int) -> None:
    if tile not in TRANSFORMS:
        sizes = " or ".join(map(str, TRANSFORMS))
        raise MisuseError(f"there are no tiles of {tile} rows", f"use {sizes}", at="tile")


FUNCTIONS = winograd_input, winograd_output
"""The functions of these that an expression can call."""
