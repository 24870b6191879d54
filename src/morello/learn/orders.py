"""Which programs of a goal to measure next: by their cost, or at random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from random import Random
from time import monotonic
from typing import Literal, Protocol, get_args

from morello.codegen.distinct import Distinct
from morello.impl.tree import Impl
from morello.jit import interruptible
from morello.learn.anneal import Edges
from morello.rewrites import Rewrite
from morello.search.budget import Budget, BudgetError, Watch
from morello.search.reconstruct import reconstruct
from morello.search.sample import SPREAD, Walker
from morello.search.session import Session

Order = Literal["learned", "affine", "random"]
ORDERS: tuple[Order, ...] = get_args(Order)
"""What decides which programs are measured next."""

LEAST_S = 0.1
"""A search for programs has so many seconds at least."""

MISSES = 500
"""After so many random programs that were there already, there are no others."""


def program(found: Session, decisions: Sequence[Rewrite]) -> Impl:
    """The program of a search's goal that these decisions make."""
    return reconstruct(found.goal, found.target, decisions)


def choices(found: Session, watch: Watch) -> Iterator[list[Rewrite]]:
    """The decisions of a search's choices, until the watch ends the search for them."""
    return found.alternatives(watch)


@interruptible
def walker_of(found: Session, random: Random, watch: Watch) -> Walker | None:
    """Walks among legal programs of a search's goal; None if the watch ends the search for them."""
    with suppress(BudgetError, MemoryError):
        return found.walker(random, watch)
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


class ByAffineCost:
    """The search's choices, the cheapest first."""

    def __init__(self, found: Session, ends: float) -> None:
        self._new = Distinct()
        impls = (program(found, one) for one in choices(found, watch(ends)))
        self._impls = filter(self._new, impls)

    @interruptible
    def choose(self, count: int) -> list[Impl]:
        return list(islice(self._impls, count))

    def learn(self, impl: Impl, seconds: float) -> None:
        self._new(impl)


class AtRandom:
    """Random legal programs, in random order."""

    def __init__(self, found: Session, random: Random, ends: float) -> None:
        self._found, self._new = found, Distinct()
        walker = walker_of(found, random, watch(ends))
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
            if walked is None or walked[0] > SPREAD * self._found.cost or tuple(walked[1]) in seen:
                continue
            seen.add(tuple(walked[1]))
            impl = program(self._found, walker.rewrites(walked[1]))
            if self._new(impl):
                misses = 0
                yield impl
