"""`morello calibrate`: measures this machine's costs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from morello.base.errors import TargetError
from morello.base.files import check_writable, make_folder
from morello.base.status import Phase, tell
from morello.cli.arguments import add_json
from morello.cli.hints import hint
from morello.cli.output import grid, print_json
from morello.learn.local import local_path, write_local
from morello.learn.predictors import correction
from morello.learn.trials import all_trials, trials_folder
from morello.measure.calibrate.fit import FitQuality
from morello.measure.calibrate.run import CalibrationOutcome, calibrate
from morello.native.toolchain import find_compiler
from morello.status_line import StatusLine
from morello.targets.calibration import save
from morello.targets.calibration_path import VARIABLE, default_path
from morello.targets.catalog import native, uncalibrated
from morello.targets.costs import FOLLOWS
from morello.targets.cpu import host_cpu
from morello.targets.target import Target

STEPS: dict[str, tuple[Phase, str]] = {
    "clock": ("time", "the clock"),
    "search": ("search", "program {}"),
    "compile": ("build", "program {}"),
    "time": ("time", "round {}"),
    "threads": ("time", "the start of threads"),
    "check": ("time", "programs by old and new costs: {}"),
}
"""The phase of each step of a calibration, and what it is about."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--dry-run", action="store_true", help="measure, and keep nothing")
    kept.add_argument("--output", type=Path, metavar="PATH", help="keep the costs here")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Measure this machine's costs, and save them if they are better than those shipped."""
    cpu, target, compiler = host_cpu(), uncalibrated(), find_compiler()
    path: Path = arguments.output or default_path(cpu)
    if not arguments.dry_run:
        make_folder(path)
        check_writable(path)
    with _progress() as report:
        outcome = calibrate(target, _current(), cpu, compiler, report)
    written = outcome.better and not arguments.dry_run
    if written:
        save(outcome.calibration, path)
    trials = all_trials(trials_folder(), target, compiler)
    local = correction(target, [*outcome.timed, *trials])
    if local is not None and written:
        write_local(local_path(path), local)
    if arguments.json:
        described = _described(outcome, path if written else None)
        print_json(described | {"model": local and local.described()})
    else:
        _print(outcome)
        if local is not None:
            print(f"the learned model, {local}")
        print(_kept(outcome, path, written))
        hint("`morello bench EXPR --vs numpy` races a kernel that these costs choose.")


def _current() -> Target:
    """This machine with its current costs; with the shipped ones if they cannot be read."""
    try:
        return native()
    except TargetError:
        return uncalibrated()


def _described(outcome: CalibrationOutcome, path: Path | None) -> dict[str, Any]:
    return {
        "cpu": outcome.calibration.cpu,
        "hertz": outcome.calibration.hertz,
        "before": dict(outcome.before),
        "after": dict(outcome.after),
        "measured": sorted(outcome.measured),
        "fitted": _qualities(outcome.fitted),
        "held_out": _qualities(outcome.held_out),
        "checks": [asdict(check) for check in outcome.checks],
        "better": outcome.better,
        "drawbacks": outcome.drawbacks,
        "programs": outcome.programs,
        "seconds": outcome.seconds,
        "file": None if path is None else str(path),
    }


def _qualities(pair: tuple[FitQuality, FitQuality]) -> dict[str, Any]:
    before, after = pair
    return {"before": asdict(before), "after": asdict(after)}


def _print(outcome: CalibrationOutcome) -> None:
    console = Console(highlight=False)
    console.print(
        f"[bold]{outcome.calibration.cpu}[/bold] at {outcome.calibration.hertz / 1e9:.2f} GHz: "
        f"{outcome.programs} programs in {outcome.seconds:.0f} s",
        soft_wrap=True,
    )
    table = grid("", "before", "after", "")
    for name, value in outcome.before.items():
        new = outcome.after[name]
        note = f"{new / value:.2f}x" if value and name in outcome.measured else "not measured"
        leader = FOLLOWS.get(name.removeprefix("kernels."))
        if leader:
            note = f"follows {leader}"
        table.add_row(name, f"{value:.4g}", f"{new:.4g}", note)
    console.print(table)
    for what, (before, after) in (("fitted", outcome.fitted), ("held out", outcome.held_out)):
        console.print(
            f"{what}: predictions off by {_percent(before.error)} before, "
            f"{_percent(after.error)} after; "
            f"pairs in the right order {before.order:.0%}, {after.order:.0%}; "
            f"chosen slower than the fastest by {_percent(before.regret)}, "
            f"{_percent(after.regret)}",
            soft_wrap=True,
        )
    ratios = [(check.before / check.after, check.expression) for check in outcome.checks]
    (slowest, which), (fastest, other) = min(ratios), max(ratios)
    console.print(
        f"what the new costs choose is {fmean(ratio for ratio, _ in ratios):.2f} times as fast, "
        f"in the mean of {len(ratios)} expressions: "
        f"from {slowest:.2f} ({which}) to {fastest:.2f} ({other})",
        soft_wrap=True,
    )


def _percent(factor: float) -> str:
    return f"{factor - 1:.0%}"


def _kept(outcome: CalibrationOutcome, path: Path, written: bool) -> str:
    if not outcome.better:
        return (
            f"The new costs are not kept: they {', and '.join(outcome.drawbacks)}. "
            "Try again when the machine is quiet."
        )
    if not written:
        return f"They would be kept in {path}."
    chosen = os.environ.get(VARIABLE, "")
    if Path(chosen or default_path(host_cpu())) == path:
        return f"Kept in {path}; the target native uses them from now on."
    return f"Kept in {path}; set {VARIABLE} to that to use them."


@contextmanager
def _progress() -> Iterator[Callable[[str, int], None]]:
    """Shows on the terminal which step is running."""
    with StatusLine() as line:

        def report(step: str, done: int) -> None:
            phase, about = STEPS[step]
            line.about = about.format(done)
            tell(phase=phase)

        yield report
