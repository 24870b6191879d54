"""Layouts: the order in which a tensor's elements lie in memory.

A layout is the order of the logical dimensions, slowest first, and optionally one
*panel*: a dimension cut into pieces of a fixed size whose elements lie innermost.
It is written as XLA writes it, minor dimension first, panels as tiles:
`{1,0}` is row-major, `{0,1}` column-major, and `{0,1:T(16,1)}` stores a matrix as
panels of 16 columns, each panel row by row. In `{0,1:T(16,2)}`, such a panel holds two rows
at a time, and stores their elements of one column next to each other: *groups* of two. An extension
of XLA's syntax is `{1,0:E(32)}`, the *odd-even* layout: each block of 32 consecutive elements
stores those at even positions first, then those at odd positions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from morello.base.errors import SpecError, quoted

_NUMBERS = r"\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)\s*"
_SYNTAX = re.compile(rf"\{{(?:{_NUMBERS})?\s*(?::([TE])\({_NUMBERS}\))?\s*\}}")


@dataclass(frozen=True)
class Layout:
    """Dimensions slowest first, and the panel `(dimension, size)` if there is one.

    With `odd_even`, the panels are blocks of the fastest dimension, each of which stores
    its even elements before its odd ones. With `groups`, panels are along another dimension than
    the last in `order`, and neighbours along that one are next to each other in groups of so many.
    The tensor consists of whole groups, so all else lies as if there were none.
    """

    order: tuple[int, ...]
    panel: tuple[int, int] | None = None
    odd_even: bool = False
    groups: int = 1

    @property
    def rank(self) -> int:
        return len(self.order)

    @property
    def row_major(self) -> bool:
        return self.panel is None and self.order == tuple(range(self.rank))

    @property
    def physical(self) -> tuple[int, ...]:
        """The logical dimension of each physical dimension, slowest first."""
        return self.order if self.panel is None else (*self.order, self.panel[0])

    def extents(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes of the physical dimensions of a tensor of this shape, slowest first."""
        sizes = [shape[d] for d in self.order]
        if self.panel is None:
            return tuple(sizes)
        dim, width = self.panel
        sizes[self.order.index(dim)] = -(-shape[dim] // width)
        return (*sizes, width)

    def strides(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The strides in elements of a gapless tensor's physical dimensions, slowest first."""
        strides, step = [], 1
        for extent in reversed(self.extents(shape)):
            strides.append(step)
            step *= extent
        return tuple(reversed(strides))

    def __str__(self) -> str:
        minor_to_major = ",".join(str(d) for d in reversed(self.order))
        if self.panel is None:
            return f"{{{minor_to_major}}}"
        dim, width = self.panel
        if self.odd_even:
            return f"{{{minor_to_major}:E({width})}}"
        sizes = {self.order[-1]: self.groups, dim: width}
        tile = ",".join(str(sizes.get(d, 1)) for d in self.order)
        return f"{{{minor_to_major}:T({tile})}}"


def row_major(rank: int) -> Layout:
    return Layout(tuple(range(rank)))


def unpaneled(layout: Layout) -> Layout:
    """The layout without panels, whose dimension is the fastest instead."""
    if layout.panel is None:
        return layout
    dim, _ = layout.panel
    return Layout((*(d for d in layout.order if d != dim), dim))


def column_major(rank: int) -> Layout:
    """The last two dimensions swapped; the batch dimensions before them stay slowest."""
    return Layout((*range(rank - 2), rank - 1, rank - 2)) if rank > 1 else row_major(rank)


def fastest(rank: int, dim: int) -> Layout:
    """The dimension `dim` fastest, the others in order."""
    return Layout((*(d for d in range(rank) if d != dim), dim))


def panels(rank: int, dim: int, width: int) -> Layout:
    """Panels of `width` along `dim`; each panel holds the remaining dimensions.

    For a matrix, that is the other dimension. Leading batch dimensions stay slowest.
    """
    lead = range(min(dim, rank - 2))
    return Layout((*lead, dim, *(d for d in range(len(lead), rank) if d != dim)), (dim, width))


def odd_even(rank: int, block: int) -> Layout:
    """Row-major, with the even elements of each block of the last dimension first."""
    return Layout(tuple(range(rank)), (rank - 1, block), odd_even=True)


def parse_layout(text: str, rank: int) -> Layout:
    """Read XLA's layout syntax for a tensor of `rank` dimensions; raises `SpecError`."""
    match = _SYNTAX.fullmatch(text.strip())
    if match is None:
        raise SpecError(f"layout {quoted(text)} cannot be read", f"write it as {row_major(rank)}")
    order = tuple(int(d) for d in reversed(match[1].split(","))) if match[1] else ()
    if sorted(order) != list(range(rank)):
        raise SpecError(
            f"layout {quoted(text)} does not name each of the {rank} dimensions once",
            f"write them fastest first, as in {row_major(rank)}",
        )
    if match[2] is None:
        return Layout(order)
    tile = [int(t) for t in match[3].split(",")]
    if match[2] == "E":
        if len(tile) != 1 or tile[0] < 4 or tile[0] % 2:
            what = f"layout {quoted(text)} does not give one even block"
            raise SpecError(what, f"write it as in {odd_even(2, 32)}")
        return Layout(order, (order[-1], tile[0]), odd_even=True)
    packed = [(d, t) for d, t in zip(order, tile, strict=False) if t != 1]
    groups = 1
    if len(tile) == rank and len(packed) == 2 and 0 not in tile and packed[-1][0] == order[-1]:
        groups = packed.pop()[1]
    if len(tile) == rank and len(packed) > 1:
        sizes = ",".join(str(width) for _, width in packed)
        raise SpecError(
            f"layout {quoted(text)} packs {len(packed)} dimensions; at most one and the fastest "
            "can be",
            f"let the tiles be dimensions of the tensor, as in f32[8,8,{sizes}]",
        )
    if len(tile) != rank or len(packed) != 1 or packed[0][1] < 2:
        what = f"layout {quoted(text)} does not tile exactly one dimension"
        raise SpecError(what, f"write it as in {panels(2, 1, 16)}")
    return Layout(order, packed[0], groups=groups)
