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
from morello.targets.tlb import TLB, UNKNOWN_TLB

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
    """One level of memory. Its costs are cycles to bring data from it to the next nearer level."""

    name: str
    capacity: int
    """The lines that it holds, or the registers of the nearest level."""
    per_line: float = 0.0
    per_run: float = 0.0
    """The cycles more of a contiguous run: prefetching and address translation start anew."""
    per_alias: float = 0.0
    """The cycles more of a run whose neighbours are a power of two apart (conflict misses)."""
    per_write: float = 0.0
    """The cycles more of a line that is only written, as it is fetched (write-allocate)."""
    per_alias_written: float = 0.0
    """`per_alias` of a run that is only written."""
    conflict_runs: int = 0
    """The runs a power of two apart, which share a few sets, that stay in it beside other data."""
    saturation: float = 0.0
    """The cores that it serves at full speed, if all cores share it."""


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
    """A leaf kernel: a few instructions that implement a Spec, as C and on NumPy arrays."""

    name: str
    operation: str
    """The name of the operation that it implements, such as "MatmulAccum"."""
    dtypes: tuple[DType, ...]
    held: tuple[InRegisters | None, ...]
    """How each operand is held in registers; None if it is in the nearest cache."""
    c: str
    """A line of C, repeated for each register of the operands that have several.

    In it, `{name}` is that register, or the first element of an operand in memory; `{n}` and the
    other dimensions are sizes, `{length}` is the largest of them, `{elements}` their product,
    `{reduced}` that of the dimensions that are reduced, and `{scanned}` the size of the dimension
    that is kept whole; `{name_n}` is the stride of an operand along a dimension, 0 if it has none,
    `{name_panel}` the width of its panels; `{constant}` is that of the operation's function.
    Helpers of the target are called by their names.
    """
    semantics: Semantics
    """The same on NumPy arrays: a function from the operands that are read to the output, or to a
    tuple of the outputs. The operation's constant, if any, is passed to it as `constant`.
    """
    applies: Callable[[Batch], Iterable[Condition]]
    """Further conditions on the Spec."""
    cost: Callable[[Batch], Column]
    """The cycles, before the machine's `factor`."""
    registers: int = 0
    """The registers that it needs beside those of the operands."""
    in_order: bool = False
    """Whether compilers must move no loads across it."""
    odd_even: int = 0
    """The elements of an odd-even block, if the first operand lies in such blocks; else 0."""
    panel: tuple[int, int] = (0, 0)
    """A width and a number of rows: outputs of at most so many rows may lie in such panels."""
    streams: tuple[int, ...] = ()
    """Operands in the cache beyond the nearest, which it reads or prefetches from there."""
    anywhere: tuple[int, ...] = ()
    """Operands that may be in any memory."""
    masked: bool = False
    """Whether it loads or stores a part of a register."""
    group: Group = "arithmetic"
    factor: float = 1.0
    """The machine's factor on the cycles, the same for all kernels of a `group`."""

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
    """A machine: its memory levels, registers, kernels and costs."""

    name: str
    description: str
    arch: str
    """The architecture, as compilers are told for a whole file (see `native.toolchain`)."""
    levels: tuple[Level, ...]
    """The memory levels, farthest first; the last is the register file."""
    vector_bytes: tuple[int, ...]
    """The sizes of registers, widest first."""
    kernels: tuple[LeafKernel, ...]
    helpers: Mapping[str, str]
    """The definitions in C that kernels use, by name."""
    masks: bool
    """Whether a part of a widest register can be loaded and stored."""
    features: tuple[str, ...]
    """The CPU features that its code needs, as Linux names them."""
    casts: frozenset[tuple[DType, DType]] = frozenset()
    """The pairs of dtypes that a copy may convert between."""
    packs: tuple[Packing, ...] = ()
    """The groups of products that one instruction sums."""
    instructions: str = ""
    """The instruction sets, as compilers are told for a function; "" if all compilers have them."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers that helpers need, by a text that is in their C."""
    cores: int = 1
    """The cores that a parallel loop runs on."""
    fork: float = 8000.0
    """The cycles to begin and end a parallel loop; it takes more if its pieces are long."""
    last_cache: int = 0
    """The lines of the cache before memory; 0 if unknown."""
    refetch: float = 3.5
    """The cycles more of each line that is read from memory again, in compositions whose operands
    exceed the `usable_cache`.
    """
    in_flight: float = 0.0
    """The accumulator registers that keep the multiply-add units busy."""
    accumulator_stall: float = 0.0
    """The cycles more of a reduction step for each accumulator that is missing to `in_flight`."""
    accumulator_start: float = 0.0
    """The cycles of each accumulator, however long the reduction is."""
    overlap: float = 0.0
    """The share of a line's transfer from memory that its multiply-adds hide, for each use."""
    l2_line: float = 0.0
    """The cycles of a line from L2 in goals without products, at least; 0 if that is unknown."""
    tlb: TLB = UNKNOWN_TLB
    rows: int = 0
    """The rows of the register tile that fills the registers, with two accumulators in each row; 0
    if only powers of two and three times them are to be tried.
    """
    streaming: Mapping[str, float] = field(default_factory=dict)
    """Factors on costs, by name, for goals whose operands exceed the last cache (see `costs`)."""
    from_memory: bool = False
    """Whether the goal's operands exceed the last cache, or are evicted from it between calls."""
    bypassed: float = 0.0
    """The share of the last cache from which on results bypass all caches; 0 if never."""
    machine: str = ""
    """The microarchitecture whose costs the kernels have, if any."""
    tunings: tuple[Target, ...] = ()
    """The target with the costs of each microarchitecture, if the code is for several."""

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
        if self.tlb.pages and (operand, batch.operation.contracted) in batch.operation.places:
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
        Up to the rows of a tile, each use of a line hides as much as its multiply-adds take, and
        its loads as much as another one.
        """
        uses = batch.uses(operand)
        in_one_tile = TILE_WIDTH * uses > self.in_flight
        in_one_tile &= uses < self.levels[self.registers].capacity
        apart = in_one_tile & (2 * batch.pages_of_terms(operand) > self.tlb.pages)
        computed = self.overlap * (uses <= self.rows) * (uses + 1)
        hidden = np.minimum(1.0, np.maximum(in_one_tile * self.tlb.hidden, computed))
        factor: Column = 1.0 + np.where(apart, 1.0, -hidden)
        return factor

    @cached_property
    def _costs(self) -> int:
        """A hash of the costs, by which targets of one name differ.

        Of numbers alone: hashes of texts differ between processes, and this one may be pickled.
        """
        levels = tuple(getattr(level, kind) for level in self.levels for kind in TRANSFERS)
        factors = tuple(kernel.factor for kernel in self.kernels)
        start, stall = self.accumulator_start, self.accumulator_stall
        return hash((levels, factors, self.cores, self.fork, start, stall, self.overlap))

    def __hash__(self) -> int:
        return hash((self.name, self._costs))


@cache
def _widths(vector_bytes: tuple[int, ...], element_bytes: int) -> tuple[int, ...]:
    return (*(n // element_bytes for n in vector_bytes), 1)


def c_type(dtype: DType, width: int) -> str:
    """The C type of a register of `width` elements."""
    return dtype.c if width == 1 else f"{dtype}x{width}"
