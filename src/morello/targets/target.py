"""Targets: memory levels, vector widths, kernels, and their costs in cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.placements import Bools
from morello.ir.tracing import Lookup

TRANSFERS = ("per_line", "per_run", "per_alias", "per_write", "per_alias_written")
"""The transfer costs of a level: fields of `Level`."""

Group = Literal[
    "products", "dots_l2", "dots", "row_sums_ahead", "row_sums_l2", "row_sums", "block_sums_ahead",
    "block_sums_l2", "loads", "stores", "copies", "fills", "shuffles", "exponentials", "divisions",
    "reductions", "arithmetic",
]  # fmt: skip
"""A group of kernels whose costs have a common factor (see `costs`)."""

GROUPS: tuple[Group, ...] = get_args(Group)

TILE_WIDTH = 2
"""The registers in each row of a tile of sums."""

Column = npt.NDArray[np.floating[Any]] | float
Semantics = Callable[..., Any]


@dataclass(frozen=True)
class Level:
    """One level of memory.

    `capacity` counts lines (registers, at the nearest level). The costs are cycles to bring
    data from here to the next nearer level: `per_line` for each line; `per_run` more
    for each contiguous run (hardware prefetching and address translation start anew);
    `per_alias` more for a run whose neighbours are a power of two apart (conflict misses),
    and `per_alias_written` instead if it is only written; `per_write` more for a line that
    is only written, as it is fetched all the same (write-allocate). `conflict_runs` is how
    many runs a power of two apart, which share a few sets, stay in the cache beside other
    data. A level that all cores share serves `saturation` of them at full speed.
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


class Condition(NamedTuple):
    """The rows for which something applies, and the reason to report where it does not."""

    holds: Bools
    reason: str


@dataclass(frozen=True)
class InRegisters:
    """An operand in registers of `width` elements, along a dimension (any, if empty)."""

    width: int
    along: str = ""


@dataclass(frozen=True)
class LeafKernel:
    """A leaf kernel: a few instructions that implement a Spec.

    `operation` and `dtypes` say which Specs. `held` says for each operand how it is held in
    registers; None means that it is in the nearest cache. `c` is one line of C, repeated for
    each register of the operands that have several. In it, `{name}` is that register, or the
    first element of an operand in memory; `{n}` and the other dimensions are sizes, `{length}`
    the largest of them, `{elements}` their product, `{scanned}` that of the dimension that is kept
    whole; `{name_n}` is the stride of an operand along a dimension, 0 if it has none,
    `{name_panel}` the width of its panels; `{constant}` is that of the operation's function (passed
    to `semantics` by that name). It calls the target's helpers by their names. `semantics`
    computes the same on NumPy arrays: from the operands that are read to the value of the
    output, or a tuple of the outputs'. `applies` gives further conditions on the Spec, `cost`
    the cycles, `registers` those needed beside the operands'.

    If `odd_even` is not 0, the first operand lies in odd-even blocks of so many elements.
    `panel` is a width and a number of rows: an output of at most so many rows may lie in
    panels of that width. Operands in `streams` are in the cache beyond the nearest, from
    where the kernel reads or prefetches them; those in `anywhere` may be in any memory. With
    `in_order`, compilers move no loads across it. A `masked` kernel loads or stores a part of a
    register. A machine may take `factor` times those cycles, which is the same for all kernels of
    a `group`.
    """

    name: str
    operation: str
    dtypes: tuple[DType, ...]
    held: tuple[InRegisters | None, ...]
    c: str
    semantics: Semantics
    applies: Callable[[Batch], Iterable[Condition]]
    cost: Callable[[Batch], Column]
    registers: int = 0
    in_order: bool = False
    odd_even: int = 0
    panel: tuple[int, int] = (0, 0)
    streams: tuple[int, ...] = ()
    anywhere: tuple[int, ...] = ()
    masked: bool = False
    group: Group = "arithmetic"
    factor: float = 1.0

    def cycles(self, batch: Batch) -> Column:
        """The cycles on this machine, for each row of the batch."""
        return self.factor * self.cost(batch)


@dataclass(frozen=True)
class Packing:
    """Sums in `output` of products of `inputs`, groups of which are elements of `packed` dtypes.

    If they are `biased`, signed bytes of the first input are packed as unsigned ones, 128 larger.
    """

    inputs: tuple[DType, DType]
    output: DType
    packed: tuple[DType, DType]
    biased: bool = False


