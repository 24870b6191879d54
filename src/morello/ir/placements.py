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

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.ir.primitives import MAX_RANK
from morello.ir.tensor import (
    ALIAS_BYTES,
    IDEAL,
    Placement,
    contiguous_after_cut,
    relaxed,
    tile_placement,
)

Ints = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]

_UNKNOWN = -1
_UNIT = 1_000_003  # a size above every panel width, to compute situations with

_Facts = tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...]]
_DTYPES: Sequence[type[np.integer[Any]]] = (np.int8, np.int8, np.int16, np.int8, np.int8, np.int32)
"""The dtypes of the columns of numbers in `_Facts`."""


@cache
def _facts(placement: Placement) -> _Facts:
    """The row in the columns of `Placements`: physical dimensions, numbers, and flags.

    The dimensions are right-aligned, so that position -1 is the fastest.
    """
    layout = placement.layout
    padding = (-1,) * (MAX_RANK + 1 - len(layout.physical))
    panel = layout.panel or (-1, 1)
    numbers = (
        len(layout.physical),
        placement.contiguous,
        placement.vector,
        placement.fastest,
        *panel,
    )
    fixed = placement.ideal or placement.vector > 0
    marks = (
        fixed,
        placement.ideal,
        placement.aliased,
        placement.gapless,
        layout.odd_even,
        layout.row_major,
    )
    return padding + layout.physical, numbers, marks


@cache
def _with_and_without_alias(placement: Placement) -> tuple[Placement, ...]:
    """The placement, and the one that differs in `aliased` unless it is ideal or in registers."""
    if placement.ideal or placement.vector:
        return (placement,)
    return placement, replace(placement, aliased=not placement.aliased)


