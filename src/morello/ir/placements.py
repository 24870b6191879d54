"""Columns of placements: the functions of `ir.tensor`, vectorized over many tiles.

Placements are interned as small integer codes. The placement of a tile depends on few facts
about each of its sizes: whether it is cut, whether it is 1, and how it compares to the width of
panels. (Only `aliased` depends on the sizes themselves.) For each combination of facts, a
*situation*, the scalar functions of `ir.tensor` compute the placement once; it is memoized.

Every predicate has an answer for the ideal placement: true if programs can gain from it, false if
it can cost them something. The columns that predicates are computed from are private, so that no
rewrite and no kernel forgets the ideal placement.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial, reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from morello.ir.facts import (
    MARKS,
    NUMBERS,
    Facts,
    alias_of,
    facts,
    sample_tile,
)
from morello.ir.primitives import MAX_RANK
from morello.ir.tensor import (
    IDEAL,
    LINE_BYTES,
    NONE,
    WAY_BYTES,
    Placement,
    aliased_at,
    realiased,
    relaxed,
    relaxed_along,
    squeezed,
    unaliased,
    ungrouped,
)
from morello.ir.tracing import UNKNOWN, Lookup, Traced

Ints = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]

FEW = 2
"""Runs in this many sets or fewer evict each other."""

_WITH_ALIAS = "with_alias"
"""The role of the table of placements that differ in `aliased`, by code and that."""

_ALIASES = Lookup([alias_of(aliased_at(step)) for step in range(WAY_BYTES)])
"""The aliases of runs, by the bytes between their starts, modulo those of a way."""


class _Tiles(NamedTuple):
    """The role of a table of tiles of a rank, by code and situation: their codes, or where cut."""

    cut: bool
    rank: int


class Placements:
    """Interns placements as integer codes, and computes properties of columns of codes."""

    def __init__(self) -> None:
        self._codes: dict[Placement, int] = {}
        self.placements: list[Placement] = []
        self._facts: list[Facts] = []
        self._tables: dict[Hashable, Lookup] = {}
        self._functions = dict(_FUNCTIONS)
        self._order = self.table("order")
        (
            self._count, self._contiguous, self.vector, self._fastest, self._alias, self._apart,
            self._step, self._panel_dim, self._panel, self._neighbours, self._grouped, self._groups,
        ) = map(self.table, NUMBERS)  # fmt: skip
        (
            self._fixed, self._ideal, self._free, self._gapless, self._odd_even, self._in_order,
            self._row_major,
        ) = map(self.table, MARKS)  # fmt: skip
        self.codes([IDEAL])

    def table(self, role: Hashable) -> Lookup:
        """The table in a role, which has a column by code unless it is that of one placement."""
        if role not in self._tables:
            if isinstance(role, Placement):
                self._tables[role] = Lookup([self.code(role)], role)
            elif isinstance(role, _Tiles) or role == _WITH_ALIAS:
                columns = 4**role.rank * 3 if isinstance(role, _Tiles) else alias_of(WAY_BYTES) + 1
                self._tables[role] = Lookup(np.empty((0, columns), np.int32), role)
                self._fill(role, self._tables[role])
            else:
                self._tables[role] = Lookup(np.empty(0, np.int32), role)
        return self._tables[role]

    def column(self, placement: Placement, rows: int) -> Ints:
        """The column of so many rows that all have the code of one placement."""
        return np.full(rows, self.code(placement), np.int16)

    def code(self, placement: Placement) -> int:
        """The code of `placement`."""
        return self.codes([placement])[0]

    def codes(self, placements: Sequence[Placement]) -> list[int]:
        """The code of each."""
        for placement in placements:
            if placement not in self._codes:
                self._add(placement)
        if len(self._count.array) < len(self.placements):
            self._rebuild()
        return [self._codes[placement] for placement in placements]

    def _add(self, placement: Placement) -> None:
        self._codes[placement] = len(self.placements)
        self.placements.append(placement)
        self._facts.append(facts(placement))

    def __getitem__(self, code: int) -> Placement:
        return self.placements[code]

    def _rebuild(self) -> None:
        """Recompute the property columns, indexed by code."""
        order, numbers, marks = zip(*self._facts, strict=True)
        self._order.set(np.array(order, np.int8).T)
        for names, rows, dtype in ((NUMBERS, numbers, np.int32), (MARKS, marks, np.bool_)):
            for name, column in zip(names, zip(*rows, strict=True), strict=True):
                getattr(self, name).set(np.array(column, dtype))
        for role, lookup in self._tables.items():
            if isinstance(role, _Tiles) or role == _WITH_ALIAS:
                self._fill(role, lookup)

    def _fill(self, role: Hashable, lookup: Lookup) -> None:
        """Have a table of tiles, or of placements that differ in `aliased`, for all placements,
        filled for those that neither changes.

        These are never looked up when rows are all of them, but a trace looks up all.
        """
        table = _grown(lookup, len(self.placements))
        kept = (
            self._fixed.array if isinstance(role, _Tiles) else self._fixed.array | self._ideal.array
        )
        fixed = kept.nonzero()[0]
        cut = isinstance(role, _Tiles) and role.cut
        table[fixed] = (self._contiguous.array[fixed] if cut else fixed)[:, np.newaxis]

    def ideal(self, codes: Ints) -> Any:
        """Whether a placement is ideal."""
        return self._ideal[codes]

    # ---- what programs gain from: true of the ideal placement

    def _may(self, codes: Ints, fact: Bools) -> Bools:
        """The fact, or the placement is ideal."""
        result: Bools = fact | self._ideal[codes]
        return result

    def _may_along(self, codes: Ints, dim: int, fact: Bools) -> Bools:
        """The fact, or the placement is ideal and neighbours may be along this dimension."""
        ideal = self._free[codes] | (self._ideal[codes] & (self._fastest[codes] == dim))
        result: Bools = fact | ideal
        return result

    def unit_stride(self, codes: Ints, shape: Sequence[Ints], dim: int) -> Bools:
        """Whether elements along `dim` have stride 1 (or there is only one)."""
        near = (self._fastest[codes] == dim) & (self._contiguous[codes] > 0)
        near &= (self._panel_dim[codes] != dim) | (shape[dim] <= self._panel[codes])
        near &= self._in_order[codes]
        result: Bools = near | (shape[dim] == 1) | self._free[codes]
        return result

    def runs_along(self, codes: Ints, dims: Sequence[int]) -> Bools:
        """Whether the fastest dimension is among `dims`: that of registers, if held in some."""
        fastest = self._fastest[codes]
        along = fastest == dims[0] if len(dims) == 1 else np.isin(fastest, dims)
        result: Bools = along | (fastest < 0)
        return result

    def runs_across(self, codes: Ints, dim: int) -> Bools:
        """Whether the fastest dimension is another one; it may be, of an ideal layout."""
        result: Bools = self._fastest[codes] != dim
        return result

    def gapless_along(self, codes: Ints, dim: int) -> Bools:
        """Whether there are no gaps, and `dim` is the fastest dimension."""
        return self._may_along(codes, dim, (self._fastest[codes] == dim) & self._gapless[codes])

    def row_major(self, codes: Ints) -> Bools:
        return self._may(codes, self._row_major[codes])

    def not_row_major(self, codes: Ints, shape: Sequence[Ints]) -> Bools:
        """Whether a layout is not row-major; the ideal one is, of matrices with contiguous rows."""
        last = len(shape) - 1
        rows = self._ideal[codes] & (self._fastest[codes] == last)
        for size in shape[:-2]:
            rows &= size == 1
        result: Bools = self._may(codes, ~self._row_major[codes]) & ~rows
        return result

    def cut_at(self, codes: Ints, dim: int, width: Ints | int) -> Bools:
        """Whether there are panels or odd-even blocks of this width along `dim`."""
        cut = (self._panel_dim[codes] == dim) & (self._panel[codes] == width)
        return self._may_along(codes, dim, cut)

    def in_panels(self, codes: Ints, dim: int, width: int) -> Bools:
        """Whether there are panels of this width along `dim`, neither odd-even nor in groups."""
        return self.cut_at(codes, dim, width) & self._may(codes, self._in_order[codes])

    def odd_even(self, codes: Ints) -> Bools:
        """Whether there are odd-even blocks, which lie along a dimension."""
        result: Bools = self._odd_even[codes] | (self._ideal[codes] & (self._fastest[codes] > NONE))
        return result

    def in_blocks(self, codes: Ints, dim: int, width: int) -> Bools:
        """Whether there are odd-even blocks of this width along `dim`."""
        return self.cut_at(codes, dim, width) & self.odd_even(codes)

    def in_one_block(self, codes: Ints, shape: Sequence[Ints]) -> Bools:
        """Whether there are several elements, and all in one odd-even block."""
        volume, length = prod_columns(shape), select_columns(shape, self._fastest[codes])
        inside = self._may(codes, length <= self._panel[codes])
        inside &= self._free[codes] | (volume == length)
        result: Bools = self.odd_even(codes) & inside & (volume > 1)
        return result

    def alike(self, codes: Ints, others: Ints) -> Bools:
        """Whether both are the same; ideal ones may be if their neighbours may be."""
        along, other = self._neighbours[codes], self._neighbours[others]
        may = (along == other) | (along == 0) | (other == 0)
        result: Bools = (codes == others) | may & (self._ideal[codes] | self._ideal[others])
        return result

    def differ(self, codes: Ints, others: Ints) -> Bools:
        return self._may(codes, self._may(others, codes != others))

    def either(self, codes: Ints, fact: Bools, wanted: bool) -> Bools:
        """Whether a fact that programs gain from is `wanted`; ideal placements need not have it."""
        return fact if wanted else self._may(codes, ~fact)

    def where(self, codes: Ints, holds: Callable[[Placement], bool]) -> Bools:
        """Whether something holds of a placement, a function of single placements."""
        result: Bools = self._worked_out(codes, holds, lambda _, p: p.ideal or holds(p)) > 0
        return result

    # ---- what costs programs something: false of the ideal placement

    def _must(self, codes: Ints, fact: Bools) -> Bools:
        """The fact, and the placement is not ideal."""
        result: Bools = fact & ~self._ideal[codes]
        return result

    def aliased(self, codes: Ints) -> Bools:
        """Whether runs are in few sets."""
        return self._must(codes, self._apart[codes] > 0)

    def crowded(self, codes: Ints) -> Bools:
        """Whether runs are in so few sets that reading some evicts others."""
        return self._must(codes, _crowded(self._apart[codes]))

    def apart(self, codes: Ints) -> Ints:
        """How many runs are in different sets, if they are aliased, else 0."""
        result: Ints = self._apart[codes]
        return result

    def step(self, codes: Ints, most: int = LINE_BYTES) -> Ints:
        """The bytes, at most `most`, of which the places of runs in cache lines are multiples."""
        result: Ints = np.minimum(self._step[codes], most)
        return result

    def paneled(self, codes: Ints) -> Bools:
        """Whether there are panels or odd-even blocks."""
        return self._must(codes, self._panel_dim[codes] >= 0)

    def paneled_along(self, codes: Ints, dim: int) -> Bools:
        return self._must(codes, self._panel_dim[codes] == dim)

    def cuts_panels(self, codes: Ints, dim: int, size: Ints, tile: Ints) -> Bools:
        """Whether tiles along `dim` would begin or end inside of panels."""
        paneled = self.paneled_along(codes, dim)
        if not any_row(paneled):
            return paneled
        crossed = (size > self._panel[codes]) | ~self._in_order[codes]
        cut: Bools = crossed & (tile % self._panel[codes] != 0)
        return paneled & cut

    def in_groups(self, codes: Ints, dim: int, lanes: int) -> Bools:
        """Whether there are groups of so many neighbours along `dim`."""
        grouped = (self._grouped[codes] == dim) & (self._groups[codes] == lanes)
        return self._may_along(codes, dim, grouped)

    def cuts_groups(self, codes: Ints, dim: int, tile: Ints | int) -> Bools:
        """Whether tiles along `dim` would begin or end inside of groups."""
        cut = (self._grouped[codes] == dim) & (tile % self._groups[codes] != 0)
        return self._must(codes, cut)

    def in_registers_along(self, codes: Ints, dim: int) -> Bools:
        held: Bools = (self.vector[codes] > 1) & (self._fastest[codes] == dim)
        return held

    def cuts_registers(self, codes: Ints, dim: int, tile: Ints) -> Bools:
        """Whether tiles along `dim` would begin or end inside of registers."""
        held = self.in_registers_along(codes, dim)
        if not any_row(held):
            return held
        cut: Bools = tile % np.maximum(self.vector[codes], 1) != 0
        return held & cut

    def in_rows_across(self, codes: Ints, dim: int) -> Bools:
        """Whether neighbours are along another dimension than `dim`, and not in panels."""
        return self._must(codes, (self._panel_dim[codes] < 0) & (self._fastest[codes] != dim))

    def rows_along(self, codes: Ints, dim: int) -> Bools:
        """Whether neighbours are along this dimension, without panels."""
        return self._must(codes, (self._panel_dim[codes] < 0) & (self._fastest[codes] == dim))

    def whole_rows_along(self, codes: Ints, dim: int) -> Bools:
        """Whether neighbours are along this dimension, without panels, and there are no gaps."""
        return self.rows_along(codes, dim) & self._must(codes, self._gapless[codes])

    def rows_collide(self, codes: Ints, row_bytes: Ints) -> Bools:
        """Whether rows, not in panels, share the same sets; `row_bytes` is the size of one."""
        alone = self._contiguous[codes] == self._count[codes]
        crowded = np.where(alone, row_bytes % (WAY_BYTES // FEW) == 0, _crowded(self._apart[codes]))
        return self._must(codes, (self._panel_dim[codes] < 0) & crowded)

    # ---- numbers and other placements: `shape` has a column per logical dimension

    def relaxed(self, codes: Ints) -> Ints:
        """The ideal placements in place of these."""
        return self._worked_out(codes, relaxed, _FUNCTIONS[relaxed])

    def relaxed_along(self, codes: Ints) -> Ints:
        """The ideal placements in place of these, with neighbours along the same dimensions."""
        return self._worked_out(codes, relaxed_along, _FUNCTIONS[relaxed_along])

    @property
    def neighbours(self) -> Ints:
        """The only dimension along which neighbours in memory can be, as a number, by code.

        Numbers have `NEIGHBOUR_BITS`; that of `ANY` is 0.
        """
        return self._neighbours.values

    def change(self, codes: Ints, function: Callable[[Placement], Placement]) -> Ints:
        """The codes of what a function makes of placements; ideal ones become `IDEAL`."""
        return self._worked_out(
            codes,
            function,
            lambda own, p: own.code(relaxed(p) if p.ideal else function(p)),
        )

    def ungrouped(self, codes: Ints) -> Ints:
        """The placements of groups as single elements (see `ir.tensor.ungrouped`)."""
        return self._worked_out(codes, ungrouped, _FUNCTIONS[ungrouped])

    def squeezed(self, codes: Ints, kept: tuple[int, ...], *, strided: bool = False) -> Ints:
        """The codes of placements reduced to some dimensions (see `ir.tensor.squeezed`)."""
        place = partial(squeezed, kept=kept, strided=strided)
        return self._worked_out(codes, place, _code_of(place))

    def _worked_out(
        self, codes: Ints, function: Callable[..., object],
        work_out: Callable[[Placements, Placement], int],
    ) -> Ints:  # fmt: skip
        """Apply `work_out` to the placement of each code; results are memoized under `function`."""
        key: Hashable = function
        if isinstance(function, partial):
            key = function.func, function.args, tuple(function.keywords.items())
        lookup = self.table(key)
        if isinstance(codes, np.ndarray):
            self._functions[key] = work_out
            self._work_out(key, codes)
        result: Ints = lookup[codes]
        return result

    def _work_out(self, key: Hashable, codes: Ints) -> None:
        """Fill the table of results that are memoized under this key for some codes."""
        known = _grown(self.table(key), len(self.placements))
        unknown = known[codes] == UNKNOWN
        if any_row(unknown):
            for code in np.unique(codes[unknown]).tolist():
                known[code] = self._functions[key](self, self.placements[code])

    def fill(self, role: Hashable, codes: Ints, others: Ints) -> bool:
        """Work out entries of the table in a role, by code and another index.

        Gives whether some are of a placement, and it is known how to.
        """
        columns = self.table(role).array.shape[1:] or (1,)
        inside = (codes >= 0) & (codes < len(self.placements))
        inside &= (others >= 0) & (others < columns[0])
        codes, others = codes[inside], others[inside]
        if isinstance(role, _Tiles):
            self._tile(codes, others, role.rank)
        elif role == _WITH_ALIAS:
            self._with_alias(codes, others)
        elif role in self._functions:
            self._work_out(role, codes)
        else:
            return False
        return len(codes) > 0

    def registers(self, codes: Ints, shape: Sequence[Ints]) -> tuple[Ints, Ints]:
        """The fewest and the most registers that a tensor may take; they differ only if ideal."""
        width, volume = np.maximum(self.vector[codes], 1), prod_columns(shape)
        along = [volume // size * -(-size // width) for size in shape]
        fewest = most = select_columns(along, self._fastest[codes])
        unknown = self._fastest[codes] < 0
        if any_row(unknown):
            fewest = np.where(unknown, reduce(np.minimum, along), fewest)
            most = np.where(unknown, reduce(np.maximum, along), most)
        return fewest, most

    def runs(self, shape: Sequence[Ints], codes: Ints) -> tuple[Ints, Ints]:
        """The number of contiguous runs, and the elements in each, as `ir.tensor.runs`."""
        volume = prod_columns(shape)
        count, contiguous = self._count[codes], self._contiguous[codes]
        if not any_row(contiguous < count):
            return np.ones(len(codes), np.int64), volume
        outer: Ints = np.ones(len(codes), np.int64)
        for step in range(_most(count, len(shape) + 1)):
            outside = (contiguous <= step) & (step < count)
            outer = np.where(outside, outer * self._extent(shape, codes, step), outer)
        return outer, volume // outer

    def _extent(self, shape: Sequence[Ints], codes: Ints, step: int) -> Ints:
        """The physical extent of every row that is so many steps from the innermost."""
        dims = self._order[MAX_RANK - step, codes]
        extent, panel = select_columns(shape, dims), self._panel[codes]
        cut = -(-extent // panel) if step else np.minimum(panel, extent)
        result: Ints = np.where(dims == self._panel_dim[codes], cut, extent)
        return result

    def tile(
        self,
        shape: Sequence[Ints],
        tile: Sequence[Ints],
        codes: Ints,
        element_bytes: int,
        near: Bools | None = None,
    ) -> Ints:
        """The codes of tiles cut from tensors of these shapes, as `ir.tensor.tile_placement`.

        Where a tensor without gaps is `near`, in the nearest cache, so are all its lines, and it
        does not matter where rows of tiles begin.
        """
        if all_rows(self._fixed[codes]):
            return codes
        situation = np.zeros(len(codes), np.int16)
        for before, after in zip(shape, tile, strict=True):
            situation = situation * 4 + (after == 1)
            if after is not before:
                situation = situation + (after < before) * np.int16(2)
        panel, dim = self._panel[codes], self._panel_dim[codes]
        if any_row(dim >= 0):
            size = select_columns(tile, dim)
            relation = np.where(dim < 0, 0, np.where(size > panel, 2, size == panel))
            situation = situation * 3 + relation.astype(np.int16)
        else:
            situation = situation * 3
        result, kept = self._tile(codes, situation, len(shape))
        if all_rows(self._ideal[codes]):
            return result
        alias = self._alias[codes]
        fresh = kept < self._contiguous[codes]
        if near is not None:
            fresh = fresh & ~near
        if any_row(fresh):
            stride = self._inner(shape, codes, kept)
            gap = fresh & (stride < prod_columns(shape))
            alias = np.where(gap, _ALIASES[stride * element_bytes % WAY_BYTES], alias)
        return self._with_alias(result, alias)

    def _with_alias(self, codes: Ints, alias: Ints) -> Ints:
        """The codes of the same placements, aliased so (see `_alias`)."""
        lookup = self.table(_WITH_ALIAS)
        if isinstance(codes, np.ndarray) and isinstance(alias, np.ndarray):
            known = _grown(lookup, len(self.placements))
            unknown = known[codes, alias] == UNKNOWN
            if any_row(unknown):
                pairs = np.unique(np.stack([codes[unknown], alias[unknown]], axis=1), axis=0)
                forms = [
                    realiased(self.placements[c], 1 << bits >> 1) for c, bits in pairs.tolist()
                ]
                interned = self.codes(forms)  # first, as it may make room
                lookup.array[pairs[:, 0], pairs[:, 1]] = interned
        result: Ints = lookup[codes, alias]
        return result

    def without_alias(self, codes: Ints) -> Ints:
        """The codes of the same placements, not aliased."""
        return self._worked_out(codes, unaliased, _FUNCTIONS[unaliased])

    def _tile(self, codes: Ints, situation: Ints, rank: int) -> tuple[Ints, Ints]:
        """The codes of tiles (not aliased), and their innermost contiguous dimensions."""
        tiled, cut = (self.table(_Tiles(which, rank)) for which in (False, True))
        if isinstance(codes, np.ndarray) and isinstance(situation, np.ndarray):
            unknown = tiled.array[codes, situation] == UNKNOWN
            if any_row(unknown):
                size = 4**rank * 3
                flat = codes.astype(np.int64) * size + situation
                new, which = np.divmod(np.unique(flat[unknown]), size)
                pairs = zip(new.tolist(), which.tolist(), strict=True)
                tiles = [sample_tile(self.placements[code], each, rank) for code, each in pairs]
                interned = self.codes([tile for tile, _ in tiles])  # first, as it may make room
                tiled.array[new, which] = interned
                cut.array[new, which] = [contiguous for _, contiguous in tiles]
        return tiled[codes, situation], cut[codes, situation]

    def _inner(self, shape: Sequence[Ints], codes: Ints, count: Ints) -> Ints:
        """The product of the `count` innermost physical extents of every row."""
        product: Ints = np.ones(len(codes), np.int64)
        result = product
        for step in range(_most(count, len(shape) + 1)):
            product = product * self._extent(shape, codes, step)
            result = np.where(count > step, product, result)
        return result


def _code_of(function: Callable[[Placement], Placement]) -> Callable[[Placements, Placement], int]:
    """The code of what a function makes of a placement."""
    return lambda own, placement: own.code(function(placement))


_FUNCTIONS: dict[Hashable, Callable[[Placements, Placement], int]] = {
    each: _code_of(each) for each in (relaxed, relaxed_along, ungrouped, unaliased)
}
"""The functions of columns that `Placements` have from the start, by the role of the column."""


def _grown(lookup: Lookup, rows: int) -> Ints:
    """The table of a lookup that has so many rows at least; new entries are unknown."""
    if len(lookup.array) < rows:
        grown = np.full((2 * rows + 32, *lookup.array.shape[1:]), UNKNOWN, np.int32)
        grown[: len(lookup.array)] = lookup.array
        lookup.set(grown)
    return lookup.array


def _most(column: Ints, most: int) -> int:
    """The largest value in a column, `most` if it is not known."""
    return most if isinstance(column, Traced) else int(column.max(initial=0))


def select_columns(columns: Sequence[Ints], which: Ints) -> Ints:
    """For every row, the value of the column that `which` names (the first, if negative)."""
    if len(columns) == 2:
        result: Ints = np.where(which == 1, columns[1], columns[0])
        return result
    return np.choose(np.maximum(which, 0), columns)


def any_row(column: Bools | Ints) -> bool:
    """Whether any row holds; a traced column may have such rows.

    Several times as quick as `any` on short columns.
    """
    return isinstance(column, Traced) or bool(np.count_nonzero(column))


def all_rows(column: Bools) -> bool:
    """Whether all rows hold; a traced column may have others. As quick as `any_row`."""
    return not isinstance(column, Traced) and bool(np.count_nonzero(column) == len(column))


def _crowded(apart: Ints) -> Bools:
    """Whether runs that are in so many sets are in too few; 0 is in many."""
    result: Bools = (apart > 0) & (apart <= FEW)
    return result


def prod_columns(columns: Sequence[Ints]) -> Ints:
    return prod(columns[1:], start=columns[0].astype(np.int64))
