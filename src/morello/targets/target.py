"""What a target is: memory levels, vector widths, kernels, and their costs in cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.forms import Bools, Ints

Column = npt.NDArray[np.float64] | float
Semantics = Callable[..., npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Level:
    """One level of memory.

    `capacity` counts lines (registers, at the nearest level). `per_line` are the cycles
    it takes to bring one line from here to the next nearer level, and `per_run` the
    cycles that every jump to another gapless run adds (prefetchers and page tables).
    """

    name: str
    capacity: int
    per_line: float = 0.0
    per_run: float = 0.0
    line_bytes: int = 64
    ways: int = 16


@dataclass(frozen=True)
class Condition:
    """Where something applies, and what to say where it does not."""

    holds: Bools
    reason: str


@dataclass(frozen=True)
class Kernel:
    """A few instructions that close a Spec.

    `c` is one line of C, repeated for each register of the operands held in registers:
    `{name}` is that register, or, of an operand in memory, its first element; `{n}` and
    the other dimensions are sizes. `helpers` are the C functions that the line calls.
    `semantics` is what it computes, on NumPy arrays: the inputs, then (where the
    operation accumulates) the output's old value. `applies` gives the conditions on
    the Specs it closes, `cost` the cycles, `registers` those it needs for itself.
    """

    name: str
    operation: str
    c: str
    semantics: Semantics
    applies: Callable[[Batch], Iterable[Condition]]
    cost: Callable[[Batch], Column]
    registers: int = 0
    helpers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """A machine. Levels are listed farthest first; the last is the register file."""

    name: str
    description: str
    arch: str
    levels: tuple[Level, ...]
    widths: tuple[int, ...]
    kernels: tuple[Kernel, ...]
    helpers: dict[str, str]
    masks: bool
    headers: tuple[str, ...] = ()

    @property
    def registers(self) -> int:
        """The index of the register file among the levels."""
        return len(self.levels) - 1

    @property
    def nearest(self) -> int:
        """The index of the level that kernels read memory operands from."""
        return len(self.levels) - 2

    @property
    def limits(self) -> tuple[int, ...]:
        """How much of each level but the farthest a program may hold at once."""
        return tuple(level.capacity for level in self.levels[1:])

    def level(self, name: str) -> int:
        """The index of the level of this name (any case); raises `KeyError`."""
        for index, level in enumerate(self.levels):
            if level.name.lower() == name.lower():
                return index
        raise KeyError(name)

    def transfer(self, batch: Batch, operand: int) -> Column:
        """Cycles to bring an operand one level nearer, once, for every row."""
        lines = batch.lines(operand, self.levels[0].line_bytes)
        count, _ = batch.runs[operand]
        level = batch.levels[operand]
        per_line = np.array([one.per_line for one in self.levels])[level]
        per_run = np.array([one.per_run for one in self.levels])[level]
        cycles: Column = lines * per_line + np.where(count > 1, count, 0) * per_run
        return cycles

    def __hash__(self) -> int:
        return hash(self.name)


def ones(batch: Batch, operand: int, but: int | None = None) -> Bools:
    """The operand's tile has size 1 in every dimension (but one)."""
    result = np.ones(len(batch), np.bool_)
    for dim, size in enumerate(batch.shape(operand)):
        if dim != but:
            result &= size == 1
    return result


def per_register(batch: Batch, operand: int) -> Ints:
    return batch.registers(operand)


def c_type(dtype: DType, width: int) -> str:
    """The C type of a register of `width` elements."""
    return dtype.c if width == 1 else f"{dtype}x{width}"
