"""Loops over tiles of an output dimension, which may overlap, or over pieces of a reduction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from morello.base.errors import RewriteError
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints, prod_columns
from morello.ir.spec import MAX_SIZE, Spec
from morello.ir.tensor import PAGE_BYTES
from morello.rewrites.accumulate import wide_sums
from morello.rewrites.rewrite import Application, Child, Edges, Rewrite, dim_index, everywhere
from morello.targets.target import Column, Condition, Target


@dataclass(frozen=True)
class _Loop(Rewrite):
    """A loop over pieces of one dimension."""

    dim: str
    size: int

    style = "loop"
    indents = ("body", "remainder")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        return loop(batch, self.dim, self._column(batch), target)

    def __str__(self) -> str:
        return f"{self.name}({self.dim}={self.size})"

    def words(self, applied: Application) -> str:
        size = applied.spec.size(self.dim)
        if size // self.size > 1:
            return f"for {tiles_text(self.dim, size, self.size)}"
        return f"{self.dim} in 0..{self.size}"

    def heading(self, role: str, applied: Application) -> str:
        return remainder_text(role, self.dim, applied.spec.size(self.dim), self.size)

    def trait(self, spec: Spec) -> str:
        return ""

    def _column(self, batch: Batch) -> Ints:
        return tile_column(self, self.size, batch)


@dataclass(frozen=True)
class Tile(_Loop):
    """Loop over tiles of an output dimension; a remainder gets a body of its own.

    Matmul(m=10, k=8, n=8)
      -> for m in 0..8 by 4: Matmul(m=4, k=8, n=8)
         Matmul(m=2, k=8, n=8)
    """

    name = "tile"

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        tile = self._column(batch)
        reduced = self.dim in batch.operation.reduced
        yield Condition(everywhere(batch, not reduced), f"{self.dim} is reduced; split it")
        yield _not_whole(batch, self.dim)
        yield from loop_conditions(batch, self.dim, tile)


@dataclass(frozen=True)
class Overlap(_Loop):
    """Loop over tiles of one size; the last begins so that it ends with the output dimension.

    Matmul(m=10, k=8, n=8)
      -> for m in 0..10 by 4, the last from 6: Matmul(m=4, k=8, n=8)

    What two tiles share is computed twice. So the operation must overwrite its outputs, and read
    none of them.
    """

    name = "overlap"

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        yield from _overlap_conditions(batch, self.dim, self._column(batch))

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        return _overlapping(batch, self.dim, self._column(batch), target)

    def words(self, applied: Application) -> str:
        size = applied.spec.size(self.dim)
        return f"for {self.dim} in 0..{size} by {self.size}, the last from {size - self.size}"


@dataclass(frozen=True)
class Split(_Loop):
    """Loop over pieces of a reduction that accumulates; a remainder gets its own body.

    MatmulAccum(m=8, k=10, n=8)
      -> for k in 0..8 by 4: MatmulAccum(m=8, k=4, n=8)
         MatmulAccum(m=8, k=2, n=8)
    """

    name = "split"

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        operation, tile = batch.operation, self._column(batch)
        reduced = self.dim in operation.reduced
        yield Condition(everywhere(batch, reduced), f"{self.dim} is not reduced; tile it")
        yield Condition(
            everywhere(batch, operation.accumulates),
            f"{operation} does not accumulate; apply to_accumulate first",
        )
        yield from _whole_sums(batch, self.dim)
        yield _not_whole(batch, self.dim)
        yield from loop_conditions(batch, self.dim, tile)


def begins(loop: Rewrite, merged: Rewrite) -> bool:
    """Whether a loop over larger tiles can be the first of those that were merged into one."""
    return (
        isinstance(loop, Tile | Split)
        and isinstance(merged, type(loop))
        and loop.dim == merged.dim
        and loop.size > merged.size
        and loop.size % merged.size == 0
    )


@dataclass(frozen=True)
class Divide(Rewrite):
    """Tile or split a dimension into `factor` equal parts.

    Nested loops cost as much as one loop with the product of their factors, so the search
    needs only small primes: chains of them reach every larger factor.

    Matmul(m=12, k=8, n=8), factor 3
      -> for m in 0..12 by 4: Matmul(m=4, k=8, n=8)
    """

    dim: str
    factor: int

    def __post_init__(self) -> None:
        if self.factor < 2:
            raise RewriteError(f"{self}: the factor must be at least 2.")

    def __str__(self) -> str:
        return f"divide({self.dim} by {self.factor})"

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        size = batch.sizes[dim_index(batch, self.dim)]
        reduced = self.dim in batch.operation.reduced
        legal = batch.operation.accumulates or not reduced
        yield Condition(everywhere(batch, legal), f"{batch.operation} does not accumulate")
        yield from _whole_sums(batch, self.dim)
        yield _not_whole(batch, self.dim)
        yield Condition(size % self.factor == 0, f"{self.dim} is no multiple of {self.factor}")
        yield from loop_conditions(batch, self.dim, size // self.factor)

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        tile = batch.size(self.dim) // self.factor
        body = Child(tiled(batch, self.dim, tile, target), self.factor)
        own = _walking(batch, self.dim, tile, target)
        return [Edges(np.arange(len(batch)), own, children=(body,))]

    def concrete(self, spec: Spec) -> Rewrite:
        kind = Split if self.dim in spec.operation.reduced else Tile
        return kind(self.dim, spec.size(self.dim) // self.factor)


@dataclass(frozen=True)
class _Sized(Rewrite):
    """A loop over tiles whose size is a function of the dimension's size; 0 if there is none."""

    dim: str
    choose: Callable[[Ints], Ints]

    def tile(self, batch: Batch) -> Ints:
        """The size of the tiles of each row."""
        return self.choose(batch.size(self.dim))

    def _tile_of(self, spec: Spec) -> int:
        return int(self.choose(np.array([spec.size(self.dim)], np.int32))[0])


