"""The programs of a goal that are worth measuring: cheap ones of different structures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from morello.rewrites import Rewrite
from morello.search.alternatives import Alternatives
from morello.search.budget import BudgetError, Watch
from morello.search.graph import SearchGraph
from morello.search.structure import Structure

SLACKS = (1.02, 1.1, 1.3)
"""How much programs may cost, relative to the cheapest, attempt by attempt."""

APART = 5e-4
"""Programs whose costs differ by less than this, relatively, count as equally expensive."""

MOST = 200
"""The enumeration ends once an attempt has given more programs than this."""

Graphs = Callable[[float, Watch], SearchGraph]
"""Gives a graph that has all programs of a goal which cost at most so much."""


def candidates(graphs: Graphs, cost: float, watch: Watch) -> Iterator[list[Rewrite]]:
    """Programs of different structures, as decisions in pre-order.

    `cost` is the cost of the goal's cheapest program. Programs are in order of cost, except that
    those as expensive as an earlier one come last: these hardly differ in what takes time. The
    enumeration ends early when the watch's budget is used up.
    """
    alike: list[Callable[[], list[Rewrite]]] = []
    with suppress(BudgetError, MemoryError):
        yield from _distinct(graphs, cost, alike, watch)
    for decisions in alike:
        yield decisions()


def _distinct(
    graphs: Graphs, cost: float, alike: list[Callable[[], list[Rewrite]]], watch: Watch
) -> Iterator[list[Rewrite]]:
    """Candidates in order of cost; those as expensive as an earlier one go to `alike`."""
    seen: set[Structure] = set()
    given = 0.0
    for slack in SLACKS:
        graph = graphs(cost * slack, watch)
        alternatives = Alternatives(graph)
        alike.clear()
        for looked_at, program in enumerate(alternatives.within(cost * slack), start=1):
            watch(graph.node_count, graph.edge_count)
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