class Placements:
    """Interns placements as integer codes, and computes properties of columns of codes."""

    def __init__(self) -> None:
        self._codes: dict[Placement, int] = {}
        self.placements: list[Placement] = []
        self._facts: list[_Facts] = []
        self._ends: list[tuple[int, int]] = []
        self._tiled = np.empty((0, 0), np.int16)
        self._count = np.empty(0, np.int8)
        self._add(IDEAL)

    def code(self, placement: Placement) -> int:
        """The code of `placement`. A new one gets two, with and without `aliased`."""
        return self.codes([placement])[0]

    def codes(self, placements: Sequence[Placement]) -> list[int]:
        """The code of each."""
        for placement in placements:
            if placement not in self._codes:
                self._add(placement)
        if len(self._count) < len(self.placements):
            self._rebuild()
        return [self._codes[placement] for placement in placements]

    def _add(self, placement: Placement) -> None:
        first, pair = len(self.placements), _with_and_without_alias(placement)
        for each in pair:
            self._codes[each] = len(self.placements)
            self.placements.append(each)
            self._facts.append(_facts(each))
        ends = (first, len(self.placements) - 1)
        self._ends += [ends[::-1] if placement.aliased else ends] * len(pair)

    def __getitem__(self, code: int) -> Placement:
        return self.placements[code]

    def _rebuild(self) -> None:
        """Recompute the property columns, indexed by code."""
        order, numbers, marks = zip(*self._facts, strict=True)
        columns = zip(zip(*numbers, strict=True), _DTYPES, strict=True)
        self._order = np.array(order, np.int8).T.copy()
        self._count, self._contiguous, self.vector, self._fastest, self._panel_dim, self._panel = (
            np.array(column, dtype) for column, dtype in columns
        )
        self._fixed, self._ideal, self._aliased, self._gapless, self._odd_even, self._row_major = (
            np.array(column, np.bool_) for column in zip(*marks, strict=True)
        )
        # the codes of the same placement without and with `aliased`
        self.without_alias, self.with_alias = np.array(self._ends, np.int16).T.copy()

    # ---- what programs gain from: true of the ideal placement

    def _may(self, codes: Ints, fact: Bools) -> Bools:
        """The fact, or the placement is ideal."""
        result: Bools = fact | self._ideal[codes]
        return result

    def unit_stride(self, codes: Ints, shape: Sequence[Ints], dim: int) -> Bools:
        """Whether elements along `dim` have stride 1 (or there is only one)."""
        near = (self._fastest[codes] == dim) & (self._contiguous[codes] > 0)
        near &= (self._panel_dim[codes] != dim) | (shape[dim] <= self._panel[codes])
        near &= ~self._odd_even[codes]
        return self._may(codes, near | (shape[dim] == 1))

    def runs_along(self, codes: Ints, dims: Sequence[int]) -> Bools:
        """Whether the fastest dimension is among `dims`: that of registers, if held in some."""
        fastest = self._fastest[codes]
        along = fastest == dims[0] if len(dims) == 1 else np.isin(fastest, dims)
        return self._may(codes, along)

    def gapless_along(self, codes: Ints, dim: int) -> Bools:
        """Whether there are no gaps, and `dim` is the fastest dimension."""
        return self._may(codes, (self._fastest[codes] == dim) & self._gapless[codes])

    def row_major(self, codes: Ints) -> Bools:
        return self._may(codes, self._row_major[codes])

    def not_row_major(self, codes: Ints) -> Bools:
        return self._may(codes, ~self._row_major[codes])

    def in_panels(self, codes: Ints, dim: int, width: int) -> Bools:
        """Whether there are panels of this width along `dim`, not odd-even."""
        panels = (self._panel_dim[codes] == dim) & (self._panel[codes] == width)
        return self._may(codes, panels & ~self._odd_even[codes])

    def odd_even(self, codes: Ints) -> Bools:
        return self._may(codes, self._odd_even[codes])

    def in_blocks(self, codes: Ints, dim: int, width: int) -> Bools:
        """Whether there are odd-even blocks of this width along `dim`."""
        blocks = (self._panel_dim[codes] == dim) & (self._panel[codes] == width)
        return self._may(codes, blocks & self._odd_even[codes])

    def in_one_block(self, codes: Ints, shape: Sequence[Ints]) -> Bools:
        """Whether all elements are in one odd-even block."""
        length = select_columns(shape, self._panel_dim[codes])
        inside = self._odd_even[codes] & (length <= self._panel[codes])
        return self._may(codes, inside & (prod_columns(shape) == length))

    def alike(self, codes: Ints, others: Ints) -> Bools:
        return self._may(codes, self._may(others, codes == others))

    def differ(self, codes: Ints, others: Ints) -> Bools:
        return self._may(codes, self._may(others, codes != others))

    def either(self, codes: Ints, fact: Bools, wanted: bool) -> Bools:
        """Whether a fact about placements is `wanted`; of the ideal one, either will do."""
        return self._may(codes, fact == wanted)

    def where(self, codes: Ints, holds: Callable[[Placement], bool]) -> Bools:
        """Whether something holds of a placement, a function of single placements."""
        table = np.zeros(len(self.placements), np.bool_)
        for code in np.unique(codes).tolist():
            table[code] = self.placements[code].ideal or holds(self.placements[code])
        result: Bools = table[codes]
        return result

    # ---- what costs programs something: false of the ideal placement

    def _must(self, codes: Ints, fact: Bools) -> Bools:
        """The fact, and the placement is not ideal."""
        result: Bools = fact & ~self._ideal[codes]
        return result

    def aliased(self, codes: Ints) -> Bools:
        return self._must(codes, self._aliased[codes])

    def paneled(self, codes: Ints) -> Bools:
        """Whether there are panels or odd-even blocks."""
        return self._must(codes, self._panel_dim[codes] >= 0)

    def paneled_along(self, codes: Ints, dim: int) -> Bools:
        return self._must(codes, self._panel_dim[codes] == dim)

    def cuts_panels(self, codes: Ints, dim: int, size: Ints, tile: Ints) -> Bools:
        """Whether tiles along `dim` would begin or end inside of panels."""
        crossed = (size > self._panel[codes]) | self._odd_even[codes]
        cut: Bools = crossed & (tile % self._panel[codes] != 0)
        return self.paneled_along(codes, dim) & cut

    def in_registers_along(self, codes: Ints, dim: int) -> Bools:
        return self._must(codes, (self.vector[codes] > 1) & (self._fastest[codes] == dim))

    def cuts_registers(self, codes: Ints, dim: int, tile: Ints) -> Bools:
        """Whether tiles along `dim` would begin or end inside of registers."""
        width = np.maximum(self.vector[codes], 1)
        cut: Bools = tile % width != 0
        return self.in_registers_along(codes, dim) & cut

    def rows_collide(self, codes: Ints, row_bytes: Ints) -> Bools:
        """Whether rows, not in panels, share the same sets; `row_bytes` is the size of one."""
        alone = self._contiguous[codes] == self._count[codes]
        aliased = np.where(alone, row_bytes % ALIAS_BYTES == 0, self._aliased[codes])
        return self._must(codes, (self._panel_dim[codes] < 0) & aliased)

    # ---- numbers and other placements: `shape` has a column per logical dimension

    def relaxed(self, codes: Ints) -> Ints:
        """The ideal placements in place of these."""
        return self._table(codes, relaxed)

    def change(self, codes: Ints, function: Callable[[Placement], Placement]) -> Ints:
        """The codes of what a function makes of placements; ideal ones stay as they are."""
        return self._table(
            codes, lambda placement: placement if placement.ideal else function(placement)
        )

    def _table(self, codes: Ints, function: Callable[[Placement], Placement]) -> Ints:
        known = np.unique(codes).tolist()
        table = np.zeros(len(self.placements), np.int16)
        table[known] = self.codes([function(self.placements[code]) for code in known])
        result: Ints = table[codes]
        return result

    def registers(self, codes: Ints, shape: Sequence[Ints]) -> tuple[Ints, Ints]:
        """The fewest and the most registers that a tensor may take; they differ only if ideal."""
        width, volume = np.maximum(self.vector[codes], 1), prod_columns(shape)
        along = [volume // size * -(-size // width) for size in shape]
        fewest = most = select_columns(along, self._fastest[codes])
        ideal = self._ideal[codes]
        if any_row(ideal):
            fewest = np.where(ideal, np.minimum.reduce(along), fewest)
            most = np.where(ideal, np.maximum.reduce(along), most)
        return fewest, most

    def runs(self, shape: Sequence[Ints], codes: Ints) -> tuple[Ints, Ints]:
        """The number of contiguous runs, and the elements in each, as `ir.tensor.runs`."""
        volume = prod_columns(shape)
        gaps = self._count[codes] - self._contiguous[codes]
        if not any_row(gaps):
            return np.ones_like(volume), volume
        outer = np.ones_like(volume)
        position = self._order.shape[0] - self._count[codes]
        for step in range(int(gaps.max())):
            extent = self._extent(shape, codes, position + step)
            outer = np.where(gaps > step, outer * extent, outer)
        return outer, volume // outer

    def _extent(self, shape: Sequence[Ints], codes: Ints, position: Ints) -> Ints:
        """The physical extent at `position` (rows of `order`) of every row."""
        dims = self._order[np.minimum(position, self._order.shape[0] - 1), codes]
        extent = select_columns(shape, dims)
        panel = self._panel[codes]
        paneled = dims == self._panel_dim[codes]
        inner = position == self._order.shape[0] - 1
        result: Ints = np.where(
            paneled, np.where(inner, np.minimum(panel, extent), -(-extent // panel)), extent
        )
        return result

    def tile(
        self, shape: Sequence[Ints], tile: Sequence[Ints], codes: Ints, element_bytes: int
    ) -> Ints:
        """The codes of tiles cut from tensors of these shapes, as `ir.tensor.tile_placement`."""
        rank = len(shape)
        if all_rows(self._fixed[codes]):
            return codes
        situation = np.zeros(len(codes), np.int16)
        for before, after in zip(shape, tile, strict=True):
            situation = situation * 4 + (after < before) * np.int16(2) + (after == 1)
        panel, dim = self._panel[codes], self._panel_dim[codes]
        if any_row(dim >= 0):
            size = select_columns(tile, dim)
            relation = np.where(dim < 0, 0, np.where(size > panel, 2, size == panel))
            situation = situation * 3 + relation.astype(np.int16)
        else:
            situation = situation * 3
        result = self._lookup(codes, situation, rank)
        kept = self._cut[codes, situation]
        aliased = self._aliased[codes]
        fresh = kept < self._contiguous[codes]
        if any_row(fresh):
            stride = self._inner(shape, codes, kept)
            gap = fresh & (stride < prod_columns(shape))
            aliased = np.where(gap, stride * element_bytes % ALIAS_BYTES == 0, aliased)
        chosen: Ints = np.where(aliased, self.with_alias[result], self.without_alias[result])
        return chosen

    def _lookup(self, codes: Ints, situation: Ints, rank: int) -> Ints:
        size = 4**rank * 3
        if self._tiled.shape[1] < size or self._tiled.shape[0] < len(self.placements):
            grown = np.full(
                (2 * len(self.placements) + 32, max(size, self._tiled.shape[1])), _UNKNOWN
            )
            self._tiled = grown.astype(np.int16)
            self._cut = grown.astype(np.int8)
        result = self._tiled[codes, situation]
        if any_row(result == _UNKNOWN):
            flat = codes.astype(np.int64) * size + situation
            for pair in np.unique(flat[result == _UNKNOWN]).tolist():
                code, which = divmod(pair, size)
                tile, contiguous = self._sample_tile(self.placements[code], which, rank)
                interned = self.code(tile)
                if self._tiled.shape[0] < len(self.placements):
                    return self._lookup(codes, situation, rank)
                self._tiled[code, which], self._cut[code, which] = interned, contiguous
            result = self._tiled[codes, situation]
        return result

    @staticmethod
    def _sample_tile(placement: Placement, situation: int, rank: int) -> tuple[Placement, int]:
        """A tile's placement (not aliased), and how many innermost dimensions are contiguous.

        The tile is cut from a tensor of this placement with sizes made up to fit the situation.
        """
        situation, relation = divmod(situation, 3)
        facts = []
        for _ in range(rank):
            situation, fact = divmod(situation, 4)
            facts.append(fact)
        shape, tile = [], []
        panel = placement.layout.panel
        for dim, fact in enumerate(reversed(facts)):
            size = 1 if fact & 1 else _UNIT
            if panel is not None and panel[0] == dim and not fact & 1:
                size = (panel[1] - 1, panel[1], panel[1] * 2)[relation]
            tile.append(size)
            shape.append(
                max(size, panel[1] if panel and panel[0] == dim else 2) * 2 if fact & 2 else size
            )
        cut = contiguous_after_cut(tuple(shape), tuple(tile), placement)
        tiled = tile_placement(tuple(shape), tuple(tile), placement, 1)
        return replace(tiled, aliased=False), cut

    def _inner(self, shape: Sequence[Ints], codes: Ints, count: Ints) -> Ints:
        """The product of the `count` innermost physical extents of every row."""
        product = np.ones(len(codes), np.int64)
        last = self._order.shape[0] - 1
        for step in range(int(count.max(initial=0))):
            extent = self._extent(shape, codes, np.full(len(codes), last - step))
            product = np.where(count > step, product * extent, product)
        return product


def select_columns(columns: Sequence[Ints], which: Ints) -> Ints:
    """For every row, the value of the column that `which` names (the first, if negative)."""
    if len(columns) == 2:
        result: Ints = np.where(which == 1, columns[1], columns[0])
        return result
    return np.choose(np.maximum(which, 0), columns)


def any_row(column: Bools | Ints) -> bool:
    """Whether any row holds; several times as quick as `any` on short columns."""
    return bool(np.count_nonzero(column))


def all_rows(column: Bools) -> bool:
    """Whether all rows hold; several times as quick as `all` on short columns."""
    return bool(np.count_nonzero(column) == len(column))


def prod_columns(columns: Sequence[Ints]) -> Ints:
    return prod(columns[1:], start=columns[0].astype(np.int64))