@dataclass(frozen=True)
class SizedTile(_Sized):
    """Tile or split a dimension into pieces whose size is a function of the dimension's size.

    Matmul(m=10, k=8, n=8), choosing 8 of 10
      -> for m in 0..8 by 8: Matmul(m=8, k=8, n=8)
         Matmul(m=2, k=8, n=8)
    """

    def __str__(self) -> str:
        return f"cut({self.dim})"

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        legal = batch.operation.may_cut(self.dim)
        yield Condition(everywhere(batch, legal), f"{batch.operation} keeps {self.dim} whole")
        yield from _whole_sums(batch, self.dim)
        tile = self.tile(batch)
        yield Condition(tile > 0, f"there is no tile for {self.dim}")
        yield from loop_conditions(batch, self.dim, np.maximum(tile, 1))

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        return loop(batch, self.dim, self.tile(batch), target)

    def concrete(self, spec: Spec) -> Rewrite:
        kind = Split if self.dim in spec.operation.reduced else Tile
        return kind(self.dim, self._tile_of(spec))


@dataclass(frozen=True)
class SizedOverlap(_Sized):
    """Cover a dimension with tiles whose size is a function of the dimension's size.

    Matmul(m=10, k=8, n=8), choosing 4 of 10
      -> for m in 0..10 by 4, the last from 6: Matmul(m=4, k=8, n=8)
    """

    def __str__(self) -> str:
        return f"cover({self.dim})"

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        tile = self.tile(batch)
        yield Condition(tile > 0, f"there is no tile for {self.dim}")
        yield from _overlap_conditions(batch, self.dim, np.maximum(tile, 1))

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        return _overlapping(batch, self.dim, self.tile(batch), target)

    def concrete(self, spec: Spec) -> Rewrite:
        return Overlap(self.dim, self._tile_of(spec))


def tile_column(loop: Rewrite, size: int, batch: Batch) -> Ints:
    """The size of a loop's tiles, for each row of a batch; raises `RewriteError`."""
    if not 1 <= size <= MAX_SIZE:
        raise RewriteError(f"{loop}: a tile's size must be at least 1 and below the whole.")
    return np.full(len(batch), size, np.int32)


def tiles_text(dim: str, size: int, tile: int) -> str:
    """The range of a loop over whole tiles, as text."""
    return f"{dim} in 0..{size // tile * tile}" + (f" by {tile}" if tile > 1 else "")


def remainder_text(role: str, dim: str, size: int, tile: int) -> str:
    """The line above a loop's remainder; none above other children."""
    return f"{dim} in {size // tile * tile}..{size}" if role == "remainder" else ""


def loop_conditions(batch: Batch, dim: str, tile: Ints) -> Iterator[Condition]:
    """Tiles are smaller than the dimension, and cut no panels and no registers."""
    index = dim_index(batch, dim)
    size = batch.sizes[index]
    yield Condition(tile < size, f"the tile must be smaller than {dim}")
    for operand in range(len(batch.operation.operands)):
        if (operand, dim) in batch.operation.places:
            yield from _panel_conditions(batch, operand, dim, tile)


