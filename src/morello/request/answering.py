"""Answering a request by search: one, or several for layouts of weights or for machines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from operator import truediv
from typing import Any

from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl, replay
from morello.ir.spec import Spec
from morello.measure.choose import build_and_time, candidate_impls
from morello.memo import Table
from morello.request.request import Request
from morello.runtime.toolchain import find_compiler
from morello.search.prepacking import with_layouts
from morello.search.result import SearchStatistics
from morello.search.session import Session
from morello.targets.costs import on_cores

LEAST_S = 0.1
"""The minimum budget, in seconds, of each of several searches that share one."""

Answer = tuple[Impl, SearchStatistics]
"""A program, and the statistics of the search for it."""


def find(goal: Spec, request: Request) -> Answer:
    """The program of a goal that is requested, and the statistics of the search for it."""
    search = _for_many_machines if request.target.tunings else _over_layouts
    return search(goal, request)


def _for_many_machines(goal: Spec, request: Request) -> Answer:
    """Of the best programs for each tuning, the one with the smallest worst-case loss."""
    machine = request.target
    tunings = [on_cores(goal, tuning, machine.cores)[1] for tuning in machine.tunings]
    answers = [
        _over_layouts(goal, replace(share, target=tuning))
        for tuning, share in zip(tunings, _shares(request, len(tunings)), strict=True)
    ]
    costs = [
        [replay(impl.spec, tuning, impl.decisions()).cost for tuning in tunings]
        for impl, _ in answers
    ]
    least = [min(column) for column in zip(*costs, strict=True)]
    losses = [max(map(truediv, row, least)) for row in costs]
    impl, _ = answers[losses.index(min(losses))]
    statistics = _together([statistics for _, statistics in answers])
    statistics = replace(statistics, worst=min(losses) - 1)
    return replay(impl.spec, machine, impl.decisions()), statistics


def _over_layouts(goal: Spec, request: Request) -> Answer:
    """The best program, with the layouts of weights that the request allows."""
    machine = request.target
    table = request.table if isinstance(request.table, Table) else None
    if request.weights == "plain":
        return _searched(Session(goal, machine, table), request)
    sessions = [Session(variant, machine, table) for variant in with_layouts(goal, machine)]
    best = _best_layout(sessions, replace(request, measure=1, ranking=None))
    if request.wants_cheapest:
        return best
    (session,) = (session for session in sessions if session.goal == best[0].spec)
    return _searched(session, request)


def _best_layout(sessions: Sequence[Session], request: Request) -> Answer:
    """The cheapest program over all layouts of the weights; their searches share the budget."""
    shares = _shares(request, len(sessions))
    answers = [_searched(session, share) for session, share in zip(sessions, shares, strict=True)]
    lower = min(impl.cost / (1 + statistics.gap) for impl, statistics in answers)
    impl, _ = min(answers, key=lambda answer: answer[0].cost)
    gap = impl.cost / lower - 1 if lower else inf
    return impl, replace(_together([statistics for _, statistics in answers]), gap=gap)


def _together(parts: Sequence[SearchStatistics]) -> SearchStatistics:
    """The statistics of several searches: their sums, and the largest gap."""
    sums: dict[str, Any] = {
        name: sum(getattr(part, name) for part in parts)
        for name in ("seconds", "specs", "rewrites", "entries", "tried", "bounded")
    }
    return replace(parts[0], **sums, gap=max(part.gap for part in parts))


def _shares(request: Request, count: int) -> Iterator[Request]:
    """The requests of several searches in turn: each gets an equal share of the time left."""
    ends = time.monotonic() + request.budget.seconds
    for number in range(count):
        left = max(ends - time.monotonic(), 0.0) / (count - number)
        yield replace(request, budget=replace(request.budget, seconds=max(left, LEAST_S)))


def _searched(session: Session, request: Request) -> Answer:
    """The program of a session's goal that is requested."""
    solution = session.solve(request.budget, request.progress)
    impl = reconstruct(session.goal, session.target, solution.decisions)
    statistics = solution.statistics
    if request.measure > 1:
        impl, measured = _fastest(impl, session, request)
        statistics = replace(statistics, measured=measured)
    elif request.ranking is not None:
        impl = _proposed(impl, session, request)[0]
    return impl, statistics


def _fastest(best: Impl, session: Session, request: Request) -> tuple[Impl, int]:
    """The fastest of several programs for a goal, the cheapest included; and their number."""
    proposed = [impl for impl in _proposed(best, session, request) if impl is not best]
    programs = [best, *proposed[: request.measure - 1]]
    measured = build_and_time(programs, find_compiler(request.compiler))
    return measured[0].impl, len(measured)


def _proposed(best: Impl, session: Session, request: Request) -> list[Impl]:
    """Programs for a goal, of which `best` is the cheapest, ranked as is requested."""
    watch = request.budget.start(request.progress)
    if request.ranking is None:
        return candidate_impls(best, session, request.measure, watch)
    count = max(request.ranking.count, request.measure)
    return request.ranking.order(candidate_impls(best, session, count, watch))
