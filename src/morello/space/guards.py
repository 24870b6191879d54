"""Rules: rewrites, and the Specs that the search tries them on.

The *relaxed* space has the ideal layout in place of every other, or those that are ideal but for
the dimension along which neighbours are in memory. For every program it has one that costs no more,
so its optimum is a lower bound of the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from morello.ir.batch import Batch
from morello.ir.kept import Kept
from morello.ir.placements import Bools
from morello.rewrites import Rewrite

Guard = Callable[[Batch], Bools]


@dataclass(frozen=True)
class Rules:
    """Rewrites that the search tries on the rows of a batch that the guard admits."""

    guard: Guard
    rewrites: tuple[Rewrite, ...]


def relaxed(groups: Sequence[Rules], *, kept: Kept) -> list[Rules]:
    """The rules of the relaxed space, with neighbours `kept` (see `Rewrite.relaxed`).

    Rewrites that differ in layouts only become the same.
    """
    guards: dict[Rewrite, dict[Guard, None]] = {}
    for group in groups:
        for rewrite in group.rewrites:
            guards.setdefault(rewrite.relaxed(kept=kept), {})[group.guard] = None
    rewrites: dict[tuple[Guard, ...], list[Rewrite]] = {}
    for rewrite, admitting in guards.items():
        rewrites.setdefault(tuple(admitting), []).append(rewrite)
    return [Rules(partial(_any, admitting), tuple(r)) for admitting, r in rewrites.items()]


def _any(guards: Sequence[Guard], batch: Batch) -> Bools:
    """The rows that any of the guards admits."""
    first, *others = guards
    admitted = first(batch)
    for guard in others:
        admitted = admitted | guard(batch)
    return admitted


def always(batch: Batch) -> Bools:
    return np.ones(len(batch), np.bool_)


def all_from(level: int) -> Guard:
    """Where no operand is farther than a level."""

    def guard(batch: Batch) -> Bools:
        result: Bools = reduce(np.minimum, batch.levels) >= level
        return result

    return guard


def at(index: int, level: int) -> Guard:
    return lambda batch: batch.levels[index] == level
