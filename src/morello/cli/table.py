"""`morello table`: shows a table's size or its answers for a Spec, checks it, merges tables."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from morello.base.errors import TableError
from morello.base.status import tell
from morello.base.wording import counted
from morello.cli.arguments import add_command, add_json, add_target
from morello.cli.hints import hint
from morello.cli.output import amount, grid, print_json, progress, size_text
from morello.frontends.text import parse
from morello.impl.tree import cycles
from morello.memo import Table
from morello.memo.query import SpecAnswer, answers
from morello.memo.statistics import TableStatistics, statistics
from morello.targets.catalog import find_target
from morello.targets.costs import on_cores
from morello.targets.target import Level, Target

ACTIONS = {
    "stats": "show what it has, and how well it is compressed",
    "check": "check that it is whole",
    "query": "show its answers for a Spec",
    "merge": "add what other tables have",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in ACTIONS.items():
        action = add_command(actions, name, text)
        action.add_argument("path", type=Path, metavar="PATH", help="the table")
        if name == "query":
            action.add_argument("expression", metavar="EXPR", help="the Spec")
            add_target(action)
        if name == "merge":
            action.add_argument("others", type=Path, nargs="+", metavar="OTHER", help="tables")
        add_json(action)


def run(arguments: argparse.Namespace) -> None:
    """Show a table's size or its answers for a Spec, check it, or merge others into it."""
    {
        "stats": _stats,
        "check": _check,
        "query": _query,
        "merge": _merge,
    }[arguments.action](arguments)


@contextmanager
def _reading(path: Path) -> Iterator[Table]:
    """The table at a path, with a line on the terminal while the body reads it for long."""
    with progress(), Table(path, create=False) as table:
        tell(phase="read")
        yield table


def _stats(arguments: argparse.Namespace) -> None:
    with _reading(arguments.path) as table:
        spaces: dict[str, list[TableStatistics]] = defaultdict(list)
        for kind in statistics(table):
            spaces[kind.space].append(kind)
        size, goals = table.bytes(), len(table.goals())
        keeps, damaged = table.keeps, table.damaged
    if arguments.json:
        data = {
            "path": str(arguments.path),
            "bytes": size,
            "keeps": keeps,
            "goals": goals,
            "damaged": damaged,
            "spaces": [
                json.loads(space) | {"kinds": [kind.data() for kind in kinds]}
                for space, kinds in spaces.items()
            ],
        }
        print_json(data)
        return
    console = Console(highlight=False)
    for space, kinds in spaces.items():
        console.print(_described(json.loads(space)), soft_wrap=True)
        sizes = grid("", "Specs", "answers", "stored as", "size", "bytes/answer")
        for kind in [*sorted(kinds, key=lambda s: -s.bytes), *([sum(kinds[1:], kinds[0])])]:
            sizes.add_row(
                kind.name, f"{kind.specs:,.0f}", f"{kind.points:,.0f}", f"{kind.boxes:,}",
                size_text(kind.bytes), f"{kind.bytes / max(1.0, kind.points):.3f}",
            )  # fmt: skip
        console.print(sizes)
    if spaces:
        console.print(f"[dim]{_LEGEND}[/dim]", soft_wrap=True)
    console.print(
        f"{counted(goals, 'whole program')}, {counted(keeps, 'choice')} for each answer, "
        f"{size_text(size)} on disk"
    )
    for problem in damaged:
        console.print(f"[red]{problem}[/red]")
    hint(f"`morello table query {arguments.path} EXPR` shows the answers for an expression.")


_LEGEND = (
    "an answer is the best first step for a Spec and an amount of memory, or what a Spec costs at "
    "least, which makes searches shorter; equal neighbours are stored as one"
)


def _described(space: dict[str, Any]) -> str:
    limits = ", ".join(amount(level, n) for level, n in space["limits"].items())
    panels = f", panels of {space['panels']}" if space["panels"] else ""
    return (
        f"[bold]{space['target']}[/bold] on {counted(space['cores'], 'core')}: {limits}{panels} "
        f"[dim](costs {space['costs']}, version {space['version']})[/dim]"
    )


def _check(arguments: argparse.Namespace) -> None:
    with _reading(arguments.path) as table:
        problems = table.check()
        pages = len(table.keys()) if not problems else 0
    if problems:
        raise TableError(f"{arguments.path}: " + " ".join(problems))
    if arguments.json:
        print_json({"path": str(arguments.path), "pages": pages})
    else:
        print(f"{arguments.path}: {pages:,} pages, all whole.")


def _query(arguments: argparse.Namespace) -> None:
    goal, target = on_cores(parse(arguments.expression), find_target(arguments.target))
    with _reading(arguments.path) as table:
        results = answers(goal, target, table)
        others = table.spaces()
    if arguments.json:
        print_json([answer.data(target) for answer in results])
        return
    if not results:
        elsewhere = (
            f"; it has answers of {len(others)} other machines, versions or calibrations"
            if others else ""
        )  # fmt: skip
        print(f"{arguments.path} knows nothing of {arguments.expression}{elsewhere}.")
    for answer in results:
        print(_text(answer, target))
    if results:
        hint(f"`morello explain EXPR --db {arguments.path}` shows the whole program.")


def _text(answer: SpecAnswer, target: Target) -> str:
    """The memory that an answer is for, and the first steps of its programs, with their costs."""
    levels = zip(target.levels[1:], answer.peak, answer.limit, strict=True)
    parts = [_range(level, low, high) for level, low, high in levels]
    memory = ", ".join(part for part in parts if part) or "any amount of memory"
    steps = (f"  {cycles(step.cost)} cycles, first step: {step.words}" for step in answer.decisions)
    return "\n".join([f"with {memory}:", *steps])


def _range(level: Level, low: int, high: int) -> str:
    """Amounts of a level; empty for any."""
    if high < level.capacity:
        return f"{amount(level.name, low)} to {amount(level.name, high)}"
    return f"at least {amount(level.name, low)}" if low else ""


def _merge(arguments: argparse.Namespace) -> None:
    with ExitStack() as stack:
        stack.enter_context(progress())
        tell(phase="read")
        others = [stack.enter_context(Table(path, create=False)) for path in arguments.others]
        keeps = others[0].keeps if not arguments.path.exists() else 0
        table = stack.enter_context(Table(arguments.path, keeps))
        table.take(others)
        size = table.bytes()
        damaged = [problem for other in others for problem in other.damaged]
    for problem in damaged:
        print(f"morello: {problem} It was left out.", file=sys.stderr)
    result = {"path": str(arguments.path), "bytes": size, "damaged": damaged}
    if arguments.json:
        print_json(result)
    else:
        print(f"{arguments.path}: {size_text(size)}.")
