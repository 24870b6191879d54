"""`morello bench`: builds, verifies and times the best program, next to frameworks if asked."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from morello.base.errors import MorelloError, SeveralKernelsError
from morello.base.files import check_outputs, write_text
from morello.base.status import tell
from morello.building import build
from morello.cli.arguments import add_certificate, add_search
from morello.cli.charts import Bar, bars
from morello.cli.descriptions import (
    Roofline,
    bounds_text,
    described,
    described_program,
    measured_roofline,
    prediction_text,
)
from morello.cli.hints import hint
from morello.cli.output import SearchProgress, grid, print_json, progress, readable
from morello.cli.program import (
    compiled_program,
    requested,
    saved_impl,
    warn,
    write_certificate,
)
from morello.cli.targets import costs_of
from morello.frontends.text import call_sequence
from morello.impl.tree import cycles
from morello.ir.spec import Spec
from morello.kernel import Kernel
from morello.measure.timing import (
    Runner,
    Timing,
    check_seconds,
    limit_threads,
    measure_runners,
    quiet,
    runner,
)
from morello.request.warning import gap_text
from morello.rivals.process import RivalProcess
from morello.rivals.racing import PACKAGES, check_result, rival_names
from morello.runtime.packing import random_outputs
from morello.runtime.threads import thread_count
from morello.targets.calibration import load
from morello.targets.calibration_path import chosen_path
from morello.targets.cpu import host_cpu

if TYPE_CHECKING:
    from rich.table import Table

    from morello.search.session import Session

ALONE_S, RACED_S = 0.3, 1.0
"""How long a program is timed by itself, and each of several in turns. A race lasts longer, as its
ratios are of times that differ by little."""

INTENSE = 8
"""The arithmetic intensity (operations per byte) from which on GB/s of products are not shown."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_search(parser)
    add_certificate(parser)
    parser.add_argument(
        "--vs", action="append", metavar=",".join(PACKAGES), help="time these as well, in turns"
    )
    parser.add_argument(
        "--seconds", type=float,
        help=f"how long to time each ({ALONE_S:g}, or {RACED_S:g} with --vs)",
    )  # fmt: skip
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.svg", help="draw the times, and the roofline, here"
    )
    parser.add_argument("--no-verify", action="store_true", help="do not check it against NumPy")
    parser.set_defaults(tune=None)
    parser.add_argument("--schedule", type=Path, help="use a saved schedule; do not search")


def run(arguments: argparse.Namespace) -> None:
    """Build, verify and time the best kernel, next to its rivals if asked."""
    threads = thread_count(arguments.threads)
    seconds = arguments.seconds
    if seconds is None:
        seconds = RACED_S if arguments.vs else ALONE_S
    check_seconds(seconds)
    outputs = {"--plot": arguments.plot, "--certificate": arguments.certificate}
    check_outputs(outputs, {"--db": arguments.db})
    loaded = saved_impl(arguments, arguments.schedule)
    if loaded is not None and loaded.spec.parallel:
        threads = loaded.target.cores
    rivals = rival_names(",".join(arguments.vs)) if arguments.vs else ()
    with limit_threads(threads), progress() as report:
        kernel, about = _built(arguments, report)
        pin, expression = threads == 1, arguments.expression
        with quiet(pin), _contest(kernel, expression, rivals, threads) as contest:
            timings = measure_runners(contest.runners, seconds=seconds, pin=pin)
    roofline = measured_roofline(_specs(kernel), threads, timings["morello"].median_s)
    result = about | _data(kernel, contest, timings, roofline) | {"threads": threads}
    if arguments.plot is not None:
        write_text(arguments.plot, _chart(arguments.expression, timings, threads, roofline))
    if arguments.json:
        print_json(result)
    else:
        _print_race(arguments.expression, result, timings, kernel)
        reached = bounds_text(kernel.statistics, roofline)
        if reached:
            Console(highlight=False).print(f"reached {reached}", soft_wrap=True)
        hint(
            "`morello explain EXPR` shows the program that was timed."
            if rivals
            else "`--vs numpy` times NumPy as well; `morello explain EXPR` shows the program."
        )


