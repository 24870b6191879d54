"""What a target is: memory levels, vector widths, kernels, and their costs in cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.forms import Bools

Column = npt.NDArray[np.floating[Any]] | float
Semantics = Callable[..., npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Level:
    """One level of memory.

    `capacity` counts lines (registers, at the nearest level). `per_line` are the cycles
    it takes to bring one line from here to the next nearer level, and `per_run` the
    cycles that each gapless run adds to that (prefetchers and page tables start anew),
    `per_alias` those that a run adds whose neighbours are a power of two apart.
    `conflict_runs` is how many runs a power of two apart, which fall into the same few
    sets, stay in a cache beside everything else.
    """

    name: str
    capacity: int
    per_line: float = 0.0
    per_run: float = 0.0
    per_alias: float = 0.0
    conflict_runs: int = 0


@dataclass(frozen=True)
class Condition:
    """Where something applies, and what to say where it does not."""

    holds: Bools
    reason: str


@dataclass(frozen=True)
class Held:
    """An operand in registers of `width` elements, along a dimension (any, if empty)."""

    width: int
    along: str = ""


@dataclass(frozen=True)
class Kernel:
    """A few instructions that close a Spec.

    `held` says for each operand whether it is held in registers, and how; if not, it is
    in the nearest cache. `c` is one line of C, repeated for each register of the operands
    that have several: `{name}` is that register, or, of an operand in memory, its first
    element; `{n}` and the other dimensions are sizes, `{length}` is the largest. `helpers`
    are the C functions that the line calls. `semantics` is what it computes, on NumPy
    arrays: the inputs, then (unless it is simply overwritten) the output's old value.
    `applies` gives the conditions on the Specs it closes beyond `held`, `cost` the cycles,
    `registers` those it needs for itself.
    """

    name: str
    operation: str
    held: tuple[Held | None, ...]
    c: str
    semantics: Semantics
    applies: Callable[[Batch], Iterable[Condition]]
    cost: Callable[[Batch], Column]
    registers: int = 0
    helpers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """A machine. Levels are listed farthest first; the last is the register file.

    `arch` and `features` name what its code needs, to a compiler and as Linux lists them;
    `widths` are the elements a register may hold, widest first; `masks` says that a
    register can be loaded and stored in part; `helpers` are C definitions by name.
    """

    name: str
    description: str
    arch: str
    levels: tuple[Level, ...]
    widths: tuple[int, ...]
    kernels: tuple[Kernel, ...]
    helpers: dict[str, str]
    masks: bool
    features: tuple[str, ...]
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
        return self._level_numbers[name.lower()]

    @cached_property
    def _level_numbers(self) -> dict[str, int]:
        return {level.name.lower(): number for number, level in enumerate(self.levels)}

    @cached_property
    def _transfer_costs(self) -> tuple[npt.NDArray[np.float64], ...]:
        """`per_line`, `per_run` and `per_alias`, each by level."""
        table = [(one.per_line, one.per_run, one.per_alias) for one in self.levels]
        return tuple(np.array(table, np.float64).T)

    def transfer(self, batch: Batch, operand: int) -> Column:
        """Cycles to bring an operand one level nearer, and back if it is written, by row.

        Writing back waits for nothing, so that only reading pays for the jumps.
        """
        level = batch.levels[operand]
        per_line, per_run, per_alias = (costs[level] for costs in self._transfer_costs)
        lines = batch.lines(operand)
        count, _ = batch.runs(operand)
        reads = batch.operation.reads(operand)
        written = batch.operation.operands[operand].written
        aliased = batch.forms.aliased[batch.codes[operand]]
        cycles: Column = lines * per_line * (int(reads) + int(written))
        if reads:
            cycles = cycles + count * (per_run + aliased * per_alias)
        return cycles

    def __hash__(self) -> int:
        return hash(self.name)


def c_type(dtype: DType, width: int) -> str:
    """The C type of a register of `width` elements."""
    return dtype.c if width == 1 else f"{dtype}x{width}"