def _overlap_conditions(batch: Batch, dim: str, tile: Ints) -> Iterator[Condition]:
    """Tiles write equal values where they overlap, and none of them starts inside a panel."""
    operation, size = batch.operation, batch.sizes[dim_index(batch, dim)]
    yield Condition(everywhere(batch, dim not in operation.reduced), f"{dim} is reduced; split it")
    yield _not_whole(batch, dim)
    legal = operation.may_overlap(dim)
    yield Condition(everywhere(batch, legal), f"{operation} reads what it writes; tile {dim}")
    yield Condition(everywhere(batch, not batch.parallel), "it is to be run in parallel")
    yield Condition(size % tile != 0, f"such tiles of {dim} do not overlap; tile it")
    yield from loop_conditions(batch, dim, tile)
    yield from loop_conditions(batch, dim, size - tile)


def _panel_conditions(batch: Batch, operand: int, dim: str, tile: Ints) -> Iterator[Condition]:
    """Tiles along a dimension cut no panels and no registers of an operand."""
    position, step = batch.operation.places[operand, dim]
    placements, codes = batch.placements, batch.codes[operand]
    name, size = batch.operation.operands[operand].name, batch.size(dim)
    if not batch.operation.axes[operand][position].plain:
        cut = placements.paneled_along(codes, position) | placements.in_registers_along(
            codes, position
        )
        follow = _follow(batch, operand, dim)
        yield Condition(~cut | follow, f"it would cut panels or registers of {name}")
        size, tile = size * step, tile * step
    cut = placements.cuts_panels(codes, position, size, tile)
    yield Condition(~cut, f"it would cut panels of {name}")
    if batch.operation.sums_products and batch.operation.contracted in ("", dim):
        cut = placements.cuts_groups(codes, position, tile)
        yield Condition(~cut, f"it would cut groups of {name}")
    cut = placements.cuts_registers(codes, position, tile)
    yield Condition(~cut, f"it would cut registers of {name}")


def _follow(batch: Batch, operand: int, dim: str) -> Bools:
    """Where tiles of an operand along a dimension follow each other, and share no elements.

    The channels of groups do so, and windows do not.
    """
    position, step = batch.operation.places[operand, dim]
    axis = batch.operation.axes[operand][position]
    if axis.before or axis.after:
        return everywhere(batch, False)
    sizes = dict(zip(batch.operation.dims, batch.sizes, strict=True))
    result: Bools = axis.extent({**sizes, dim: 1}) == step
    return result


def _whole_sums(batch: Batch, dim: str) -> Iterator[Condition]:
    """A loop over a reduction stores partial sums."""
    if dim in batch.operation.reduced:
        yield from wide_sums(batch)


def _not_whole(batch: Batch, dim: str) -> Condition:
    whole = dim in batch.operation.untiled
    return Condition(everywhere(batch, not whole), f"{batch.operation} needs {dim} whole")


