"""The texts that `morello synth` writes: C, its header, a schedule, and what is said of them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from morello.abi import abi_names, check_hosts, for_hosts, function_for_hosts
from morello.abi.rows import generate_rows, rows_of
from morello.base.errors import RewriteError, SearchError, SeveralKernelsError, SpecError
from morello.base.files import write_bytes
from morello.cli.descriptions import described, described_program, search_text
from morello.cli.hints import hint
from morello.cli.output import progress
from morello.cli.program import (
    answered,
    budget_of,
    compiled_program,
    requested,
    warn,
    write_certificate,
)
from morello.codegen import generate
from morello.codegen.levels import check_level, generate_levels
from morello.codegen.names import check_function_name
from morello.frontends.text import parse
from morello.impl import saved
from morello.impl.printing import tree
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.memo.programs import places
from morello.native.build import build
from morello.native.toolchain import arch_flags, find_compiler
from morello.questions import keep
from morello.request import answer
from morello.runtime.threads import thread_count
from morello.search.result import SearchStatistics
from morello.targets import find_target
from morello.targets.x86 import BASELINE

if TYPE_CHECKING:
    from morello.search.session import Session


def synthesize(arguments: argparse.Namespace, asked: str | None) -> dict[str, Any]:
    """The texts by name: c, header, schedule, and with --json about.

    They are kept for the question that is asked, if it is one.
    """
    check_function_name(arguments.name)
    abis = abi_names(arguments.abi)
    try:
        check_hosts(parse(arguments.expression), arguments.name, abis)
    except SeveralKernelsError:
        return _program(arguments, abis)
    if arguments.certificate is not None and (
        arguments.rows is not None or "," in arguments.target
    ):
        raise SearchError(
            "a certificate is of one program for one machine; leave out --rows, and give one "
            "target."
        )
    if arguments.rows is not None:
        return _rows(arguments, abis)
    if "," in arguments.target:
        return _levels(arguments, abis)
    searches: list[Session] = []
    with progress() as report, requested(arguments, report, searches) as request:
        impl, statistics = answer(request)
        warn(request, statistics, report)
        if statistics is not None:
            hint(search_text(statistics))
        write_certificate(arguments, impl, report, searches)
        source, schedule = generate(impl, arguments.name, tree(impl)), saved.save(impl)
        source = for_hosts(source, impl.spec, abis)
        texts: dict[str, Any] = {
            "c": source.text,
            "header": source.header,
            "schedule": json.dumps(schedule, indent=2) + "\n",
        }
        goal, table = request.goal, request.table
        if asked is not None and table is not None and isinstance(goal, Spec):
            where = places(goal, request.target, request.weights)
            keep(asked, texts, table, where, schedule["rewrites"])
    about = {"about": described(impl, statistics)} if arguments.json else {}
    return texts | about


def _program(arguments: argparse.Namespace, abis: Sequence[str]) -> dict[str, Any]:
    """A file with the kernels of a program, and a function that calls them."""
    _check_no_schedule(arguments, "a program of several kernels has several schedules.")
    if arguments.rows is not None or "," in arguments.target:
        raise SpecError("this takes several kernels; leave out --rows, and give one target.")
    with progress() as report:
        program = compiled_program(arguments, report, name=arguments.name)
    source = function_for_hosts(program.source, program.arguments, abis)
    about = {"about": described_program(program)} if arguments.json else {}
    return {"c": source.text, "header": source.header, "schedule": ""} | about


def _levels(arguments: argparse.Namespace, abis: Sequence[str]) -> dict[str, Any]:
    """One file with kernels for several levels of x86-64, and a baseline for other CPUs."""
    _check_no_schedule(
        arguments, "a file for several targets has several schedules; give one target."
    )
    wanted = [{"target": level} for level in _targets(arguments)]
    results = _answers(arguments, wanted)
    source = generate_levels([impl for impl, _ in results], arguments.name)
    source = for_hosts(source, results[0][0].spec, abis)
    about = {"levels": [described(*result) for result in results]} if arguments.json else {}
    return {"c": source.text, "header": source.header, "schedule": "", "about": about}


def _rows(arguments: argparse.Namespace, abis: Sequence[str]) -> dict[str, Any]:
    """A file with kernels for a block of rows and for one, and functions that call them."""
    _check_no_schedule(arguments, "a file with --rows has several schedules; leave out --rows.")
    if thread_count(arguments.threads) > 1 or arguments.weights != "plain":
        raise RewriteError(
            "--rows is for plain weights, and for threads of your own, each of which calls it; "
            "leave out --threads and --weights."
        )
    rows = rows_of(parse(arguments.expression))
    if not 1 <= arguments.rows <= rows.count:
        raise RewriteError(
            f"a block has 1 to {rows.count} rows, as the result has, not {arguments.rows}."
        )
    blocks = [rows.block(count) for count in dict.fromkeys([arguments.rows, 1])]
    wanted = [
        {"target": target, "expression": block}
        for target in _targets(arguments)
        for block in blocks
    ]
    results = _answers(arguments, wanted)
    source = generate_rows(rows, [impl for impl, _ in results], arguments.name)
    source = for_hosts(source, rows.whole, abis)
    about = {"rows": [described(*result) for result in results]} if arguments.json else {}
    return {"c": source.text, "header": source.header, "schedule": "", "about": about}


def _check_no_schedule(arguments: argparse.Namespace, problem: str) -> None:
    if arguments.save is not None or arguments.schedule is not None:
        raise RewriteError(problem)


def _targets(arguments: argparse.Namespace) -> list[str]:
    """The names of the targets of a file: one, or levels of x86-64, the baseline among them."""
    if "," not in arguments.target:
        return [arguments.target]
    levels = [*dict.fromkeys([*arguments.target.split(","), BASELINE])]
    for level in levels:
        check_level(level, parallel=thread_count(arguments.threads) > 1)
    return levels


def _answers(
    arguments: argparse.Namespace, wanted: Sequence[dict[str, Any]]
) -> list[tuple[Impl, SearchStatistics | None]]:
    """The answers to a command with other arguments, each of which has a share of the budget."""
    shares = budget_of(arguments).shares(len(wanted))
    with progress() as report:
        return [
            answered(argparse.Namespace(**vars(arguments) | words), report, budget=share)
            for words, share in zip(wanted, shares, strict=True)
        ]


def build_object(arguments: argparse.Namespace, text: str) -> None:
    """Build the C into the shared object that was asked for; raises `MorelloError`."""
    several = "," in arguments.target
    arch = "baseline" if several else find_target(arguments.target).arch
    compiler = find_compiler(arguments.compiler)
    library = build(text, compiler=compiler, flags=arch_flags(compiler, arch))
    write_bytes(arguments.object, library.read_bytes())  # a program may have loaded an older one
