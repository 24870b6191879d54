"""From a command's arguments to an Impl."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from morello import options, tables
from morello.base.errors import FileError, RewriteError, SearchError
from morello.base.files import write_bytes
from morello.cli.output import SearchProgress
from morello.frontends.text import parse
from morello.impl import saved
from morello.impl.tree import Impl
from morello.measure.calibrate.first_use import find_calibrated, measure_once
from morello.memo.program_table import ProgramTable
from morello.options import Options
from morello.request import Request, answer
from morello.request.warning import gap_text, warning
from morello.search.budget import Budget
from morello.search.result import SearchStatistics
from morello.tables import OFF
from morello.targets import find_target, tuned
from morello.targets.caches import limited
from morello.targets.target import Target

if TYPE_CHECKING:
    from morello.program import TextProgram
    from morello.search.session import Session


WRITING, WRITING_S = 0.1, 0.2
"""The share of a budget that is kept for what follows the search, and the most seconds: to write
large programs takes as long."""


def answered(
    arguments: argparse.Namespace,
    report: SearchProgress,
    searches: list[Session] | None = None,
    budget: Budget | None = None,
) -> tuple[Impl, SearchStatistics | None]:
    """The program that a command's arguments ask for, and the statistics of the search for it.

    For `searches` and the `budget`, see `requested`.
    """
    with requested(arguments, report, searches, budget) as request:
        impl, statistics = answer(request)
        warn(request, statistics, report)
        return impl, statistics


@contextmanager
def requested(
    arguments: argparse.Namespace,
    report: SearchProgress,
    searches: list[Session] | None = None,
    budget: Budget | None = None,
) -> Iterator[Request]:
    """The request of a command's arguments. In the body, its table is open.

    If a certificate is wanted, what it searches is added to the `searches`. The budget is that of
    the command, unless it is given; calibrating the machine, once, takes none of it.
    """
    goal = saved_impl(arguments, arguments.schedule) or arguments.expression
    if isinstance(goal, str) and arguments.tune is None:
        with arguments.clock.sparing():
            measure_once(arguments.target)
    with (
        opened(arguments) as table,
        options.requested(goal, **_options(arguments, report, table)) as request,
    ):
        if searches is not None and arguments.certificate is not None:
            request = replace(request, searched=searches.append)
        yield replace(request, budget=budget or budget_of(arguments))


def compiled_program(
    arguments: argparse.Namespace,
    report: SearchProgress,
    *,
    verify: bool = True,
    name: str = "kernel",
) -> TextProgram:
    """The program of several kernels that a command's arguments ask for; raises `MorelloError`."""
    if arguments.schedule is not None:
        raise RewriteError("a program of several kernels has several schedules.")
    if arguments.certificate is not None:
        raise SearchError("a certificate is of one kernel, and this takes several.")
    from morello.program import compile_program  # slow to import

    with opened(arguments) as table:
        words = _options(arguments, report, table)
        return compile_program(arguments.expression, words, verify=verify, name=name)


def _options(
    arguments: argparse.Namespace, report: SearchProgress, table: ProgramTable | None
) -> Options:
    """The options of `compile` that a command's arguments give."""
    return {
        "target": target_of(arguments), "threads": arguments.threads, "table": table or OFF,
        "weights": arguments.weights, "measure": arguments.measure, "rank": arguments.rank,
        "choice": arguments.choice, "budget": arguments.budget, "gap": arguments.gap,
        "compiler": arguments.compiler, "progress": report,
    }  # fmt: skip


def budget_of(arguments: argparse.Namespace) -> Budget:
    """The budget of a command's search, less what the rest of the command takes of it."""
    writing = min(WRITING_S, WRITING * arguments.budget)
    return Budget(arguments.budget, gap=arguments.gap, used=arguments.clock.used() + writing)


def write_certificate(
    arguments: argparse.Namespace, impl: Impl, report: SearchProgress, searches: Sequence[Session]
) -> None:
    """Write the certificate of a program that was searched for, if it was asked for."""
    if arguments.certificate is not None:
        from morello.certificate.write import certify  # slow to import

        budget = Budget(arguments.budget, gap=arguments.gap)
        write_bytes(arguments.certificate, certify(impl, budget, report, searches))


def target_of(arguments: argparse.Namespace) -> str | Target:
    """The target of a command: its name, or one with the costs or the capacities of another."""
    target: str | Target = arguments.target
    if arguments.tune is not None:
        target = tuned(arguments.target, arguments.tune)
    if arguments.limits is not None:
        known = find_calibrated(target) if isinstance(target, str) else target
        target = limited(known, arguments.limits)
    return target


def warn(request: Request, statistics: SearchStatistics | None, report: SearchProgress) -> None:
    """Say on stderr if a program may be far from the cheapest, or if its search was interrupted."""
    text = warning(request.target, statistics, request.budget)
    if report.interrupted and statistics is not None and not statistics.proven:
        text = f"interrupted; the best program so far has {gap_text(statistics)}."
    if text:
        print(f"morello: {text}", file=sys.stderr)


def saved_impl(arguments: argparse.Namespace, path: Path | None) -> Impl | None:
    """The Impl of the saved schedule at a path, if one is given; it must be of the same Spec."""
    if path is None:
        return None
    target = target_of(arguments)
    target = find_target(target) if isinstance(target, str) else target
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise RewriteError(f"{path} is no saved schedule: {error}.") from None
    impl = saved.load(data, target)
    goal = replace(parse(arguments.expression), parallel=impl.spec.parallel)
    if impl.spec != goal:
        raise RewriteError(
            f"{path} is a schedule of {impl.spec.expression}, not of {arguments.expression:.200}."
        )
    return replace(impl, spec=goal)


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[ProgramTable | None]:
    """The table of a command, None if it has none; warns about damaged parts on stderr."""
    with tables.opened(OFF if arguments.no_table else arguments.db) as table:
        yield table
        if table is not None:
            for problem in table.damaged:
                print(f"morello: {table.path}: {problem} It was left out.", file=sys.stderr)
