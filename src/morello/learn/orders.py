"""Which programs of a goal to measure next: by their cost, or at random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from random import Random
from time import monotonic
from typing import Literal, Protocol

from morello.codegen import generate
from morello.ir.spec import Spec
from morello.jit import interruptible
from morello.learn.anneal import Edges
from morello.rewrites import Rewrite
from morello.rewrites.impl import Impl
from morello.search.budget import Budget, BudgetError, Watch
from morello.search.candidates import candidates
from morello.search.reconstruct import reconstruct
from morello.search.sample import SPREAD, Walker, sampling_graph
from morello.targets.target import Target

Order = Literal["learned", "affine", "random"]

LEAST_S = 0.1
"""A search for programs has so many seconds at least."""

MISSES = 500
"""After so many random programs that were there already, there are no others."""


@dataclass(frozen=True)
class Goal:
    """What to tune, the machine that it is for, and its cheapest program with its cost."""

    spec: Spec
    target: Target
    cost: float
    decisions: tuple[Rewrite, ...]

    def impl(self, decisions: Sequence[Rewrite]) -> Impl:
        """The program of these decisions."""
        return reconstruct(self.spec, self.target, decisions)

    def candidates(self, watch: Watch) -> Iterator[list[Rewrite]]:
        """The decisions of the search's choices, until the watch ends the search for them."""
        return candidates(self.spec, self.target, self.cost, watch)

    @interruptible
    def walker(self, random: Random, watch: Watch) -> Walker | None:
        """Walks among its legal programs; None if the watch ends the search for them."""
        with suppress(BudgetError, MemoryError):
            return Walker(sampling_graph(self.spec, self.target, self.cost, watch), random)
        return None


def watch(ends: float, share: float = 1.0) -> Watch:
    """A watch on a share of the time until `ends`, of `time.monotonic`."""
    return Budget(max(LEAST_S, share * (ends - monotonic()))).start()


class Chooser(Protocol):
    """Chooses programs to measure; no two of them make the same C."""

    def choose(self, count: int) -> list[Impl]:
        """The next programs, the most promising first; none if there are no others."""
        ...

    def learn(self, impl: Impl, seconds: float) -> None:
        """Take note of how long a call of a program takes."""
        ...


class New:
    """Tells programs that make other C than all before."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def __call__(self, impl: Impl) -> bool:
        before = len(self._texts)
        self._texts.add(generate(impl).text)
        return len(self._texts) > before


class ByAffineCost:
    """The search's choices, the cheapest first."""

    def __init__(self, goal: Goal, ends: float) -> None:
        self._new = New()
        self._impls = filter(self._new, map(goal.impl, goal.candidates(watch(ends))))

    @interruptible
    def choose(self, count: int) -> list[Impl]:
        return list(islice(self._impls, count))

    def learn(self, impl: Impl, seconds: float) -> None:
        self._new(impl)


class AtRandom:
    """Random legal programs, in random order."""

    def __init__(self, goal: Goal, random: Random, ends: float) -> None:
        self._goal, self._new = goal, New()
        walker = goal.walker(random, watch(ends))
        self._impls = iter(()) if walker is None else self._walks(walker)

    def choose(self, count: int) -> list[Impl]:
        return list(islice(self._impls, count))

    def learn(self, impl: Impl, seconds: float) -> None:
        self._new(impl)

    def _walks(self, walker: Walker) -> Iterator[Impl]:
        seen: set[Edges] = set()
        misses = 0
        while misses < MISSES:
            misses += 1
            walked = walker.walk()
            if walked is None or walked[0] > SPREAD * self._goal.cost or tuple(walked[1]) in seen:
                continue
            seen.add(tuple(walked[1]))
            impl = self._goal.impl(walker.rewrites(walked[1]))
            if self._new(impl):
                misses = 0
                yield impl
