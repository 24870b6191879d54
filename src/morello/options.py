"""The options of `compile` and of the command, as a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TypedDict, Unpack

from morello.base.choices import RANKINGS, STREAMED, WEIGHTS
from morello.base.errors import (
    BuildError,
    CallError,
    SearchError,
    SpecError,
    TableError,
    TargetError,
    quoted,
)
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.memo.program_table import ProgramTable
from morello.request import Ranking, Request
from morello.request.goal import Goal, goal_and_target, spec_of
from morello.scheduling import Schedule
from morello.search.budget import SECONDS, Budget, Progress
from morello.search.prepacking import weights_in_place, weights_of
from morello.status_line import shown
from morello.tables import opened
from morello.targets.costs import with_costs_of
from morello.targets.target import Target


class Options(TypedDict, total=False):
    """The options of `compile` that say which program is wanted; see there."""

    target: str | Target
    threads: int | str
    table: ProgramTable | str | Path | None
    weights: str
    measure: int
    rank: str | None
    choice: int
    budget: float
    gap: float
    compiler: str | None
    progress: Progress | bool | None


class GraphOptions(Options, total=False):
    """The options of programs of several kernels.

    For `fuse_seconds`, other groups of operations than those of the rule are tried as kernels.
    Convolutions may be done by tiles of so many rows as `winograd` says: 0, 2 or 4.
    """

    fuse_seconds: float | None
    winograd: int


OPTION_ERRORS = (SearchError, TargetError, TableError, BuildError)
"""The errors for values of options that are wrong, or not for this machine."""


def check_known(options: Mapping[str, object], known: Iterable[str]) -> None:
    """Raise `SearchError` for an option that is not among the known ones."""
    names = sorted(known)
    for name in sorted(options.keys() - {*names}):
        near = get_close_matches(name, names, 1)
        fix = f"did you mean {near[0]}?" if near else f"the options are {', '.join(names)}."
        raise SearchError(f"there is no option {name}; {fix}")


def check_function(function: object, taker: str) -> None:
    """Raise `CallError` for what is no function, as `taker` takes one."""
    if not callable(function):
        raise CallError(f"{taker} takes a function, not {quoted(function)}.")


@contextmanager
def requested(what: str | Spec | Impl | Schedule, **options: Unpack[Options]) -> Iterator[Request]:
    """The request of these options, checked; its table is open in the body."""
    check_known(options, Options.__annotations__)
    rank, measure = options.get("rank"), options.get("measure", 1)
    if rank is not None and (not isinstance(rank, str) or rank not in RANKINGS):
        raise SearchError(f"programs are ranked by {' or '.join(RANKINGS)}, not {quoted(rank)}.")
    goal, target = goal_and_target(
        what.impl if isinstance(what, Schedule) else what,
        options.get("target", "native"),
        options.get("threads", 1),
    )
    weights = options.get("weights", "plain")
    if not isinstance(weights, str) or weights not in (*WEIGHTS, STREAMED):
        raise SpecError(f"weights are {', '.join(WEIGHTS)} or {STREAMED}, not {quoted(weights)}.")
    if weights == STREAMED:
        spec = spec_of(goal)
        in_place = weights_in_place(spec.operation) and not weights_of(spec.operation)
        weights = "plain" if in_place else "constant"
        target = with_costs_of(target, spec, evicted=True)
    with shown(options.get("progress")) as report:
        request = Request(
            goal,
            target,
            weights=weights,
            measure=measure,
            ranking=_ranking(rank, measure, goal, target),
            choice=options.get("choice", 1),
            budget=Budget(options.get("budget", SECONDS), gap=options.get("gap", 0.0)),
            compiler=options.get("compiler"),
            progress=report,
        )
        with opened(options.get("table")) as table:
            yield replace(request, table=table)


def _ranking(name: str | None, measure: int, goal: Goal, target: Target) -> Ranking | None:
    """The ranking of this name: None is that by cost.

    Without a name, it is the learned one if programs are measured and a model knows them.
    """
    usual = name is None
    if name == "cost" or (usual and (measure == 1 or isinstance(goal, Impl))):
        return None
    from morello.learn.predictors import LEARNED  # models are slow to import

    known = isinstance(goal, Spec) and LEARNED.refusal(goal, target) is None
    return None if usual and not known else LEARNED
