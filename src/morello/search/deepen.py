"""Searching a space again and again, each time more of it, until the cheapest program is proven.

A search that may not go on that long narrows the space instead, until there is some program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from morello.rewrites import Rewrite
from morello.search import engine
from morello.search.answer import Answer, solve_graph
from morello.search.bound import Bound
from morello.search.budget import BudgetError, Progress, Watch
from morello.search.graph import Pruning, Space, build, grow
from morello.search.memory import Memory
from morello.search.record import record

SLACKS = (1.0, 1.05, 1.12, 1.25, 1.5, 2.0, 3.0, inf)
"""How far above the lower bound programs may be, attempt by attempt."""

FEW = 50_000
"""Specs of a space that is expanded so quickly that fewer attempts matter more than a small one."""

WIDTHS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 1 << 30)
"""How many rewrites of each Spec are tried where time is short: ever more, and at last all."""

FIRST = 0.6
"""The share of the time in which there must be a program, or the space is narrowed."""

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Outcome:
    """The cheapest program found, as decisions in pre-order, and the size of the search.

    No program costs less than `lower`. `specs` and `rewrites` count the space that was expanded
    for it, `entries` the boxes, `tried` the rewrites weighed against limits.
    """

    cost: float
    decisions: tuple[Rewrite, ...]
    lower: float
    specs: int
    rewrites: int
    entries: int
    tried: int

    @staticmethod
    def of(answer: Answer, lower: float, memory: Memory | None = None) -> Outcome:
        """Of a solved graph; raises `LookupError` if a memory lacks what it had before."""
        graph, found = answer.graph, answer.cost < engine.INFINITE
        return Outcome(
            answer.cost if found else inf, tuple(answer.decisions(memory)) if found else (), lower,
            len(graph.keys), len(graph.parent), answer.count, answer.tried,
        )  # fmt: skip

    @property
    def found(self) -> bool:
        """There is a program."""
        return self.cost < inf

    @property
    def gap(self) -> float:
        """The optimality gap: the program costs at most this part more than the cheapest."""
        return max(0.0, self.cost / self.lower - 1) if self.lower > 0 else inf


def exhaust(space: Space, memory: Memory | None, watch: Watch) -> Outcome:
    """The cheapest program, by expanding the whole space."""
    answer = _solved(space, None, memory, watch)
    if memory is not None:
        record(answer, memory)
    return Outcome.of(answer, answer.cost, memory)


def deepen(space: Space, bound: Bound, memory: Memory | None, watch: Watch) -> Outcome:
    """The cheapest program, by iterative deepening over the slack above the lower bound.

    Once there is a program in a small space, the next attempt allows all that it costs, and so is
    the last. If the watch ends this, the cheapest that was found until then.
    """
    least = float(bound(space.goal_batch())[0])
    best: Outcome | None = None
    lower, enough = least, inf
    small, early = True, watch.part(FIRST)
    for slack in SLACKS:
        upper = enough if small and enough < inf else min(least * slack, enough)
        try:
            answer = _solved(space, Pruning(bound, upper), memory, watch if best else early)
        except (BudgetError, MemoryError):
            break
        if answer.last <= upper * (1 + _ROUNDING):
            outcome = Outcome.of(answer, answer.cost, memory)
            if memory is not None:
                record(answer, memory)
            return outcome
        lower, small = upper, len(answer.graph.keys) < FEW
        if answer.cost < engine.INFINITE:
            best = Outcome.of(answer, lower, memory)
        if answer.last < engine.INFINITE:
            enough = answer.last
        del answer  # the next attempt needs the memory
    return (
        replace(best, lower=min(lower, best.cost)) if best else narrow(space, bound, lower, watch)
    )


def narrow(space: Space, bound: Bound, lower: float, watch: Watch) -> Outcome:
    """The cheapest program of a narrowed space, which is widened while there is time.

    `lower` is what every program is known to cost at least. Raises `BudgetError` if memory does
    not suffice for a program.
    """
    best = Outcome(inf, (), lower, 0, 0, 0, 0)
    for width in WIDTHS:
        progress = watch if best.found else watch.untimed()
        try:
            graph = build(space, Pruning(bound, best.cost, width), progress)
            outcome = Outcome.of(solve_graph(graph, progress=progress), lower)
        except (BudgetError, MemoryError):
            if best.found:
                break
            raise
        best = min(best, outcome, key=lambda one: one.cost)
    return best


def _solved(
    space: Space, pruning: Pruning | None, memory: Memory | None, progress: Progress
) -> Answer:
    """Solve, using memoized answers; Specs memoized for other limits than are met are expanded."""
    if memory is None:
        return solve_graph(build(space, pruning, progress), progress=progress)
    graph = build(space, pruning, progress, memory.known)
    while True:
        answer = solve_graph(graph, memory.table.keeps, progress)
        missed = np.flatnonzero(answer.missed)
        if not len(missed):
            return answer
        graph = grow(graph, missed, pruning, progress)
