"""Loops over the dimensions of an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints
from morello.rewrites import Divide, SizedOverlap, SizedTile
from morello.space.guards import Guard, Rules, always
from morello.space.sizes import FACTORS, PLAIN_CUTS, Cut, Sizes


def loop_rules(dim: str, sizes: Sizes, *, vectors: bool, overlap: bool) -> list[Rules]:
    """Loops over a dimension: sizes are divided by small primes, if smooth, or cut to tiles.

    With `vectors`, smooth sizes are also cut to tiles of whole vectors or panels. With `overlap`,
    tiles also cover a dimension, in place of a remainder that is at least a quarter of a tile.
    """

    def divided(factor: int) -> Guard:
        return lambda batch: sizes.divides(batch.size(dim), factor)

    def has(rank: int) -> Guard:
        def guard(batch: Batch) -> Bools:
            size = batch.size(dim)
            tile = sizes.cut(size, rank)
            useful = tile > 0
            if sizes.most_cuts > PLAIN_CUTS:
                useful &= sizes.cuts_to_all(size, rank) | _has_panels(batch, dim, tile)
            return useful if vectors else useful & ~sizes.is_smooth(size)

        return guard

    def overlaps(rank: int) -> Guard:
        def guard(batch: Batch) -> Bools:
            size = batch.size(dim)
            tile = sizes.cut(size, rank)
            much: Bools = size % np.maximum(tile, 1) * 4 >= np.maximum(tile, 1)
            return much

        return guard

    groups = [Rules(divided(factor), (Divide(dim, factor),)) for factor in FACTORS]
    for rank in range(sizes.most_cuts):
        cut = Cut(sizes, rank)
        groups.append(Rules(has(rank), (SizedTile(dim, cut),)))
        if overlap:
            groups.append(Rules(overlaps(rank), (SizedOverlap(dim, cut),)))
    if overlap:
        has_cover = partial(has_tile, dim, sizes.cover)
        groups.append(Rules(has_cover, (SizedOverlap(dim, sizes.cover),)))
    return groups


def register_rules(dim: str, sizes: Sizes) -> list[Rules]:
    """A loop over whole registers, the last of which overlaps the one before it."""
    return [Rules(partial(has_tile, dim, sizes.whole), (SizedOverlap(dim, sizes.whole),))]


def one_by_one(dim: str, most: int, loops: Sequence[Rules], where: Guard = always) -> list[Rules]:
    """A loop over the elements of a dimension where there are at most so many, else these loops.

    Only `where` a guard admits it.
    """
    single = Single(most)

    def alone(batch: Batch) -> Bools:
        return where(batch) & has_tile(dim, single, batch)

    def others(guard: Guard) -> Guard:
        return lambda batch: ((batch.size(dim) > most) | ~where(batch)) & guard(batch)

    return [
        Rules(alone, (SizedTile(dim, single),)),
        *(replace(group, guard=others(group.guard)) for group in loops),
    ]


@dataclass(frozen=True)
class Single:
    """A function that gives a tile of 1 for each size from 2 to `most`, else 0."""

    most: int

    def __call__(self, column: Ints) -> Ints:
        tiles: Ints = np.where((column > 1) & (column <= self.most), 1, 0)
        return tiles


def _has_panels(batch: Batch, dim: str, width: Ints) -> Bools:
    """Where an operand has panels or odd-even blocks of this width along a dimension."""
    has_panels: Bools = np.zeros(len(batch), np.bool_)
    for operand, codes in zip(batch.operation.operands, batch.codes, strict=True):
        if dim in operand.dims:
            place = operand.dims.index(dim)
            has_panels = has_panels | batch.placements.cut_at(codes, place, width)
    return has_panels


def has_tile(dim: str, choose: Callable[[Ints], Ints], batch: Batch) -> Bools:
    """Where a function of a dimension's size gives a tile for it, rather than 0."""
    result: Bools = choose(batch.size(dim)) > 0
    return result
