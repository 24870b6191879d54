"""The sizes a dimension may be tiled to, and their numbers.

A *smooth* size (2^a * 3^b) is divided by 2 or 3, which reaches all its divisors. Any
other size is first cut to a smooth tile, which leaves a remainder of any size, or covered with
smooth tiles, of which the last two overlap. It is also divided where the parts are large tiles
for caches, or the rows of a register tile. Without masks, whole registers cover any size, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from morello.ir.placements import Bools, Ints
from morello.ir.tracing import UNKNOWN, Lookup, Trace, Traced
from morello.space.traits import VECTOR

FACTORS = (2, 3)
MOST_CUTS = 6
"""The most tiles that one size may be cut to."""

PLAIN_CUTS = 2
"""The most of these that are no widths of panels."""

LARGE = 8 * VECTOR
"""The smallest parts that sizes are divided into although they are not smooth."""
CUT_TO_ROWS = (16, 64)
"""Powers of two that may be cut to tiles of rows, if more than half a tile remains."""
FEWEST_ROWS = 9
"""The fewest rows that are not smooth to be tried: eight are as good as fewer."""

MOST_COVERED = 256
"""The largest size that has a tile of its own to cover it: of larger ones, little remains."""

_NO_WIDTHS: frozenset[int] = frozenset()

_ROLES = "size", "depth", "smooth size", "number of a size", "cover", "rows", "whole"

_DENSE = 1 << 22
"""Sizes are looked up in a dense array if all are below this, otherwise by binary search."""


def is_smooth(size: int) -> bool:
    return smooth_part(size) == size


def cuts(
    size: int, widths: frozenset[int] = _NO_WIDTHS, vector: int = VECTOR, whole: int = 0
) -> tuple[int, ...]:
    """The tiles that a size may be cut to, in ascending order.

    Any size may be cut to the panel `widths` below it. A smooth size that does not fill its last
    long vector may also be cut to the whole vectors before it. A size that is not smooth may be
    cut to its smooth part, which leaves no remainder, unless that is small. It may also be cut to
    the largest 2^a or 3 * 2^a below a small size, or below a fifth of a large one, so that the
    loop covers most of it, but no less than a long `vector`, or two where a register holds one:
    with masks, as there is no shorter `whole` register. A tile of 3 * 2^a is at least three of
    these: below, it does not fill as many.
    """
    panels = {width for width in widths if width < size}
    if is_smooth(size):
        for long in {VECTOR, vector}:
            if size > long and size % long:
                panels.add(size // long * long)
        return tuple(sorted(panels))
    least = vector if whole else max(vector, 2 * VECTOR)
    below = size if size <= 128 else max(size // 5, least)
    even = 1 << below.bit_length() - 1
    if 3 * vector <= below >= even // 2 * 3:
        even = even // 2 * 3
    part = smooth_part(size)
    tiles = {even} | ({part} if part >= 8 else set())
    return tuple(sorted(tiles | panels))


def cover(
    size: int, widths: frozenset[int] = _NO_WIDTHS, vector: int = VECTOR, whole: int = 0
) -> int:
    """The tile, besides those that a size is cut to, that covers the size with overlap.

    For sizes that are not smooth, and at most `MOST_COVERED`. It is the largest 2^a or 3 * 2^a, as
    for cuts, of those whose multiples exceed the size least; but if that is by more than a
    twelfth, a remainder is cheaper. Those that fill half a long `vector` go before others, and
    those that divide the size into parts of registers do not count. 0 if there is none.
    """
    powers = [1 << a for a in range(3, size.bit_length())]
    tiles = [t for p in powers for t in (p // 2 * 3, p) if t < size and (t == p or t >= 3 * vector)]
    tiles = [tile for tile in tiles if -size % tile <= size / 12]
    tiles = [tile for tile in tiles if size % tile or tile >= (whole or vector)]
    if is_smooth(size) or size > MOST_COVERED or not tiles:
        return 0
    tile = min(tiles, key=lambda t: (2 * t < vector, -size % t, -t))
    return tile if size % tile and tile not in cuts(size, widths, vector, whole) else 0


def whole_cover(size: int, whole: int) -> int:
    """The `whole` register that covers a size with overlap in place of a remainder; 0 if none does.

    It replaces what several narrower registers, or single elements, would do. Of sizes of very
    many registers, little remains.
    """
    covered = 0 < whole < size <= max(MOST_COVERED, whole * whole) and size % whole > 1
    return whole if covered else 0


def divides(size: int, factor: int) -> bool:
    """Whether a size is divided by a factor: always if it is smooth, otherwise into large parts.

    Those are of whole pairs of vectors, as register tiles are.
    """
    part, rest = divmod(size, factor)
    return rest == 0 and (is_smooth(size) or (part >= LARGE and part % (2 * VECTOR) == 0))


def row_tile(size: int, most: int) -> int:
    """The rows of a register tile that a size may be cut to, where at most so many fit; or 0.

    For sizes that are not smooth, they are the most that divide them, of those that are not smooth
    either: others are reached from the smooth part. If none does, they are half of the rows, rather
    than leave a few that read the other operand again.
    """
    if size in CUT_TO_ROWS:
        return most if 0 < most < size and size % most * 2 > most else 0
    exact = [rows for rows in range(FEWEST_ROWS, min(most + 1, size)) if size % rows == 0]
    divisor = max((rows for rows in exact if not is_smooth(rows)), default=0)
    if divisor or is_smooth(size):
        return divisor
    half = (size + 1) // 2
    return half if FEWEST_ROWS <= half <= most else 0


def smooth_part(size: int) -> int:
    """The largest smooth divisor."""
    part = 1
    for factor in FACTORS:
        while size % (part * factor) == 0:
            part *= factor
    return part


def steps(
    size: int,
    widths: frozenset[int] = _NO_WIDTHS,
    most_rows: int = 0,
    vector: int = VECTOR,
    whole: int = 0,
) -> list[tuple[int, ...]]:
    """The sizes that each step of tiling may leave: the tile's, and the remainder's if any."""
    single = [size // f for f in FACTORS if divides(size, f)]
    covers = cover(size, widths, vector, whole), whole_cover(size, whole)
    single += [tile for tile in covers if tile]
    tiles = cuts(size, widths, vector, whole)
    return [(tile,) for tile in single] + _pieces(size, tiles, most_rows)


def _pieces(size: int, tiles: tuple[int, ...], most_rows: int) -> list[tuple[int, ...]]:
    """The sizes after cutting a size to each of these tiles, and to the rows of a register tile.

    For each of them: the tile's size, and the remainder's if there is one.
    """
    rows = row_tile(size, most_rows)
    all_tiles = (*tiles, *([rows] if rows else []))
    return [(t, size % t) if size % t else (t,) for t in all_tiles]


class Sizes:
    """All sizes that tiling reaches from those of a goal, each with a number that never changes.

    Sizes above one of the panel `widths` may be cut to it, so that tiles need not cut panels.
    Register tiles have at most `rows` rows, and a long `vector` so many elements; registers of
    `whole` elements have no masks. Other sizes are added when their numbers are asked for.
    """

    def __init__(
        self,
        goal: Iterable[int],
        widths: Iterable[int] = (),
        rows: int = 0,
        vector: int = VECTOR,
        whole: int = 0,
    ) -> None:
        self.widths = frozenset(sorted(widths)[: MOST_CUTS - PLAIN_CUTS])
        self.most_rows, self.vector, self.register = rows, vector, whole
        self._reached: dict[int, int] = {1: 0}
        self._last: tuple[Ints | None, Ints] = None, np.empty(0, np.int16)
        lookups = [Lookup(role=role) for role in _ROLES]
        self.by_number, self.depths, self._smooth, self._index = lookups[:4]
        self._covers, self._rows, self._whole = lookups[4:]
        self._dividing = {factor: Lookup(role=f"divided by {factor}") for factor in FACTORS}
        self._cuts = [Lookup(role=f"cut {rank}") for rank in range(MOST_CUTS)]
        self._plain = [Lookup(role=f"plain cut {rank}") for rank in range(MOST_CUTS)]
        self._add(goal)
        lookups += [*self._dividing.values(), *self._cuts, *self._plain]
        self.tables = {lookup.role: lookup for lookup in lookups}
        """All tables by their roles."""

    @property
    def values(self) -> Ints:
        """The sizes, in the order of their numbers."""
        return self.by_number.array

    @property
    def most_cuts(self) -> int:
        """At least as many tiles as any size may be cut to: those of `cuts`, and the widths.

        Spaces with as many have their rules in common, so it is an even number.
        """
        return PLAIN_CUTS + len(self.widths) + len(self.widths) % 2

    def __len__(self) -> int:
        return len(self._reached)

    def numbers(self, column: Ints) -> Ints:
        """The number of every size in a column; adds new sizes."""
        if isinstance(column, Traced):
            return self._traced_numbers(column)
        last, numbers = self._last
        if column is last:  # many rewrites ask of the same column, one after another
            return numbers
        numbers = self._find(column)
        if len(numbers) and numbers.min() < 0:
            self._add(np.unique(column[numbers < 0]).tolist())
            numbers = self._find(column)
        self._last = column, numbers
        return numbers

    def is_smooth(self, column: Ints) -> Bools:
        """Which sizes are divided by the `FACTORS`, down to 1."""
        numbers = self.numbers(column)
        result: Bools = self._smooth[numbers]
        return result

    def divides(self, column: Ints, factor: int) -> Bools:
        """Which sizes of a column are divided by a factor."""
        numbers = self.numbers(column)
        result: Bools = self._dividing[factor][numbers]
        return result

    def cut(self, column: Ints, rank: int) -> Ints:
        """The `rank`-th tile that each size may be cut to, largest first; 0 if it has fewer."""
        numbers = self.numbers(column)
        result: Ints = self._cuts[rank][numbers]
        return result

    def cuts_to_all(self, column: Ints, rank: int) -> Bools:
        """Where `cut` gives a tile that does not depend on panel widths."""
        numbers = self.numbers(column)
        result: Bools = self._plain[rank][numbers]
        return result

    def cover(self, column: Ints) -> Ints:
        """The tile that each size may be covered with (see `cover`), 0 for sizes without one."""
        numbers = self.numbers(column)
        result: Ints = self._covers[numbers]
        return result

    def whole(self, column: Ints) -> Ints:
        """The register that covers each size (see `whole_cover`), 0 for sizes without one."""
        numbers = self.numbers(column)
        result: Ints = self._whole[numbers]
        return result

    def rows(self, column: Ints) -> Ints:
        """The rows that each size may be cut to (see `row_tile`), 0 for sizes without them."""
        numbers = self.numbers(column)
        result: Ints = self._rows[numbers]
        return result

    def has(self, column: Ints) -> Bools:
        """Which sizes of a column have numbers."""
        inside = column <= self._sorted[-1]
        result: Bools = inside & (self._find(np.where(inside, column, 1)) >= 0)
        return result

    def _traced_numbers(self, column: Traced) -> Any:
        """The numbers of the sizes in a traced column, unknown for sizes that have none yet."""
        table, number = column.trace.looked_up(column)
        return number if table is self.by_number else self._index[column]

    def _find(self, column: Ints) -> Ints:
        """The numbers of a column's sizes, -1 for sizes that have none yet."""
        numbers: Ints
        if self._sorted[-1] < _DENSE:
            index = self._index.array
            numbers = index[np.minimum(column, len(index) - 1)]
            return numbers
        place = np.minimum(np.searchsorted(self._sorted, column), len(self._sorted) - 1)
        numbers = np.where(self._sorted[place] == column, self._order[place], -1)
        return numbers

    def _add(self, sizes: Iterable[int]) -> None:
        for size in sizes:
            self._reach(size)
        values = np.array(list(self._reached), np.int32)
        self.by_number.set(values)
        self._order = np.argsort(values)
        self._sorted = values[self._order]
        dense = values < _DENSE  # a trace takes other sizes for unknown
        index = np.full(int(values[dense].max()) + 2, UNKNOWN, np.int32)
        index[values[dense]] = np.flatnonzero(dense)
        self._index.set(index)
        self.depths.set(list(self._reached.values()))
        self._smooth.set([self._divided(size) for size in self._reached])
        for factor, lookup in self._dividing.items():
            lookup.set([self._divides(size, factor) for size in self._reached])
        self._rows.set([row_tile(size, self.most_rows) for size in self._reached])
        self._covers.set([self._cover(size) for size in self._reached])
        self._whole.set([whole_cover(size, self.register) for size in self._reached])
        tiles = [self._tiles(size, self.widths)[::-1] for size in self._reached]
        plain = [self._tiles(size, _NO_WIDTHS) for size in self._reached]
        for rank, lookup in enumerate(self._cuts):
            column = [each[rank] if rank < len(each) else 0 for each in tiles]
            lookup.set(column)
            pairs = zip(column, plain, strict=True)
            self._plain[rank].set([tile in every for tile, every in pairs])

    def _reach(self, size: int) -> int:
        """Add a size and all that tiling reaches from it; the longest chain of steps down to 1."""
        if size not in self._reached:
            deepest = max(self._reach(part) for parts in self._steps(size) for part in parts)
            self._reached[size] = 1 + deepest
        return self._reached[size]

    def _divided(self, size: int) -> bool:
        return is_smooth(size)

    def _divides(self, size: int, factor: int) -> bool:
        return divides(size, factor)

    def _tiles(self, size: int, widths: frozenset[int]) -> tuple[int, ...]:
        return cuts(size, widths, self.vector, self.register)

    def _cover(self, size: int) -> int:
        return cover(size, self.widths, self.vector, self.register)

    def _steps(self, size: int) -> list[tuple[int, ...]]:
        return steps(size, self.widths, self.most_rows, self.vector, self.register)