@dataclass(frozen=True, repr=False)
class Target:
    """A machine. Levels are listed farthest first; the last is the register file.

    `arch`, `instructions` and `features` name what its code needs, to a compiler for all of a
    file and for a function ("": every compiler for it has these), and as Linux lists them;
    `vector_bytes` are the sizes of its registers, widest first; `masks` says that one can
    be loaded and stored in part; `helpers` are C definitions by name. `casts` are the pairs
    of dtypes that a copy may convert between, `packs` the groups of products that one
    instruction sums. A parallel loop runs on `cores`, and takes `fork` cycles to begin and end,
    and more if its pieces are long.

    Before memory there may be a cache of `last_cache` lines (0: unknown). If the operands of a
    composition exceed the `usable_cache` part of it, each line that is read from memory again
    takes `refetch` cycles more. With fewer accumulator registers than `in_flight`, each step of a
    reduction takes `accumulator_stall` cycles longer for every register that is missing; each of
    them takes `accumulator_start` cycles, however long the reduction is. The first TLB holds
    `pages`, if that is known. A single tile of sums hides the share `hidden` of each transfer from
    memory whose rows are on few of them; each line of rows on more than the share `output_pages`
    of them that a loop returns to costs the share `returning` of the start of a run, if its sums
    have fewer steps than `output_steps`.
    `rows` are those of the register tile that fills the registers, with two accumulators in each
    row; 0 if none but powers of two and three times them are to be tried. `machine` names the
    microarchitecture whose costs the kernels have, if any. `streaming` are factors on costs, by
    name, for goals whose operands exceed the last cache (see `costs`). If the code is for several
    microarchitectures, `tunings` are the same target with the costs of each.
    """

    name: str
    description: str
    arch: str
    levels: tuple[Level, ...]
    vector_bytes: tuple[int, ...]
    kernels: tuple[LeafKernel, ...]
    helpers: Mapping[str, str]
    masks: bool
    features: tuple[str, ...]
    casts: frozenset[tuple[DType, DType]] = frozenset()
    packs: tuple[Packing, ...] = ()
    instructions: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    cores: int = 1
    fork: float = 8000.0
    last_cache: int = 0
    refetch: float = 3.5
    in_flight: float = 0.0
    accumulator_stall: float = 0.0
    accumulator_start: float = 0.0
    pages: int = 0
    hidden: float = 0.5
    output_pages: float = 0.75
    output_steps: int = 512
    returning: float = 0.0
    rows: int = 0
    streaming: Mapping[str, float] = field(default_factory=dict)
    machine: str = ""
    tunings: tuple[Target, ...] = ()

    def __repr__(self) -> str:
        return f"<Target {self.name}>"

    @property
    def usable_cache(self) -> int:
        """The lines of the last cache that a program can count on.

        Other processes use it too, and virtual machines report more than they get.
        """
        return self.last_cache // 8

    def widths(self, dtype: DType) -> tuple[int, ...]:
        """The elements that a register of this dtype may hold, widest first."""
        return _widths(self.vector_bytes, dtype.bytes)

    def kernels_of(self, operation: str) -> tuple[LeafKernel, ...]:
        """The kernels that implement this operation."""
        return self._kernels_by_operation.get(operation, ())

    def kernel(self, name: str) -> LeafKernel | None:
        """The kernel of this name, if there is one."""
        return self._kernels_by_name.get(name)

    @cached_property
    def _kernels_by_name(self) -> dict[str, LeafKernel]:
        return {kernel.name: kernel for kernel in self.kernels}

    @cached_property
    def _kernels_by_operation(self) -> dict[str, tuple[LeafKernel, ...]]:
        kernels: dict[str, tuple[LeafKernel, ...]] = {}
        for kernel in self.kernels:
            kernels[kernel.operation] = (*kernels.get(kernel.operation, ()), kernel)
        return kernels

    def casts_to(self, dtype: DType, wanted: DType) -> bool:
        """Whether a copy can convert between them, or they are the same."""
        return dtype is wanted or (dtype, wanted) in self.casts

    @property
    def registers(self) -> int:
        """The index of the register file among the levels."""
        return len(self.levels) - 1

    @property
    def nearest(self) -> int:
        """The index of the level that kernels read memory operands from."""
        return len(self.levels) - 2

    def operand_level(self, kernel: LeafKernel, operand: int) -> int:
        """The index of the level that a kernel requires an operand in."""
        if kernel.held[operand] is not None:
            return self.registers
        return self.nearest - (operand in kernel.streams)

    @property
    def limits(self) -> tuple[int, ...]:
        """The memory limits of a program: the capacity of each level but the farthest."""
        return tuple(level.capacity for level in self.levels[1:])

    def level(self, name: str) -> int:
        """The index of the level of this name (any case); raises `KeyError`."""
        return self._level_numbers[name.lower()]

    @cached_property
    def _level_numbers(self) -> dict[str, int]:
        return {level.name.lower(): number for number, level in enumerate(self.levels)}

    @cached_property
    def _transfer_costs(self) -> tuple[Lookup, ...]:
        """Each of `TRANSFERS`, by level."""
        table = [[getattr(level, kind) for level in self.levels] for kind in TRANSFERS]
        return tuple(Lookup(np.array(costs, np.float64)) for costs in table)

    @cached_property
    def _contention(self) -> Lookup:
        """The slowdown of each level for a core when all cores use it."""
        return Lookup(
            [
                max(1.0, self.cores / level.saturation) if level.saturation else 1.0
                for level in self.levels
            ]
        )

    def transfer(self, batch: Batch, operand: int) -> Column:
        """Cycles to bring an operand one level nearer, and back if it is written, by row.

        Write-backs do not stall, so only reads pay for the starts of runs. An operand that is only
        written is fetched all the same (write-allocate): it pays for that, and for conflict
        misses that evict its lines before they are filled.
        """
        level = batch.levels[operand]
        per_line, per_run, per_alias, per_write, per_alias_written = (
            costs[level] for costs in self._transfer_costs
        )
        if self.cores > 1 and not batch.parallel:
            per_line = per_line * self._contention[level]
        lines = batch.touched(operand)
        count, _ = batch.runs(operand)
        reads = batch.operation.reads(operand)
        written = batch.operation.operands[operand].written
        aliased = batch.placements.crowded(batch.codes[operand])
        if self.pages and (operand, batch.operation.contracted) in batch.operation.places:
            per_line = np.where(level == 0, self._waited_for(batch, operand), 1.0) * per_line
        cycles: Column = lines * per_line * (int(reads) + int(written))
        if reads:
            cycles = cycles + count * (per_run + aliased * per_alias)
        else:
            cycles = cycles + lines * per_write + count * aliased * per_alias_written
        return cycles

    def _waited_for(self, batch: Batch, operand: int) -> Column:
        """The factor on transfers from memory of an input of a sum of products, by row.

        It is 1 unless each line is used by a single tile of sums: code prefetches for those, which
        hides a part of it. But if the rows of one sum are on more pages than the first TLB keeps
        beside those of others, a tile waits for the address of each line as long as for the line.
        """
        uses = batch.uses(operand)
        in_one_tile = TILE_WIDTH * uses > self.in_flight
        in_one_tile &= uses < self.levels[self.registers].capacity
        apart = 2 * batch.pages_of_terms(operand) > self.pages
        factor: Column = 1.0 + in_one_tile * np.where(apart, 1.0, -self.hidden)
        return factor

    @cached_property
    def _costs(self) -> int:
        """A hash of the costs, by which targets of one name differ.

        Of numbers alone: hashes of texts differ between processes, and this one may be pickled.
        """
        levels = tuple(getattr(level, kind) for level in self.levels for kind in TRANSFERS)
        factors = tuple(kernel.factor for kernel in self.kernels)
        start, stall = self.accumulator_start, self.accumulator_stall
        return hash((levels, factors, self.cores, self.fork, start, stall))

    def __hash__(self) -> int:
        return hash((self.name, self._costs))


@cache
def _widths(vector_bytes: tuple[int, ...], element_bytes: int) -> tuple[int, ...]:
    return (*(n // element_bytes for n in vector_bytes), 1)


def c_type(dtype: DType, width: int) -> str:
    """The C type of a register of `width` elements."""
    return dtype.c if width == 1 else f"{dtype}x{width}"
