"""Chooses which programs of a goal to measure next: by their cost, or at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from random import Random
from time import monotonic
from typing import Literal, Protocol, get_args

from morello.codegen.distinct import Distinct
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.rewrites import Rewrite
from morello.search.budget import Budget, BudgetError, Progress, Watch
from morello.search.sample import COST_RANGE, Walk, Walker
from morello.search.session import Session

Order = Literal["learned", "affine", "random"]
ORDERS: tuple[Order, ...] = get_args(Order)
"""How the programs to measure next are chosen."""

NEAR = (1.02, 1.1)
"""How much the search's choices may cost, relative to the cheapest, attempt by attempt."""

ENOUGH_NODES = 20_000
"""A graph of so many Specs has programs enough to walk among."""

LEAST_S = 0.1
"""The least seconds that a search for programs is given."""

MISSES = 500
"""After this many random programs in a row that are old or too expensive, there are no others."""


def program(session: Session, decisions: Sequence[Rewrite]) -> Impl:
    """The program of a search's goal with these decisions."""
    return reconstruct(session.goal, session.target, decisions)


def walker_of(session: Session, random: Random, watch: Watch) -> Walker | None:
    """A random walker over legal programs of a search's goal.

    None if building its graph takes too much time or memory.
    """
    with suppress(BudgetError, MemoryError):
        return session.walker(random, watch)
    return None


def nearby_walker(session: Session, random: Random, watch: Watch) -> Walker | None:
    """A random walker in the graph that the search's choices come from, if that has enough nodes.

    Or in that of the last of `NEAR`. None if that has too few, or takes too much time or memory.
    """
    with suppress(BudgetError, MemoryError):
        for slack in (1.0, NEAR[-1]):  # the graph that there is has all of the cheapest programs
            graph = session.graph(slack * session.cost, watch)
            if graph.node_count >= ENOUGH_NODES:
                return Walker(graph, random)
    return None


def watch(ends: float, share: float = 1.0, report: Progress | None = None) -> Watch:
    """A watch on a share of the time until `ends`, of `time.monotonic`."""
    return Budget(max(LEAST_S, share * (ends - monotonic()))).start(report)


class Chooser(Protocol):
    """Chooses programs to measure; no two of them have the same C code."""

    def choose(self, count: int) -> list[Impl]:
        """The next programs, the most promising first; none if there are no more."""
        ...

    def look_further(self, compiled: Callable[[], bool]) -> None:
        """Look for more programs for later choices until those chosen are `compiled`."""
        ...

    def learn(self, impl: Impl, seconds: float) -> None:
        """Record the measured seconds of a call of a program."""
        ...

    def close(self) -> None:
        """End what was begun to look for more programs."""
        ...


class _InOrder:
    """Chooses programs in the order given: measured times do not change it."""

    def __init__(self, impls: Iterator[Impl], new: Distinct) -> None:
        self._impls, self._new = impls, new

    def choose(self, count: int) -> list[Impl]:
        return list(islice(self._impls, count))

    def look_further(self, compiled: Callable[[], bool]) -> None:
        pass

    def learn(self, impl: Impl, seconds: float) -> None:
        self._new(impl)

    def close(self) -> None:
        pass


def by_affine_cost(session: Session, ends: float) -> Chooser:
    """Chooses what the search does, in the order of `search.candidates`."""
    new = Distinct()
    impls = (program(session, decisions) for decisions in session.candidates(watch(ends)))
    return _InOrder(filter(new, impls), new)


def at_random(session: Session, random: Random, ends: float) -> Chooser:
    """Chooses random legal programs, in random order."""
    new = Distinct()
    walker = walker_of(session, random, watch(ends))
    return _InOrder((impl for impl, _ in random_programs(session, walker, new)), new)


def random_programs(
    session: Session, walker: Walker | None, new: Callable[[Impl], bool]
) -> Iterator[tuple[Impl, Walk]]:
    """Random legal programs that are new, with their edges; none without a walker."""
    seen: set[Walk] = set()
    misses = 0
    while walker is not None and misses < MISSES:
        misses += 1
        walked = walker.walk()
        if walked is None or walked[0] > COST_RANGE * session.cost or walked[1] in seen:
            continue
        seen.add(walked[1])
        impl = program(session, walker.rewrites(walked[1]))
        if new(impl):
            misses = 0
            yield impl, walked[1]
