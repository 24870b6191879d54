"""Capacities of a target's levels, from the sizes of caches."""

from __future__ import annotations

import re
from dataclasses import replace

from morello.base.errors import TargetError, quoted
from morello.ir.tensor import LINE_BYTES, PAGE_BYTES
from morello.targets.cpu import Cache
from morello.targets.target import Level, Target

L2_LINES = 16384
"""The most lines of L2 that tiles fill: 1 MiB. Larger ones gain little, and evict what is next.

On an L2 of 2 MiB, convolutions whose tiles had three quarters of it took 1.1 times as long; with
768 KiB, one by 5x1 filters, whose panels no longer fit, took three times as long.
"""

MOST_LINES = (1 << 20) - 1
"""The largest capacity that the search can count: 64 MiB, or as many registers."""

_MEMORY_LINES = 1 << 40

_LIMIT = re.compile(r"(\w+)=(\d{1,9})", re.ASCII)


def beyond_nearest(level: Level, lines: int) -> Level:
    """The level with a capacity of so many lines.

    Runs that are a multiple of a page apart share sets: it holds one for each page of its
    capacity.
    """
    return replace(level, capacity=lines, conflict_runs=lines * LINE_BYTES // PAGE_BYTES)


def levels(
    l2: int, l1: int, l1_ways: int, registers: int, l2_line: float = 0.1, saturation: float = 1.4
) -> tuple[Level, ...]:
    """Memory, L2 and L1 (in lines) and the register file.

    Costs are those of Zen 5, until a machine's replace them. Memory includes the L3 in front of
    it, and is shared by all cores.
    """
    return (
        Level(
            "memory", _MEMORY_LINES,
            per_line=2.5, per_run=8.0, per_alias=8.0, per_write=1.0, per_alias_written=8.0,
            saturation=saturation,
        ),
        beyond_nearest(
            Level(
                "L2", 0,
                per_line=l2_line, per_run=1.0, per_alias=5.0, per_write=1.2, per_alias_written=5.0,
            ),
            l2,
        ),
        Level("L1", l1, conflict_runs=rows_of(l1_ways)),
        Level("registers", registers),
    )  # fmt: skip


def rows_of(ways: int) -> int:
    """The runs a power of two apart that stay in a set: a third of it is left to other data."""
    return max(1, ways * 2 // 3)


def sized(target: Target, l1: Cache | None, l2: Cache | None, l3: Cache | None = None) -> Target:
    """The target with caches of these sizes, as far as they are known.

    Part of each is left to other data: a sixteenth of L1 and a third of its ways, a quarter of
    L2 and what exceeds `L2_LINES`, and of the last cache what `Target.usable_cache` leaves.
    """
    memory, second, first, registers = target.levels
    if l2 is not None and l2.size:
        second = beyond_nearest(second, min(l2.size // LINE_BYTES * 3 // 4, L2_LINES))
    if l1 is not None and l1.size:
        first = replace(first, capacity=l1.size // LINE_BYTES * 15 // 16)
        if l1.ways:
            first = replace(first, conflict_runs=rows_of(l1.ways))
    last = l3.size // LINE_BYTES if l3 is not None else 0
    return replace(target, levels=(memory, second, first, registers), last_cache=last)


def limited(target: Target, limits: str) -> Target:
    """The target with other capacities, such as "L1=512,registers=16": lines, and registers.

    Raises `TargetError` for levels that it does not have, and for capacities that cannot be.
    """
    levels = {level.name.lower(): number for number, level in enumerate(target.levels)}
    changed = list(target.levels)
    for text in limits.split(","):
        match = _LIMIT.fullmatch(text.strip())
        number = levels.get(match[1].lower(), 0) if match else 0
        if not match or not number:
            known = ", ".join(f"{level.name}={level.capacity}" for level in target.levels[1:])
            raise TargetError(
                f"{quoted(text)} is no limit of a level of {target.name}; its levels and their "
                f"limits are: {known}."
            )
        lines = int(match[2])
        if not 1 <= lines <= MOST_LINES:
            raise TargetError(
                f"{quoted(text)}: a level has from 1 to {MOST_LINES:,} lines or registers."
            )
        level = changed[number]
        beyond = number < target.nearest
        changed[number] = beyond_nearest(level, lines) if beyond else replace(level, capacity=lines)
    tunings = tuple(limited(tuning, limits) for tuning in target.tunings)
    return replace(target, levels=tuple(changed), tunings=tunings)