def _built(arguments: argparse.Namespace, report: SearchProgress) -> tuple[Kernel, dict[str, Any]]:
    """The kernel of an expression, or the program of several, and what JSON says of it."""
    searches: list[Session] = []
    verify = not arguments.no_verify
    try:
        with requested(arguments, report, searches) as request:
            kernel = build(request, verify=verify)
            warn(request, kernel.statistics, report)
            write_certificate(arguments, kernel.impl, report, searches)
            return kernel, described(kernel.impl, kernel.statistics)
    except SeveralKernelsError:
        program = compiled_program(arguments, report, verify=verify)
        return program, described_program(program)


def _specs(kernel: Kernel) -> list[Spec]:
    """The Specs of the kernels that run, one after the other."""
    return [each.spec for each in kernel.kernels]


@dataclass(frozen=True)
class _Contest:
    """The kernel, and those of its rivals that compute the same."""

    runners: dict[str, Runner]
    versions: dict[str, str]
    refused: dict[str, str]
    """Why others are not timed."""


@contextmanager
def _contest(
    kernel: Kernel, expression: str, rivals: Sequence[str], threads: int
) -> Iterator[_Contest]:
    """All of them ready; rivals whose results differ from the kernel's are refused."""
    inputs, outputs = kernel.random_inputs(), random_outputs(kernel.arguments)
    call = partial(kernel.fast, *inputs.taken, *outputs)
    call()
    result = outputs[-1].view(kernel.arguments[-1].dtype.np)
    contest = _Contest({"morello": runner(call)}, {}, {})
    with ExitStack() as stack:
        logs = Path(stack.enter_context(TemporaryDirectory(prefix="morello-rivals-")))
        for name in rivals:
            tell(phase="verify", note=f"the result of {name}")
            try:
                process = RivalProcess(
                    name, expression, inputs.plain, threads, logs / f"{name}.log"
                )
                stack.callback(process.end)
                check_result(process.result, result, call_sequence(expression))
            except MorelloError as error:
                contest.refused[name] = str(error)
            else:
                contest.runners[name] = process.sample
                contest.versions[name] = process.version
        yield contest


def _data(
    kernel: Kernel, contest: _Contest, timings: dict[str, Timing], roofline: Roofline | None
) -> dict[str, Any]:
    """The race as data for JSON."""
    ours = timings["morello"]
    return {
        "roofline": roofline and roofline.data(),
        "cpu": host_cpu().name,
        "costs": costs_of(kernel.kernels[0].impl.target),
        "compiler": str(kernel.compiler),
        "kernel": _timing(ours) | _rates(kernel, ours),
        "verified": kernel.max_error is not None,
        "max_error": kernel.max_error,
        "vs": {
            name: _timing(timings[name]) | {"version": version}
            for name, version in contest.versions.items()
        },
        "ratio": {name: timings[name].median_s / ours.median_s for name in contest.versions},
        "refused": contest.refused,
    }


def _rates(kernel: Kernel, timing: Timing) -> dict[str, float]:
    """Operations and bytes per second, in billions; the bytes are those of all operands."""
    specs = _specs(kernel)
    return {
        "gflops": sum(spec.flops for spec in specs) / timing.median_s / 1e9,
        "gbytes_s": sum(spec.bytes for spec in specs) / timing.median_s / 1e9,
    }


def _timing(timing: Timing) -> dict[str, Any]:
    return {"median_s": timing.median_s, "min_s": timing.min_s, "repeats": timing.repeats}


