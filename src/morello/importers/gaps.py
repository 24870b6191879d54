"""Convolutions of images with zeros between their elements, also known as transposed ones.

Most products would be with those zeros. Outputs that are a stride apart read the same elements of
the image, with other taps, so each of their phases is a convolution of the image as it is. All are
made as one, with the filters of a phase beside each other; the phases are then put in their places.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import Concat, Constant, Conv, Gather, Pad, Slice
from morello.graph.patterns.matching import constant, reshaped, sliced, transposed


def transposed_convolution(
    image: Node,
    weight: Node,
    strides: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    dilations: Sequence[int],
    groups: int,
) -> Node:
    """The transposed convolution of images [b, c, ...] by weights [c, f / groups, ...].

    So many elements are cut off `before` and `after` the result; if fewer than 0, zeros are added.
    Raises `GraphError` where no kernel computes it.
    """
    channels, filters, *taps = weight.shape
    rank = len(taps)
    apart = reshaped(weight, (groups, channels // groups, filters, *taps))
    swapped = transposed(apart, (0, 2, 1, *range(3, 3 + rank)))
    kernel = reshaped(swapped, (groups * filters, channels // groups, *taps))
    for axis, count in enumerate(taps, start=2):
        if count > 1:
            kernel = apply(Gather(axis), kernel, constant(range(count)[::-1], np.dtype(np.int32)))
    spans = [step * (n - 1) for n, step in zip(taps, dilations, strict=True)]
    return convolution_with_gaps(
        image,
        kernel,
        strides,
        [span - cut for span, cut in zip(spans, before, strict=True)],
        [span - cut for span, cut in zip(spans, after, strict=True)],
        dilations,
        groups,
    )


def convolution_with_gaps(
    image: Node,
    filters: Node,
    gaps: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    dilations: Sequence[int],
    groups: int,
) -> Node:
    """A convolution of images whose elements are `gaps` apart, between zeros, by filters
    [f, c / groups, ...].

    Raises `GraphError` where no kernel computes it.
    """
    rank = len(gaps)
    if max(gaps) == 1 and min(*before, *after) >= 0:
        conv = Conv((1,) * rank, (*before,), (*after,), (*dilations,), groups)
        return apply(conv, image, filters)
    if max(dilations) > 1 or min(before) < 0:
        raise GraphError("a transposed convolution with dilation, or that cuts off more than taps.")
    count, depth, *taps = filters.shape
    sizes = [
        (n - 1) * gap + low + high - k + 2
        for n, gap, low, high, k in zip(image.shape[2:], gaps, before, after, taps, strict=True)
    ]
    cuts = [_more_outputs(*axis) for axis in zip(taps, gaps, before, sizes, strict=True)]
    before = [first + cut for first, cut in zip(before, cuts, strict=True)]
    low = [gap - 1 - first % gap for gap, first in zip(gaps, before, strict=True)]
    steps = [-(-(k + n) // gap) for k, n, gap in zip(taps, low, gaps, strict=True)]
    high = [m * gap - k - n for m, gap, k, n in zip(steps, gaps, taps, low, strict=True)]
    firsts = [first // gap for first, gap in zip(before, gaps, strict=True)]
    counts = [-(-(n + cut) // gap) for n, cut, gap in zip(sizes, cuts, gaps, strict=True)]
    lasts = [
        count + step - 1 - n - first
        for count, step, n, first in zip(counts, steps, image.shape[2:], firsts, strict=True)
    ]
    if min(*lasts, *(n - 1 for n in sizes)) < 0:
        raise GraphError("a transposed convolution that cuts off more than its taps.")
    padded = filters
    if any((*low, *high)):
        zero = apply(Constant(np.zeros((), filters.dtype)))
        padded = apply(Pad((0, 0, *low), (0, 0, *high)), filters, zero)
    pairs = [n for pair in zip(steps, gaps, strict=True) for n in pair]
    each = count // groups
    phased = reshaped(padded, (groups, each, depth, *pairs))
    for d, gap in enumerate(gaps):
        phased = _reversed(phased, 4 + 2 * d) if gap > 1 else phased
    phases, kept = [4 + 2 * d for d in range(rank)], [3 + 2 * d for d in range(rank)]
    kernel = reshaped(
        transposed(phased, (0, *phases, 1, 2, *kept)), (count * int(np.prod(gaps)), depth, *steps)
    )
    conv = Conv((1,) * rank, (*firsts,), (*lasts,), (1,) * rank, groups)
    result = reshaped(apply(conv, image, kernel), (image.shape[0], groups, *gaps, each, *counts))
    order = (0, 1, 2 + rank, *(n for d in range(rank) for n in (3 + rank + d, 2 + d)))
    whole = [n * gap for n, gap in zip(counts, gaps, strict=True)]
    placed = reshaped(transposed(result, order), (image.shape[0], count, *whole))
    if whole == sizes:
        return placed
    stops = (image.shape[0], count, *(n + cut for n, cut in zip(sizes, cuts, strict=True)))
    return apply(Slice((0, 0, *cuts), stops, (1,) * len(stops)), placed)


def _more_outputs(taps: int, gap: int, before: int, size: int) -> int:
    """How many more outputs to compute first, along an axis, so that phases have fewer taps.

    The first output of all may be in the midst of the phases. Then the taps of each phase begin
    with zeros, or the outputs of the phases do, that are cut off: whichever takes fewer products.
    """
    zeros = gap - 1 - before % gap
    with_taps = -(-(taps + zeros) // gap) * -(-size // gap)
    with_outputs = -(-taps // gap) * -(-(size + zeros) // gap)
    return zeros if with_outputs < with_taps else 0


def _reversed(x: Node, axis: int) -> Node:
    """The elements along a short axis in reverse order."""
    parts = [sliced(x, axis, n, n + 1) for n in reversed(range(x.shape[axis]))]
    return apply(Concat(axis), *parts)
