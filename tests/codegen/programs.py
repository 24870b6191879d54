"""Random Specs, and random programs that compute them: any that the rewrites allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from morello.base.errors import RewriteError
from morello.impl.tree import Impl, grow
from morello.ir.batch import Batch
from morello.ir.dtype import F32
from morello.ir.layout import Layout, column_major, panels, row_major
from morello.ir.placements import Placements
from morello.ir.spec import Spec, matmul_spec
from morello.rewrites import Move, Rewrite, Select, Split, Tile, ToAccumulate
from morello.targets.target import InRegisters, LeafKernel, Target

STEPS = 250
"""Rewrites tried before a program is given up and another one begun."""


class DeadEndError(Exception):
    """Nothing applies to a Spec any more, or it took too long to find out."""


def random_spec(random: Random, whole_panels: bool = False) -> Spec:
    """A matmul of at most 40 in each dimension, in any layouts.

    With `whole_panels`, of sizes and panels that the search's tiles do not cut.
    """
    batch = random.choice([(), (), (), (random.randint(1, 3),), (2, random.randint(1, 2))])
    largest = 12 if batch else 40
    m, k, n = (random.choice([1, 8, 16, random.randint(1, largest)]) for _ in range(3))
    if whole_panels:
        m, k, n = (random.choice([1, 8, 16, 24]) for _ in range(3))
    a, b, c = (_random_layout(random, len(batch) + 2, whole_panels) for _ in range(3))
    return matmul_spec((*batch, m, k), (*batch, k, n), layouts=(a, b, c))


def _random_layout(random: Random, rank: int, whole_panels: bool = False) -> Layout | None:
    widths = [4, 8] if whole_panels else [3, 4, 8, 16]
    return random.choice(
        [
            None,
            column_major(rank),
            panels(rank, rank - 1, random.choice(widths)),
            panels(rank, rank - 2, random.choice(widths)),
            Layout(tuple(random.sample(range(rank), rank))),
        ]
    )


def random_program(spec: Spec, target: Target, random: Random) -> Impl:
    """A complete program, not a good one: dead ends start over."""
    while True:
        try:
            return _Builder(target, random).fill(spec, target.limits, random.randint(0, 9))
        except DeadEndError:
            continue


class _Builder:
    """Rewrites at random for a while, then by what leads to an end."""

    def __init__(self, target: Target, random: Random) -> None:
        self.target, self.random, self.left = target, random, STEPS
        self.fills_registers = random.random() < 0.5
        self.prefers_dot = random.random() < 0.5
        self.registers = target.levels[target.registers].name

    def fill(self, spec: Spec, limits: Sequence[int], whims: int) -> Impl:
        """The hole's program. Its first `whims` rewrites are random."""
        for rewrite in self._candidates(spec, whims):
            self.left -= 1
            if self.left < 0:
                raise DeadEndError
            try:
                impl, left = grow(rewrite, spec, self.target, limits)
            except RewriteError:
                continue
            children = [
                replace(child, impl=self.fill(child.impl.spec, left, whims - 1))
                for child in impl.children
            ]
            return replace(impl, children=tuple(children))
        raise DeadEndError

    def _candidates(self, spec: Spec, whims: int) -> Iterator[Rewrite]:
        if whims <= 0 or self.random.random() < 0.5:
            yield from self._kernels(spec)
        if whims > 0:
            yield from (self._whim(spec) for _ in range(10))
        yield from self._kernels(spec)
        if spec.operation.reduced:
            yield from self._end_of_matmul(spec)
        else:
            yield from self._end_of_copy(spec)

    def _kernels(self, spec: Spec) -> list[Rewrite]:
        """Kernels that close the Spec, in any order."""
        batch = Batch.of([spec], Placements())
        wanted = [
            Select(k.name)
            for k in self._known(spec)
            if all(self._is_held(spec, i, held) for i, held in enumerate(k.held))
        ]
        fitting = [
            select
            for select in wanted
            if all(condition.holds.all() for condition in select.conditions(batch, self.target))
        ]
        self.random.shuffle(fitting)
        return [*fitting]

    def _known(self, spec: Spec) -> list[LeafKernel]:
        known = self.target.kernels_of(spec.operation.name)
        return [k for k in known if k.dtypes == spec.dtypes]

    def _is_held(self, spec: Spec, operand: int, held: InRegisters | None) -> bool:
        if held is None:
            return spec.levels[operand] == self.target.nearest
        return spec.placements[operand].vector == held.width

    def _whim(self, spec: Spec) -> Rewrite:
        random, operation = self.random, spec.operation
        kinds = ["loop", "loop", "loop", "cache"]
        kinds += ["copy", "registers", "accumulate"] if operation.reduced else []
        kind = random.choice(kinds)
        if kind == "loop":
            dim = random.choice(operation.dims)
            return _loop(spec, dim, random.choice([1, 4, 8, 16, random.randint(1, spec.size(dim))]))
        if kind == "accumulate":
            return ToAccumulate()
        operand = random.randrange(len(operation.operands))
        if kind == "registers":
            into = list(self._into_registers(spec, operand))
            return random.choice(into) if into else ToAccumulate()
        name, rank = operation.operands[operand].name, len(spec.shape(operand))
        level = random.choice(self.target.levels[1:-1]).name
        return Move(name, level, None if kind == "cache" else _random_layout(random, rank))

    def _nearer(self, spec: Spec) -> Iterator[Rewrite]:
        """Bring operands into the nearest cache."""
        for operand, level in zip(spec.operation.operands, spec.levels, strict=True):
            if level < self.target.nearest:
                yield Move(operand.name, self.target.levels[level + 1].name)

    def _end_of_copy(self, spec: Spec) -> Iterator[Rewrite]:
        """One register's worth after the other, along the dimension of neighbours."""
        yield from self._nearer(spec)
        held = [f for f in spec.placements if f.vector]
        placement = held[0] if held else self.random.choice(spec.placements)
        for index, dim in enumerate(spec.operation.dims):
            if index != placement.fastest:
                yield from _small_loops(spec, dim)
        along = spec.operation.dims[placement.fastest]
        widths = [placement.vector] if held else self.target.widths(F32)
        yield from (Tile(along, tile) for tile in self.random.sample(widths, len(widths)))
        yield from _small_loops(spec, along)

    def _end_of_matmul(self, spec: Spec) -> Iterator[Rewrite]:
        """The output into registers, then the input that is not broadcast."""
        output = spec.operation.output
        rank = len(spec.shape(output))
        if self.fills_registers:
            yield from self._nearer(spec)
            yield from self._into_registers(spec, output)
        yield ToAccumulate()
        yield from self._nearer(spec)
        if self.prefers_dot and self._is_inner_product(spec):
            for dim in spec.operation.operands[output].dims:
                yield from _small_loops(spec, dim)
            yield Move(spec.operation.operands[output].name, self.registers, row_major(rank), 1)
        if spec.placements[output].vector:
            along = spec.operation.operands[output].dims[spec.placements[output].fastest]
            inputs = self.random.sample(range(output), output)
        else:
            along = self.random.choice(spec.operation.operands[output].dims[-2:])
            yield from self._into_registers(spec, output)
            inputs = []
        for dim in spec.operation.dims:
            if dim not in (along, *spec.operation.reduced):
                yield from _small_loops(spec, dim)
        for dim in spec.operation.reduced:
            yield from _small_loops(spec, dim)
        for operand in inputs:
            yield from self._into_registers(spec, operand)
        for tile in (4 * self.target.widths(F32)[0], *self.target.widths(F32)):
            yield Tile(along, tile)
        yield from _small_loops(spec, along)
        near = self.target.levels[self.target.nearest].name
        for one, placement in zip(spec.operation.operands, spec.placements, strict=True):
            if not placement.vector:
                for layout in (row_major(len(one.dims)), column_major(len(one.dims))):
                    yield Move(one.name, near, layout)

    def _is_inner_product(self, spec: Spec) -> bool:
        """All in memory, and both inputs lie along the reduced dimension."""
        a, b, c = spec.placements
        flat = all(f.layout.panel is None and f.contiguous > 0 for f in (a, b))
        along = (a.fastest, b.fastest) == (a.layout.rank - 1, b.layout.rank - 2)
        narrow = min(w for w in self.target.widths(F32) if w > 1)
        held = any(f.vector for f in (a, b, c))
        return flat and along and not held and spec.size("k") >= narrow

    def _into_registers(self, spec: Spec, operand: int) -> Iterator[Rewrite]:
        """A move into registers as the operand lies in memory, and as a kernel takes it."""
        placement = spec.placements[operand]
        if placement.vector:
            return
        rank = placement.layout.rank
        taken = {
            wanted.width
            for k in self.target.kernels
            if k.operation == "MatmulAccum"
            and k.dtypes == (F32, F32, F32)
            and (wanted := k.held[operand])
            and all(
                not spec.placements[i].vector or self._is_held(spec, i, held)
                for i, held in enumerate(k.held)
                if i != operand
            )
        }
        neighbours = placement.contiguous > 0 and placement.layout.panel is None
        for width in sorted(taken, reverse=True):
            for order in (row_major(rank), column_major(rank)):
                along = order.physical[-1]
                flat = spec.shape(operand)[along] == 1 or (
                    neighbours and along == placement.fastest
                )
                if width == 1 or (flat and self._may_run_along(spec, operand, along)):
                    name = spec.operation.operands[operand].name
                    yield Move(name, self.registers, order, width)

    @staticmethod
    def _may_run_along(spec: Spec, operand: int, along: int) -> bool:
        """Registers of an input run along a dimension of the output, as the output's do."""
        operands, output = spec.operation.operands, spec.operation.output
        dim, held = operands[operand].dims[along], spec.placements[output]
        if held.vector:
            return dim == operands[output].dims[held.fastest]
        return dim not in spec.operation.reduced


def _small_loops(spec: Spec, dim: str) -> Iterator[Rewrite]:
    """Over single elements, or where that would cut panels, over panels."""
    yield _loop(spec, dim, 1)
    for placement in spec.placements:
        if placement.layout.panel is not None:
            yield _loop(spec, dim, placement.layout.panel[1])


def _loop(spec: Spec, dim: str, tile: int) -> Rewrite:
    return (Split if dim in spec.operation.reduced else Tile)(dim, tile)
