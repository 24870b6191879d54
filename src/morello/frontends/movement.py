"""Functions that move elements, or choose some, as NumPy has them; most results are copies."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from morello.frontends.copies import expand_dims
from morello.frontends.maps import constant_of, subtract
from morello.frontends.values import MisuseError, Numbers, Value, axes_of, axis_of
from morello.frontends.views import NamedView, Reshaped, concat, index, shown_by, whole
from morello.ir.spec import MAX_SIZE

MODES = "constant", "edge", "reflect", "symmetric", "wrap"
"""The ways of padding, as NumPy calls them."""


def stack(*parts: Value, axis: int = 0) -> Value:
    """The parts, one after the other along a new axis; they have one shape."""
    if len(parts) < 2:
        raise MisuseError("one tensor is nothing to stack", "give two or more")
    return concat(*(expand_dims(part, axis=axis) for part in parts), axis=axis)


def squeeze(x: Value, *, axis: Numbers) -> Value:
    """x without these axes, whose sizes are 1."""
    axes = axes_of(axis, x.rank)
    if long := [d for d in axes if x.shape[d] > 1]:
        what = f"axis {long[0]} has a size of {x.shape[long[0]]}"
        raise MisuseError(what, "leave out axes of size 1", at="axis")
    shape = [size for d, size in enumerate(x.shape) if d not in axes]
    if not shape:
        raise MisuseError("a single number is no tensor", "keep an axis", at="axis")
    return shown_by(Reshaped(), shape, whole(x))


def flip(x: Value, *, axis: Numbers) -> Value:
    """x with its elements in reverse order along an axis, or several."""
    axes = tuple(d for d in axes_of(axis, x.rank) if x.shape[d] > 1)
    return _applied("flip", x, x.shape, axis=axes) if axes else x


def roll(x: Value, *, shift: Numbers, axis: Numbers) -> Value:
    """x with its elements `shift` places further along an axis; the last ones come first."""
    axes = axes_of(axis, x.rank)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else shift
    if len(shifts) != len(axes):
        raise MisuseError(f"{len(shifts)} shifts for {len(axes)} axes", "give one each", at="shift")
    return _applied("roll", x, x.shape, shift=shifts, axis=axes)


def repeat(x: Value, *, count: int, axis: int) -> Value:
    """x with each element so many times, one after the other, along an axis."""
    along = axis_of(axis, x.rank)
    shape = [size * (count if d == along else 1) for d, size in enumerate(x.shape)]
    _check_sizes(shape, "count")
    return _applied("repeat", x, shape, repeats=count, axis=along)


def tile(x: Value, *, counts: Numbers) -> Value:
    """x so many times along each of its axes, or the last ones."""
    times = (counts,) if isinstance(counts, int) else counts
    if len(times) > x.rank:
        raise MisuseError(f"{len(times)} counts for {x.rank} axes", "give one each", at="counts")
    times = (1,) * (x.rank - len(times)) + times
    shape = [size * count for size, count in zip(x.shape, times, strict=True)]
    _check_sizes(shape, "counts")
    return _applied("tile", x, shape, reps=times)


def pad(x: Value, *, padding: Numbers, value: float = 0.0, mode: str = "constant") -> Value:
    """x with more elements at the ends of its axes: a number, or by `mode` its own elements.

    The padding is that of all ends, or of both ends of each axis, or of each end of each axis.
    """
    widths = (padding,) * x.rank if isinstance(padding, int) else padding
    if len(widths) not in (x.rank, 2 * x.rank) or min(widths) < 0:
        fix = f"give one number, {x.rank}, or {2 * x.rank}: before and after each axis"
        raise MisuseError("this is no padding of all axes", fix, at="padding")
    if mode not in MODES:
        raise MisuseError(f"there is no mode {mode}", f"use {', '.join(MODES)}", at="mode")
    pairs = pairs_of(padding, x.rank)
    shape = [size + sum(pair) for size, pair in zip(x.shape, pairs, strict=True)]
    _check_sizes(shape, "padding")
    if not any(widths):
        return x
    if mode != "constant":
        return _applied("pad", x, shape, pad_width=pairs, mode=mode)
    filler = constant_of("where", value, x.dtype)
    return _applied("pad", x, shape, pad_width=pairs, constant_values=filler)


def pairs_of(padding: Numbers, rank: int) -> tuple[tuple[int, int], ...]:
    """The padding before and after each of so many axes, as the option of `pad` says it."""
    widths = (padding,) * rank if isinstance(padding, int) else padding
    if len(widths) == rank:
        return tuple((both, both) for both in widths)
    return tuple(zip(widths[::2], widths[1::2], strict=True))


def tril(x: Value, *, diagonal: int = 0) -> Value:
    """x on and below a diagonal of its last two axes, else 0."""
    return _triangle("tril", x, diagonal)


def triu(x: Value, *, diagonal: int = 0) -> Value:
    """x on and above a diagonal of its last two axes, else 0."""
    return _triangle("triu", x, diagonal)


def diff(x: Value, *, axis: int = -1) -> Value:
    """The differences of neighbours along an axis."""
    along = axis_of(axis, x.rank)
    if x.shape[along] == 1:
        raise MisuseError("one element has no neighbour", "use a longer axis", at="axis")
    every = (slice(None),) * along
    return subtract(index(x, (*every, slice(1, None))), index(x, (*every, slice(None, -1))))


def _triangle(function: str, x: Value, diagonal: int) -> Value:
    if x.rank < 2:
        raise MisuseError("a vector has no diagonal", "give a matrix", at=0)
    rows, columns = x.shape[-2:]
    if diagonal <= -rows if function == "tril" else diagonal >= columns:
        what = f"no element of {rows}x{columns} is on this side of diagonal {diagonal}"
        raise MisuseError(what, "use one nearer to 0", at="diagonal")
    return _applied(function, x, x.shape, k=diagonal)


def _applied(function: str, x: Value, shape: Sequence[int], **options: object) -> Value:
    """The result, of this shape, of a function of NumPy for x."""
    return shown_by(NamedView(function, (*options.items(),)), shape, whole(x))


def _check_sizes(shape: list[int], option: str) -> None:
    if min(shape) < 1 or prod(shape) > MAX_SIZE:
        raise MisuseError(f"the result would have {prod(shape)} elements", at=option)


FUNCTIONS = stack, squeeze, flip, roll, repeat, tile, pad, tril, triu, diff
"""The functions of these that an expression can call."""
