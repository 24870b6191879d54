"""`morello model`: shows how well the cost model predicts times."""

from __future__ import annotations

import argparse
from math import log
from typing import Final

from rich.console import Console
from rich.markup import escape

from morello.cli.arguments import (
    add_compiler,
    add_expression,
    add_json,
    add_target,
    add_threads,
    whole,
)
from morello.cli.hints import hint
from morello.cli.output import print_json, progress, readable
from morello.cli.plots import parts, plot
from morello.cli.program import warn
from morello.impl.tree import cycles
from morello.measure.quality import CHOICES, Quality, assess, check_sampling
from morello.native.toolchain import find_compiler
from morello.options import requested
from morello.request import answer
from morello.request.goal import check_callable

HEIGHT: Final = 18


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_expression(parser)
    parser.add_argument("--samples", type=whole, default=100, help="random programs to time (100)")
    parser.add_argument("--seconds", type=float, default=0.1, help="how long to time each (0.1)")
    parser.add_argument("--seed", type=whole, default=0, help="seed of the random programs (0)")
    add_target(parser)
    add_threads(parser)
    add_compiler(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Show how well predicted costs and measured times of programs of a Spec agree."""
    check_sampling(arguments.samples, arguments.seed, arguments.seconds)
    find_compiler(arguments.compiler)  # raises before the search, which takes longer
    with (
        progress() as report,
        requested(
            arguments.expression,
            target=arguments.target,
            threads=arguments.threads,
            progress=report,
        ) as request,
    ):
        check_callable(request.goal, request.target)
        best, statistics = answer(request)
        warn(request, statistics, report)
        quality = assess(
            best,
            arguments.samples,
            seconds=arguments.seconds,
            seed=arguments.seed,
            compiler=arguments.compiler,
            progress=report,
        )
    if arguments.json:
        print_json(quality.data())
        return
    console = Console(highlight=False)
    data = quality.data()
    console.print(
        f"[bold]{escape(' '.join(arguments.expression.split()))}[/bold] for {data['target']}: "
        f"{data['programs']} programs, all correct",
        soft_wrap=True,
    )
    console.print(f"Kendall's tau of predicted and measured: {quality.tau:.2f}")
    console.print(
        f"the first choice is {data['regret']:.1%} slower than the fastest, "
        f"the best of the first {CHOICES} {data['regret_of_choices']:.1%}"
    )
    print(scatter(quality))
    hint("`morello tune EXPR` measures more programs, and keeps the fastest.")


def scatter(quality: Quality) -> str:
    """A text plot of predicted cycles (across) and measured times (up), both logarithmic."""
    predicted = [point.predicted for point in quality.points]
    slowest = max(point.seconds for point in quality.points)
    across = parts([log(each) for each in predicted])
    places = list(zip(across, parts([log(p.seconds) for p in quality.points]), strict=True))
    chosen = [
        place
        for point, place in zip(quality.points, places, strict=True)
        if point.choice is not None
    ]
    ends = f"{cycles(min(predicted))} cycles", f"{cycles(max(predicted))} cycles"
    picture = plot(places, HEIGHT, readable(slowest), readable(quality.fastest_s), ends, chosen)
    return f"{picture}\no: the search's choices"
