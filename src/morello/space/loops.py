"""Loops over the dimensions of an operation."""

from __future__ import annotations

from morello.ir.batch import Batch
from morello.ir.placements import Bools
from morello.rewrites import Divide, SizedTile
from morello.space.guards import Guard, Rules
from morello.space.sizes import FACTORS, MOST_CUTS, Cut, Sizes


def loop_rules(dim: str, sizes: Sizes, *, vectors: bool) -> list[Rules]:
    """Loops over a dimension: smooth sizes are divided by small primes, others cut to tiles.

    With `vectors`, smooth sizes are also cut to tiles of whole vectors or panels.
    """

    def smooth(batch: Batch) -> Bools:
        size = batch.size(dim)
        return sizes.is_smooth(size) & (size > 1)

    def has(rank: int) -> Guard:
        def guard(batch: Batch) -> Bools:
            size = batch.size(dim)
            has_tile: Bools = sizes.cut(size, rank) > 0
            return has_tile if vectors else has_tile & ~sizes.is_smooth(size)

        return guard

    divisions = tuple(Divide(dim, factor) for factor in FACTORS)
    cuts = [Rules(has(rank), (SizedTile(dim, Cut(sizes, rank)),)) for rank in range(MOST_CUTS)]
    return [Rules(smooth, divisions), *cuts]


def has_rows(dim: str, sizes: Sizes, batch: Batch) -> Bools:
    """Where a dimension may be cut to `sizes.ROWS`, which fills the registers."""
    result: Bools = sizes.rows(batch.size(dim)) > 0
    return result
