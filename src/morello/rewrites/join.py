"""Joining dimensions that go together in all operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from morello.ir.batch import Batch
from morello.ir.joining import Joined, Joining, joined
from morello.ir.kept import NONE, Kept
from morello.ir.layout import row_major
from morello.ir.placements import Ints, prod_columns
from morello.ir.tensor import Placement, gapless
from morello.rewrites.buffer import buffer_codes
from morello.rewrites.rewrite import Application, Child, Edges, Rank, Rewrite, everywhere
from morello.targets.target import Condition, Target


@dataclass(frozen=True)
class Join(Rewrite):
    """Join each group of dimensions into one, and leave out `units`, which are of size 1.

    A convolution by filters of one pixel becomes a product of matrices.

    Add(i=8, j=16, k=64), groups i, j, k
      -> Add(i=8192)
    Conv(b=1, f=8, c=4, y=7, x=7, p=1, q=1), group y, x, units b, p, q
      -> Matmul(m=8, k=4, n=49)
    """

    groups: tuple[tuple[str, ...], ...]
    units: tuple[str, ...] = ()

    name = "join"
    lowers = Rank.OPERATION

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        operation, joining = batch.operation, self.joining
        known = {*operation.dims} >= {d for group in (*self.groups, self.units) for d in group}
        smaller = joined(operation, joining) if known else None
        possible = smaller is not None and not operation.accumulates
        yield Condition(everywhere(batch, possible), f"{operation} cannot be joined so")
        if not possible:
            return
        for dim in self.units:
            yield Condition(batch.size(dim) == 1, f"{dim} must be 1")
        for index, operand in enumerate(operation.operands):
            here = batch.levels[index] == 0
            yield Condition(here, f"{operand.name} must be in main memory")
            if joining.joins_any(operand.dims):
                plain = batch.placements.alike(batch.codes[index], _row_major(batch, index))
                yield Condition(plain, f"{operand.name} must be row-major, without gaps")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        smaller = joined(batch.operation, self.joining)
        assert smaller is not None
        body = self._left(_joined(batch, smaller, self.joining))
        return [Edges(np.arange(len(batch)), children=(Child(body, tensors=smaller.tensors),))]

    def __str__(self) -> str:
        return f"join({self._text})"

    def relaxed(self, *, kept: Kept) -> Rewrite:
        return _RelaxedJoin(self.groups, self.units, kept)

    def words(self, applied: Application) -> str:
        return f"{self._text} as one dimension" + "s" * (len(self.groups) > 1)

    def _left(self, body: Batch) -> Batch:
        """The Specs that are left to be solved, of those with fewer dimensions."""
        return body

    @property
    def _text(self) -> str:
        return ", ".join("*".join(group) for group in self.groups)

    @property
    def joining(self) -> Joining:
        """The groups and the units, as one value."""
        return Joining(self.groups, self.units)


@dataclass(frozen=True)
class _RelaxedJoin(Join):
    """`Join` in the relaxed space: it leaves ideal placements, whose neighbours may be `kept`."""

    kept: Kept = NONE

    name = ""

    def _left(self, body: Batch) -> Batch:
        return body.relaxed(kept=self.kept)


def _joined(batch: Batch, smaller: Joined, joining: Joining) -> Batch:
    sizes = tuple(
        prod_columns([batch.size(d) for d in dims]).astype(np.int32) for dims in smaller.sources
    )
    joined_specs = Batch(
        smaller.operation,
        tuple(batch.dtypes[t] for t in smaller.tensors),
        batch.placements,
        sizes,
        tuple(batch.levels[t] for t in smaller.tensors),
        tuple(_placements_left(batch, t, joining) for t in smaller.tensors),
        batch.parallel,
    )
    return joined_specs.canonical()


def _placements_left(batch: Batch, operand: int, joining: Joining) -> Ints:
    """The placements of an operand by the dimensions that it has left."""
    dims, codes = batch.operation.operands[operand].dims, batch.codes[operand]
    kept = joining.kept(dims)
    if joining.joins_any(dims):
        return batch.placements.change(codes, partial(_without_gaps, rank=len(kept)))
    return batch.placements.squeezed(codes, kept)


def _without_gaps(_: Placement, rank: int) -> Placement:
    return gapless(row_major(rank))


def _row_major(batch: Batch, operand: int) -> Ints:
    """The placements of an operand that is row-major, without gaps."""
    shape = batch.shape(operand)
    return buffer_codes(batch, shape, row_major(len(shape)), 0, batch.dtypes[operand])
