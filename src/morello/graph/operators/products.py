"""Sums of products: contractions of any dimensions, and convolutions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from morello.base.errors import GraphError
from morello.frontends.products import Pairs, contract, conv
from morello.frontends.values import Value
from morello.graph.graph import Array, Operator, TensorType


@dataclass(frozen=True)
class Dot(Operator):
    """Sums of products along `contracted` dimensions, for each element of the `batch` dimensions.

    The result has the batch dimensions, then the others of the first input, then those of the
    second: as StableHLO has it, with dimensions in pairs. Its dtype is the first
    input's unless `dtype` says otherwise.
    """

    batch: Pairs = ()
    contracted: Pairs = ()
    dtype: np.dtype[np.generic] | None = None

    heavy = True
    is_product = True

    def free(self, side: int, rank: int) -> tuple[int, ...]:
        """The dimensions of one input that are neither batch nor contracted."""
        bound = {pair[side] for pair in (*self.batch, *self.contracted)}
        return tuple(d for d in range(rank) if d not in bound)

    def result(self, *inputs: TensorType) -> TensorType:
        a, b = inputs
        for i, j in (*self.batch, *self.contracted):
            if a.shape[i] != b.shape[j]:
                raise GraphError(f"{self} of {a} and {b}: {a.shape[i]} is not {b.shape[j]}.")
        shape = [a.shape[i] for i, _ in self.batch]
        shape += [a.shape[d] for d in self.free(0, a.rank)]
        shape += [b.shape[d] for d in self.free(1, b.rank)]
        return TensorType(tuple(shape), self.dtype or a.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        a, b = inputs
        left, right = [*range(a.ndim)], [*range(a.ndim, a.ndim + b.ndim)]
        for i, j in (*self.batch, *self.contracted):
            right[j] = left[i]
        out = [i for i, _ in self.batch]
        out += [left[d] for d in self.free(0, a.ndim)]
        out += [right[d] for d in self.free(1, b.ndim)]
        wide = np.result_type(a, b, *([] if self.dtype is None else [self.dtype]))
        result: Array = np.einsum(a, left, b, right, out, dtype=wide, optimize=True)
        return result

    def value(self, *inputs: Value) -> Value:
        return contract(*inputs, batch=self.batch, contracted=self.contracted)


@dataclass(frozen=True)
class Conv(Operator):
    """A convolution of images [b, c, h, w] with filters [f, c / groups, p, q], to [b, f, y, x].

    There may be any number of spatial dimensions; `strides`, `before`, `after` (the padding with
    zeros) and `dilations` have one number for each.
    """

    strides: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int = 1
    dtype: np.dtype[np.generic] | None = field(default=None)

    heavy = True
    is_product = True
    keeps_units = True

    def result(self, *inputs: TensorType) -> TensorType:
        image, filters = inputs
        rank = len(self.strides)
        groups = self.groups
        if image.rank != rank + 2 or filters.rank != rank + 2:
            raise GraphError(f"{self} of {image} and {filters}: both need {rank + 2} dimensions.")
        if image.shape[1] != groups * filters.shape[1] or filters.shape[0] % groups:
            raise GraphError(f"{self} of {image} and {filters}: the channels do not fit.")
        if 0 in filters.shape[2:]:
            raise GraphError(f"{self} of {image} and {filters}: the filters have no pixels.")
        sizes = window_counts(self, image, filters.shape[2:])
        return TensorType((image.shape[0], filters.shape[0], *sizes), self.dtype or image.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        image, filters = inputs
        padded = np.pad(image, [(0, 0), (0, 0), *zip(self.before, self.after, strict=True)])
        views = sliding(padded, filters.shape[2:], self.strides, self.dilations)
        rank, groups = len(self.strides), self.groups
        batch, channels, *out = views.shape[: 2 + rank]
        taps = filters.shape[2:]
        # [b, g, c, y..., p...] and [g, f, c, p...]
        left = views.reshape(batch, groups, channels // groups, *out, *taps)
        right = filters.reshape(groups, len(filters) // groups, channels // groups, *taps)
        y = [*range(3, 3 + rank)]
        p = [*range(3 + rank, 3 + 2 * rank)]
        f = 3 + 2 * rank
        result: Array = np.einsum(
            left, [0, 1, 2, *y, *p], right, [1, f, 2, *p], [0, 1, f, *y], optimize=True
        )
        return result.reshape(batch, len(filters), *out)

    def value(self, *inputs: Value) -> Value:
        return conv(
            *inputs,
            stride=self.strides,
            padding=interleaved(self.before, self.after),
            dilation=self.dilations,
            groups=self.groups,
        )


def interleaved(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, ...]:
    """Paddings in the order of the language: before and after each dimension."""
    return tuple(side for both in zip(before, after, strict=True) for side in both)


class Windowed(Protocol):
    """An operator whose windows slide over an image, with a number for each spatial dimension."""

    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def before(self) -> tuple[int, ...]: ...
    @property
    def after(self) -> tuple[int, ...]: ...
    @property
    def dilations(self) -> tuple[int, ...]: ...


def window_counts(operator: Windowed, image: TensorType, taps: tuple[int, ...]) -> tuple[int, ...]:
    """The number of windows along each spatial dimension; raises `GraphError` if there is none."""
    sizes = []
    for n, k, stride, low, high, step in zip(
        image.shape[2:], taps, operator.strides, operator.before, operator.after,
        operator.dilations, strict=True,
    ):  # fmt: skip
        room = n + low + high - (k - 1) * step - 1
        if room < 0:
            raise GraphError(f"{operator}: windows of {taps} do not fit into {image}.")
        sizes.append(room // stride + 1)
    return tuple(sizes)


def sliding(
    padded: Array, taps: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> Array:
    """The windows of an image [b, c, ...]: their places, then the elements within, as a view."""
    rank = len(taps)
    wide = tuple((k - 1) * step + 1 for k, step in zip(taps, dilations, strict=True))
    spatial = tuple(range(2, 2 + rank))
    views = np.lib.stride_tricks.sliding_window_view(padded, wide, axis=spatial)
    places = tuple(slice(None, None, stride) for stride in strides)
    within = tuple(slice(None, None, step) for step in dilations)
    result: Array = views[(slice(None), slice(None), *places, *within)]
    return result
