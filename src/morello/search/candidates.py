"""The programs of a goal that are worth measuring: the cheapest, and others unlike it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from morello.ir.spec import Spec
from morello.rewrites import Rewrite
from morello.search.alternatives import Alternatives
from morello.search.bound import Bound
from morello.search.budget import BudgetError, Watch
from morello.search.graph import Pruning, Space, build, goal_sizes
from morello.search.structure import Structure
from morello.targets.target import Target

SLACKS = (1.02, 1.1, 1.3)
"""How much more than the cheapest they may cost, attempt by attempt."""

APART = 5e-4
"""Those that differ by a smaller part of their cost are the last to be tried."""

MOST = 200
"""Structures that are looked at."""


def candidates(goal: Spec, target: Target, cost: float, watch: Watch) -> Iterator[list[Rewrite]]:
    """The decisions of programs, in pre-order, each of another structure, for a goal whose
    cheapest program costs `cost`.

    In order of their costs, but for those that cost the same as one before: those come last,
    as they hardly differ in what takes time. There are no more once the watch ends the search.
    """
    alike: list[Callable[[], list[Rewrite]]] = []
    with suppress(BudgetError, MemoryError):
        yield from _unlike(goal, target, cost, alike, watch)
    for decisions in alike:
        yield decisions()


def _unlike(
    goal: Spec,
    target: Target,
    cost: float,
    alike: list[Callable[[], list[Rewrite]]],
    watch: Watch,
) -> Iterator[list[Rewrite]]:
    """Candidates in order of cost; those that cost the same as an earlier one go to `alike`."""
    sizes = goal_sizes(goal)
    bound = Bound(goal, target, sizes, progress=watch)
    space = Space(goal, target, sizes)
    seen: set[Structure] = set()
    given = 0.0
    for slack in SLACKS:
        graph = build(space, Pruning(bound, cost * slack), watch)
        alternatives = Alternatives(graph)
        alike.clear()
        for looked_at, program in enumerate(alternatives.within(cost * slack), start=1):
            watch(len(graph.keys), len(graph.parent))
            if looked_at > MOST:
                return
            if program.structure in seen:
                continue
            if program.cost <= given * (1 + APART):
                alike.append(partial(alternatives.decisions, program))
                continue
            given = program.cost
            seen.add(program.structure)
            yield alternatives.decisions(program)
