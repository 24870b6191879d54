"""Convolutions: sums of products over the windows of an image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from morello.ir.operation import Array, Operand, Operation, Primitive, accumulating, operation
from morello.ir.primitives.products import MATMUL, bound_product, einsum
from morello.ir.primitives.windows import PIXELS, Windows, unfolded, windows_of
from morello.ir.text import Options, Result, Text, call, listed, oriented


@cache
def conv(
    windows: tuple[Windows, ...] = (Windows(), Windows()),
    channels_last: bool = False,
    accumulates: bool = False,
) -> Operation:
    """out[b,f,y,x] = sum over c, p, q of image[b, c, sy*y+dp*p, sx*x+dq*q] * filter[f,c,p,q].

    There are windows along rows and columns or, without y and p, along columns only. With
    `channels_last`, the operands are image[b,h,w,c], filter[p,q,c,f] and out[b,y,x,f].
    """
    along = spatial(windows)
    axes = tuple(str(window.axis(dim)) for dim, window in along.items())
    pixels = tuple(PIXELS[dim] for dim in along)
    shapes = (("b", "c", *axes), ("f", "c", *pixels), ("b", "f", *along))
    if channels_last:
        shapes = (("b", *axes, "c"), (*pixels, "c", "f"), ("b", *along, "f"))
    image, weights, out = shapes
    overwriting = operation(
        CONV,
        ("b", "f", "c", *along, *pixels),
        (
            Operand("image", image),
            Operand("filter", weights),
            Operand("out", out, written=True, start="zero"),
        ),
        reduced=("c", *pixels),
        untiled=whole(along),
    )
    return accumulating(overwriting) if accumulates else overwriting


def spatial(windows: Sequence[Windows]) -> dict[str, Windows]:
    """The windows along the output's rows and columns, or its columns only, by its dimensions."""
    dims = [*PIXELS][-len(windows) :]
    return dict(zip(dims, windows, strict=True))


def whole(along: dict[str, Windows]) -> tuple[str, ...]:
    """The dimensions of padded windows: a tile of a padded image has padding on some sides only."""
    return tuple(d for dim, window in along.items() if window.padded for d in (dim, PIXELS[dim]))


def _convolutions(like: Operation) -> Iterator[Operation]:
    """The convolutions by the same windows."""
    windows = tuple(windows_of(like).values()) if like.operands else ()
    if windows:
        yield from (conv(windows, channels_last) for channels_last in (False, True))


# ---- what they compute


def _evaluate_conv(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    image, weights = inputs
    sizes = dict(zip(operation.operands[1].dims, weights.shape, strict=True))
    return (einsum(operation, unfolded(operation, image, sizes), weights),)


# ---- their text


def _text_conv(operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    windows = tuple(windows_of(operation).values())
    channels_last = operation.operands[-1].dims[-1] == "f"
    ordered = conv(windows, channels_last).operands
    words = [
        oriented(argument, operand.dims, like.dims)
        for argument, operand, like in zip(arguments, operation.operands, ordered, strict=False)
    ]
    return call("conv", words, window_options(windows, channels_last), result.dtype)


def window_options(windows: Sequence[Windows], channels_last: bool) -> Options:
    """The options of a call that slides these windows, but for their sizes."""
    options: list[tuple[str, str | int]] = []
    if any(window.stride != 1 for window in windows):
        options.append(("stride", _short([window.stride for window in windows])))
    # elements in no window need not be said: the image's size tells
    if all(0 <= window.before - window.after < window.stride for window in windows):
        if any(window.before for window in windows):
            options.append(("padding", _short([window.before for window in windows])))
    else:
        ends = [n for window in windows for n in (window.before, max(0, window.after))]
        options.append(("padding", listed(ends)))
    if any(window.dilation != 1 for window in windows):
        options.append(("dilation", _short([window.dilation for window in windows])))
    if channels_last:
        options.append(("layout", "NHWC"))
    return options


def _short(values: Sequence[int]) -> str:
    """A number for each dimension as text: a single one if all are the same."""
    return str(values[0]) if len({*values}) == 1 else listed(values)


CONV = Primitive(
    "Conv",
    variants=_convolutions,
    evaluate=_evaluate_conv,
    bound=bound_product,
    text=_text_conv,
    flops=2,
    is_product=True,
    lowers_to=MATMUL,
    tiled_lowered=("x",),  # rows of pixels become rows of a matmul
)
