"""Random programs of any goal: rewrites of every kind, and random kernels or the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from math import prod
from random import Random

from tests.codegen.random_goals import COMPOSITIONS, PRIMITIVES, random_goals
from tests.support import searched, with_capacities

from morello.base.errors import RewriteError
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl, grow, replay
from morello.ir.dtype import COMPUTED, DType
from morello.ir.joining import joining_of
from morello.ir.layout import Layout, odd_even, panels, row_major
from morello.ir.operation import has_accumulating_form
from morello.ir.primitives import is_ragged
from morello.ir.spec import Spec
from morello.rewrites import (
    SCHEMES,
    Bufferize,
    Crop,
    Decompose,
    Join,
    LastGroup,
    Move,
    MoveAll,
    Overlap,
    Pack,
    PadFirst,
    Parallel,
    ParallelSplit,
    Peel,
    Pointwise,
    Rewrite,
    Select,
    Serial,
    SpatialSplit,
    Split,
    Tile,
    ToAccumulate,
    Ungroup,
    decomposes,
    may_split,
)
from morello.search.result import SearchResult
from morello.targets.cpu import host_cpu
from morello.targets.machines import X86_64_V4
from morello.targets.target import Target
from morello.targets.x86 import AVX512, PRODUCTS, avx512

Limits = Sequence[int]
Kind = Callable[[Spec], Rewrite]

TRIES = 12
"""Random rewrites of a Spec, most of which do not apply, before it is completed otherwise."""

ATTEMPTS = 20
"""Programs that are begun before a goal counts as one that has none."""

STEPS, KERNELS = 200, 3
"""How many steps towards kernels are tried for a Spec, and of how many kernels, before it is left
to the search, which takes ten times as long.
"""

SEARCHED = 8
"""Elements of the loops around Specs that are left to the search."""


class DeadEndError(Exception):
    """Nothing completes a Spec within the memory that is left."""


class Whims:
    """Rewrites with random parameters. Many apply to nothing."""

    def __init__(self, target: Target, random: Random) -> None:
        self.target, self.random = target, random
        self.names = [level.name for level in target.levels]

    def any(self, spec: Spec) -> Rewrite:
        return self.random.choice(list(self._kinds(spec)))(spec)

    def _kinds(self, spec: Spec) -> Iterator[Kind]:
        """Kinds of rewrites that a Spec may admit, those that few Specs do several times."""
        operation = spec.operation
        yield from (self.loop, self.loop, self._near, self._all)
        if not operation.copies:
            yield from (self._copy, self._registers, self._registers)
        if spec.parallel:
            yield from (*(self._parallel,) * 6, _serial)
        else:
            yield from (self._select, self._select)
        if has_accumulating_form(operation):
            yield from (_accumulate, _accumulate)
        if operation.components:
            yield from (self.buffer, self.buffer, self.buffer)
        if self.schemes(spec):
            yield from (self.step,) * (12 if spec.parallel else 2)
        if may_split(operation) and spec.parallel:
            yield from (self.split,) * 12
        if joining_of(spec).groups:
            yield from (_join,) * 8
        if operation.grouped:
            yield from (_crop, self._pad, self._peel, _ungroup)
        if operation.name.startswith("Conv"):
            yield from (
                _crop,
                self._pad,
                self._peel,
                self._peel,
                _pointwise,
                _pointwise,
                _spatial_split,
            )
        if operation.name == "Matmul" and self.target.packs:
            yield from (_pack,) * 4
        if is_ragged(operation):
            yield from (_last_group,) * 4

    def schemes(self, spec: Spec) -> list[str]:
        return [name for name in SCHEMES if decomposes(name, spec.operation)]

    def loop(self, spec: Spec) -> Rewrite:
        dim = self.random.choice(spec.operation.dims)
        kinds = (Split,) if dim in spec.operation.reduced else (Tile, Overlap)
        return self.random.choice(kinds)(dim, self._tile(spec, dim))

    def buffer(self, spec: Spec) -> Rewrite:
        """Any tensor between components, in memory or in registers."""
        components = spec.operation.components
        number = self.random.randrange(len(components) - 1)
        made = components[number]
        rank = len(made.result_dims)
        if self.random.random() < 0.3:
            width = self.random.choice(self.target.widths(made.dtype))
            return Bufferize(number, self.names[-1], self.order(rank), width)
        level = self.random.choice(self.names[:1] if spec.parallel else self.names[:-1])
        return Bufferize(number, level, self._layout(rank))

    def step(self, spec: Spec) -> Rewrite:
        level = self.random.choice(self.names[:1] if spec.parallel else self.names[:-1])
        return Decompose(self.random.choice(self.schemes(spec)), level)

    def _near(self, spec: Spec) -> Rewrite:
        operand = self._operand(spec)
        name = spec.operation.operands[operand].name
        return Move(name, self._next_level(spec, operand))

    def _all(self, spec: Spec) -> Rewrite:
        return MoveAll(self._next_level(spec, self._operand(spec)))

    def _copy(self, spec: Spec) -> Rewrite:
        """A copy in another layout, and sometimes in another dtype."""
        operand = self._operand(spec)
        one, shape = spec.operation.operands[operand], spec.shape(operand)
        level = self._next_level(spec, operand)
        if spec.levels[operand] == 0 and self.random.random() < 0.2:
            level = self.names[0]
        wanted = [d for d in COMPUTED if self.widens(spec.dtypes[operand], d)]
        dtype = self.random.choice(wanted) if wanted and self.random.random() < 0.3 else None
        return Move(one.name, level, self._layout(len(shape)), dtype=dtype)

    def _registers(self, spec: Spec) -> Rewrite:
        operand = self._operand(spec)
        name, rank = spec.operation.operands[operand].name, len(spec.shape(operand))
        dtype = spec.dtypes[operand]
        cast = None
        kernels = self.target.kernels_of(spec.operation.name)
        if kernels and self.random.random() < 0.5:
            wanted = self.random.choice(kernels).dtypes[operand]
            if self.widens(dtype, wanted):
                dtype = cast = wanted
        width = self.random.choice(self.target.widths(dtype))
        return Move(name, self.names[-1], self.order(rank), width, cast)

    def widens(self, dtype: DType, wanted: DType) -> bool:
        """A copy may convert, and loses nothing by it."""
        return dtype.bytes < wanted.bytes and self.target.casts_to(dtype, wanted)

    def _parallel(self, spec: Spec) -> Rewrite:
        """Over one dimension of the output, or equal parts of two."""
        operation = spec.operation
        free = {d for d in operation.dims if d not in (*operation.reduced, *operation.untiled)}
        dims = self.random.sample(sorted(free or operation.dims), min(len(free), 2) or 1)
        if self.random.random() < 0.5:
            dims = dims[:1]
        parts = [self._divisor(spec.size(d)) for d in dims]
        if len(dims) == 1:
            parts = [self.random.choice([*parts, self._tile(spec, dims[0])])]
        return Parallel(tuple(zip(dims, parts, strict=True)))

    def split(self, spec: Spec) -> Rewrite:
        dim = self.random.choice(spec.operation.reduced)
        return ParallelSplit(dim, max(2, self._divisor(spec.size(dim))))

    def _pad(self, spec: Spec) -> Rewrite:
        layout = self.random.choice([None, self._layout(len(spec.shape(0)))])
        return PadFirst(self.random.choice(self.names[:-1]), layout)

    def _peel(self, spec: Spec) -> Rewrite:
        return Peel(self.random.choice("yxpq"))

    def _select(self, spec: Spec) -> Rewrite:
        known = self.target.kernels_of(spec.operation.name)
        fitting = [k.name for k in known if k.dtypes == spec.dtypes]
        if not fitting:
            return self.loop(spec)
        return Select(self.random.choice(fitting))

    def _operand(self, spec: Spec) -> int:
        return self.random.randrange(len(spec.operation.operands))

    def _next_level(self, spec: Spec, operand: int) -> str:
        return self.names[min(spec.levels[operand] + 1, len(self.names) - 2)]

    def _tile(self, spec: Spec, dim: str) -> int:
        size = spec.size(dim)
        return self.random.choice([4, 8, 16, self.random.randint(1, size), self._divisor(size)])

    def _divisor(self, size: int) -> int:
        """A part of a dimension that leaves no remainder."""
        return self.random.choice([n for n in range(1, size) if size % n == 0] or [1])

    def order(self, rank: int) -> Layout:
        if self.random.random() < 0.6:
            return row_major(rank)
        return Layout(tuple(self.random.sample(range(rank), rank)))

    def _layout(self, rank: int) -> Layout:
        """Any order, panels of any dimension, or odd-even blocks."""
        kind = self.random.choice(["order", "order", "panels", "blocks"])
        if kind == "panels" and rank > 1:
            return panels(rank, self.random.randrange(rank), self.random.choice([2, 3, 4, 8]))
        if kind == "blocks":
            return odd_even(rank, self.random.choice([8, 16, 32]))
        return self.order(rank)


def _serial(spec: Spec) -> Rewrite:
    return Serial()


def _accumulate(spec: Spec) -> Rewrite:
    return ToAccumulate()


def _pointwise(spec: Spec) -> Rewrite:
    return Pointwise()


def _ungroup(spec: Spec) -> Rewrite:
    return Ungroup()


def _crop(spec: Spec) -> Rewrite:
    return Crop()


def _spatial_split(spec: Spec) -> Rewrite:
    return SpatialSplit()


def _join(spec: Spec) -> Rewrite:
    joining = joining_of(spec)
    return Join(joining.groups, joining.units)


def _pack(spec: Spec) -> Rewrite:
    return Pack()


def _last_group(spec: Spec) -> Rewrite:
    return LastGroup()


FEW, CORES = len(PRIMITIVES) + len(COMPOSITIONS), 3
"""The programs that there are of each target, and the cores that they may use."""


def with_cores(target: Target) -> Target:
    """The target with all that this CPU has, and several cores, to which any work may be given."""
    whole = avx512(X86_64_V4, host_cpu().features & PRODUCTS) if target is AVX512 else target
    arch = "native" if whole.packs else whole.arch
    return replace(whole, arch=arch, cores=CORES, fork=0.0)


@cache
def few_programs(target: Target) -> list[Impl]:
    """Programs of random goals of every kind, for all tests that need any."""
    programs = Programs(target, Random(1))
    return [programs.of(goal) for goal in random_goals(Random(1), FEW)]


class Programs:
    """Makes programs of goals, of random rewrites and of what the search finds for the rest."""

    def __init__(self, target: Target, random: Random) -> None:
        self.target, self.random = target, random
        self.whims = Whims(target, random)
        self._found: dict[tuple[Spec, tuple[int, ...]], Impl | None] = {}

    def of(self, goal: Spec, most: int = 9) -> Impl:
        """A complete program whose first rewrites, up to `most` of them deep, are random."""
        for _ in range(ATTEMPTS):
            try:
                least = 2 if goal.parallel else 0
                return self._fill(goal, self.target.limits, self.random.randint(least, most))
            except DeadEndError:
                continue
        raise DeadEndError(goal.expression)

    def _fill(self, spec: Spec, limits: Limits, whims: int) -> Impl:
        for _ in range(TRIES if whims > 0 else 0):
            try:
                impl, left = grow(self.whims.any(spec), spec, self.target, limits)
            except RewriteError:
                continue
            try:
                return self._filled(impl, left, whims)
            except DeadEndError:
                break
        return self._end(spec, limits)

    def _filled(self, impl: Impl, left: Limits, whims: int) -> Impl:
        """The Impl with programs in all of its holes."""
        children = [
            replace(one, impl=self._fill(one.impl.spec, left, self._fewer(whims)))
            for one in impl.children
        ]
        return replace(impl, children=tuple(children))

    def _fewer(self, whims: int) -> int:
        return max(self.random.randint(0, max(whims - 1, 0)) for _ in range(2))

    def _end(self, spec: Spec, limits: Limits) -> Impl:
        """Smaller Specs first, in steps that most Specs allow, and then the search."""
        for rewrite in self._smaller(spec):
            try:
                impl, left = grow(rewrite, spec, self.target, limits)
            except RewriteError:
                continue
            return self._filled(impl, left, 0)
        self._steps = STEPS
        try:
            return self._by_kernels(spec, limits)
        except DeadEndError:
            return self._searched(spec, tuple(limits))

    def _by_kernels(self, spec: Spec, limits: Limits) -> Impl:
        """Any kernels that fit, after steps towards them; raises `DeadEndError` after too many."""
        for rewrite in self._towards_kernels(spec):
            if self._steps == 0:
                break
            self._steps -= 1
            with suppress(RewriteError, DeadEndError):
                impl, left = grow(rewrite, spec, self.target, limits)
                children = [
                    replace(one, impl=self._by_kernels(one.impl.spec, left))
                    for one in impl.children
                ]
                return replace(impl, children=tuple(children))
        raise DeadEndError

    def _towards_kernels(self, spec: Spec) -> Iterator[Rewrite]:
        """Kernels, loops over single elements, and moves of what kernels have in registers."""
        operation, near = spec.operation, self.target.registers
        kernels = [
            kernel
            for kernel in self.target.kernels_of(operation.name)
            if all(map(self._becomes, spec.dtypes, kernel.dtypes))
        ]
        self.random.shuffle(kernels)
        dims = [d for d in operation.dims if spec.size(d) > 1]
        self.random.shuffle(dims)
        loops = [(Split if d in operation.reduced else Tile)(d, 1) for d in dims]
        now = self.random.randint(0, len(loops))
        for kernel in kernels:
            if kernel.dtypes == spec.dtypes:
                yield Select(kernel.name)
        if has_accumulating_form(operation):
            yield ToAccumulate()
        yield from loops[:now]
        homes = {(k.held, k.dtypes): k for k in kernels}
        for kernel in [*homes.values()][:KERNELS]:
            for number, held in enumerate(kernel.held):
                if held is not None and spec.levels[number] < near:
                    wanted = kernel.dtypes[number]
                    dtype = None if wanted is spec.dtypes[number] else wanted
                    layout = self.whims.order(len(spec.shape(number)))
                    name = operation.operands[number].name
                    yield Move(name, self.whims.names[near], layout, held.width, dtype)
                    break
        yield from loops[now:]

    def _becomes(self, here: DType, wanted: DType) -> bool:
        return here is wanted or self.whims.widens(here, wanted)

    def _smaller(self, spec: Spec) -> Iterator[Rewrite]:
        operation = spec.operation
        yield from self._seldom(spec)
        if spec.parallel:
            yield Serial()
        if operation.components:
            yield from (self.whims.buffer(spec) for _ in range(10))
        if self.whims.schemes(spec) and operation.name != "DivideVecScalar":
            yield from (self.whims.step(spec) for _ in range(10))
        if operation.grouped:
            yield from (Crop(), Tile("g", 1), Ungroup())
        if operation.name.startswith("Conv"):
            yield Crop()
            yield PadFirst(self.target.levels[spec.levels[0]].name)
            yield ToAccumulate()
            yield from (Tile("b", 1), Tile("y", 1), SpatialSplit())
        if prod(spec.sizes) > SEARCHED:
            yield ToAccumulate()
            yield from self._loops(spec)
        for operand, level in zip(operation.operands, spec.levels, strict=True):
            if level < self.target.nearest:
                yield Move(operand.name, self.target.levels[level + 1].name)

    def _seldom(self, spec: Spec) -> Iterator[Rewrite]:
        """Rewrites that few Specs admit, for half of those that do."""
        if self.random.random() < 0.5:
            yield from (self.whims.step(spec) for _ in self.whims.schemes(spec))
            if may_split(spec.operation):
                yield self.whims.split(spec)
            if spec.operation.name == "ConvAccum":
                yield Pointwise()
            if spec.operation.name == "Matmul":
                yield Pack(level=self.random.choice(["", self.target.levels[1].name]))
        if is_ragged(spec.operation):
            yield LastGroup()

    def _loops(self, spec: Spec) -> Iterator[Rewrite]:
        """While there are many elements, loops over registers or single ones."""
        dims = list(spec.operation.dims)
        self.random.shuffle(dims)
        for dim in dims:
            tiles = [n for n in (1, 2, 4, 8, 16, 32) if n < spec.size(dim)]
            self.random.shuffle(tiles)
            kind = Split if dim in spec.operation.reduced else Tile
            yield from (kind(dim, tile) for tile in tiles)

    def _searched(self, spec: Spec, limits: tuple[int, ...]) -> Impl:
        """The cheapest program of a Spec within these limits."""
        whole = self._cheapest(spec, self.target.limits)
        if all(held <= limit for held, limit in zip(whole.peak, limits, strict=True)):
            return whole
        return self._cheapest(spec, limits)

    def _rebuilt(self, solution: SearchResult) -> Impl:
        """Its program as it was found, or with its loops merged."""
        rebuild = self.random.choice([replay, reconstruct])
        return rebuild(solution.goal, self.target, solution.decisions)

    def _cheapest(self, spec: Spec, limits: tuple[int, ...]) -> Impl:
        if (spec, limits) not in self._found:
            solution = searched(spec, with_capacities(self.target, limits))
            self._found[spec, limits] = self._rebuilt(solution) if solution else None
        found = self._found[spec, limits]
        if found is None:
            raise DeadEndError
        return found
