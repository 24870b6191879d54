"""The answer to a request: the table's program, or that of a search, which the table keeps."""

from __future__ import annotations

import time
from math import inf

from morello.base import debug
from morello.impl.costs import cost_table
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.memo.programs import load_program, store_program
from morello.native.toolchain import find_compiler
from morello.request.goal import check_callable
from morello.request.request import Answer, Request
from morello.request.warning import falls_short
from morello.search.result import SearchStatistics


def answer(request: Request) -> tuple[Impl, SearchStatistics | None]:
    """The program that is requested, and the search's statistics: None for a schedule.

    Raises `MorelloError` (see `morello.errors`).
    """
    goal = request.goal
    if isinstance(goal, Impl):
        return goal, None
    if request.measure > 1:
        check_callable(goal, request.target)
        find_compiler(request.compiler)  # raises before the search, which takes longer
    impl, statistics = recalled(request) or _searched(goal, request)
    if debug.shows("cost"):
        debug.show("cost", cost_table(impl))
    return impl, statistics


def recalled(request: Request) -> Answer | None:
    """The answer that the table has, if that makes a search unnecessary; None for a schedule."""
    goal, table = request.goal, request.table
    if isinstance(goal, Impl) or table is None or request.choice > 1:
        return None
    began = time.perf_counter()
    kept = load_program(goal, request.target, table, request.weights)
    if kept is None or not kept.serves(
        request.wants_cheapest, request.budget.seconds, request.budget.gap
    ):
        return None
    seconds = time.perf_counter() - began
    return kept.impl, SearchStatistics.of_memoized(seconds, kept.measured, kept.gap, kept.worst)


def _searched(goal: Spec, request: Request) -> Answer:
    from morello.request.answering import find  # slow to import, and often not needed

    return remembered(goal, request, find(goal, request))


def remembered(goal: Spec, request: Request, answer: Answer) -> Answer:
    """The answer of a search, which the table keeps unless a ranking chose it."""
    impl, statistics = answer
    cheapest_or_fastest = request.measure > 1 or request.wants_cheapest
    if request.table is None or falls_short(statistics, request.budget) or not cheapest_or_fastest:
        return impl, statistics
    store_program(
        impl,
        request.table,
        statistics.measured,
        statistics.gap,
        inf if statistics.proven else statistics.seconds,
        worst=statistics.worst,
        goal=None if request.weights == "plain" else goal,
    )
    return impl, statistics