def _print_race(
    expression: str, result: dict[str, Any], timings: dict[str, Timing], kernel: Kernel
) -> None:
    """Print a table below the expression as the user wrote it, and more of the result below it."""
    console = Console(highlight=False)
    console.print(
        f"[bold]{escape(' '.join(expression.split()))}[/bold] for {result['target']}, "
        f"{result['compiler']}, {_threads(result['threads'])}",
        soft_wrap=True,
    )
    console.print(_times(result, timings, kernel))
    if result["predicted_us"] is not None:
        console.print(f"[dim]{prediction_text(result['predicted_us'])}[/dim]")
    for theirs in result["vs"].values():
        console.print(f"[dim]{theirs['version']}; a ratio above 1: we are faster[/dim]")
    for name, reason in result["refused"].items():
        console.print(f"{name} is not timed: {escape(reason)}", soft_wrap=True)
    console.print(f"[dim]{escape(result['cpu'])}; {result['costs']}[/dim]", soft_wrap=True)
    if any(ratio < 1 for ratio in result["ratio"].values()):
        console.print(_advice(result), soft_wrap=True)
    for line in _about_the_kernel(result, kernel):
        console.print(line)


def _times(result: dict[str, Any], timings: dict[str, Timing], kernel: Kernel) -> Table:
    """The times and rates of the kernel and its rivals: operations where they bound it."""
    specs = _specs(kernel)
    products = any(spec.operation.sums_products for spec in specs)
    columns = {"gflops": "GFLOP/s"} if products else {}
    intense = sum(spec.flops for spec in specs) >= INTENSE * sum(spec.bytes for spec in specs)
    if not columns or not intense:
        columns |= {"gbytes_s": "GB/s"}
    ratio = ["ratio"] if result["ratio"] else []
    table = grid("", "median", "min", *columns.values(), *ratio)
    for name, timing in timings.items():
        rates = _rates(kernel, timing)
        cells = [readable(timing.median_s), readable(timing.min_s)]
        cells += [_figure(rates[rate]) for rate in columns]
        if name in result["ratio"]:
            cells.append(f"{result['ratio'][name]:.2f}x")
        table.add_row(name, *cells)
    return table


def _about_the_kernel(result: dict[str, Any], kernel: Kernel) -> Iterator[str]:
    """How well the kernel agrees with NumPy, and how it was found."""
    if result["verified"]:
        error = result["max_error"]
        accuracy = f"largest error {error:.1e}" if error else "exactly equal"
        yield f"verified against NumPy in float64, {accuracy}"
    search = result["search"]
    if search is not None and search["specs"]:
        yield (
            f"searched {search['specs']:,} Specs in {search['seconds']:.2f} s, "
            f"predicted {cycles(result['cost'])} cycles"
        )
    if kernel.statistics is not None and not kernel.statistics.proven:
        yield f"found with {gap_text(kernel.statistics)}"
    if search is not None and search["choice"] > 1:
        yield f"number {search['choice']} of the cheapest programs of different structures"
    if search is not None and search["measured"]:
        yield f"the fastest of {search['measured']} programs measured"


def _chart(
    expression: str, timings: dict[str, Timing], threads: int, roofline: Roofline | None
) -> str:
    """A bar for the time of each, as SVG, and a line at the roofline."""
    ours = timings["morello"].median_s
    rows = {}
    for name, timing in timings.items():
        ratio = "" if name == "morello" else f", {timing.median_s / ours:.2f}x"
        rows[name] = [Bar(timing.median_s, readable(timing.median_s) + ratio, 1 + (not ratio))]
    title = f"{' '.join(expression.split()):.100}, {_threads(threads)}"
    longest = max(timing.median_s for timing in timings.values())
    if roofline is None:
        return bars(title, rows, longest)
    bound = roofline.bound
    name = f"{readable(bound.seconds)} at least, by {bound.by}"
    return bars(title, rows, max(longest, bound.seconds), limit=(bound.seconds, name))


def _threads(count: int) -> str:
    return "one thread" if count == 1 else f"{count} threads"


def _advice(result: dict[str, Any]) -> str:
    """Suggestions for when another library is faster."""
    known = "in a minute, `morello calibrate` measures what this machine's costs are; "
    path = chosen_path(host_cpu())
    calibrated = path is not None and load(path).measured == "calibrate"
    if calibrated or result["target"] != "native":
        known = ""
    return f"Slower? {known}`--measure 12` times the first twelve choices and keeps the fastest."


def _figure(rate: float) -> str:
    return f"{rate:.1f}" if rate >= 1 else f"{rate:.1g}"
