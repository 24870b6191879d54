"""Spreading work over cores, or deciding not to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from morello.base.errors import RewriteError
from morello.ir.batch import Batch
from morello.ir.spec import Spec
from morello.rewrites.rewrite import Application, Child, Edges, Rank, Rewrite, everywhere
from morello.rewrites.tile import loop_conditions, remainder_text, tile_column, tiled, tiles_text
from morello.targets.target import Condition, Target

GRAIN = 8
"""Sizes of large pieces are multiples of this, so that they fill register tiles."""
LARGE = 8 * GRAIN
"""Pieces of this size or more are large; rounding up to `GRAIN` adds at most an eighth."""
LATE = {8: 1 << 22, 4: 1 << 23, 2: 1 << 26, 1: 1 << 27}
"""A piece of so many operations costs its loop a fork more, by the bytes of the widest input.

A core that another program uses is late, and holds back the loop by its piece. So of loops that
cost nearly the same the one with the shortest pieces is chosen; pieces cost about a sixteenth of
their cycles.
"""


def piece(size: int, count: int) -> int:
    """The size of each piece but the last, to cut `size` into about `count` pieces.

    Equal ones go before multiples of `GRAIN` if they are even: a smaller piece would run beside
    others and cost nothing, so the search takes any program for it that costs no more than theirs.
    """
    if size % (2 * count) == 0:
        return size // count
    equal = -(-size // count)
    return equal if equal < LARGE else -(-equal // GRAIN) * GRAIN


@dataclass(frozen=True)
class Parallel(Rewrite):
    """Run the tiles of one or two output dimensions on all cores; each tile is serial.

    The cost is that of the busiest core, and of waiting for a late one. With 2 cores,

    Matmul(m=10, k=8, n=8)
      -> parallel for m in 0..8 by 4: Matmul(m=4, k=8, n=8)   once
         Matmul(m=2, k=8, n=8)                                once
    """

    tiles: tuple[tuple[str, int], ...]

    name = "parallel"
    lowers = Rank.PARALLEL
    style = "loop"
    indents = ("body", "remainder")

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        if not 1 <= len(self.tiles) <= 2 or len(dict(self.tiles)) != len(self.tiles):
            raise RewriteError(f"{self}: one or two dimensions can be spread over cores.")
        yield Condition(everywhere(batch, batch.parallel), "it is not to be run in parallel")
        for operand, levels in zip(batch.operation.operands, batch.levels, strict=True):
            shared = np.array([level.saturation > 0 for level in target.levels])[levels]
            yield Condition(shared, f"{operand.name} must be at a level that all cores share")
        for dim, size in self.tiles:
            tile = tile_column(self, size, batch)
            cut = dim not in (*batch.operation.reduced, *batch.operation.untiled)
            yield Condition(everywhere(batch, cut), f"{dim} cannot be cut into tiles")
            yield from loop_conditions(batch, dim, tile)
            if len(self.tiles) > 1:
                exact = batch.size(dim) % size == 0
                yield Condition(exact, f"{dim} is no multiple of {size}")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        serial = replace(batch, parallel=False)
        body, count = serial, np.ones(len(batch), np.int32)
        for dim, size in self.tiles:
            count = count * (batch.size(dim) // size)
            body = tiled(body, dim, tile_column(self, size, batch), target)
        (dim, size), *more = self.tiles
        rest = batch.size(dim) % size
        exact, ragged = np.flatnonzero(rest == 0), np.flatnonzero(rest)
        cost = target.fork * (1 + _late(body))
        result = []
        if len(exact):
            rounds = -(-count[exact] // target.cores)
            result.append(Edges(exact, cost[exact], children=(Child(body[exact], rounds),)))
        if len(ragged):
            assert not more
            last = tiled(serial[ragged], dim, rest[ragged], target)
            rounds = -(-count[ragged] // target.cores)
            alone = (count[ragged] % target.cores == 0).astype(np.int32)
            children = (Child(body[ragged], rounds), Child(last, alone, role="remainder"))
            result.append(Edges(ragged, cost[ragged], children=children))
        return result

    def __str__(self) -> str:
        return f"parallel({', '.join(f'{d}={n}' for d, n in self.tiles)})"

    def words(self, applied: Application) -> str:
        ranges = [tiles_text(dim, applied.spec.size(dim), tile) for dim, tile in self.tiles]
        return f"parallel for {', '.join(ranges)}"

    def heading(self, role: str, applied: Application) -> str:
        dim, tile = self.tiles[0]
        return remainder_text(role, dim, applied.spec.size(dim), tile)


def _late(pieces: Batch) -> npt.NDArray[np.float64]:
    """How many forks loops over these pieces wait for a late core, by row."""
    forks = np.zeros(len(pieces))
    for row in range(len(pieces)):
        spec = pieces[np.array([row])].spec()
        read = spec.operation.inputs or spec.operation.outputs
        forks[row] = spec.flops / LATE[max(spec.dtypes[operand].bytes for operand in read)]
    return forks


@dataclass(frozen=True)
class Spread(Rewrite):
    """Run `pieces` equal parts of one or two dimensions on all cores.

    Matmul(m=12, k=8, n=8), 4 pieces of m
      -> parallel for m in 0..12 by 3: Matmul(m=3, k=8, n=8)

    Large parts may be only almost equal: 2 pieces of 1001 are 504 and 497.
    """

    pieces: tuple[tuple[str, int], ...]

    lowers = Rank.PARALLEL

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        for dim, count in self.pieces:
            size = batch.size(dim)
            yield Condition(size >= count, f"{dim} is too small for {count} pieces")
            if count > target.cores:
                even = np.array([n % piece(n, count) == 0 for n in size.tolist()])
                yield Condition(even, f"{count} pieces of {dim} would not be equal")
        holds = np.zeros(len(batch), np.bool_)
        for row in range(len(batch)):
            single = batch[np.array([row])]
            parallel = self._parallel(single.spec())
            holds[row] = all(c.holds[0] for c in parallel.conditions(single, target))
        yield Condition(holds, "such pieces cannot be spread over cores")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        result = []
        for row in range(len(batch)):
            single = batch[np.array([row])]
            for edges in self._parallel(single.spec()).edges(single, target):
                result.append(replace(edges, rows=np.array([row])))
        return result

    def concrete(self, spec: Spec) -> Rewrite:
        return self._parallel(spec)

    def __str__(self) -> str:
        return f"spread({', '.join(f'{d} in {n}' for d, n in self.pieces)})"

    def _parallel(self, spec: Spec) -> Parallel:
        return Parallel(tuple((dim, piece(spec.size(dim), count)) for dim, count in self.pieces))


@dataclass(frozen=True)
class Serial(Rewrite):
    """Run a parallel Spec on one core, for work too small to be worth a parallel loop.

    Matmul(m=8, k=8, n=8), in parallel
      -> Matmul(m=8, k=8, n=8)
    """

    name = "serial"
    lowers = Rank.PARALLEL
    silent = True

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        yield Condition(everywhere(batch, batch.parallel), "it is serial already")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        return [Edges(np.arange(len(batch)), children=(Child(replace(batch, parallel=False)),))]

    def words(self, applied: Application) -> str:
        return "on one core"

    def trait(self, spec: Spec) -> str:
        return ""
