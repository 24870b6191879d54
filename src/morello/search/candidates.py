"""The programs of a goal that are worth measuring: the cheapest, and others unlike it."""

from __future__ import annotations

from collections.abc import Iterator

from morello.ir.spec import Spec
from morello.rewrites import Rewrite
from morello.search.alternatives import Alternatives
from morello.search.bound import Bound
from morello.search.graph import GoalSizes, Progress, Pruning, Space, build
from morello.search.structure import Structure
from morello.targets.target import Target

SLACKS = (1.02, 1.1, 1.3)
"""How much more than the cheapest they may cost, attempt by attempt."""

APART = 5e-4
"""Those that differ by a smaller part of their cost are the last to be tried."""

MOST = 200
"""Structures that are looked at."""


def candidates(
    goal: Spec, target: Target, cost: float, progress: Progress | None = None
) -> Iterator[list[Rewrite]]:
    """The decisions of programs, in pre-order, each of another structure, for a goal whose
    cheapest program costs `cost`.

    In order of their costs, but for those that cost the same as one before: those come last,
    as they hardly differ in what takes time.
    """
    sizes = GoalSizes.of(goal, target)
    bound = Bound(goal, target, sizes)
    space = Space(goal, target, sizes)
    seen: set[Structure] = set()
    given = 0.0
    for slack in SLACKS:
        alternatives = Alternatives(build(space, Pruning(bound, cost * slack), progress))
        alike = []
        for looked_at, program in enumerate(alternatives.within(cost * slack), start=1):
            if looked_at > MOST:
                break
            if program.structure in seen:
                continue
            if program.cost <= given * (1 + APART):
                alike.append(program)
                continue
            given = program.cost
            seen.add(program.structure)
            yield alternatives.decisions(program)
        else:
            continue
        break
    for program in alike:
        yield alternatives.decisions(program)
