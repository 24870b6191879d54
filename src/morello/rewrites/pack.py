"""Packing groups of narrow elements, for instructions that sum several products at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.kept import NONE, Kept
from morello.ir.layout import Layout, row_major
from morello.ir.operation import accumulating
from morello.ir.placements import Bools, Ints
from morello.ir.primitives import is_ragged, packed_along, unbias
from morello.ir.primitives import pack as pack_operation
from morello.ir.tensor import IDEAL
from morello.rewrites.buffer import buffer_codes, level_number
from morello.rewrites.rewrite import Application, Child, Edges, Rank, Rewrite, everywhere
from morello.rewrites.tile import placed_within, tiled
from morello.targets.target import Condition, Packing, Target


@dataclass(frozen=True)
class Pack(Rewrite):
    """Make each group of neighbours along the contracted dimension, or channels, one element.

    An input whose groups are contiguous already, as in panels of groups, is read in place; any
    other is copied, to a row-major buffer unless a layout is given. A buffer is at the level of its
    input, or at a given one if that is nearer. Where the last group is not whole, both are copied,
    and it is filled up with zeros. If a packing is biased, signed bytes of a are packed as unsigned
    ones, 128 larger, and sums begin with what makes up for it.

    Matmul(m=8, k=64, n=16), bf16 x bf16 -> f32
      -> Pack(b -> b'); Matmul(m=8, k=32, n=16), bf16x2 x bf16x2 -> f32
    Matmul(m=8, k=64, n=16), i8 x i8 -> i32
      -> Pack(a -> a'); Pack(b -> b'); Unbias(b' -> c)
         MatmulAccum(m=8, k=16, n=16), u8x4 x i8x4 -> i32
    Conv(b=1, f=64, c=64, y=7, x=7, p=3, q=3), bf16 x bf16 -> f32
      -> Pack(image -> image'); Pack(filter -> filter')
         Conv(b=1, f=64, c=32, y=7, x=7, p=3, q=3), bf16x2 x bf16x2 -> f32
    """

    layout: Layout | None = None
    level: str = ""

    name = "pack"
    lowers = Rank.SINGLE

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        packing = _packing(batch, target)
        supported = everywhere(batch, packing is not None)
        yield Condition(supported, f"{target.name} has no instruction for groups of these products")
        if packing is not None:
            if self.level:
                nearer = (batch.levels[0] < self._level(target)) | (
                    batch.levels[1] < self._level(target)
                )
                yield Condition(nearer, f"no input is farther than {self.level}")
            for operand in (0, 1):
                name = batch.operation.operands[operand].name
                here = batch.levels[operand] <= target.nearest
                yield Condition(here, f"{name} must be in memory")
                readable = ~batch.placements.paneled(batch.codes[operand])
                if not (packing.biased and operand == 0):
                    readable |= _in_groups(batch, operand, packing)
                yield Condition(readable, f"{name} must not lie in panels, but for those of groups")
            if packing.biased:
                single = len(batch.operation.reduced) == 1
                yield Condition(everywhere(batch, single), "only one dimension may be summed")
                output = batch.operation.operands[2].name
                here = batch.levels[2] <= target.nearest
                yield Condition(here, f"{output} must be in memory")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        packing = _packing(batch, target)
        assert packing is not None
        whole = batch.size(batch.operation.packed_along) % packing.packed[0].lanes == 0
        ready = [_has_contiguous_groups(batch, operand, packing) for operand in (0, 1)]
        if packing.biased:
            ready[0] = everywhere(batch, False)
        ways: list[tuple[Bools, tuple[bool, ...], bool]] = [(~whole, (False, False), True)]
        for in_place in product((False, True), repeat=2):
            fits = [
                batch.placements.either(batch.codes[operand], ready[operand], in_place[operand])
                for operand in (0, 1)
            ]
            ways.append((whole & fits[0] & fits[1], in_place, False))
        result = []
        for holds, in_place, ragged in ways:
            rows = np.flatnonzero(holds)
            if len(rows):
                children, held = self._packed(batch[rows], target, packing, in_place, ragged=ragged)
                result.append(Edges(rows, 0.0, _by_level(held, target), children))
        return result

    def _packed(
        self,
        batch: Batch,
        target: Target,
        packing: Packing,
        in_place: Sequence[bool],
        *,
        ragged: bool,
    ) -> tuple[tuple[Child, ...], list[tuple[Ints, Ints]]]:
        """The children, and the levels and lines of the buffers that the copies fill.

        Operands that are `in_place` need no copy. The last group of `ragged` ones is not whole.
        """
        operands = len(batch.operation.operands)
        lanes = packing.packed[0].lanes
        along = batch.operation.packed_along
        body = tiled(batch, along, -(-batch.size(along) // lanes), target)
        body = replace(body, dtypes=(*packing.packed, packing.output))
        codes, levels, tensors = list(body.codes), list(body.levels), list(range(operands))
        children, held = [], []
        for operand in (0, 1):
            if in_place[operand]:
                packed, shape = packing.packed[operand], body.shape(operand)
                whole = batch.placements.ungrouped(batch.codes[operand])
                codes[operand] = batch.placements.tile(shape, shape, whole, packed.bytes)
                continue
            tensors[operand] = operands + operand
            packed = packing.packed[operand]
            copy = self._copy(batch, body, operand, packed, target, ragged=ragged)
            levels[operand], codes[operand] = copy.levels[1], copy.codes[1]
            children.append(Child(copy, role="in", tensors=(operand, operands + operand)))
            held.append((copy.levels[1], copy.lines(1)))
        body = replace(body, levels=tuple(levels), codes=tuple(codes))
        if packing.biased:
            body = replace(body, operation=accumulating(body.operation))
            start = replace(
                body,
                operation=unbias(batch.operation),
                dtypes=body.dtypes[1:],
                levels=body.levels[1:],
                codes=body.codes[1:],
            )
            children.append(Child(start, role="fill", tensors=tuple(tensors[1:])))
        return (*children, Child(body, tensors=tuple(tensors))), held

    def _copy(
        self,
        batch: Batch,
        body: Batch,
        operand: int,
        packed: DType,
        target: Target,
        *,
        ragged: bool,
    ) -> Batch:
        """The Specs of packing an operand into a buffer."""
        shape = tuple(size.astype(np.int32) for size in body.shape(operand))
        code = self._code(batch, shape, packed)
        position, _ = batch.operation.places[operand, batch.operation.packed_along]
        last: Ints = np.full(len(batch), packed.lanes, np.int32)
        if ragged:
            last = (batch.size(batch.operation.packed_along) % packed.lanes).astype(np.int32)
        level = batch.levels[operand]
        if self.level:
            level = np.maximum(level, np.int8(self._level(target)))
        return Batch(
            pack_operation(len(shape), position, packed.lanes, ragged),
            (batch.dtypes[operand], packed),
            batch.placements,
            (*shape, last),
            (batch.levels[operand], level),
            (batch.codes[operand], code),
            batch.parallel,
        )

    def _code(self, batch: Batch, shape: tuple[Ints, ...], packed: DType) -> Ints:
        """The placements of a buffer, as codes."""
        layout = row_major(len(shape)) if self.layout is None else self.layout
        return buffer_codes(batch, shape, layout, 0, packed)

    def _level(self, target: Target) -> int:
        return level_number(self, self.level, target)

    def __str__(self) -> str:
        return f"pack({self.layout}{f' in {self.level}' if self.level else ''})"

    def relaxed(self, *, kept: Kept) -> Rewrite:
        return (
            _Along(self.layout, self.level) if kept != NONE else replace(self, layout=IDEAL.layout)
        )

    def words(self, applied: Application) -> str:
        lanes, along = applied.holes[-1].dtypes[0].lanes, applied.spec.operation.packed_along
        return f"groups of {lanes} along {along}" + (f" -> {self.level}" if self.level else "")


@dataclass(frozen=True)
class _Along(Pack):
    """`Pack` into buffers whose layout is ideal, except for the dimension of neighbours."""

    name = ""

    def _code(self, batch: Batch, shape: tuple[Ints, ...], packed: DType) -> Ints:
        return batch.placements.relaxed_along(super()._code(batch, shape, packed))


@dataclass(frozen=True)
class LastGroup(Rewrite):
    """Pack whole groups, then the last one, which is filled up with zeros.

    Pack(i=64, j=5, p=2), u8 -> u8x4: 4 groups of 4 along j, and one of 2
      -> Pack(i=64, j=4, p=4), then Pack(i=64, j=1, p=2)
    """

    name = "last_group"

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        ragged = is_ragged(batch.operation)
        yield Condition(everywhere(batch, ragged), f"{batch.operation} has no group to fill up")
        if ragged:
            along = packed_along(batch.operation)
            yield Condition(batch.size(along) > 1, "it is the last group")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        operation, along = batch.operation, packed_along(batch.operation)
        position, lanes = operation.places[0, along]
        whole = pack_operation(len(operation.dims) - 1, position, lanes)
        parts = (
            (whole, {along: batch.size(along) - 1, "p": np.full(len(batch), lanes, np.int32)}),
            (operation, {along: np.ones(len(batch), np.int32)}),
        )
        steps = []
        for packed, sizes in parts:
            columns = zip(operation.dims, batch.sizes, strict=True)
            cut = tuple(sizes.get(dim, size) for dim, size in columns)
            part = replace(batch, operation=packed, sizes=cut)
            steps.append(Child(placed_within(batch, part, (0, 1), target), role="step"))
        return [Edges(np.arange(len(batch)), children=tuple(steps))]

    def words(self, applied: Application) -> str:
        return "whole groups, then the last one, with zeros"


def _packing(batch: Batch, target: Target) -> Packing | None:
    """The first packing that the target has for sums of products of these dtypes."""
    if not batch.operation.packed_along:
        return None
    *inputs, output = batch.dtypes
    return next((p for p in target.packs if [*p.inputs] == inputs and p.output is output), None)


def _has_contiguous_groups(batch: Batch, operand: int, packing: Packing) -> Bools:
    """Whether each group can be read as one element: in panels of groups, or without gaps along the
    fastest dimension.
    """
    position, _ = batch.operation.places[operand, batch.operation.packed_along]
    gapless = batch.placements.gapless_along(batch.codes[operand], position)
    return gapless | _in_groups(batch, operand, packing)


def _in_groups(batch: Batch, operand: int, packing: Packing) -> Bools:
    """Whether an operand lies in panels of such groups."""
    position, _ = batch.operation.places[operand, batch.operation.packed_along]
    lanes = packing.packed[operand].lanes
    return batch.placements.in_groups(batch.codes[operand], position, lanes)


def _by_level(held: list[tuple[Ints, Ints]], target: Target) -> dict[int, Ints | int]:
    """The total lines of each level; a buffer's level may differ from row to row."""
    total: dict[int, Ints | int] = {}
    for levels, lines in held:
        for level in range(1, target.registers):
            total[level] = total.get(level, 0) + np.where(levels == level, lines, 0)
    return total
