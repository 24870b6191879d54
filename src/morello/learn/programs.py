"""The programs of a Spec in a corpus: the search's best, random ones, and mutations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from morello.codegen.distinct import Distinct
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.choosers import walker_of
from morello.rewrites import Rewrite
from morello.search.budget import Budget
from morello.search.sample import Walker
from morello.search.session import Session
from morello.targets.costs import on_cores
from morello.targets.target import Target

ORIGINS = ("best", "random", "mutated", "tuned")
"""Where a program comes from; corpora number these. The last are those that tuning chose."""

PARENTS = 12
"""How many of the best programs are mutated, and then their mutations."""

MOST_MUTATIONS = 3
"""How many parts of a parent may be replaced, one after the other."""

WORTH = 8.0
"""Mutations that cost more than this many times the best are dropped: random ones are as slow."""

TRIES = 30
"""Attempts for every mutation wanted: many cost too much, or were seen before."""


@dataclass(frozen=True)
class Proposal:
    """A program, and the number of its origin."""

    impl: Impl
    origin: int


def propose(goal: Spec, target: Target, count: int, seed: int, seconds: float) -> list[Proposal]:
    """About `count` programs of a goal, the search's first choice first; a third of each origin.

    No two have the same C code. Fewer, if there are no more. Each search may take `seconds`; if
    that is not enough for random programs, there are none. Raises `SearchError` if there is no
    program at all.
    """
    goal, own = on_cores(goal, target)
    budget = Budget(seconds)
    session = Session(goal, own)
    session.solve(budget)
    third = -(-count // 3)
    others = session.candidates(budget.start(None))
    best = [list(session.decisions), *islice(others, 4 * third)]
    random: list[list[Rewrite]] = []
    mutated: Iterator[list[Rewrite]] = iter(())
    walker = walker_of(session, Random(seed), budget.start(None))
    if walker is not None:
        random = [walker.rewrites(edges) for edges in walker.stratified(session.cost, 2 * third)]
        mutated = _mutations(walker, best[:PARENTS], session.cost, TRIES * third, Random(seed))
    distinct = Distinct()
    proposals = []
    for origin, pool in enumerate((best, random, mutated)):
        impls = filter(distinct, (reconstruct(goal, own, decisions) for decisions in pool))
        proposals += [Proposal(impl, origin) for impl in islice(impls, third)]
    return proposals


def _mutations(
    walker: Walker, best: Sequence[Sequence[Rewrite]], cost: float, tries: int, random: Random
) -> Iterator[list[Rewrite]]:
    """Mutations of the best programs, and of these mutations."""
    walks = (walker.edges(decisions) for decisions in best)
    parents = [edges for edges in walks if edges is not None]
    for _ in range(tries if parents else 0):
        edges = random.choice(parents)
        for _ in range(random.randint(1, MOST_MUTATIONS)):
            mutation = walker.mutated(edges)
            if mutation is None or mutation[0] > WORTH * cost:
                break
            edges = mutation[1]
        else:
            parents.append(edges)
            yield walker.rewrites(edges)
