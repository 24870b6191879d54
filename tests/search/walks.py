"""Specs on random ways down from goals, and the rewrites that apply to each.

Programs that between them use every rewrite are ways as well, as few random ones meet the rare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from tests.codegen.random_goals import random_goals
from tests.codegen.random_rewrites import Whims
from tests.goals import matmul_goal
from tests.rewrites.rewritten import begun
from tests.sampling import some
from tests.search.small_goals import GOALS
from tests.search.spaces import space_of

from morello.base.errors import RewriteError
from morello.impl.tree import Impl
from morello.ir.batch import Batch
from morello.ir.dtype import BF16, F32, I8, I32, U8
from morello.ir.spec import Spec
from morello.rewrites import Edges, Rewrite, expand
from morello.space.guards import Rules
from morello.space.kind import Kind
from morello.space.space import Space
from morello.targets.machines import X86_64_V4
from morello.targets.neon import NEON
from morello.targets.target import Target
from morello.targets.x86 import AVX2, PRODUCTS, avx512

CORES = 4
PRODUCTS_512 = avx512(X86_64_V4, PRODUCTS)
TARGETS = (AVX2, PRODUCTS_512, NEON)
"""Between them, with the kernels of all targets."""

PACKED = (matmul_goal(16, 32, 64, BF16, BF16, F32), matmul_goal(8, 8, 8, U8, I8, I32))
"""Products of groups that are read in place, and of groups that are copied."""

RANDOM = 46
"""Random goals, two of every kind, whose targets take turns."""
WHIMS = 8
DEEPEST = 40


@dataclass(frozen=True)
class Stop:
    """A Spec of a goal's space; `rules` are those of its kind, `whims` other rewrites."""

    space: Space
    spec: Spec
    rules: Sequence[Rules]
    whims: Sequence[Rewrite]

    @property
    def batch(self) -> Batch:
        return self.space.batch_of(self.spec)

    def searched(self) -> Iterator[tuple[Rewrite, Edges]]:
        """The rewrites that the search tries on it, and their edges."""
        batch = self.batch
        for group in self.rules:
            if group.guard(batch)[0]:
                for rewrite in group.rewrites:
                    yield from self.applied(rewrite, batch)

    def tried(self) -> Iterator[tuple[Rewrite, Edges]]:
        """The other rewrites that apply, and their edges."""
        for rewrite in self.whims:
            with suppress(RewriteError):
                yield from list(self.applied(rewrite, self.batch))

    def applied(self, rewrite: Rewrite, batch: Batch) -> Iterator[tuple[Rewrite, Edges]]:
        for edges in expand(rewrite, batch, self.space.target):
            yield rewrite, edges


@cache
def stops() -> tuple[Stop, ...]:
    """On a way down from random goals for all targets, from every small goal, and in programs."""
    goals = [
        (goal, replace(TARGETS[i % len(TARGETS)], cores=CORES))
        for i, goal in enumerate(random_goals(Random(2), RANDOM))
    ]
    goals += [(goal, PRODUCTS_512) for goal in PACKED]
    ways = [
        _way(*goal, Random(f"way {number}"))
        for number, goal in enumerate((*goals, *some(GOALS.values(), 3)))
    ]
    ways += [_steps(schedule.impl) for schedule in begun().values()]
    return tuple(stop for way in ways for stop in way)


def _steps(program: Impl) -> Iterator[Stop]:
    """The Specs of a program that a rewrite is applied to."""
    space = space_of(program.spec, program.target)
    for impl in program.walk():
        if impl.rewrite is not None:
            yield _stop(space, impl.spec, [impl.rewrite])


def _stop(space: Space, spec: Spec, whims: Sequence[Rewrite]) -> Stop:
    return Stop(space, spec, space.rules(Kind.of(space.batch_of(spec))), whims)


def _way(goal: Spec, target: Target, random: Random) -> Iterator[Stop]:
    """A walk from a goal down to a Spec that only kernels apply to."""
    space = space_of(goal, target)
    whims, spec = Whims(target, random), goal
    for _ in range(DEEPEST):
        stop = _stop(space, spec, [whims.any(spec) for _ in range(WHIMS)])
        yield stop
        applied = [*stop.searched(), *stop.tried()]
        leading = {type(r): edges for r, edges in random.sample(applied, len(applied))}
        below = [edges for edges in leading.values() if edges.children]
        if not below:
            return
        spec = random.choice(random.choice(below).children).batch.spec()
