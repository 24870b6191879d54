"""The facts about placements, and their tiles, that columns of codes are looked up in."""

from __future__ import annotations

from functools import cache

from morello.ir.primitives import MAX_RANK
from morello.ir.tensor import (
    ANY,
    Placement,
    contiguous_after_cut,
    realiased,
    tile_placement,
)

Facts = tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...]]
NUMBERS = (
    "_count", "_contiguous", "vector", "_fastest", "_alias", "_apart", "_step", "_panel_dim",
    "_panel", "_neighbours", "_grouped", "_groups",
)  # fmt: skip
MARKS = "_fixed", "_ideal", "_free", "_gapless", "_odd_even", "_in_order", "_row_major"
"""The attributes of `Placements` that have the numbers and the flags of `Facts`."""
OF_IDEAL = "_contiguous", "vector", "_fastest", "_neighbours", "_fixed", "_free", "_gapless"
"""The attributes in which ideal placements differ."""

NEIGHBOUR_BITS = 4
"""The bits of a number of the dimension of neighbours."""

_UNIT = 1_000_003  # a size above every panel width, to compute situations with


def alias_of(aliased: int) -> int:
    """The number of `aliased` in columns, which is 0 or a power of two: its bit length."""
    return aliased.bit_length()


@cache
def facts(placement: Placement) -> Facts:
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
        alias_of(placement.aliased),
        placement.apart,
        placement.step,
        *panel,
        (placement.neighbours - ANY) & ((1 << NEIGHBOUR_BITS) - 1),
        layout.order[-1] if layout.groups > 1 else -1,
        layout.groups,
    )
    free = placement.ideal and placement.along == ANY
    marks = (
        free or placement.vector > 0,
        placement.ideal,
        free,
        placement.gapless,
        layout.odd_even,
        not layout.odd_even and layout.groups == 1,
        layout.row_major,
    )
    return padding + layout.physical, numbers, marks


@cache
def sample_tile(placement: Placement, situation: int, rank: int) -> tuple[Placement, int]:
    """The placement of a tile (not aliased), and how many innermost dimensions are contiguous.

    It is cut from a tensor of this placement with sizes made up to fit the situation.
    """
    situation, relation = divmod(situation, 3)
    by_dim = []
    for _ in range(rank):
        situation, fact = divmod(situation, 4)
        by_dim.append(fact)
    shape, tile = [], []
    panel = placement.layout.panel
    for dim, fact in enumerate(reversed(by_dim)):
        size = 1 if fact & 1 else _UNIT
        if panel is not None and panel[0] == dim and not fact & 1:
            size = (panel[1] - 1, panel[1], panel[1] * 2)[relation]
        tile.append(size)
        shape.append(
            max(size, panel[1] if panel and panel[0] == dim else 2) * 2 if fact & 2 else size
        )
    cut = contiguous_after_cut(tuple(shape), tuple(tile), placement)
    tiled = tile_placement(tuple(shape), tuple(tile), placement, 1)
    return realiased(tiled), cut
