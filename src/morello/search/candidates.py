"""The programs of a goal that are worth measuring: cheap ones of different structures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

from morello.rewrites import Rewrite
from morello.search.alternatives import Graphs, in_order
from morello.search.budget import BudgetError, Watch

SLACKS = (1.02, 1.1, 1.3)
"""How much programs may cost, relative to the cheapest, attempt by attempt."""

APART = 5e-4
"""Programs whose costs differ by less than this, relatively, count as equally expensive."""

MOST = 200
"""The most programs that are compared."""


def candidates(
    graphs: Graphs, cost: float, watch: Watch, slacks: Sequence[float] = SLACKS
) -> Iterator[list[Rewrite]]:
    """Programs of different structures, as decisions in pre-order.

    `cost` is the cost of the goal's cheapest program, and they cost at most the last of the
    `slacks` times as much. Programs are in order of cost, except that
    those as expensive as an earlier one come last: these hardly differ in what takes time. The
    enumeration ends early when the watch's budget is used up.
    """
    alike: list[Callable[[], list[Rewrite]]] = []
    given = 0.0
    with suppress(BudgetError, MemoryError):
        for alternatives, program in islice(in_order(graphs, cost, watch, slacks), MOST):
            if program.cost <= given * (1 + APART):
                alike.append(partial(alternatives.decisions, program))
                continue
            given = program.cost
            yield alternatives.decisions(program)
    for decisions in alike:
        yield decisions()
