"""Convolutions of images with zeros between their elements, also known as transposed ones.

Most products would be with those zeros. Outputs that are a stride apart read the same elements of
the image, with other taps, so each of their phases is a convolution of the image as it is. All are
made as one, with the filters of a phase beside each other, unless that wastes products; the phases
are then put in their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import Concat, Conv, Pad, Slice
from morello.graph.patterns.matching import constant, reshaped, sliced, transposed
from morello.importers.taking import backwards
from morello.ir.primitives.winograd import TAPS

MOST_PHASES = 1 << 12
"""The widest gaps, as there is a filter for each place between two elements."""


def transposed_convolution(image: Node, weight: Node, conv: Conv) -> Node:
    """The transpose of a convolution, of images [b, c, ...] by weights [c, f / groups, ...].

    So many elements as it pads `before` and `after` are cut off the result; if fewer than 0, zeros
    are added. Raises `GraphError` where no kernel computes it.
    """
    channels, filters, *taps = weight.shape
    rank, groups = len(taps), conv.groups
    if groups < 1 or channels % groups:
        raise GraphError(f"a transposed convolution of {channels} channels in {groups} groups.")
    apart = reshaped(weight, (groups, channels // groups, filters, *taps))
    swapped = transposed(apart, (0, 2, 1, *range(3, 3 + rank)))
    kernel = reshaped(swapped, (groups * filters, channels // groups, *taps))
    for axis, count in enumerate(taps, start=2):
        if count > 1:
            kernel = backwards(kernel, axis)
    spans = [step * (n - 1) for n, step in zip(taps, conv.dilations, strict=True)]
    before, after = (
        tuple(span - cut for span, cut in zip(spans, cuts, strict=True))
        for cuts in (conv.before, conv.after)
    )
    dense = replace(conv, strides=(1,) * rank, before=before, after=after)
    return convolution_with_gaps(image, kernel, conv.strides, dense)


COPY_PRODUCTS = 16
"""How many products of an element take about as long as to copy it.

