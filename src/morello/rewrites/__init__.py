"""Rewrites: from a Spec to a program with smaller Specs left to do."""

from morello.rewrites.accumulate import ToAccumulate
from morello.rewrites.bufferize import Bufferize
from morello.rewrites.conv import Crop, PadFirst, Pointwise, SpatialSplit, Ungroup, cropped
from morello.rewrites.decompose import SCHEMES, Decompose, decomposes
from morello.rewrites.grouped import GroupRows
from morello.rewrites.join import Join
from morello.rewrites.move import Move, MoveAll
from morello.rewrites.pack import LastGroup, Pack
from morello.rewrites.parallel import Parallel, Serial, Spread
from morello.rewrites.parallel_split import ParallelSplit, may_split
from morello.rewrites.peel import Peel
from morello.rewrites.rewrite import (
    Application,
    Child,
    Edges,
    Rank,
    Rewrite,
    apply,
    expand,
    in_words,
)
from morello.rewrites.select import Select
from morello.rewrites.tile import Divide, Overlap, SizedOverlap, SizedTile, Split, Tile

REWRITES: dict[str, type[Rewrite]] = {
    kind.name: kind
    for kind in (
        Tile, Overlap, Split, ToAccumulate, Move, MoveAll, Select, Parallel, Serial, Bufferize,
        Decompose, SpatialSplit, Pointwise, PadFirst, Crop, Ungroup, Pack, LastGroup,
        ParallelSplit, Join, GroupRows, Peel,
    )
}  # fmt: skip
"""The rewrites that programs are made of, by name."""

__all__ = [
    "REWRITES",
    "SCHEMES",
    "Application",
    "Bufferize",
    "Child",
    "Crop",
    "Decompose",
    "Divide",
    "Edges",
    "GroupRows",
    "Join",
    "LastGroup",
    "Move",
    "MoveAll",
    "Overlap",
    "Pack",
    "PadFirst",
    "Parallel",
    "ParallelSplit",
    "Peel",
    "Pointwise",
    "Rank",
    "Rewrite",
    "Select",
    "Serial",
    "SizedOverlap",
    "SizedTile",
    "SpatialSplit",
    "Split",
    "Spread",
    "Tile",
    "ToAccumulate",
    "Ungroup",
    "apply",
    "cropped",
    "decomposes",
    "expand",
    "in_words",
    "may_split",
]
