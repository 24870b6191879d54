"""Windows of images that are added up where they overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from morello.graph.graph import Array, Node, apply
from morello.graph.operators import Gather, Pad, Reduce
from morello.graph.patterns.matching import constant
from morello.importers.taking import NUMBERS


@dataclass(frozen=True)
class FoldedAxis:
    """The windows along one dimension of an image."""

    size: int
    taps: int
    dilation: int
    before: int
    after: int
    stride: int

    @property
    def count(self) -> int:
        """How many windows there are."""
        whole = self.size + self.before + self.after - self.dilation * (self.taps - 1) - 1
        return whole // self.stride + 1

    @property
    def places(self) -> Array:
        """Where each tap [k] of each window [n] is in the image; it may be outside."""
        starts = np.arange(self.count) * self.stride - self.before
        places: Array = np.arange(self.taps)[:, None] * self.dilation + starts
        return places


def folded(columns: Node, windows: Sequence[FoldedAxis]) -> Node:
    """Images [i, size * ...] of columns [i, taps * ... * windows * ...]: sums where they overlap.

    A table has for each pixel the elements that are added there, or one that is 0.
    """
    rank = len(windows)
    pixel, inside = np.zeros((1,) * 2 * rank, np.int64), np.ones((1,) * 2 * rank, bool)
    for d, each in enumerate(windows):
        shape = [1] * 2 * rank
        shape[d], shape[rank + d] = each.places.shape
        places = each.places.reshape(shape)
        pixel = pixel * each.size + places
        inside = inside & (places >= 0) & (places < each.size)
    read = np.flatnonzero(inside)
    read = read[np.argsort(pixel.ravel()[read], kind="stable")]
    pixels, counts = np.unique(pixel.ravel()[read], return_counts=True)
    table = np.full((counts.max(initial=1), prod(each.size for each in windows)), pixel.size)
    turn = np.arange(read.size) - np.repeat(np.cumsum(counts) - counts, counts)
    table[turn, np.repeat(pixels, counts)] = read
    padded = apply(Pad((0, 0), (0, 1)), columns, constant(0, columns.dtype))
    return apply(Reduce("sum", (1,)), apply(Gather(1), padded, constant(table, NUMBERS)))
