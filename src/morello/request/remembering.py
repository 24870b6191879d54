"""The answer to a request: the table's program, or that of a search, which the table keeps."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf

from morello.base import debug
from morello.impl.costs import cost_table
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.memo.programs import StoredProgram, load_program, store_program
from morello.native.toolchain import find_compiler
from morello.request.goal import check_callable
from morello.request.request import Answer, Program, Request
from morello.search.budget import BudgetError, Progress
from morello.search.result import SearchStatistics


def answer(request: Request) -> Program:
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

    noting = Interrupts(request.progress)
    return remembered(goal, request, find(goal, noting.noted(request)), noting)


@dataclass
class Interrupts:
    """Notes whether `progress` ended a search before its time."""

    progress: Progress | None
    noted_one: bool = False

    def noted(self, request: Request) -> Request:
        """A request whose interrupts are noted."""
        return request if self.progress is None else replace(request, progress=self)

    def __call__(self, specs: int, rewrites: int) -> None:
        assert self.progress is not None
        try:
            self.progress(specs, rewrites)
        except BudgetError:
            self.noted_one = True
            raise


def remembered(goal: Spec, request: Request, answer: Answer, interrupts: Interrupts) -> Answer:
    """The answer of a search, which the table keeps unless a ranking chose it.

    Another search that may take no longer would do as well, unless an interrupt ended this one.
    If the table has a cheaper program, that is the answer.
    """
    table, budget, (impl, statistics) = request.table, request.budget, answer
    if table is None or not (request.measure > 1 or request.wants_cheapest):
        return answer
    near, seconds = statistics.gap <= budget.gap, statistics.seconds
    if not near:
        kept = load_program(goal, request.target, table, request.weights)
        if kept is not None and request.wants_cheapest and not request.target.tunings:
            impl, statistics = answer = _cheaper(kept, answer)
        if kept is not None and interrupts.noted_one:
            return answer
        seconds = seconds if interrupts.noted_one else max(seconds, budget.seconds)
    program = StoredProgram(
        impl, statistics.measured, statistics.gap, inf if statistics.proven else seconds,
        statistics.worst,
    )  # fmt: skip
    store_program(program, table, None if request.weights == "plain" else goal)
    return answer


def _cheaper(kept: StoredProgram, answer: Answer) -> Answer:
    """The program that a table has, if it is cheaper than the answer of a search, or that."""
    impl, statistics = answer
    if kept.measured or kept.impl.cost >= impl.cost:
        return answer
    gap = kept.impl.cost / impl.cost * (1 + statistics.gap) - 1
    return kept.impl, replace(statistics, gap=max(0.0, min(kept.gap, gap)))
