"""What `morello tune` does."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from morello.commands import opened, readable
from morello.errors import FileError, MorelloError
from morello.files import check_writable, write_text
from morello.frontends.ranges import family
from morello.learn.tune import Tuning, plan, tune
from morello.rewrites import saved
from morello.runtime.bench import limit_threads
from morello.runtime.toolchain import find_compiler
from morello.search.programs import keep, recall
from morello.table import Table

WIDTH: Final = 60
HEIGHT: Final = 10


@dataclass(frozen=True)
class Outcome:
    """What came of tuning for an expression: what was found, or what the problem was."""

    expression: str
    found: Tuning | None = None
    interrupted: bool = False
    problem: str = ""

    def data(self) -> dict[str, Any]:
        found = self.found
        if found is None:
            return {"spec": self.expression, "error": self.problem}
        first, best = found.trials[0].impl, found.best.impl
        return {
            "spec": self.expression,
            "seconds": found.seconds,
            "hardware_s": found.hardware_s,
            "programs": len(found.trials),
            "failed": found.failed,
            "first": {"seconds": found.first_s, "cost": first.cost},
            "best": {"seconds": found.best_s, "cost": best.cost, "schedule": saved.save(best)},
            "speedup": found.speedup,
            "curve": [{"hardware_s": spent, "seconds": least} for spent, least in found.curve],
            "interrupted": self.interrupted,
        }


def run(arguments: argparse.Namespace) -> None:
    """Tune for a Spec, or for each of a family; what was found before an interrupt is kept."""
    expressions = [one for _, one in family(arguments.expression, arguments.sizes).expressions()]
    if arguments.save is not None:
        if len(expressions) > 1:
            raise FileError(
                f"{arguments.save} can have the schedule of one Spec, and these are "
                f"{len(expressions)}; give a table with --db."
            )
        check_writable(arguments.save)
    outcomes: list[Outcome] = []
    interrupted = False
    with limit_threads(), opened(arguments.db) as table:
        for expression in expressions:
            try:
                outcomes.append(_tuned(expression, arguments, table))
                interrupted = outcomes[-1].interrupted
            except KeyboardInterrupt:
                if not outcomes:
                    raise
                interrupted = True
            except MorelloError as error:
                if len(expressions) == 1:
                    raise
                outcomes.append(Outcome(expression, problem=str(error)))
            if interrupted:
                break
    _tell(outcomes, arguments)
    if interrupted:
        raise KeyboardInterrupt


def _tuned(expression: str, arguments: argparse.Namespace, table: Table | None) -> Outcome:
    """Tune for an expression, and keep what was found; interrupts pass if that is nothing."""
    goal, target = plan(expression, arguments.target)
    kept = None if table is None else recall(goal, target, table)
    before = kept.measured if kept is not None else 0
    known = [kept.impl] if kept is not None and before else []
    found: Tuning | None = None
    interrupted = False
    steps = tune(
        goal, target, arguments.seconds, order=arguments.order, seed=arguments.seed, known=known,
        compiler=arguments.compiler,
    )  # fmt: skip
    with _bar() as bar:
        task = bar.add_task(expression, so_far="")
        try:
            for found in steps:
                bar.update(task, so_far=_so_far(found))
        except KeyboardInterrupt:
            if found is None:
                raise
            interrupted = True
    assert found is not None
    best = found.best.impl
    tried = len(found.trials) - 1 + found.failed
    if table is not None and tried >= max(1, len(known)):  # else what it has may be faster
        keep(best, table, before + len(found.trials), found.gap)
    if arguments.save is not None:
        write_text(arguments.save, json.dumps(saved.save(best), indent=2) + "\n")
    return Outcome(expression, found, interrupted)


def _bar() -> Progress:
    console = Console(stderr=True)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[so_far]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _so_far(found: Tuning) -> str:
    return (
        f"{len(found.trials)} programs measured, the fastest {readable(found.best_s)}, "
        f"{found.speedup:.2f} times as fast as the first choice"
    )


def _tell(outcomes: Sequence[Outcome], arguments: argparse.Namespace) -> None:
    if arguments.json:
        about = {"target": arguments.target, "order": arguments.order, "seed": arguments.seed}
        about |= {"compiler": str(find_compiler(arguments.compiler))}
        print(json.dumps(about | {"goals": [one.data() for one in outcomes]}, indent=2))
        return
    console = Console(highlight=False)
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("", overflow="fold")
    for heading in ("first choice", "fastest", "speedup", "measured"):
        grid.add_column(heading, justify="right")
    tuned = [(one.expression, one.found) for one in outcomes if one.found is not None]
    for expression, found in tuned:
        times = readable(found.first_s), readable(found.best_s), f"{found.speedup:.2f}x"
        grid.add_row(escape(expression), *times, str(len(found.trials)))
    if tuned:
        console.print(grid)
    for one in outcomes:
        if one.problem:
            console.print(f"{one.expression}: {one.problem}", markup=False, soft_wrap=True)
    if len(outcomes) == len(tuned) == 1:
        found = tuned[0][1]
        console.print(
            f"{found.seconds:.0f} s, {found.hardware_s:.1f} s of it on hardware"
            + (f"; {found.failed} failed" if found.failed else "")
        )
        if len(found.curve) > 1:
            print(curve(found))
        else:
            console.print("no program was faster than the first choice")


def curve(found: Tuning) -> str:
    """The least time (up) over the seconds that programs had run (across), in characters.

    There must be a program that is faster than the first choice.
    """
    points = found.curve
    start, end = points[0][0], found.hardware_s
    high, low = points[0][1], points[-1][1]
    rows = [[" "] * WIDTH for _ in range(HEIGHT)]
    for column in range(WIDTH):
        now = start + (end - start) * (column + 1) / WIDTH
        least = min(seconds for spent, seconds in points if spent <= max(now, start))
        part = (high - least) / (high - low)
        rows[round(part * (HEIGHT - 1))][column] = "*"
    ends = f"after {start:.1f} s", f"{end:.1f} s on hardware"
    return "\n".join(
        [
            readable(high),
            *("|" + "".join(row).rstrip() for row in rows),
            "+" + "-" * WIDTH,
            f"{readable(low)}; {ends[0]}{ends[1]:>{WIDTH - len(ends[0])}}",
        ]
    )