Each phase that has a kernel of its own may need a copy of the image, with its own padding.
"""

FILTERS_TOGETHER = 16
"""How many filters a vector multiplies at once, so that products of fewer take as long."""

MOST_KERNELS = 16
"""The most phases of which each has a kernel."""


def convolution_with_gaps(image: Node, filters: Node, gaps: Sequence[int], conv: Conv) -> Node:
    """A convolution, of strides of 1, of images whose elements are `gaps` apart, between zeros.

    Raises `GraphError` where no kernel computes it.
    """
    if max(gaps) == 1 and min(*conv.before, *conv.after) >= 0:
        return apply(conv, image, filters)
    if min(conv.before) < 0:
        raise GraphError("a transposed convolution that cuts off more than its taps.")
    filters = _spread(filters, conv.dilations)
    if max(gaps) > MOST_PHASES:
        raise GraphError(f"a transposed convolution with strides of {max(gaps)}.")
    batch, _, *sizes = image.shape
    count, _, *taps = filters.shape
    axes = [*map(_Axis, sizes, gaps, taps, conv.before, conv.after)]
    if min(min(axis.after_phase, axis.outputs - 1) for axis in axes) < 0:
        raise GraphError("a transposed convolution that cuts off more than its taps.")
    if conv.groups == 1 and _better_apart(axes, count):
        return _in_place(_phases_apart(image, filters, axes), axes, 1)
    ones = (1,) * len(axes)
    before = tuple(axis.before_phase for axis in axes)
    phases = Conv(ones, before, tuple(axis.after_phase for axis in axes), ones, conv.groups)
    result = apply(phases, image, _filters_of_phases(filters, axes, conv.groups))
    placed = _in_place(result, axes, conv.groups)
    if placed.shape[2:] == tuple(axis.outputs for axis in axes):
        return placed
    stops = (batch, count, *(axis.cut + axis.outputs for axis in axes))
    return apply(Slice((0, 0, *(axis.cut for axis in axes)), stops, (1,) * len(stops)), placed)


def _spread(filters: Node, dilations: Sequence[int]) -> Node:
    """Filters with zeros between their taps in the place of dilations."""
    for axis, step in enumerate(dilations, start=2):
        count = filters.shape[axis]
        if step > 1:
            outer, inner = filters.shape[:axis], filters.shape[axis + 1 :]
            apart = reshaped(filters, (*outer, count, 1, *inner))
            none = (0,) * (apart.type.rank - axis - 2)
            pad = Pad((0,) * apart.type.rank, (*(0,) * (axis + 1), step - 1, *none))
            wide = apply(pad, apart, constant(0, filters.dtype))
            whole = reshaped(wide, (*outer, count * step, *inner))
            filters = sliced(whole, axis, 0, (count - 1) * step + 1)
    return filters


_IMAGE = 2
"""The axes of an image, rows and columns, without those of channels."""


@dataclass(frozen=True)
class _Axis:
    """An axis of an image whose `size` elements are a gap apart, under filters of so many taps.

    The zeros `before` and `after` the image are beside those between its elements. Every gap-th
    output is of one phase, each of which reads the elements without the zeros.
    """

    size: int
    gap: int
    taps: int
    before: int
    after: int

    @property
    def outputs(self) -> int:
        """The outputs of the convolution."""
        return (self.size - 1) * self.gap + self.before + self.after - self.taps + 2

    @cached_property
    def cut(self) -> int:
        """How many outputs to compute before the first one, so that phases have fewer taps.

        The first output of all may be in the midst of the phases. Then the taps of each phase begin
        with zeros, or the outputs of the phases do, that are cut off: whichever takes fewer
        products.
        """
        zeros = self.gap - 1 - self.before % self.gap
        with_taps = self._per_phase(self.taps + zeros) * self._per_phase(self.outputs)
        with_outputs = self._per_phase(self.taps) * self._per_phase(self.outputs + zeros)
        return zeros if with_outputs < with_taps else 0

    @property
    def before_taps(self) -> int:
        """The taps of zeros before those of the filters."""
        return self.gap - 1 - (self.before + self.cut) % self.gap

    @property
    def after_taps(self) -> int:
        """The taps of zeros after those of the filters, so that all phases have as many."""
        return self.phase_taps * self.gap - self.taps - self.before_taps

    @property
    def phase_taps(self) -> int:
        """The taps of each phase."""
        return self._per_phase(self.taps + self.before_taps)

    @property
    def phase_outputs(self) -> int:
        """The outputs of each phase."""
        return self._per_phase(self.outputs + self.cut)

    @property
    def before_phase(self) -> int:
        """The padding of the image before its first element, for all phases."""
        return (self.before + self.cut) // self.gap

    @property
    def after_phase(self) -> int:
        """The padding of the image after its last element, for all phases."""
        return self.phase_outputs + self.phase_taps - 1 - self.size - self.before_phase

    def first_tap(self, phase: int) -> int:
        """The first tap of a phase, which has every gap-th of those after it."""
        return (self.before - phase) % self.gap

    def padding(self, phase: int) -> tuple[int, int]:
        """The padding of the image before and after it that the outputs of a phase read."""
        first = self.first_tap(phase)
        before = (self.before - phase - first) // self.gap
        taps = self._per_phase(self.taps - first)
        return before, self.outputs // self.gap + taps - 1 - self.size - before

    def _per_phase(self, count: int) -> int:
        return -(-count // self.gap)


def _better_apart(axes: Sequence[_Axis], filters: int) -> bool:
    """Whether all phases together waste more products than a kernel for each costs copies.

    Together, they have taps of zeros where some have fewer, and outputs to cut off where padding
    differs. Those of 3x3 taps stay together: Winograd's algorithm, which takes fewer products, has
    no smaller filters.
    """
    phases = prod(axis.gap for axis in axes)
    if not 1 < phases <= MOST_KERNELS:
        return False
    if len(axes) > 1 and all(axis.phase_taps == TAPS for axis in axes):
        return False
    if not all(axis.outputs % axis.gap == 0 and axis.taps >= axis.gap for axis in axes):
        return False
    if min(n for axis in axes for phase in range(axis.gap) for n in axis.padding(phase)) < 0:
        return False
    together = prod(axis.phase_outputs * axis.phase_taps for axis in axes)
    apart = prod(axis.outputs // axis.gap * axis.taps for axis in axes)
    wasted = together * _whole_vectors(phases * filters) - apart * _whole_vectors(filters)
    return wasted >= COPY_PRODUCTS * phases * prod(axis.size for axis in axes)


def _whole_vectors(filters: int) -> int:
    return -(-filters // FILTERS_TOGETHER) * FILTERS_TOGETHER


def _phases_apart(image: Node, filters: Node, axes: Sequence[_Axis]) -> Node:
    """The outputs of each phase, by a convolution of its own, one after the other as channels."""
    ones, steps = (1,) * len(axes), (1, 1, *(axis.gap for axis in axes))
    results = []
    for phase in product(*(range(axis.gap) for axis in axes)):
        firsts = [axis.first_tap(n) for axis, n in zip(axes, phase, strict=True)]
        taps = apply(Slice((0, 0, *firsts), filters.shape, steps), filters)
        pads = [axis.padding(n) for axis, n in zip(axes, phase, strict=True)]
        before, after = zip(*pads, strict=True)
        results.append(apply(Conv(ones, before, after, ones, 1), image, taps))
    return apply(Concat(1), *results)


def _filters_of_phases(filters: Node, axes: Sequence[_Axis], groups: int) -> Node:
    """The filters of all phases, those of a phase beside each other, in every group."""
    count, depth = filters.shape[:2]
    low, high = [axis.before_taps for axis in axes], [axis.after_taps for axis in axes]
    if any((*low, *high)):
        filters = apply(Pad((0, 0, *low), (0, 0, *high)), filters, constant(0, filters.dtype))
    pairs = [n for axis in axes for n in (axis.phase_taps, axis.gap)]
    phased = reshaped(filters, (groups, count // groups, depth, *pairs))
    for d, axis in enumerate(axes):
        phased = _reversed(phased, 4 + 2 * d) if axis.gap > 1 else phased
    phases, kept = [4 + 2 * d for d in range(len(axes))], [3 + 2 * d for d in range(len(axes))]
    shape = count * prod(axis.gap for axis in axes), depth, *(axis.phase_taps for axis in axes)
    return reshaped(transposed(phased, (0, *phases, 1, 2, *kept)), shape)


def _in_place(result: Node, axes: Sequence[_Axis], groups: int) -> Node:
    """The outputs of all phases in the places of an image.

    Kernels read few dimensions, so those of a volume are placed along one axis after the other.
    """
    rank, batch, counts = len(axes), result.shape[0], result.shape[2:]
    gaps = [axis.gap for axis in axes]
    each = result.shape[1] // (groups * prod(gaps))
    whole = (batch, groups * each, *(n * gap for n, gap in zip(counts, gaps, strict=True)))
    if rank <= _IMAGE:
        order = (0, 1, 2 + rank, *(n for d in range(rank) for n in (3 + rank + d, 2 + d)))
        apart = reshaped(result, (batch, groups, *gaps, each, *counts))
        return reshaped(transposed(apart, order), whole)
    placed, inner = result, 1
    for d in reversed(range(rank)):
        outer, between = batch * groups * prod(gaps[:d]), each * prod(counts[:d])
        apart = reshaped(placed, (outer, gaps[d], between, counts[d], inner))
        placed = transposed(apart, (0, 2, 3, 1, 4))
        inner *= counts[d] * gaps[d]
    return reshaped(placed, whole)


def _reversed(x: Node, axis: int) -> Node:
    """The elements along a short axis in reverse order."""
    parts = [sliced(x, axis, n, n + 1) for n in reversed(range(x.shape[axis]))]
    return apply(Concat(axis), *parts)
