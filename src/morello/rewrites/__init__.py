"""Rewrites: Spec -> a partial program whose holes are smaller Specs. One file a family."""

from morello.rewrites.accumulate import ToAccumulate
from morello.rewrites.move import Move
from morello.rewrites.rewrite import Child, Edges, Rewrite, Step, apply, expand
from morello.rewrites.select import Select
from morello.rewrites.tile import Divide, Split, Tile

__all__ = [
    "Child",
    "Divide",
    "Edges",
    "Move",
    "Rewrite",
    "Select",
    "Split",
    "Step",
    "Tile",
    "ToAccumulate",
    "apply",
    "expand",
]
