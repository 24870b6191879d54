"""Axes: how one dimension of an operand is indexed by an operation's dimensions.

Most axes are a single dimension, written by its name: "m". A *window* is a sum of several
dimensions, each with a stride, written "2y+p": output row y of a convolution of stride 2
reads, for filter row p, image row 2y + p. "y+p-2" is a window with 2 elements of padding,
both ends together, that the operand does not store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

_TERM = re.compile(r"(\d*)([a-z]\w*)")


@dataclass(frozen=True)
class Axis:
    """The sum of stride * dimension over `terms`, less `padding` elements over both ends."""

    terms: tuple[tuple[str, int], ...]
    padding: int = 0

    @property
    def plain(self) -> bool:
        """Whether it is a single dimension, of stride 1 and without padding."""
        return len(self.terms) == 1 and self.terms[0][1] == 1 and not self.padding

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    def extent(self, sizes: Mapping[str, Any]) -> Any:
        """The number of elements it spans; `sizes` by dimension are numbers or columns of them."""
        if self.plain:
            return sizes[self.terms[0][0]]
        return sum(stride * (sizes[name] - 1) for name, stride in self.terms) + 1 - self.padding

    def substitute(self, axes: Mapping[str, Axis]) -> Axis:
        """The axis with every dimension replaced by its axis in other dimensions."""
        terms: dict[str, int] = {}
        padding = self.padding
        for name, stride in self.terms:
            inner = axes[name]
            padding += stride * inner.padding
            for other, step in inner.terms:
                terms[other] = terms.get(other, 0) + stride * step
        return Axis(tuple(terms.items()), padding)

    def __str__(self) -> str:
        text = "+".join(f"{stride if stride > 1 else ''}{name}" for name, stride in self.terms)
        return text + (f"-{self.padding}" if self.padding else "")


@cache
def axis(text: str) -> Axis:
    """Read "m", "2y+p" or "y+p-2"."""
    body, _, padding = text.partition("-")
    terms = tuple((m[2], int(m[1] or 1)) for m in _TERM.finditer(body))
    return Axis(terms, int(padding or 0))


def renamed(dims: Sequence[str], axes: Mapping[str, Axis]) -> tuple[str, ...]:
    """An operand's dims with every dimension replaced by its axis in other dimensions."""
    return tuple(str(axis(dim).substitute(axes)) for dim in dims)
