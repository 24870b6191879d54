"""`morello explain`: shows the best program and what was searched, or the best few."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from morello.base.errors import SearchError, SeveralKernelsError
from morello.base.files import check_outputs, write_text
from morello.cli.arguments import add_certificate, add_search, add_tune, whole
from morello.cli.descriptions import (
    bounds_text,
    described,
    described_program,
    measured_roofline,
    predicted_roofline,
    predicted_us,
    prediction_text,
    search_text,
)
from morello.cli.hints import hint
from morello.cli.output import SearchProgress, print_json, progress, readable
from morello.cli.program import answered, compiled_program, requested, saved_impl, write_certificate
from morello.codegen.lower import prefetch_notes
from morello.frontends.text import parse
from morello.impl import saved
from morello.impl.printing import print_impl
from morello.impl.tree import Impl, cycles
from morello.measure.choose import build_and_time
from morello.measure.peaks import keeps_peaks
from morello.native.toolchain import Compiler, find_compiler
from morello.request.choosing import alternatives
from morello.search.budget import Budget
from morello.search.result import SearchStatistics
from morello.search.structure import structure

if TYPE_CHECKING:
    from morello.search.session import Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_search(parser)
    add_tune(parser)
    add_certificate(parser)
    parser.add_argument("--schedule", type=Path, help="explain a saved schedule")
    parser.add_argument(
        "--top", type=whole, metavar="K",
        help="list the K cheapest programs of different structures, in order of cost",
    )  # fmt: skip
    parser.add_argument(
        "--html", type=Path, metavar="PATH",
        help="write a page here: each step, its memory, its C, and what else was possible",
    )  # fmt: skip
    parser.add_argument(
        "--against", type=Path, metavar="SCHEDULE",
        help="with --html, show a saved schedule of the same Spec beside the program",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> None:
    """Show the best program and what was searched, or the best few."""
    try:
        parse(arguments.expression)
    except SeveralKernelsError:
        _show_program(arguments)
        return
    if arguments.top is not None:
        _show_top(arguments)
        return
    outputs = {"--html": arguments.html, "--certificate": arguments.certificate}
    check_outputs(outputs, {"--db": arguments.db, "--against": arguments.against})
    if arguments.html is None and arguments.against is not None:
        raise SearchError("--against is for the page; add --html PATH.")
    searches: list[Session] = []
    with progress() as report:
        impl, statistics = answered(arguments, report, searches)
        write_certificate(arguments, impl, report, searches)
        if arguments.html is not None:
            write_text(arguments.html, _page(arguments, impl, report))
    if arguments.json:
        print_json(described(impl, statistics) | {"schedule": saved.save(impl)})
        return
    console = Console(highlight=False)
    _print_kernel(impl, statistics, console)
    predicted = predicted_us(impl)
    if predicted is not None:
        console.print(prediction_text(predicted))
    reached = bounds_text(statistics, predicted_roofline(impl, predicted))
    if reached:
        console.print(f"It reaches {reached}.", soft_wrap=True)
    hint(
        "`--html x.html` shows what each step might have been; `--top 5` lists other programs."
        if arguments.html is None
        else f"{arguments.html} is a page for a browser."
    )


def _show_program(arguments: argparse.Namespace) -> None:
    """Show the kernels of a program, in the order in which they run, and the sum of their costs."""
    for option, value in (
        ("--html", arguments.html), ("--against", arguments.against), ("--top", arguments.top),
    ):  # fmt: skip
        if value is not None:
            raise SearchError(f"{option} is for one kernel, and this takes several; leave it out.")
    with progress() as report:
        program = compiled_program(arguments, report, verify=False)
    about = described_program(program)
    if arguments.json:
        for kernel, data in zip(program.kernels, about["kernels"], strict=True):
            data["schedule"] = saved.save(kernel.impl)
        print_json(about)
        return
    console = Console(highlight=False)
    for number, kernel in enumerate(program.kernels, start=1):
        console.print(f"[bold]kernel {number} of {len(program.kernels)}[/bold]")
        _print_kernel(kernel.impl, kernel.statistics, console)
        console.print()
    console.print(f"In all {cycles(program.cost)} cycles.")
    if about["predicted_us"] is not None:
        console.print(prediction_text(about["predicted_us"]))
    hint("`morello bench EXPR` times the whole.")


def _print_kernel(impl: Impl, statistics: SearchStatistics | None, console: Console) -> None:
    """Print a kernel's program, and what was searched for it."""
    print_impl(impl, console, notes=prefetch_notes(impl))
    if statistics is not None:
        console.print(f"\n{search_text(statistics)}")


