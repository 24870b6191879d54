"""Programs of a request in the order of their costs, and the choice of one by its number."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from heapq import merge
from itertools import islice
from operator import attrgetter

from morello.base.errors import SearchError, SpecError
from morello.base.wording import counted
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.memo import Table
from morello.request.request import Answer, Request
from morello.rewrites import Rewrite
from morello.search import budget as budgets
from morello.search.budget import BudgetError
from morello.search.prepacking import with_layouts
from morello.search.session import Session

LEAST_SHARE_S = 0.1
"""The least seconds that a search gets, and the enumeration of programs after all searches."""

_cost = attrgetter("cost")


def alternatives(request: Request) -> list[Impl]:
    """The cheapest programs of a goal, as many as the request's choice says, in order of cost.

    No two have the same structure (see `search.structure`) and the same layouts of weights. There
    are fewer if there are no others, or if the budget is used up. Raises `MorelloError`.
    """
    if isinstance(request.goal, Impl):
        raise SpecError("a schedule is one program; give an expression or a Spec.")
    return _in_order(sessions_of(request.goal, request), request)[0]


def chosen(goal: Spec, request: Request) -> Answer:
    """The program whose number in the order of costs is the request's choice.

    Raises `SearchError` if there is none, or if the budget does not suffice.
    """
    began = time.perf_counter()
    sessions = sessions_of(goal, request)
    programs, complete = _in_order(sessions, request)
    count, choice = len(programs), request.choice
    if count < choice and complete:
        raise SearchError(
            f"{goal.expression} has {counted(count, 'program')} of different structures, so "
            f"there is no choice {choice}; choose at most {count}."
        )
    if count < choice:
        raise SearchError(
            f"{goal.expression}: the budget sufficed for {count} of the programs in order of cost, "
            f"not for choice {choice}; give more seconds."
        )
    statistics = min(sessions, key=_cost).result.statistics
    seconds = time.perf_counter() - began
    return programs[-1], replace(statistics, seconds=seconds, gap=0.0, choice=choice)


def sessions_of(goal: Spec, request: Request) -> list[Session]:
    """A search for every layout of weights that the request allows."""
    table = spec_table(request)
    return [Session(each, request.target, table) for each in goals_of(goal, request)]


def goals_of(goal: Spec, request: Request) -> list[Spec]:
    """The goal, with each layout of weights that is allowed."""
    return [goal] if request.weights == "plain" else with_layouts(goal, request.target)


def spec_table(request: Request) -> Table | None:
    """The table of the request, if it has results for Specs."""
    return request.table if isinstance(request.table, Table) else None


def _in_order(sessions: Sequence[Session], request: Request) -> tuple[list[Impl], bool]:
    """The programs of several searches up to the request's choice, in order of cost.

    And whether there are fewer only because there are no others, not because the budget is used up;
    then there is at least the cheapest program that was found.
    """
    budget = request.budget
    ends = budgets.clock() + budget.left
    for session, share in zip(sessions, budget.shares(len(sessions)), strict=True):
        enough = replace(share, seconds=max(share.seconds, LEAST_SHARE_S))
        session.solve(enough, request.progress)
    left = max(ends - budgets.clock(), LEAST_SHARE_S)
    watch = replace(budget, seconds=left, used=0.0).start(request.progress)
    programs: list[Impl] = []
    with suppress(BudgetError, MemoryError):
        ordered = merge(*(_programs(s, s.alternatives(watch)) for s in sessions), key=_cost)
        for impl in islice(ordered, request.choice):
            programs.append(impl)
        return programs, True
    if not programs:
        best = min(sessions, key=_cost)
        programs += _programs(best, [best.decisions])
    return programs, False


def _programs(session: Session, decisions: Iterable[Sequence[Rewrite]]) -> Iterator[Impl]:
    """The Impls of programs of a search's goal."""
    return (reconstruct(session.goal, session.target, each) for each in decisions)
