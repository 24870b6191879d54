"""From a command's arguments to an Impl, and what is said of it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from morello import options, tables
from morello.base.errors import BuildError, FileError, RewriteError
from morello.base.files import check_writable, write_bytes
from morello.cli.output import SearchProgress, progress, readable
from morello.frontends.text import parse
from morello.impl import saved
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.measure.bounds import Bound, Peak, bound, percent
from morello.measure.calibrate.first_use import find_calibrated
from morello.measure.peaks import host_peak, keeps_peaks
from morello.memo.program_table import ProgramTable
from morello.request import Request, answer
from morello.request.warning import gap_text, warning
from morello.search.budget import Budget
from morello.search.result import SearchStatistics
from morello.tables import OFF
from morello.targets import find_target, tuned
from morello.targets.caches import limited
from morello.targets.target import Target

if TYPE_CHECKING:
    from morello.search.session import Session


def implement(arguments: argparse.Namespace) -> tuple[Impl, SearchStatistics | None]:
    """The program that a command's arguments ask for, and the statistics of the search for it."""
    with progress() as report:
        return answered(arguments, report)


def answered(
    arguments: argparse.Namespace, report: SearchProgress, searches: list[Session] | None = None
) -> tuple[Impl, SearchStatistics | None]:
    """As `implement`, for a command of several searches (see `requested`)."""
    with requested(arguments, report, searches) as request:
        impl, statistics = answer(request)
        warn(request, statistics, report)
        return impl, statistics


@contextmanager
def requested(
    arguments: argparse.Namespace, report: SearchProgress, searches: list[Session] | None = None
) -> Iterator[Request]:
    """The request of a command's arguments. In the body, its table is open.

    If a certificate is wanted, what it searches is added to the `searches`.
    """
    if searches is not None and arguments.certificate is not None:
        check_writable(arguments.certificate)
    goal = saved_impl(arguments, arguments.schedule) or arguments.expression
    with (
        opened(arguments) as table,
        options.requested(
            goal,
            target=target_of(arguments),
            threads=arguments.threads,
            table=table or OFF,
            weights=arguments.weights,
            measure=arguments.measure,
            rank=arguments.rank,
            choice=arguments.choice,
            budget=arguments.budget,
            gap=arguments.gap,
            compiler=arguments.compiler,
            progress=report,
        ) as request,
    ):
        if searches is not None and arguments.certificate is not None:
            request = replace(request, searched=searches.append)
        yield request


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
        data = json.loads(path.read_text())
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


def described(impl: Impl, statistics: SearchStatistics | None) -> dict[str, Any]:
    """A program and the statistics of the search for it, as data for JSON."""
    predicted = predicted_us(impl)
    roofline = predicted_roofline(impl, predicted)
    data: dict[str, Any] = {
        "spec": impl.spec.expression,
        "target": impl.target.name,
        "threads": impl.threads,
        "cost": impl.cost,
        "predicted_us": predicted,
        "roofline": None if roofline is None else roofline.data(),
        "search": None,
    }
    if statistics is not None:
        data["search"] = {
            "seconds": statistics.seconds,
            "specs": statistics.specs,
            "entries": statistics.entries,
            "rewrites": statistics.rewrites,
            "tried": statistics.tried,
            "bounded": statistics.bounded,
            "measured": statistics.measured,
            "choice": statistics.choice,
            "proven": statistics.proven,
            "gap": statistics.gap if isfinite(statistics.gap) else None,
            "of_bound": statistics.of_bound,
            "worst": statistics.worst,
        }
    return data


def predicted_us(impl: Impl) -> dict[str, float] | None:
    """A learned model's prediction in microseconds, if there is a model for the machine."""
    from morello.learn.predictors import predict  # models are slow to import

    prediction = predict(impl)
    return None if prediction is None else {name: 1e6 * s for name, s in asdict(prediction).items()}


@dataclass(frozen=True)
class Roofline:
    """The bound of a Spec on this machine, and the seconds that a program of it is to take."""

    bound: Bound
    seconds: float

    @property
    def text(self) -> str:
        """The part of the bound that the program reaches, and what the bound is."""
        reached = percent(self.bound.share(self.seconds))
        time = readable(self.bound.seconds)
        return f"{reached} of this machine's roofline for it, {time} by {self.bound.by}"

    def data(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self.bound) | {"reached": self.bound.share(self.seconds)}


def predicted_roofline(impl: Impl, predicted: dict[str, float] | None) -> Roofline | None:
    """The roofline for what a program is predicted to take; None if it is for another machine.

    It is predicted by a learned model (see `predicted_us`) or, without one, by the cost.
    What this machine can do at most is measured if it is not known, and may be kept.
    """
    if impl.target.name != "native" or not keeps_peaks():
        return None
    peak = _peak(impl.threads)
    if peak is None:
        return None
    seconds = 1e-6 * predicted["seconds"] if predicted else impl.cost / peak.hertz
    return Roofline(bound(impl.spec, peak), seconds)


def measured_roofline(spec: Spec, threads: int, seconds: float) -> Roofline | None:
    """The roofline of a program that took so many seconds on so many threads of this machine."""
    peak = _peak(threads)
    return None if peak is None else Roofline(bound(spec, peak), seconds)


def _peak(threads: int) -> Peak | None:
    """The peak of this machine; None if no compiler is found to measure it."""
    try:
        return host_peak(threads)
    except BuildError:
        return None


def bounds_text(statistics: SearchStatistics | None, roofline: Roofline | None) -> str:
    """The parts that a program reaches of the bound of its cost and of a roofline, if known."""
    parts = []
    if statistics is not None and isfinite(statistics.gap):
        parts.append(f"{percent(statistics.of_bound)} of the cost model's bound")
    if roofline is not None:
        parts.append(roofline.text)
    return "; ".join(parts)


def prediction_text(predicted_us: dict[str, float]) -> str:
    middle, low, high = (readable(1e-6 * predicted_us[name]) for name in ("seconds", "low", "high"))
    return f"learned model: {middle} a call ({low} to {high})"


def search_text(statistics: SearchStatistics) -> str:
    chosen = f"The fastest of {statistics.measured} measured. " if statistics.measured else ""
    if statistics.worst is not None:
        chosen = (
            "Of the cheapest programs for each microarchitecture, the one with the smallest "
            f"worst-case loss, {statistics.worst:.1%}. "
        )
    if statistics.choice > 1:
        chosen = f"Number {statistics.choice} of the cheapest programs of different structures. "
    if not statistics.specs:
        unproven = "" if statistics.proven else f" It has {gap_text(statistics)}."
        return f"{chosen}Known from the table, in {1e3 * statistics.seconds:.0f} ms.{unproven}"
    proven = "The cheapest was proven so" if chosen else "Proven cheapest"
    if not statistics.proven:
        proven = f"Found with {gap_text(statistics)}"
    return (
        f"{chosen}{proven} under the cost model in {statistics.seconds:.2f} s: "
        f"{statistics.specs:,} Specs expanded by {statistics.rewrites:,} rewrites, "
        f"{statistics.bounded:,} relaxed Specs bounding the rest."
    )
