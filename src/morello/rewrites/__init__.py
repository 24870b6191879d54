"""Rewrites: from a Spec to a program with smaller Specs left to do."""

from morello.rewrites.accumulate import ToAccumulate
from morello.rewrites.bufferize import Bufferize
from morello.rewrites.conv import PadFirst, Pointwise, SpatialSplit
from morello.rewrites.decompose import SCHEMES, Decompose, decomposes
from morello.rewrites.move import Move, MoveAll
from morello.rewrites.pack import Pack
from morello.rewrites.parallel import Parallel, Serial, Spread
from morello.rewrites.parallel_split import ParallelSplit, may_split
from morello.rewrites.rewrite import Child, Edges, Rewrite, apply, expand
from morello.rewrites.select import Select
from morello.rewrites.tile import Cut, Divide, Split, Tile

__all__ = [
    "SCHEMES",
    "Bufferize",
    "Child",
    "Cut",
    "Decompose",
    "Divide",
    "Edges",
    "Move",
    "MoveAll",
    "Pack",
    "PadFirst",
    "Parallel",
    "ParallelSplit",
    "Pointwise",
    "Rewrite",
    "Select",
    "Serial",
    "SpatialSplit",
    "Split",
    "Spread",
    "Tile",
    "ToAccumulate",
    "apply",
    "decomposes",
    "expand",
    "may_split",
]
