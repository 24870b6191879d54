"""The texts that `morello synth` writes: C, its header, a schedule, and what is said of them."""

from __future__ import annotations

import argparse
import json
from typing import Any

from morello.base.errors import RewriteError
from morello.cli.output import progress
from morello.cli.program import answered, described, requested, warn
from morello.codegen import generate
from morello.codegen.levels import check_level, generate_levels
from morello.codegen.names import check_function_name
from morello.impl import saved
from morello.impl.printing import tree
from morello.ir.spec import Spec
from morello.memo.programs import places
from morello.questions import keep
from morello.request import answer
from morello.runtime.threads import thread_count
from morello.search.budget import Budget
from morello.targets.x86 import BASELINE


def synthesize(arguments: argparse.Namespace, asked: str | None) -> dict[str, Any]:
    """The texts by name: c, header, schedule, and with --json about.

    They are kept for the question that is asked, if it is one.
    """
    check_function_name(arguments.name)
    if "," in arguments.target:
        return _levels(arguments)
    with progress() as report, requested(arguments, report) as request:
        impl, statistics = answer(request)
        warn(request, statistics, report)
        source, schedule = generate(impl, arguments.name, tree(impl)), saved.save(impl)
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


def _levels(arguments: argparse.Namespace) -> dict[str, Any]:
    """One file with kernels for several levels of x86-64, and a baseline for other CPUs."""
    if arguments.save is not None or arguments.schedule is not None:
        raise RewriteError("a file for several targets has several schedules; give one target.")
    wanted = dict.fromkeys([*arguments.target.split(","), BASELINE])
    for level in wanted:
        check_level(level, parallel=thread_count(arguments.threads) > 1)
    results = []
    shares = Budget(arguments.budget, gap=arguments.gap).shares(len(wanted))
    with progress() as report:
        for level, share in zip(wanted, shares, strict=True):
            words = vars(arguments) | {"target": level, "budget": share.seconds}
            results.append(answered(argparse.Namespace(**words), report))
    source = generate_levels([impl for impl, _ in results], arguments.name)
    about = {"levels": [described(*result) for result in results]} if arguments.json else {}
    return {"c": source.text, "header": source.header, "schedule": "", "about": about}
