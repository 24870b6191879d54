"""Answering a request by search, or by several for as many machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from operator import truediv
from typing import Any, TypeVar

from morello.base.errors import SearchError, of_an_interrupt
from morello.codegen.distinct import Distinct
from morello.impl.costs import cost_on
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl, replay
from morello.ir.spec import Spec
from morello.measure.choose import build_and_time, candidate_impls
from morello.native.toolchain import find_compiler
from morello.request.choosing import chosen, goals_of, spec_table
from morello.request.constants import as_given, without_constants
from morello.request.request import Answer, Request
from morello.search.budget import LEAST_S
from morello.search.result import SearchStatistics
from morello.search.session import Session
from morello.targets.costs import on_cores

LITTLE = 0.6
"""A search among several is left out if less than this part of an equal share of time is left."""

T = TypeVar("T")


def find(goal: Spec, request: Request) -> Answer:
    """The program of a goal that is requested, and the statistics of the search for it."""
    if request.choice > 1:
        return chosen(goal, request)
    search = _for_many_machines if request.target.tunings else _for_one_machine
    return search(goal, request)


def _for_many_machines(goal: Spec, request: Request) -> Answer:
    """The program with the smallest worst-case loss among the best programs of the tunings."""
    machine = request.target
    tunings = [on_cores(goal, tuning, machine.cores)[1] for tuning in machine.tunings]
    answers = _in_turn(
        tunings,
        request,
        lambda tuning, share: _for_one_machine(goal, replace(share, target=tuning)),
    )
    costs = [[cost_on(impl, tuning) for tuning in tunings] for impl, _ in answers]
    least = [min(column) for column in zip(*costs, strict=True)]
    losses = [max(map(truediv, row, least)) for row in costs]
    impl, _ = answers[losses.index(min(losses))]
    statistics = _together([statistics for _, statistics in answers])
    gap = statistics.gap if len(answers) == len(tunings) else inf
    statistics = replace(statistics, gap=gap, worst=min(losses) - 1)
    return replay(impl.spec, machine, impl.decisions()), statistics


def _together(parts: Sequence[SearchStatistics]) -> SearchStatistics:
    """The statistics of several searches: their sums, and the largest gap."""
    sums: dict[str, Any] = {
        name: sum(getattr(part, name) for part in parts)
        for name in ("seconds", "specs", "rewrites", "entries", "tried", "bounded")
    }
    return replace(parts[0], **sums, gap=max(part.gap for part in parts))


def _in_turn(
    tasks: Sequence[T], request: Request, search: Callable[[T, Request], Answer]
) -> list[Answer]:
    """The answers of searches, one after the other, that share the request's time.

    Those for which little time is left are left out, but not the first. So are those that an
    interrupt ends before they have a program.
    """
    answers: list[Answer] = []
    little = max(LEAST_S, LITTLE * request.budget.left / len(tasks))
    for task, share in zip(tasks, request.budget.shares(len(tasks)), strict=True):
        if answers and share.seconds <= little:
            break
        try:
            answers.append(search(task, replace(request, budget=share)))
        except SearchError as error:
            if not (answers and of_an_interrupt(error)):
                raise
            break
    return answers


def _for_one_machine(goal: Spec, request: Request) -> Answer:
    """The program that is requested, with the layouts of weights that the request allows."""
    table, budget = spec_table(request), request.budget
    alike = request.wants_cheapest and table is None and request.searched is None
    same = without_constants(goal) if alike else goal
    first, *others = goals_of(same, request)
    session = Session(first, request.target, table, others=others)
    try:
        solution = session.solve(budget, request.progress)
    except SearchError as error:
        raise SearchError(str(error).replace(same.expression, goal.expression)) from error
    if request.searched is not None:
        request.searched(session)
    impl = reconstruct(as_given(session.goal, goal), session.target, solution.decisions)
    statistics = solution.statistics
    if request.ranking is not None:
        statistics = replace(statistics, ranked=request.ranking.name)
    left = replace(budget, used=budget.used + statistics.seconds)
    if request.measure > 1:
        impl, measured = _fastest(impl, session, replace(request, budget=left))
        statistics = replace(statistics, measured=measured)
    elif request.ranking is not None:
        impl = _proposed(impl, session, replace(request, budget=left))[0]
    return impl, statistics


def _fastest(best: Impl, session: Session, request: Request) -> tuple[Impl, int]:
    """The fastest of several programs for a goal, the cheapest included; and their number."""
    proposed = [impl for impl in _proposed(best, session, request) if impl is not best]
    programs = [best, *proposed[: request.measure - 1]]
    measured = build_and_time(programs, find_compiler(request.compiler))
    return measured[0].impl, len(measured)


def _proposed(best: Impl, session: Session, request: Request) -> list[Impl]:
    """Programs for a goal, of which `best` is the cheapest, ranked as is requested.

    Those that a ranking puts in order come first, then others by cost if more are measured.
    """
    watch = request.budget.start(request.progress)
    if request.ranking is None:
        return candidate_impls(best, session, request.measure, watch)
    ranking, new = request.ranking, Distinct()
    ranked = ranking.order(candidate_impls(best, session, ranking.count, watch, (ranking.slack,)))
    more = request.measure > len(ranked)
    others = candidate_impls(best, session, request.measure, watch) if more else []
    return [*filter(new, (*ranked, *others))]