class CoarseSizes(Sizes):
    """Few sizes: each is cut to the largest of a few tiles below it, or to panels or rows.

    The tiles are a `vector`, that times powers of the `ratio`, and the quotients above 1. They have
    good programs, and far fewer Specs.
    """

    def __init__(
        self,
        goal: Iterable[int],
        vector: int,
        ratio: int,
        widths: Iterable[int] = (),
        rows: int = 0,
    ) -> None:
        self.ratio = ratio
        super().__init__(goal, widths, rows, vector)

    def _divided(self, size: int) -> bool:
        return False

    def _divides(self, size: int, factor: int) -> bool:
        return False

    def _tiles(self, size: int, widths: frozenset[int]) -> tuple[int, ...]:
        if size == 1:
            return ()
        tile = self.vector
        while tile * self.ratio < size:
            tile *= self.ratio
        while tile >= size:
            tile = max(1, tile // self.ratio)
        return tuple(sorted({tile} | {width for width in widths if width < size}))

    def _cover(self, size: int) -> int:
        return 0

    def _steps(self, size: int) -> list[tuple[int, ...]]:
        return _pieces(size, self._tiles(size, self.widths), self.most_rows)


class TracedSizes(Sizes):
    """Sizes to trace rewrites with, whose trace can be run with the sizes of any goal."""

    def __init__(self, trace: Trace, most_cuts: int) -> None:
        super().__init__(())
        self._trace, self._most_cuts = trace, most_cuts

    @property
    def most_cuts(self) -> int:
        return self._most_cuts

    def numbers(self, column: Ints) -> Any:
        if isinstance(column, Traced):
            return self._traced_numbers(column)
        return self._traced_numbers(self._trace.constant(column))


@dataclass(frozen=True)
class Cut:
    """A function that gives the `rank`-th tile that each size may be cut to (see `Sizes.cut`)."""

    sizes: Sizes
    rank: int

    def __call__(self, column: Ints) -> Ints:
        return self.sizes.cut(column, self.rank)
