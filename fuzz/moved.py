"""The reference semantics of functions that move elements, or choose some, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuzz.bounded import DTYPES, Array, Bounded, number

Axes = int | Sequence[int]


def move(x: Bounded) -> Bounded:
    return x


def transpose(x: Bounded, *, order: Any = None) -> Bounded:
    return x.seen(lambda v: v.transpose(order))


def expand_dims(x: Bounded, *, axis: int) -> Bounded:
    return x.seen(lambda v: np.expand_dims(v, axis))


def broadcast(x: Bounded, *, axis: int, size: int) -> Bounded:
    return x.seen(lambda v: np.repeat(np.expand_dims(v, axis), size, axis))


def one_prefix(x: Bounded) -> Bounded:
    return x.seen(lambda v: v[None])


def fill_zero(x: Bounded) -> Bounded:
    return Bounded(np.zeros_like(x.value), np.zeros(x.shape), x.dtype)


def fill_lowest(x: Bounded) -> Bounded:
    least = -np.inf if x.is_float else np.iinfo(DTYPES[x.dtype]).min
    return Bounded(np.full_like(x.value, least), np.zeros(x.shape), x.dtype)


def fill_highest(x: Bounded) -> Bounded:
    most = np.inf if x.is_float else np.iinfo(DTYPES[x.dtype]).max
    return Bounded(np.full_like(x.value, most), np.zeros(x.shape), x.dtype)


def index(x: Bounded, *, at: Any) -> Bounded:
    return x.seen(lambda v: v[at])


def reshape(x: Bounded, *, shape: Axes) -> Bounded:
    return x.seen(lambda v: v.reshape(shape))


def squeeze(x: Bounded, *, axis: Axes) -> Bounded:
    return x.seen(lambda v: v.squeeze(axis if isinstance(axis, int) else tuple(axis)))


def flip(x: Bounded, *, axis: Axes) -> Bounded:
    return x.seen(lambda v: np.flip(v, axis if isinstance(axis, int) else tuple(axis)))


def roll(x: Bounded, *, shift: Axes, axis: Axes) -> Bounded:
    return x.seen(lambda v: np.roll(v, shift, axis))


def repeat(x: Bounded, *, count: int, axis: int) -> Bounded:
    return x.seen(lambda v: np.repeat(v, count, axis))


def tile(x: Bounded, *, counts: Axes) -> Bounded:
    return x.seen(lambda v: np.tile(v, counts))


def tril(x: Bounded, *, diagonal: int = 0) -> Bounded:
    return x.seen(lambda v: np.tril(v, diagonal))


def triu(x: Bounded, *, diagonal: int = 0) -> Bounded:
    return x.seen(lambda v: np.triu(v, diagonal))


def pad(x: Bounded, *, padding: Any, value: float = 0.0, mode: str = "constant") -> Bounded:
    rank = len(x.shape)
    ends = [padding] * 2 * rank if isinstance(padding, int) else padding
    if len(ends) == rank:
        ends = [n for both in ends for n in (both, both)]
    widths = [*zip(ends[::2], ends[1::2], strict=True)]
    if mode != "constant":
        how: Any = mode
        return x.seen(lambda v: np.pad(v, widths, how))
    around = number(value, x.dtype)
    padded, error = (
        np.pad(v, widths, constant_values=more)
        for v, more in ((x.value, around.value), (x.error, around.error))
    )
    return Bounded(padded, error, x.dtype)


def concat(*parts: Bounded, axis: int) -> Bounded:
    return _joined(lambda arrays: np.concatenate(arrays, axis), parts)


def stack(*parts: Bounded, axis: int = 0) -> Bounded:
    return _joined(lambda arrays: np.stack(arrays, axis), parts)


def _joined(join: Callable[[Sequence[Array]], Array], parts: Sequence[Bounded]) -> Bounded:
    value, error = join([x.value for x in parts]), join([x.error for x in parts])
    return Bounded(value, error, parts[0].dtype)


FUNCTIONS: tuple[Callable[..., Bounded], ...] = (
    broadcast, concat, expand_dims, fill_highest, fill_lowest, fill_zero, flip, index, move,
    one_prefix, pad, repeat, reshape, roll, squeeze, stack, tile, transpose, tril, triu,
)  # fmt: skip
