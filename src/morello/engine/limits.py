"""Memory limits of all levels, packed into one integer.

Every level has a field with a guard bit above it, so that "fits at every level" is a
subtraction and a mask. Limits are exact counts of registers or cache lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from morello.base.errors import SearchError
from morello.engine.arrays import Bools, Ints


class LimitPacking(NamedTuple):
    """How amounts of memory are packed: the guard bits of all fields, and a field's width."""

    guard: int
    field: int


@dataclass(frozen=True)
class Limits:
    """How limits on levels 1, 2, ... (all but the farthest) are packed."""

    capacities: tuple[int, ...]

    @cached_property
    def field(self) -> int:
        """Bits of one level's field, guard included."""
        return 63 // len(self.capacities)

    @property
    def largest(self) -> int:
        return (1 << (self.field - 1)) - 1

    @cached_property
    def guard(self) -> int:
        """The guard bits of all fields."""
        return sum(1 << (self.field * (i + 1) - 1) for i in range(len(self.capacities)))

    @cached_property
    def packing(self) -> LimitPacking:
        """The packing of limits, as the engine takes it."""
        return LimitPacking(self.guard, self.field)

    @cached_property
    def full(self) -> int:
        """The largest value in every field."""
        return self.guard - (self.guard >> (self.field - 1))

    def fits(self, amount: Ints | int, limit: Ints | int) -> Bools | bool:
        """Whether an amount is within a limit at every level, row by row for columns."""
        return (((limit | self.guard) - amount) & self.guard) == self.guard

    def smaller(self, a: int, b: int) -> int:
        """The minimum of both, field by field."""
        wins = ((a | self.guard) - b) & self.guard
        mask = wins - (wins >> (self.field - 1))
        return (b & mask) | (a & ~mask & self.full)

    def pack(self, amounts: Sequence[int]) -> int:
        if any(amount > self.largest for amount in amounts):
            raise SearchError(
                f"memory limits {list(amounts)} exceed {self.largest}, the most that "
                f"{len(amounts)} levels can be searched with; lower the capacities."
            )
        return sum(int(amount) << (self.field * i) for i, amount in enumerate(amounts))

    def unpack(self, packed: int) -> tuple[int, ...]:
        return tuple(
            (packed >> (self.field * i)) & self.largest for i in range(len(self.capacities))
        )

    def column(self, allocation: Mapping[int, Ints | int], rows: int) -> Ints:
        """Pack allocations per level (1 is the first with a limit), one integer per row.

        An amount that exceeds its field is clamped to the largest value, which exceeds every
        limit.
        """
        packed: Ints = np.zeros(rows, np.int64)
        for level, amount in allocation.items():
            clamped = np.minimum(amount, self.largest).astype(np.int64)
            packed = packed + (clamped << (self.field * (level - 1)))
        return packed
