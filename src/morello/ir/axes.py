"""Axes: how one dimension of an operand is indexed by an operation's dimensions.

Most axes are a single dimension, written by its name: "m". A *window* is a sum of several
dimensions, each with a stride, written "2y+p": output row y of a convolution of stride 2
reads, for filter row p, image row 2y + p. "y+p-2" is a window with 2 elements of padding, one
at either end, that the operand does not store. Where the ends differ, both are written: "2y+p-3-2"
has 3 elements of padding before and 2 after; "2y+p-0+1" has none, and one more element at the end
than it reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

_TERM = re.compile(r"(\d*)([a-z]\w*)")
_ENDS = re.compile(r"(\d+)([-+]\d+)?")


@dataclass(frozen=True)
class Axis:
    """The sum of stride * dimension over `terms`, less the padding `before` and `after`.

    If `after` is negative, the operand has so many more elements at its end, which are not read.
    """

    terms: tuple[tuple[str, int], ...]
    before: int = 0
    after: int = 0

    @property
    def plain(self) -> bool:
        """Whether the axis is one dimension of stride 1 without padding or unread elements."""
        single = len(self.terms) == 1 and self.terms[0][1] == 1
        return single and not (self.before or self.after)

    @property
    def padded(self) -> bool:
        """Whether the axis has padding."""
        return self.before > 0 or self.after > 0

    @property
    def unread(self) -> int:
        """The number of elements at the operand's end that are not read."""
        return max(0, -self.after)

    @property
    def cropped(self) -> Axis:
        """The axis without the elements that are not read."""
        return replace(self, after=max(0, self.after))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    def extent(self, sizes: Mapping[str, Any]) -> Any:
        """The number of elements it spans; `sizes` by dimension are numbers or columns of them."""
        if self.plain:
            return sizes[self.terms[0][0]]
        span = sum(stride * (sizes[name] - 1) for name, stride in self.terms) + 1
        return span - self.before - self.after

    def solved(self, sizes: Mapping[str, int], extent: int) -> dict[str, int]:
        """The size of the only dimension that has none in `sizes`, if this is the extent."""
        ((name, step),) = ((name, step) for name, step in self.terms if name not in sizes)
        rest = self.extent({**sizes, name: 1})
        return {name: (extent - rest) // step + 1}

    def substitute(self, axes: Mapping[str, Axis]) -> Axis:
        """The axis with every dimension replaced by its axis in other dimensions."""
        terms: dict[str, int] = {}
        before, after = self.before, self.after
        for name, stride in self.terms:
            inner = axes[name]
            before += stride * inner.before
            after += stride * inner.after
            for other, step in inner.terms:
                terms[other] = terms.get(other, 0) + stride * step
        return Axis(tuple(terms.items()), before, after)

    def __str__(self) -> str:
        text = "+".join(f"{stride if stride > 1 else ''}{name}" for name, stride in self.terms)
        if self.before == self.after:
            return text + (f"-{2 * self.before}" if self.before else "")
        return f"{text}-{self.before}{'+' if self.after < 0 else '-'}{abs(self.after)}"


@cache
def axis(text: str) -> Axis:
    """Read "m", "2y+p", "y+p-2" or "2y+p-0+1"."""
    body, _, padding = text.partition("-")
    terms = tuple((m[2], int(m[1] or 1)) for m in _TERM.finditer(body))
    ends = _ENDS.fullmatch(padding)
    if ends is None:
        return Axis(terms)
    if ends[2] is None:
        return Axis(terms, int(ends[1]) // 2, int(ends[1]) - int(ends[1]) // 2)
    return Axis(terms, int(ends[1]), -int(ends[2]))


def renamed(dims: Sequence[str], axes: Mapping[str, Axis]) -> tuple[str, ...]:
    """An operand's dims with every dimension replaced by its axis in other dimensions."""
    return tuple(str(axis(dim).substitute(axes)) for dim in dims)
