"""Batches: many Specs of one operation, stored as columns (a structure of arrays).

Rewrites operate on whole batches. A single Spec is a batch of one, so that searching a
million Specs and rewriting one by hand run the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.ir.dtype import DType
from morello.ir.joining import NO_JOINING, Joining
from morello.ir.kept import Kept, keeps
from morello.ir.operation import Operation
from morello.ir.placements import Bools, Ints, Placements, prod_columns
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES, PAGE_BYTES


@dataclass(frozen=True)
class Batch:
    """Specs of one operation and dtypes, one per row of the columns.

    The columns are `sizes[dim]`, `levels[operand]` and `codes[operand]`, the codes of placements.
    `joining` says how the dimensions of a search's goals are to be joined first.
    """

    operation: Operation
    dtypes: tuple[DType, ...]
    placements: Placements
    sizes: tuple[Ints, ...]
    levels: tuple[Ints, ...]
    codes: tuple[Ints, ...]
    parallel: bool = False
    joining: Joining = NO_JOINING

    @staticmethod
    def of(specs: Sequence[Spec], placements: Placements) -> Batch:
        """The batch of these Specs, which must agree in operation, dtypes and `parallel`."""
        first = specs[0]
        return Batch(
            first.operation,
            first.dtypes,
            placements,
            _columns([s.sizes for s in specs], np.int32),
            _columns([s.levels for s in specs], np.int8),
            _columns([placements.codes(s.placements) for s in specs], np.int16),
            first.parallel,
        )

    def spec(self, row: int = 0) -> Spec:
        return Spec(
            self.operation,
            tuple(int(c[row]) for c in self.sizes),
            tuple(int(c[row]) for c in self.levels),
            tuple(self.placements[int(c[row])] for c in self.codes),
            self.dtypes,
            self.parallel,
        )

    def __len__(self) -> int:
        return len(self.sizes[0])

    def __getitem__(self, rows: Ints | Bools) -> Batch:
        return Batch(
            self.operation,
            self.dtypes,
            self.placements,
            tuple([column[rows] for column in self.sizes]),
            tuple([column[rows] for column in self.levels]),
            tuple([column[rows] for column in self.codes]),
            self.parallel,
            self.joining,
        )

    def size(self, dim: str) -> Ints:
        return self.sizes[self.operation.dims.index(dim)]

    def shape(self, operand: int) -> tuple[Ints, ...]:
        return self.operation.extents(operand, self.sizes)

    def runs(self, operand: int) -> tuple[Ints, Ints]:
        """The number of contiguous runs of an operand, and the elements in each."""
        if operand not in self._runs:
            self._runs[operand] = self.placements.runs(self.shape(operand), self.codes[operand])
        return self._runs[operand]

    @cached_property
    def _runs(self) -> dict[int, tuple[Ints, Ints]]:
        return {}

    def lines(self, operand: int) -> Ints:
        """The number of cache lines that an operand's elements fill."""
        if operand not in self._lines:
            count, length = self.runs(operand)
            per_run = -(-length * self.dtypes[operand].bytes // LINE_BYTES)
            self._lines[operand] = count * per_run
        return self._lines[operand]

    @cached_property
    def least_lines(self) -> Any:
        """The number of cache lines that all operands fill if they have no gaps."""
        volumes = [prod_columns(self.shape(operand)) for operand in range(len(self.dtypes))]
        pairs = zip(volumes, self.dtypes, strict=True)
        return sum(-(-volume * dtype.bytes // LINE_BYTES) for volume, dtype in pairs)

    def uses(self, operand: int) -> Ints:
        """How many sums of products each element of an input is in, or terms of an output's."""
        uses: Ints = np.ones(len(self), np.int64)
        for dim in self.operation.dims_without(operand):
            uses = uses * self.size(dim)
        return uses

    def pages_of_terms(self, operand: int) -> Any:
        """The pages that an input of a sum of products has elements of one sum on, at most.

        There is one row for each term, if rows are neither in panels nor along the terms.
        """
        placements, codes = self.placements, self.codes[operand]
        terms = self.size(self.operation.contracted)
        count, length = self.runs(operand)
        gapless = -(-length * self.dtypes[operand].bytes // PAGE_BYTES)
        pages = np.where(count == 1, np.minimum(terms, gapless), terms)
        position, _ = self.operation.places[operand, self.operation.contracted]
        return placements.in_rows_across(codes, position) * pages

    def pages_of_rows(self, operand: int, position: int) -> Any:
        """The pages that rows of an operand without gaps begin on; they run along a dimension."""
        shape = self.shape(operand)
        volume = prod_columns(shape)
        pages = -(-volume * self.dtypes[operand].bytes // PAGE_BYTES)
        return np.minimum(volume // shape[position], pages)

    def touched(self, operand: int) -> Any:
        """The mean number of cache lines that an operand's elements are in.

        Runs may begin at any multiple of some bytes in a line (`Placement.step`).
        """
        count, length = self.runs(operand)
        step = self.placements.step(self.codes[operand])
        filled = -(-length * self.dtypes[operand].bytes // step) * step
        return count * ((filled + LINE_BYTES - step) / LINE_BYTES)

    @cached_property
    def _lines(self) -> dict[int, Ints]:
        return {}

    def registers(self, operand: int) -> Ints:
        """The number of registers that an operand held in registers occupies."""
        fewest, _ = self.placements.registers(self.codes[operand], self.shape(operand))
        return fewest

    def relaxed(self, *, kept: Kept) -> Batch:
        """The Specs with ideal placements, which bound the costs of these from below.

        Neighbours that are `kept` stay along the same dimensions.
        """
        codes = [
            self.placements.relaxed_along(code)
            if keeps(kept, operand.name)
            else self.placements.relaxed(code)
            for operand, code in zip(self.operation.operands, self.codes, strict=True)
        ]
        return replace(self, codes=tuple(codes))

    def canonical(self) -> Batch:
        """The Specs with their placements in canonical form: those of tiles that are whole."""
        codes = []
        for operand, (code, dtype) in enumerate(zip(self.codes, self.dtypes, strict=True)):
            shape = self.shape(operand)
            codes.append(self.placements.tile(shape, shape, code, dtype.bytes))
        return replace(self, codes=tuple(codes))

    def ideal(self, known: Sequence[Bools | bool]) -> Batch:
        """The Specs with ideal placements, which keep neighbours that are `known`, by operand.

        Others may be along any dimension.
        """
        given = self.placements
        codes = [
            np.where(here, given.relaxed_along(code), given.relaxed(code))
            for here, code in zip(known, self.codes, strict=True)
        ]
        return replace(self, codes=tuple(codes))


def _columns(rows: Sequence[Sequence[int]], dtype: npt.DTypeLike) -> tuple[Ints, ...]:
    table = np.array(rows, dtype).T
    return tuple(np.ascontiguousarray(column) for column in table)
