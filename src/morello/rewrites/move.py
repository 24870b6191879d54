"""Bringing an operand one memory level nearer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from morello.base.errors import RewriteError
from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.kept import Kept, keeps
from morello.ir.layout import Layout, unpaneled
from morello.ir.placements import Bools, Ints, any_row
from morello.ir.primitives import move as move_operation
from morello.ir.spec import Spec
from morello.ir.tensor import IDEAL, PAGE_BYTES
from morello.rewrites.buffer import (
    buffer_codes,
    check_rank,
    level_number,
    memory_conditions,
    place_text,
    register_conditions,
)
from morello.rewrites.rewrite import Application, Child, Edges, Rewrite, everywhere, operand_index
from morello.targets.target import Column, Condition, Target

USED_ONCE = 16
"""How many aliased runs the nearest cache may hold of an operand whose elements are used once.

As many as the largest block that is transposed in registers has: each of its lines is written
whole at once, or each row of a small one read at once, and may be evicted afterwards.
"""

SQUARE_BYTES = 16
"""The longest rows of a square that registers transpose at once, whatever its dtype."""

SCHEDULED = 32
"""How many multiply-adds may wait for their operands while a core begins the next sums."""


@dataclass(frozen=True)
class Move(Rewrite):
    """Bring an operand to the next nearer level, or to another layout or dtype.

    Without a layout, the cache loads it by itself as the operand is used:

    Matmul(a at L2) -> Matmul(a at L1)

    With a layout (and another dtype, if given), or into registers (`vector` elements each),
    it is copied there before the body if the body reads it, and back after the body if the
    body writes it. Main memory may also be copied to main memory.

    MatmulAccum(c at L1)
      -> Move(c -> c'); MatmulAccum(c' in registers); Move(c' -> c)
    """

    operand: str
    level: str
    layout: Layout | None = None
    vector: int = 0
    dtype: DType | None = None

    name = "move"

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        operand = operand_index(batch, self.operand)
        level = level_number(self, self.level, target)
        if level == 0 and self.layout is None:
            raise RewriteError(f"{self}: a copy within main memory needs a layout.")
        below = max(level - 1, 0)
        yield Condition(
            batch.levels[operand] == below,
            f"{self.operand} must be in {target.levels[below].name} to move to {self.level}",
        )
        if self.layout is None:
            if level == target.registers:
                raise RewriteError(f"{self}: registers need a vector size and a layout.")
            if self.dtype is not None:
                raise RewriteError(f"{self}: another dtype needs a copy; give a layout.")
            yield Condition(
                self.fits_sets(batch, operand, target),
                f"rows of {self.operand} a power of two apart would evict each other; "
                "copy them with a layout",
            )
            return
        yield from self._copy_conditions(batch, operand, target)
        if level == target.registers:
            shape = batch.shape(operand)
            yield from register_conditions(self, shape, self._dtype(batch, operand), target)

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        operand = operand_index(batch, self.operand)
        level = level_number(self, self.level, target)
        reads = batch.operation.reads(operand)
        writes = batch.operation.operands[operand].written
        here = np.full(len(batch), level, np.int8)
        levels = _replaced(batch.levels, operand, here)
        rows = np.arange(len(batch))
        if self.layout is None:
            codes = batch.codes
            if level == target.nearest:  # conflict misses occur beyond it only
                near = batch.placements.without_alias(batch.codes[operand])
                codes = _replaced(batch.codes, operand, near)
            body = replace(batch, levels=levels, codes=codes)
            lines = batch.lines(operand)
            return [Edges(rows, target.transfer(batch, operand), {level: lines}, (Child(body),))]
        dtype = self._dtype(batch, operand)
        codes = _replaced(batch.codes, operand, self._new_codes(batch, operand))
        dtypes = (*batch.dtypes[:operand], dtype, *batch.dtypes[operand + 1 :])
        body = replace(batch, levels=levels, codes=codes, dtypes=dtypes)
        held = body.registers(operand) if level == target.registers else body.lines(operand)
        buffer = len(batch.operation.operands)
        tensors = tuple(buffer if i == operand else i for i in range(buffer))
        children = [Child(body, tensors=tensors)]
        if reads:
            copy = _copy(batch, body, operand)
            children.insert(0, Child(copy, role="in", tensors=(operand, buffer)))
        if writes:
            copy = _copy(body, batch, operand)
            children.append(Child(copy, role="out", tensors=(buffer, operand)))
        cost = self._waits(body, operand, target) if level == target.registers else 0.0
        return [Edges(rows, cost, {level: held} if level else {}, tuple(children))]

    def __str__(self) -> str:
        layout = "" if self.layout is None else f", {self.layout}"
        vector = f", vector={self.vector}" if self.vector else ""
        dtype = "" if self.dtype is None else f", {self.dtype}"
        return f"move({self.operand} to {self.level}{layout}{vector}{dtype})"

    def relaxed(self, *, kept: Kept) -> Rewrite:
        if self.layout is None:
            return self
        if not keeps(kept, self.operand):
            return replace(self, layout=IDEAL.layout)
        return _Along(self.operand, self.level, unpaneled(self.layout), self.vector, self.dtype)

    @property
    def silent(self) -> bool:
        return self.layout is None

    def words(self, applied: Application) -> str:
        operation = applied.spec.operation
        text = f"{applied.name(self.operand)} -> {self.level}"
        if self.layout is None:
            return text
        dims = operation.operands[operation.find(self.operand)].dims
        return text + place_text(self.layout, self.vector, dims, f"{self.dtype or ''}")

    def heading(self, role: str, applied: Application) -> str:
        return f"{applied.name(self.operand)} <- {self.level}" if role == "out" else ""

    def trait(self, spec: Spec) -> str:
        operation = spec.operation
        if self.layout is None:
            return ""
        if self.vector == 0:
            return f"{operation} {self.operand} as {self.layout}"
        index = operation.find(self.operand)
        adds_up = operation.operands[index].written and operation.reduced
        shape = f" {spec.shape(index)}" if adds_up else ""
        return f"{operation} {self.operand}{shape} in {self.vector}"

    def _waits(self, batch: Batch, operand: int, target: Target) -> Column:
        """Cycles that a reduction waits for its accumulators, besides loading and storing them.

        It waits for each at its start and end, and in every step if they are too few to hide the
        add latency. The last steps of products of floats do not stall: the scheduler has begun the
        next sums, unless these are added to what was stored before, and so may be the same ones.
        Those of other reductions do, by measurements on all machines.
        """
        operation = batch.operation
        sums = operation.reduced and operand == operation.output
        if not (target.in_flight and sums and self.vector > 1):
            return 0.0
        fewest, most = batch.placements.registers(batch.codes[operand], batch.shape(operand))
        missing = np.maximum(0.0, target.in_flight - most)
        steps: Column = reduce(mul, map(batch.size, operation.reduced), 1.0)
        fresh = not operation.reads(operand)
        if fresh and operation.contracted and batch.dtypes[operand].is_float:
            steps = np.maximum(0.0, batch.size(operation.contracted) - SCHEDULED / fewest)
        start = target.accumulator_start * batch.registers(operand)
        cycles: Column = start + target.accumulator_stall * missing * steps
        return cycles

    def _dtype(self, batch: Batch, operand: int) -> DType:
        return self.dtype or batch.dtypes[operand]

    def fits_sets(self, batch: Batch, operand: int, target: Target) -> Bools:
        """Whether the level can hold the aliased runs without conflict misses, per batch row.

        Windows take a number of each of many runs before they take the next: a line that is evicted
        is read again for each of them. Others take whole lines, which the next level delivers about
        as fast as they are used, unless the runs are in very few sets.
        """
        placements, codes = batch.placements, batch.codes[operand]
        whichever = placements.aliased if batch.operation.windows else placements.crowded
        aliased = whichever(codes)
        if not any_row(aliased):
            return ~aliased
        level = level_number(self, self.level, target)
        count, length = batch.runs(operand)
        pages = count * -(-length * batch.dtypes[operand].bytes // PAGE_BYTES)
        most = target.levels[level].conflict_runs * placements.apart(codes)
        if level == target.nearest:
            once = _used_once(batch, operand, target)
            most = np.where(once, np.maximum(most, USED_ONCE), most)
        fits: Bools = ~aliased | (pages <= most)
        return fits

    def _copy_conditions(self, batch: Batch, operand: int, target: Target) -> Iterator[Condition]:
        layout, dtype, shape = self.layout, batch.dtypes[operand], batch.shape(operand)
        assert layout is not None
        check_rank(self, layout, len(shape), self.operand)
        codes = batch.codes[operand]
        yield Condition(
            everywhere(batch, not batch.operation.copies) | batch.placements.odd_even(codes),
            f"{batch.operation} only copies or fills: copy only operands in odd-even blocks",
        )
        wanted = self._dtype(batch, operand)
        legal = target.casts_to(dtype, wanted) or not batch.operation.reads(operand)
        if batch.operation.operands[operand].written:
            legal &= target.casts_to(wanted, dtype)
        # no conversion between floats and integers
        legal &= wanted is dtype or dtype.is_float == wanted.is_float
        yield Condition(everywhere(batch, legal), f"no kernel converts {dtype} to {wanted}")
        if level_number(self, self.level, target) != target.registers:
            yield from memory_conditions(self, shape)
            changed = batch.placements.differ(self._new_codes(batch, operand), codes)
            changed |= wanted is not dtype
            yield Condition(changed, f"{self.operand} already has this layout, without gaps")

    def _new_codes(self, batch: Batch, operand: int) -> Ints:
        assert self.layout is not None
        dtype = self._dtype(batch, operand)
        return buffer_codes(batch, batch.shape(operand), self.layout, self.vector, dtype)


@dataclass(frozen=True)
class _Along(Move):
    """`Move` to a layout that is ideal, except for the dimension of neighbours."""

    name = ""

    def _new_codes(self, batch: Batch, operand: int) -> Ints:
        return batch.placements.relaxed_along(super()._new_codes(batch, operand))


@dataclass(frozen=True)
class MoveAll(Rewrite):
    """Bring every operand that is one level away into a cache, which loads it as it is used.

    Compose(x and out at L2) -> Compose(x and out at L1)
    """

    level: str

    name = "move_all"
    silent = True

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        level = level_number(self, self.level, target)
        if not 0 < level < target.registers:
            raise RewriteError(f"{self}: the level must be a cache.")
        some_away = np.zeros(len(batch), np.bool_)
        for index, operand in enumerate(batch.operation.operands):
            away = batch.levels[index] == level - 1
            some_away |= away
            conflicts = ~Move(operand.name, self.level).fits_sets(batch, index, target)
            reason = f"rows of {operand.name} a power of two apart would evict each other"
            yield Condition(~(away & conflicts), reason)
        yield Condition(some_away, f"no operand is one level away from {self.level}")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        level = level_number(self, self.level, target)
        levels, codes = list(batch.levels), list(batch.codes)
        cost: Any = np.zeros(len(batch))
        held: Ints = np.zeros(len(batch), np.int64)
        for operand in range(len(levels)):
            away = batch.levels[operand] == level - 1
            cost = cost + away * target.transfer(batch, operand)
            held = held + away * batch.lines(operand)
            levels[operand] = np.where(away, level, levels[operand]).astype(np.int8)
            if level == target.nearest:
                near = batch.placements.without_alias(codes[operand])
                codes[operand] = np.where(away, near, codes[operand])
        body = replace(batch, levels=tuple(levels), codes=tuple(codes))
        return [Edges(np.arange(len(batch)), cost, {level: held}, (Child(body),))]

    def __str__(self) -> str:
        return f"move_all(to {self.level})"

    def trait(self, spec: Spec) -> str:
        return ""


def _used_once(batch: Batch, operand: int, target: Target) -> Bools:
    """Whether an operand is a small square that is copied, or written and not read, per batch row.

    Registers transpose a square of `SQUARE_BYTES` at once. Lines of longer rows are read again, or
    evict those that are prefetched: f32 64x4096 took 1.7 times as long in squares of 16. Sums over
    a window's pixels are read again, and those that exceed the registers are if the reduction is
    split.
    """
    operation = batch.operation
    count, length = batch.runs(operand)
    if operation.reads(operand):
        bytes_ = length * batch.dtypes[operand].bytes
        square: Bools = (count == length) & (bytes_ <= SQUARE_BYTES)
        return square & operation.copies
    if operation.windows:
        return everywhere(batch, False)
    if not operation.reduced:
        return everywhere(batch, True)
    registers = count * -(-length * batch.dtypes[operand].bytes // target.vector_bytes[0])
    fits: Bools = registers < target.levels[target.registers].capacity
    return fits


def _copy(source: Batch, destination: Batch, operand: int) -> Batch:
    """The Specs of copying an operand from its place in one batch to its place in another."""
    shape = tuple(size.astype(np.int32) for size in source.shape(operand))
    return Batch(
        move_operation(len(shape)),
        (source.dtypes[operand], destination.dtypes[operand]),
        source.placements,
        shape,
        (source.levels[operand], destination.levels[operand]),
        (source.codes[operand], destination.codes[operand]),
        source.parallel,
    )


def _replaced(columns: tuple[Ints, ...], index: int, column: Ints) -> tuple[Ints, ...]:
    return (*columns[:index], column, *columns[index + 1 :])
