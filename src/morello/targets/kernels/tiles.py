"""Kernels for products of packed groups by tiles: AMX, whose registers hold 16 rows of 64 bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import DTYPES, PACKED
from morello.targets.helpers.tiles import COLUMNS, LONGEST, SIDE, TileProduct
from morello.targets.kernels.conditions import rows_without_gaps, unit_sizes
from morello.targets.kernels.crossing import rows_collide, rows_cross_lines
from morello.targets.kernels.products import unpacked
from morello.targets.target import Column, Condition, LeafKernel

CONFIGURATION = 120.0
"""Cycles to load a configuration of tiles."""
SIDES = (("m", 2 * SIDE), ("n", 2 * SIDE))
"""The sizes of blocks that share a configuration: smaller ones need one of their own."""
STEP = (84.0, 47.0, 24.0)
"""Cycles of a product along k by one tile, for blocks of two by two tiles of sums, of two, of one.

Four products take 65, and 20 to load each tile from L2 hide only in part. With rows of a in L1,
72 to 80, without them 85 to 100.
"""
SUMS = (200.0, 110.0, 60.0)
"""Cycles to begin and to store the sums of these blocks."""
SUMS_LOADED = 25.0
"""Cycles more of each tile of sums that is loaded first."""
ACROSS = 24.0
"""Cycles more to load or store a tile whose rows are in two lines each."""
COPIED = 100.0
"""Cycles to copy a tile of a from the cache beyond the nearest to whole lines."""
REST = 16.0
"""Cycles to fill up a tile with zeros, where k is no multiple of its groups."""
COLLIDES = (6.0, 12.0)
"""Cycles more to load a tile of a and of b whose rows share the same sets."""


def tile_sums(product: TileProduct, *, adds: bool) -> LeafKernel:
    """Blocks of packed groups in the cache beyond the nearest, multiplied by tiles.

    With `adds`, products are added to a block of c. b is in rows, or in panels as wide as a tile.
    """
    a, b = PACKED[product.a], PACKED[product.b]

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=("m", "n", "k"))
        yield rows_without_gaps(s, 0, "k")
        yield rows_without_gaps(s, 1, "n", panel=SIDE)
        yield rows_without_gaps(s, 2, "n")

    def cost(s: Batch) -> Column:
        m, n, k = (-(-s.size(dim) // SIDE) for dim in ("m", "n", "k"))
        rest_m, rest_n = ((s.size(dim) > side) & (s.size(dim) % side > 0) for dim, side in SIDES)
        blocks = (
            (m // 2) * (n // 2),
            (m % 2) * (n // 2) + (m // 2) * (n % 2),
            (m % 2) * (n % 2),
        )  # fmt: skip
        steps = sum(count * step for count, step in zip(blocks, STEP, strict=True))
        across = ACROSS * rows_cross_lines(s, 2, "n")
        begun = sum(count * each for count, each in zip(blocks, SUMS, strict=True))
        copies = rows_cross_lines(s, 0, "k") & (s.size("k") >= SIDE) & (s.size("n") >= COLUMNS)
        rounds = np.where(copies, -(-s.size("k") // LONGEST), 1)
        sums = rounds * (begun + m * n * across)
        loaded = (SUMS_LOADED + across) * m * n * (int(adds) + rounds - 1)
        rows_of_a = m * np.where(copies, COPIED, ((n + 1) // 2) * _tile_load(s, 0, "k"))
        loads = rows_of_a + n * ((m + 1) // 2) * _tile_load(s, 1, "n")
        rest_k = (k > 1) & (s.size("k") % SIDE > 0)
        rests = REST * rest_k * (m + n * ((m + 1) // 2))
        begin = CONFIGURATION * rounds * (1 + rest_m) * (1 + rest_n)
        cycles: Column = begin + k * (steps + loads) + sums + loaded + rests
        return cycles

    def semantics(x: Any, y: Any, z: Any = 0) -> Any:
        return z + unpacked(a, x, x.ndim - 1) @ unpacked(b, y, y.ndim - 2)

    places = "&{a}, {a_m}, &{b}, {b_k}, {b_n}, &{c}, {c_m}, {m}, {n}, {k}"
    return LeafKernel(
        product.name if adds else product.name.replace("sum", "multiply"),
        "MatmulAccum" if adds else "Matmul",
        (a, b, DTYPES[product.total]),
        (None, None, None),
        f"{product.name}({places}, {int(adds)});",
        semantics,
        applies,
        cost,
        streams=(0, 1, 2),
    )


def _tile_load(s: Batch, operand: int, dim: str) -> Column:
    """Cycles more to load a tile of an operand than one of whole lines, side by side."""
    across = ACROSS * rows_cross_lines(s, operand, dim)
    cycles: Column = across + COLLIDES[operand] * rows_collide(s, operand, dim)
    return cycles
