"""What `morello precompute` and `morello table` do."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table as Grid

from morello.base.errors import TableError
from morello.base.workers import local_workers
from morello.frontends.ranges import family
from morello.frontends.text import parse
from morello.measure.calibrate.first_use import find_calibrated
from morello.memo import Table
from morello.memo.query import answers
from morello.memo.statistics import TableStatistics, statistics
from morello.precompute import PrecomputeProgress, dask_workers, precompute
from morello.runtime.threads import available_threads
from morello.targets.catalog import find_target
from morello.targets.costs import on_cores


def run_precompute(arguments: argparse.Namespace) -> None:
    """Solve a family of Specs into a table."""
    members = family(arguments.expression, arguments.sizes)
    parse(next(members.expressions())[1])  # raises for an invalid expression right away
    find_calibrated(arguments.target)  # so that workers need not measure the machine
    began = time.perf_counter()
    progress = PrecomputeProgress(0, 0, 0.0, 0)
    with ExitStack() as stack:
        if arguments.dask:
            workers, count = stack.enter_context(dask_workers(arguments.dask))
        else:
            count = arguments.workers or available_threads()
            workers = stack.enter_context(local_workers(count))
        table = stack.enter_context(
            Table(arguments.db, arguments.keep, cache_bytes=arguments.cache << 20)
        )
        bar = stack.enter_context(_bar())
        task = bar.add_task("solving", total=1.0, left="")
        start = 0.0
        for number, progress in enumerate(
            precompute(members, table, arguments.target, workers, count)
        ):
            if number == 0:
                start = progress.share  # the share done by earlier runs
            left = _left(time.perf_counter() - began, start, progress.share)
            bar.update(task, completed=progress.share, left=left)
        size = table.bytes()
    result = {
        "specs": len(members),
        "tasks": progress.tasks,
        "failed": progress.failed,
        "seconds": time.perf_counter() - began,
        "bytes": size,
        "path": str(arguments.db),
    }
    if arguments.json:
        print(json.dumps(result, indent=2))
        return
    failed = f"; {progress.failed} have no program" if progress.failed else ""
    print(
        f"{len(members):,} goals in {arguments.db}, {size / 1e6:.1f} MB, "
        f"in {result['seconds']:.0f} s{failed}."
    )


def _left(seconds: float, start: float, share: float) -> str:
    """The estimated time left, as text; empty until 1 % of the work is done."""
    if share - start < 0.01 or share >= 1:
        return ""
    left = seconds * (1 - share) / (share - start)
    return f"about {left / 60:.0f} min left" if left >= 90 else f"about {left:.0f} s left"


def _bar() -> Bar:
    console = Console(stderr=True)
    return Bar(
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"), console=console, disable=not console.is_terminal,
    )  # fmt: skip


def run_table(arguments: argparse.Namespace) -> None:
    """Show a table's size or its answers for a Spec, check it, or merge others into it."""
    {
        "stats": _stats,
        "check": _check,
        "query": _query,
        "merge": _merge,
    }[arguments.action](arguments)


def _stats(arguments: argparse.Namespace) -> None:
    with Table(arguments.path, create=False) as table:
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
        print(json.dumps(data, indent=2))
        return
    console = Console(highlight=False)
    for space, kinds in spaces.items():
        console.print(_described(json.loads(space)), soft_wrap=True)
        grid = Grid(box=None, pad_edge=False)
        for heading in ("", "Specs", "points", "boxes", "points/box", "bytes", "bytes/point"):
            grid.add_column(heading, justify="left" if not heading else "right")
        for kind in [*sorted(kinds, key=lambda s: -s.bytes), *([sum(kinds[1:], kinds[0])])]:
            grid.add_row(
                kind.name, f"{kind.specs:,.0f}", f"{kind.points:,.0f}", f"{kind.boxes:,}",
                f"{kind.points / max(1, kind.boxes):,.0f}", f"{kind.bytes:,}",
                f"{kind.bytes / max(1.0, kind.points):.3f}",
            )  # fmt: skip
        console.print(grid)
    console.print(f"{goals:,} goals; {size / 1e6:.2f} MB on disk; keeps {keeps} per Spec")
    for problem in damaged:
        console.print(f"[red]{problem}[/red]")


def _described(space: dict[str, Any]) -> str:
    limits = ", ".join(f"{level} {n}" for level, n in space["limits"].items())
    panels = f", panels of {space['panels']}" if space["panels"] else ""
    return (
        f"[bold]{space['target']}[/bold], {space['cores']} cores, {limits}, "
        f"costs {space['costs']}, version {space['version']}{panels}"
    )


def _check(arguments: argparse.Namespace) -> None:
    with Table(arguments.path, create=False) as table:
        problems = table.check()
        pages = len(table.keys()) if not problems else 0
    if problems:
        raise TableError(f"{arguments.path}: " + " ".join(problems))
    if arguments.json:
        print(json.dumps({"path": str(arguments.path), "pages": pages}, indent=2))
    else:
        print(f"{arguments.path}: {pages:,} pages, all whole.")


def _query(arguments: argparse.Namespace) -> None:
    goal, target = on_cores(parse(arguments.expression), find_target(arguments.target))
    with Table(arguments.path, create=False) as table:
        results = answers(goal, target, table)
        others = table.spaces()
    if arguments.json:
        print(json.dumps([answer.data(target) for answer in results], indent=2))
        return
    if not results:
        elsewhere = (
            f"; it has answers of {len(others)} other machines, versions or calibrations"
            if others else ""
        )  # fmt: skip
        print(f"{arguments.path} knows nothing of {arguments.expression}{elsewhere}.")
    for answer in results:
        print(answer.text(target))


def _merge(arguments: argparse.Namespace) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(Table(path, create=False)) for path in arguments.others]
        keeps = others[0].keeps if not Path(arguments.path).exists() else 0
        table = stack.enter_context(Table(arguments.path, keeps))
        table.take(others)
        size = table.bytes()
        damaged = [problem for other in others for problem in other.damaged]
    for problem in damaged:
        print(f"morello: {problem} It was left out.", file=sys.stderr)
    result = {"path": str(arguments.path), "bytes": size, "damaged": damaged}
    print(json.dumps(result, indent=2) if arguments.json else f"{arguments.path}: {size:,} bytes.")
