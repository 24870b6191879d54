"""Products of rows by matrices that they choose, as products of blocks of rows by one matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, lgamma, log, log1p
from typing import ClassVar

import numpy as np

from morello.ir.batch import Batch
from morello.ir.operation import Operation, Primitive, reordered
from morello.ir.placements import Ints
from morello.ir.primitives import GROUP, GROUPED_MATMUL, MATMUL, fill, matmul
from morello.rewrites.rewrite import Application, Child, Edges, Rank, Rewrite, everywhere
from morello.rewrites.tile import tiled
from morello.targets.target import Condition, Target

RARE = 1e-6
"""The probability of a number of rows below which it is not counted."""


@dataclass(frozen=True)
class GroupRows(Rewrite):
    """Multiply neighbouring rows that choose one matrix in blocks of 1, 2, 4, ... or `most` rows.

    How often there are blocks of each size, only the numbers of a call tell. The cost is that of
    rows that are sorted by number, each number as likely as another.

    GroupedMatmul(m=6, e=4, k=8, n=8), most 2
      -> for each run of rows of one number, block by block:
           Matmul(m=1, k=8, n=8) or Matmul(m=2, k=8, n=8)
         for each row whose number is of no matrix: FillZero(i=1, j=8)
    """

    most: int

    name = "group_rows"
    lowers = Rank.OPERATION
    style = "loop"
    of: ClassVar[Primitive] = GROUPED_MATMUL

    @property
    def blocks(self) -> tuple[int, ...]:
        """The rows of each kind of block."""
        return tuple(1 << power for power in range(self.most.bit_length()))

    @classmethod
    def successors(cls, primitive: Primitive) -> Sequence[Primitive]:
        return (MATMUL,) if primitive is cls.of else ()

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        operation, placements = batch.operation, batch.placements
        right = operation.primitive is self.of
        yield Condition(everywhere(batch, right), f"{operation} has no groups of rows")
        power = self.most > 0 and self.most.bit_count() == 1
        yield Condition(everywhere(batch, power), f"{self.most} is no power of two")
        yield Condition(everywhere(batch, not batch.parallel), "apply serial or parallel first")
        yield Condition(batch.size("m") >= self.most, f"there are no {self.most} rows")
        for number, operand in enumerate(operation.operands):
            codes, here = batch.codes[number], batch.levels[number] < target.registers
            yield Condition(here, f"{operand.name} must be in memory")
            for dim in ("m", GROUP):
                if dim in operand.dims:
                    position = operand.dims.index(dim)
                    cut = placements.paneled_along(codes, position)
                    yield Condition(~cut, f"it would cut panels of {operand.name}")
                    cut = placements.cuts_groups(codes, position, 1)
                    yield Condition(~cut, f"it would cut groups of {operand.name}")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        rows, groups = batch.size("m").tolist(), batch.size(GROUP).tolist()
        times = [block_counts(*sizes, self.most) for sizes in zip(rows, groups, strict=True)]
        products = [
            Child(self._block(batch, size, target), np.array(count, np.int32), "step", (0, 1, 3))
            for size, count in zip(self.blocks, zip(*times, strict=True), strict=True)
        ]
        blank = Child(self._zeros(batch, target), role="fill", tensors=(3,))
        return [Edges(np.arange(len(batch)), children=(*products, blank))]

    def _block(self, batch: Batch, rows: int, target: Target) -> Batch:
        """The products of so many rows by one matrix."""
        block = _tiled(_tiled(batch, GROUP, 1, target), "m", rows, target)
        operation = _product_operation(batch.operation)
        kept = (0, 1, 3)
        products = Batch(
            operation,
            tuple(batch.dtypes[tensor] for tensor in kept),
            batch.placements,
            tuple(block.size(dim) for dim in operation.dims),
            tuple(batch.levels[tensor] for tensor in kept),
            tuple(_without_groups(block, tensor) for tensor in kept),
        )
        return products.canonical()

    def _zeros(self, batch: Batch, target: Target) -> Batch:
        """The rows of no matrix, one at a time."""
        row = _tiled(batch, "m", 1, target)
        return Batch(
            fill(2), batch.dtypes[3:], batch.placements, row.shape(3), row.levels[3:], row.codes[3:]
        )  # fmt: skip

    def words(self, applied: Application) -> str:
        ids = applied.name(applied.spec.operation.operands[2].name)
        sizes = ", ".join(map(str, self.blocks))
        return f"for rows of equal {ids}, in blocks of {sizes}"


def _product_operation(grouped: Operation) -> Operation:
    """The product of rows by one matrix; operands keep the order of their dimensions."""
    x, matrices, _, out = (operand.dims for operand in grouped.operands)
    return reordered(matmul(), (x, tuple(d for d in matrices if d != GROUP), out))


def kept_dims(grouped: Operation, tensor: int) -> tuple[int, ...]:
    """The positions of a tensor's dimensions that the product by one matrix has."""
    return tuple(n for n, dim in enumerate(grouped.operands[tensor].dims) if dim != GROUP)


def blocks_of(rows: int, most: int) -> list[int]:
    """The sizes of the blocks that so many rows of one matrix are computed in.

    These are powers of two. Rows that fill no block of the `most` rows are as few blocks as can be,
    of which the last may begin in the one before: that computes some rows twice.
    """
    whole, rest = divmod(rows, most)
    blocks = [most] * whole
    while rest:
        below = 1 << rest.bit_length() - 1
        block = below if below == rest or 2 * below > rows else 2 * below
        blocks.append(block)
        rest = max(0, rest - block)
    return blocks


@cache
def block_counts(rows: int, groups: int, most: int) -> tuple[int, ...]:
    """How many blocks of 1, 2, 4, ... `most` rows there are on average, at least one of each.

    Rows are sorted, and each is of any group, all as likely.
    """
    counts = [0.0] * most.bit_length()
    for size in range(1, rows + 1):
        chance = _chance(size, rows, groups)
        if chance > RARE:
            for block in blocks_of(size, most):
                counts[block.bit_length() - 1] += chance * groups
    return tuple(max(1, round(count)) for count in counts)


def _chance(size: int, rows: int, groups: int) -> float:
    """The probability that a group has so many of the rows: it is binomial."""
    if groups == 1:
        return float(size == rows)
    ways = lgamma(rows + 1) - lgamma(size + 1) - lgamma(rows - size + 1)
    return exp(ways - size * log(groups) + (rows - size) * log1p(-1 / groups))


def _tiled(batch: Batch, dim: str, size: int, target: Target) -> Batch:
    return tiled(batch, dim, np.full(len(batch), size, np.int32), target)


def _without_groups(block: Batch, tensor: int) -> Ints:
    return block.placements.squeezed(block.codes[tensor], kept_dims(block.operation, tensor))
