"""Sizes of caches, as the levels of a target have them."""

from __future__ import annotations

from dataclasses import replace

from morello.ir.batch import LINE_BYTES
from morello.targets.cpu import Cache
from morello.targets.target import Level, Target

PAGE_BYTES = 4096
"""Runs this far apart fall into the same sets of a first-level cache."""


def beyond_nearest(level: Level, lines: int) -> Level:
    """The level with a capacity of so many lines.

    Runs that are a multiple of a page apart share sets: it holds one for each page of its
    capacity.
    """
    return replace(level, capacity=lines, conflict_runs=lines * LINE_BYTES // PAGE_BYTES)


def rows_of(ways: int) -> int:
    """The runs a power of two apart that stay in a set: a third of it is left to other data."""
    return max(1, ways * 2 // 3)


def sized(target: Target, l1: Cache | None, l2: Cache | None, l3: Cache | None = None) -> Target:
    """The target with caches of these sizes, as far as they are known.

    Part of each is left to other data: a sixteenth of L1 and a third of its ways, a quarter of
    L2, and of the last cache what `Target.usable_cache` leaves.
    """
    memory, second, first, registers = target.levels
    if l2 is not None and l2.size:
        second = beyond_nearest(second, l2.size // LINE_BYTES * 3 // 4)
    if l1 is not None and l1.size:
        first = replace(first, capacity=l1.size // LINE_BYTES * 15 // 16)
        if l1.ways:
            first = replace(first, conflict_runs=rows_of(l1.ways))
    last = l3.size // LINE_BYTES if l3 is not None else 0
    return replace(target, levels=(memory, second, first, registers), last_cache=last)
