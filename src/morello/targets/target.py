"""What a target is: memory levels, vector widths, kernels, and their costs in cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.forms import Bools

TRANSFERS = ("per_line", "per_run", "per_alias", "per_write", "per_alias_written")
"""What a level's transfers cost: fields of `Level`."""

Column = npt.NDArray[np.floating[Any]] | float
Semantics = Callable[..., Any]


@dataclass(frozen=True)
class Level:
    """One level of memory.

    `capacity` counts lines (registers, at the nearest level). `per_line` are the cycles
    it takes to bring one line from here to the next nearer level, and `per_run` the
    cycles that each gapless run adds to that (prefetchers and page tables start anew),
    `per_alias` those that a run adds whose neighbours are a power of two apart,
    `per_write` those that a line adds which is only written, and fetched all the same, and
    `per_alias_written` what `per_alias` is of runs that are only written.
    `conflict_runs` is how many runs a power of two apart, which fall into the same few
    sets, stay in a cache beside everything else. A level that all cores share has a
    `saturation`: how many of them it serves at full speed.
    """

    name: str
    capacity: int
    per_line: float = 0.0
    per_run: float = 0.0
    per_alias: float = 0.0
    per_write: float = 0.0
    per_alias_written: float = 0.0
    conflict_runs: int = 0
    saturation: float = 0.0


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

    `operation` and `dtypes` say of what. `held` says for each operand whether it is held
    in registers, and how; if not, it is in the nearest cache. `c` is one line of C, repeated
    for each register of the operands that have several: `{name}` is that register, or, of an
    operand in memory, its first element; `{n}` and the other dimensions are sizes, `{length}`
    is the largest, `{name_n}` the elements from one to the next along a dimension, `{name_panel}`
    those of one of its panels, `{constant}` that of the operation's function (an argument of
    that name, to `semantics`). It calls the target's helpers by their names. `semantics` is
    what it computes, on NumPy arrays: from the operands that it reads to the value of the
    output, or a tuple of the outputs'. `applies` gives the conditions on the Specs it closes
    beyond all this, `cost` the cycles, `registers` those it needs for itself. The first operand
    lies in odd-even blocks of `odd_even` elements, if that is not 0. The output may lie in
    panels, the first number of `panel` wide, if it has no more rows than the second. The
    operands that it `streams` are in the cache beyond the nearest, from where it fetches them
    ahead of their use. With `in_order`, compilers move no loads across it. A machine may take
    `factor` times those cycles (see `costs`).
    """

    name: str
    operation: str
    dtypes: tuple[DType, ...]
    held: tuple[Held | None, ...]
    c: str
    semantics: Semantics
    applies: Callable[[Batch], Iterable[Condition]]
    cost: Callable[[Batch], Column]
    registers: int = 0
    in_order: bool = False
    odd_even: int = 0
    panel: tuple[int, int] = (0, 0)
    streams: tuple[int, ...] = ()
    factor: float = 1.0

    def cycles(self, batch: Batch) -> Column:
        """What it costs on this machine, by row."""
        return self.factor * self.cost(batch)


@dataclass(frozen=True)
class Packing:
    """Inputs of these dtypes, in groups, become elements of packed dtypes."""

    inputs: tuple[DType, DType]
    output: DType
    packed: tuple[DType, DType]


@dataclass(frozen=True)
class Target:
    """A machine. Levels are listed farthest first; the last is the register file.

    `arch` and `features` name what its code needs, to a compiler and as Linux lists them;
    `vector_bytes` are the sizes of its registers, widest first; `masks` says that one can
    be loaded and stored in part; `helpers` are C definitions by name. `casts` are the pairs
    of dtypes that a copy may convert between, `packs` the groups of products that it sums
    at once. `cores` run a parallel loop, which takes `fork` cycles to begin and end. Before
    memory there may be a cache of `last` lines (0: none is known of); what is fetched again
    and was too much for the `shared` ones takes `refetch` cycles a line more than the first
    level says. Sums of products in fewer registers than `in_flight` wait for one another: each
    step of a reduction takes `wait` cycles longer for every register that is missing. It
    `cuts_to_rows` if registers are so few that a power of two divides them badly. `machine`
    names the microarchitecture whose costs the kernels have, if any, and `streaming` are costs
    by name, as multiples, for goals whose operands are too much for that cache (see `costs`).
    Where its code is for several microarchitectures, `tunings` are the same target with the
    costs of each.
    """

    name: str
    description: str
    arch: str
    levels: tuple[Level, ...]
    vector_bytes: tuple[int, ...]
    kernels: tuple[Kernel, ...]
    helpers: Mapping[str, str]
    masks: bool
    features: tuple[str, ...]
    casts: frozenset[tuple[DType, DType]] = frozenset()
    packs: tuple[Packing, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    cores: int = 1
    fork: float = 8000.0
    last: int = 0
    refetch: float = 3.5
    in_flight: float = 0.0
    wait: float = 0.0
    cuts_to_rows: bool = False
    streaming: Mapping[str, float] = field(default_factory=dict)
    machine: str = ""
    tunings: tuple[Target, ...] = ()

    @property
    def shared(self) -> int:
        """The lines of the last cache to be had for sure.

        Others use it too, and a virtual machine is told of more than it gets.
        """
        return self.last // 8

    def widths(self, dtype: DType) -> tuple[int, ...]:
        """The elements that a register of this dtype may hold, widest first."""
        return _widths(self.vector_bytes, dtype.bytes)

    def kernels_of(self, operation: str) -> tuple[Kernel, ...]:
        """The kernels that close this operation."""
        return self._kernels_by_operation.get(operation, ())

    def kernel(self, name: str) -> Kernel | None:
        """The kernel of this name, if there is one."""
        return self._kernels_by_name.get(name)

    @cached_property
    def _kernels_by_name(self) -> dict[str, Kernel]:
        return {kernel.name: kernel for kernel in self.kernels}

    @cached_property
    def _kernels_by_operation(self) -> dict[str, tuple[Kernel, ...]]:
        found: dict[str, tuple[Kernel, ...]] = {}
        for kernel in self.kernels:
            found[kernel.operation] = (*found.get(kernel.operation, ()), kernel)
        return found

    def casts_to(self, dtype: DType, wanted: DType) -> bool:
        """Whether a copy can convert between them (or need not)."""
        return dtype is wanted or (dtype, wanted) in self.casts

    @property
    def registers(self) -> int:
        """The index of the register file among the levels."""
        return len(self.levels) - 1

    @property
    def nearest(self) -> int:
        """The index of the level that kernels read memory operands from."""
        return len(self.levels) - 2

    def home(self, kernel: Kernel, operand: int) -> int:
        """The index of the level that a kernel wants an operand in."""
        if kernel.held[operand] is not None:
            return self.registers
        return self.nearest - (operand in kernel.streams)

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
        """Each of `TRANSFERS`, by level."""
        table = [[getattr(one, kind) for kind in TRANSFERS] for one in self.levels]
        return tuple(np.array(table, np.float64).T)

    @cached_property
    def _contention(self) -> npt.NDArray[np.float64]:
        """How much slower each level is to a core when all of them use it."""
        return np.array(
            [
                max(1.0, self.cores / one.saturation) if one.saturation else 1.0
                for one in self.levels
            ]
        )

    def transfer(self, batch: Batch, operand: int) -> Column:
        """Cycles to bring an operand one level nearer, and back if it is written, by row.

        Writing back waits for nothing, so that only reading pays for the jumps. What is not
        read is fetched none the less, and pays for that, and for neighbours that evict it before
        all of it is written.
        """
        level = batch.levels[operand]
        per_line, per_run, per_alias, per_write, per_alias_written = (
            costs[level] for costs in self._transfer_costs
        )
        if self.cores > 1 and not batch.parallel:
            per_line = per_line * self._contention[level]
        lines = batch.lines(operand)
        count, _ = batch.runs(operand)
        reads = batch.operation.reads(operand)
        written = batch.operation.operands[operand].written
        aliased = batch.forms.aliased[batch.codes[operand]]
        cycles: Column = lines * per_line * (int(reads) + int(written))
        if reads:
            return cycles + count * (per_run + aliased * per_alias)
        return cycles + lines * per_write + count * aliased * per_alias_written

    def __hash__(self) -> int:
        return hash(self.name)


@cache
def _widths(vector_bytes: tuple[int, ...], element_bytes: int) -> tuple[int, ...]:
    return (*(n // element_bytes for n in vector_bytes), 1)


def c_type(dtype: DType, width: int) -> str:
    """The C type of a register of `width` elements."""
    return dtype.c if width == 1 else f"{dtype}x{width}"