def _page(arguments: argparse.Namespace, impl: Impl, report: SearchProgress) -> str:
    """The page of a program, and of the one that it is compared with."""
    from morello.explorer.others import explored  # slow to import
    from morello.explorer.page import page

    budget = Budget(arguments.budget, gap=arguments.gap)
    other = saved_impl(arguments, arguments.against)
    programs = [explored(each, budget, report) for each in (impl, other) if each is not None]
    first = programs[0]
    proof = "no program of the space is cheaper"
    if not first.proven:
        proof = f"{first.lower / impl.cost:.1%} of it" if first.lower else "none is known"
    facts = [("cost", f"{cycles(impl.cost)} cycles"), ("lower bound", proof)]
    predicted = predicted_us(impl)
    if predicted is not None:
        facts.append(("time", prediction_text(predicted)))
    compiler = find_compiler(arguments.compiler)
    if impl.target.name == "native" or arguments.measure > 1:
        facts += _measured([each.impl for each in programs], compiler)
    return page(programs, facts, compiler)


def _measured(programs: Sequence[Impl], compiler: Compiler) -> Iterator[tuple[str, str]]:
    """Measured times for the head of the page: of one program, or of two that take turns."""
    seconds_of = {id(t.impl): t.timing.median_s for t in build_and_time(programs, compiler)}
    for impl, name in zip(programs, ("measured", "measured, the other"), strict=False):
        seconds = seconds_of.get(id(impl))
        if seconds is None:  # the compiler took too long for the other
            continue
        roofline = measured_roofline([impl.spec], impl.threads, seconds) if keeps_peaks() else None
        yield name, readable(seconds) + (f", {roofline.text}" if roofline else "")


def _show_top(arguments: argparse.Namespace) -> None:
    """List the cheapest programs, and how each differs from the cheapest of all."""
    if arguments.certificate is not None:
        raise SearchError("a certificate is of one program; leave out --top.")
    if arguments.html is not None:
        raise SearchError("the page is of one program; leave out --top.")
    if arguments.choice != 1:
        raise SearchError("--top lists programs, and --choice takes one; leave out one.")
    arguments.choice = arguments.top
    with progress() as report, requested(arguments, report) as request:
        programs = alternatives(request)
    if arguments.json:
        print_json({"programs": _listed(programs)})
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"[bold]{escape(programs[0].spec.expression)}[/bold] for {programs[0].target.name}: the "
        "cheapest programs of different structures"
    )
    console.print("+ and -: what each has, and lacks, in comparison with the first")
    for program in _listed(programs):
        above = f", {program['above']:.2%} above the cheapest" if program["above"] else ""
        console.print(f"[bold]{program['choice']}[/bold]  {program['cost']:,.1f} cycles{above}")
        for sign, traits in (("+", program["with"]), ("-", program["without"])):
            for trait in traits:
                console.print(f"     {sign} {escape(trait)}")
    if len(programs) < arguments.top:
        console.print("There are no others, or the budget ended the search for them.")
    hint("`morello bench EXPR --choice 2` times the second; `--measure 8` chooses by time.")


def _listed(programs: Sequence[Impl]) -> list[dict[str, Any]]:
    """The programs as JSON-able data.

    `with` and `without` are what each has and lacks next to the cheapest, of which `with` has all.
    """
    cheapest = _traits(programs[0])
    return [
        described(impl, None)
        | {
            "choice": number,
            "above": impl.cost / programs[0].cost - 1,
            "with": sorted(_traits(impl) - (cheapest if number > 1 else frozenset())),
            "without": sorted(cheapest - _traits(impl)),
            "schedule": saved.save(impl),
        }
        for number, impl in enumerate(programs, start=1)
    ]


def _traits(impl: Impl) -> frozenset[str]:
    """The traits that tell programs apart: those of its structure, and its operands' layouts."""
    spec = impl.spec
    lie = {f"{spec.name(n)} {tensor.type}" for n, tensor in enumerate(spec.tensors)}
    return structure(impl) | lie