def loop(batch: Batch, dim: str, tile: Ints, target: Target) -> list[Edges]:
    """The edges of a loop over tiles of these sizes: for rows without and with a remainder."""
    size = batch.size(dim)
    remainder = size % tile
    exact = np.flatnonzero(remainder == 0)
    ragged = np.flatnonzero(remainder)
    result = []
    if len(exact):
        selected = batch if len(exact) == len(batch) else batch[exact]
        body = Child(tiled(selected, dim, tile[exact], target), size[exact] // tile[exact])
        result.append(Edges(exact, _walking(selected, dim, tile[exact], target), children=(body,)))
    if len(ragged):
        selected = batch[ragged]
        body = Child(tiled(selected, dim, tile[ragged], target), size[ragged] // tile[ragged])
        rest = Child(tiled(selected, dim, remainder[ragged], target), role="remainder")
        result.append(
            Edges(ragged, _walking(selected, dim, tile[ragged], target), children=(body, rest))
        )
    return result


def _overlapping(batch: Batch, dim: str, tile: Ints, target: Target) -> list[Edges]:
    """The edges of a loop over tiles that cover a dimension they do not divide."""
    body = Child(tiled(batch, dim, tile, target), -(-batch.size(dim) // tile))
    own = _walking(batch, dim, tile, target)
    return [Edges(np.arange(len(batch)), own, children=(body,))]


def _walking(batch: Batch, dim: str, tile: Ints, target: Target) -> Column:
    """The cycles more of a loop over tiles of columns."""
    return _returning(batch, dim, target) + _interleaving(batch, dim, tile, target)


def _returning(batch: Batch, dim: str, target: Target) -> Column:
    """The cycles more to write outputs if a loop over their columns returns to many rows.

    A line is read before it is first written to. With rows on more pages than the first TLB holds,
    each iteration waits for the addresses and the first lines of all rows anew. By a loop in C, on
    a Sapphire Rapids, rows of 3 to 8 KB: about 1 cycle a line more for 64 rows than for 8, and for
    96 or more 15 cycles in pieces of three lines, 10 of twelve and 3 of 24; nothing for rows of
    1 KB. On a Zen 4, rows of 16 KB: 5 to 6 cycles a line that is written, whole rows or pieces of 8
    to 16 rows, and 12 for 32 rows or more; nothing is waited for where 30 or more products are
    added up. On a Zen 5, none of these takes longer. Only the outermost loop pays, however narrow
    its columns are, so that nested loops cost as much as one.
    """
    operation, tlb = batch.operation, target.tlb
    cycles: Column = 0.0
    if operation.copies or not tlb.pages or not tlb.returning:
        return cycles
    for operand in operation.outputs:
        if operation.reads(operand) or (operand, dim) not in operation.places:
            continue
        position, _ = operation.places[operand, dim]
        row = batch.shape(operand)[position] * batch.dtypes[operand].bytes
        pays = batch.placements.whole_rows_along(batch.codes[operand], position)
        pays &= (batch.levels[operand] < target.registers) & (2 * row >= PAGE_BYTES)
        pays &= batch.pages_of_rows(operand, position) > tlb.output_pages * tlb.pages
        pays &= batch.uses(operand) < tlb.output_steps
        cycles = cycles + pays * batch.lines(operand) * tlb.returning * target.levels[0].per_run
    return cycles


ANEW = 240
"""The lines of a row after which it costs no more that it begins anew."""


def _interleaving(batch: Batch, dim: str, tile: Ints, target: Target) -> Column:
    """The cycles more if a loop over columns walks rows from memory side by side.

    By loops on a Zen 4, rows of 4 and 10 KB: 1.3 cycles a line for two rows in pieces of four
    lines, 2.3 for six in pieces of twelve, and 6.5 for 16 in pieces of one. Rows of up to five
    lines are as near to each other as their own lines; of 384 bytes, in pieces of 128 of eight
    rows, maps took three times as long as row by row. In pieces of any length, a row begins anew,
    which takes 500 to 700 cycles for rows of 5 to 48 KB; one row after the other, the prefetches
    of one reach the next. So half is paid by the outermost loop, and half by the one whose tiles
    are shorter than half a page, or the outermost one of rows that are: nested ones cost as much
    as one.
    """
    operation = batch.operation
    cycles: Column = 0.0
    if operation.copies or operation.sums_products or not target.from_memory:
        return cycles
    for operand in range(len(operation.operands)):
        if (operand, dim) not in operation.places:
            continue
        position, step = operation.places[operand, dim]
        shape, bytes_ = batch.shape(operand), batch.dtypes[operand].bytes
        row, codes, lines = shape[position] * bytes_, batch.codes[operand], batch.lines(operand)
        rows = prod_columns(shape) // shape[position]
        several = (batch.levels[operand] < target.registers) & (rows > 1)
        whole = batch.placements.whole_rows_along(codes, position) & (12 * row >= PAGE_BYTES)
        long = batch.placements.rows_along(codes, position) & (2 * row >= PAGE_BYTES)
        short = (whole | long) & (2 * tile * step * bytes_ < PAGE_BYTES)
        paid = whole * np.minimum(lines, ANEW * rows) + short * lines
        cycles = cycles + several * paid * (target.tlb.interleaved / 2)
    return cycles


def tiled(batch: Batch, dim: str, tile: Ints, target: Target) -> Batch:
    """The batch with one dimension cut to `tile`, and the operands' placements updated to match."""
    index = batch.operation.dims.index(dim)
    sizes = tuple(tile.astype(np.int32) if i == index else s for i, s in enumerate(batch.sizes))
    cut = replace(batch, sizes=sizes)
    return placed_within(
        batch, cut, [o for o, name in batch.operation.places if name == dim], target
    )


def placed_within(whole: Batch, part: Batch, operands: Sequence[int], target: Target) -> Batch:
    """The parts of Specs, of which these operands are placed as tiles of the whole Specs' are."""
    codes = list(part.codes)
    for o in operands:
        codes[o] = whole.placements.tile(
            whole.shape(o),
            part.shape(o),
            codes[o],
            whole.dtypes[o].bytes,
            near=whole.levels[o] >= target.nearest,
        )
    return replace(part, codes=tuple(codes))
