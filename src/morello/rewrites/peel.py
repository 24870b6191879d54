"""Windows that reach into the padding of an image, without what they would read there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from morello.base.errors import RewriteError, quoted
from morello.ir.batch import Batch
from morello.ir.operation import Operation
from morello.ir.placements import Ints
from morello.ir.primitives import PIXELS, windows_of
from morello.ir.spec import Spec
from morello.rewrites.accumulate import wide_sums
from morello.rewrites.conv import unpadded
from morello.rewrites.rewrite import Application, Child, Edges, Rank, Rewrite, everywhere
from morello.rewrites.tile import placed_within
from morello.targets.target import Condition, Target


@dataclass(frozen=True)
class Peel(Rewrite):
    """Cut a dimension of padded windows into pieces that read no padding.

    Windows are cut where they begin or end to reach into the padding:

    Conv(y=14, p=3, padded by 1), along y
      -> Conv(y=1, p=2); Conv(y=12, p=3); Conv(y=1, p=2)

    Or pixels of the filter, each with the windows in which it is inside of the image:

    ConvAccum(x=14, q=3, padded by 1), along q
      -> ConvAccum(x=13, q=1); ConvAccum(x=14, q=1); ConvAccum(x=13, q=1)
    """

    dim: str

    name = "peel"
    lowers = Rank.OPERATION

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        operation, outer = batch.operation, self._outer(batch.operation)
        inner, ends = PIXELS[outer], _ends(operation, outer)
        if self.dim == inner:
            legal = everywhere(batch, operation.accumulates)
            yield Condition(legal, f"{operation} does not accumulate; apply to_accumulate first")
            yield from wide_sums(batch)
        whole = windows_of(operation)[outer].after >= 0
        yield Condition(everywhere(batch, whole), "its image has unread elements; apply crop")
        lost = [max(end, default=0) for end in ends]
        missing = sum(lost) if self.dim == outer else max(lost)
        yield Condition(batch.size(outer) > missing, f"too few windows along {outer}")
        inside = batch.size(inner) > sum(map(len, ends))
        yield Condition(inside, f"no pixel along {inner} is inside of the image in all windows")
        for (operand, dim), (position, _) in operation.places.items():
            if dim in (outer, inner):
                name, codes = operation.operands[operand].name, batch.codes[operand]
                cut = batch.placements.paneled_along(codes, position)
                cut = cut | batch.placements.in_registers_along(codes, position)
                yield Condition(~cut, f"it would cut panels or registers of {name}")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        outer = self._outer(batch.operation)
        inner, operation = PIXELS[outer], unpadded(batch.operation, (outer,))
        operands = range(len(operation.operands))
        sizes = dict(zip(batch.operation.dims, batch.sizes, strict=True))
        children = []
        for piece in self._pieces(batch.operation, sizes[outer], sizes[inner]):
            own = {outer: _column(batch, piece.windows), inner: _column(batch, piece.pixels)}
            part = replace(batch, operation=operation, sizes=tuple({**sizes, **own}.values()))
            children.append(Child(placed_within(batch, part, operands, target), role="step"))
        return [Edges(np.arange(len(batch)), children=tuple(children))]

    def starts(self, spec: Spec) -> list[list[list[int]]]:
        """Where each piece of a Spec begins in each operand, by its dimensions."""
        outer = self._outer(spec.operation)
        inner = PIXELS[outer]
        result = []
        for piece in self._pieces(spec.operation, spec.size(outer), spec.size(inner)):
            begins = [[-axis.before for axis in axes] for axes in spec.operation.axes]
            for (operand, dim), (position, stride) in spec.operation.places.items():
                first = {outer: piece.window, inner: piece.pixel}.get(dim, 0)
                begins[operand][position] += first * stride
            result.append(begins)
        return result

    def words(self, applied: Application) -> str:
        return f"{self.dim} in {len(applied.holes)} pieces that read no padding"

    def _outer(self, operation: Operation) -> str:
        """The dimension of the output that the windows slide along; raises `RewriteError`."""
        along = windows_of(operation) if operation.primitive is not None else {}
        for outer, windows in along.items():
            if self.dim in (outer, PIXELS[outer]) and windows.padded:
                return outer
        raise RewriteError(f"{operation} slides no padded windows along {quoted(self.dim)}.")

    def _pieces(self, operation: Operation, windows: Any, pixels: Any) -> list[_Piece]:
        """The pieces of so many windows of so many pixels, in order."""
        outer = self._outer(operation)
        before, after = _ends(operation, outer)
        if self.dim != outer:
            first = [_Piece(lost, windows - lost, n, 1) for n, lost in enumerate(before)]
            last = [_Piece(0, windows - lost, pixels - 1 - n, 1) for n, lost in enumerate(after)]
            rest = _Piece(0, windows, len(first), pixels - len(first) - len(last))
            return [*first, rest, *reversed(last)]
        first = [_Piece(a, b - a, lost, pixels - lost) for a, b, lost in _alike(before)]
        last = [_Piece(windows - b, b - a, 0, pixels - lost) for a, b, lost in _alike(after)]
        low, high = max(before, default=0), max(after, default=0)
        return [*first, _Piece(low, windows - low - high, 0, pixels), *reversed(last)]


class _Piece(NamedTuple):
    """Neighbouring windows, and the pixels that each of them has: the first, and how many.

    These are numbers, or columns of them.
    """

    window: Any
    windows: Any
    pixel: Any
    pixels: Any


def _ends(operation: Operation, outer: str) -> tuple[list[int], list[int]]:
    """How many windows lack their first, second, ... pixel before the image, and likewise after.

    After the image, windows and pixels are counted from the last.
    """
    windows = windows_of(operation)[outer]
    before, after = (
        [-(-(padding - n) // windows.stride) for n in range(0, padding, windows.dilation)]
        for padding in (windows.before, windows.after)
    )
    return before, after


def lost_pixels(operation: Operation, outer: str) -> int:
    """The pixels that all windows along a dimension lack together."""
    return sum(map(sum, _ends(operation, outer)))


def lost_windows(operation: Operation, outer: str) -> int:
    """The windows at one end of a dimension that lack pixels, at the most."""
    return max(max(lost, default=0) for lost in _ends(operation, outer))


def _alike(lost: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Where runs of windows begin and end that lack the same number of pixels, and that number."""
    for start, end in pairwise([0, *sorted({*lost})]):
        yield start, end, sum(count > start for count in lost)


def _column(batch: Batch, size: Any) -> Ints:
    return np.full(len(batch), size, np.int32)
