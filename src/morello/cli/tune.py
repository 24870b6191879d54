"""`morello tune`: measures programs of Specs, or of a model's kernels, and keeps the fastest."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, Final

from rich.console import Console
from rich.markup import escape

from morello.base.errors import (
    FileError,
    GraphError,
    MorelloError,
    SearchError,
    SeveralKernelsError,
)
from morello.base.files import check_outputs, write_text
from morello.cli.arguments import (
    add_compiler,
    add_json,
    add_shapes,
    add_sizes,
    add_table,
    add_target,
    add_threads,
    shapes_of,
    whole,
)
from morello.cli.hints import hint
from morello.cli.model_files import MODELS, read_model_file
from morello.cli.output import grid, print_json, progress, readable
from morello.cli.plots import WIDTH, plot
from morello.cli.program import opened
from morello.frontends.ranges import family
from morello.frontends.text import parse
from morello.graph.frameworks import C, Framework
from morello.graph.graph import Graph
from morello.impl import saved
from morello.importers.text import graph_of
from morello.ir.spec import Spec
from morello.learn.choosers import ORDERS
from morello.learn.trials import Trials, trials_folder
from morello.learn.tune import Enough, Tuning, plan, tune
from morello.measure.stopwatch import Stopwatch
from morello.measure.timing import limit_threads
from morello.memo.program_table import ProgramTable
from morello.memo.programs import StoredProgram, load_program, store_program
from morello.native.toolchain import find_compiler
from morello.runtime.threads import thread_count
from morello.status_line import StatusLine
from morello.tables import OFF
from morello.targets.target import Target

HEIGHT: Final = 10
STEPS: Final = 2 * WIDTH
"""The points of a curve."""

AGAIN: Final = 3
"""The programs of earlier tunings, the fastest, that are measured again."""


@dataclass(frozen=True)
class TuningOutcome:
    """The outcome of tuning for an expression: its result so far, or why it failed.

    A model has so many `calls` of it.
    """

    expression: str
    tuning: Tuning | None = None
    interrupted: bool = False
    problem: str = ""
    calls: int = 1

    def data(self) -> dict[str, Any]:
        tuning = self.tuning
        if tuning is None:
            return {"spec": self.expression, "calls": self.calls, "error": self.problem}
        first, best = tuning.trials[0].impl, tuning.best.impl
        return {
            "spec": self.expression,
            "calls": self.calls,
            "seconds": tuning.seconds,
            "hardware_s": tuning.hardware_s,
            "programs": len(tuning.trials),
            "failed": tuning.failed,
            "first": {"seconds": tuning.first_s, "cost": first.cost},
            "best": {"seconds": tuning.best_s, "cost": best.cost, "schedule": saved.save(best)},
            "speedup": tuning.speedup,
            "curve": [{"hardware_s": spent, "seconds": least} for spent, least in tuning.curve],
            "interrupted": self.interrupted,
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "expression", metavar="EXPR",
        help='such as "f32[m,64] @ f32[64,64]"; or a model: model.onnx, or StableHLO, model.mlir',
    )  # fmt: skip
    add_sizes(parser, "sizes of a family, as for precompute")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="how long to tune each Spec or model (60)"
    )
    parser.add_argument(
        "--order", choices=ORDERS, default="learned",
        help="measure first what is predicted to be fastest and variations of what was fastest, "
        "the search's choices by cost, or random programs (learned)",
    )  # fmt: skip
    parser.add_argument(
        "--programs", type=whole, default=inf, metavar="N", help="end after so many programs"
    )
    parser.add_argument(
        "--plateau", type=whole, default=inf, metavar="N",
        help="end after so many programs in a row that are no faster than the fastest",
    )  # fmt: skip
    parser.add_argument(
        "--cold", action="store_true", help="time calls that find their operands in no cache"
    )
    parser.add_argument(
        "--until", type=float, default=0.0, metavar="SECONDS",
        help="end when a call of the fastest takes at most so long, such as 20e-6",
    )  # fmt: skip
    parser.add_argument("--seed", type=whole, default=0, help="seed of random choices (0)")
    add_shapes(parser)
    add_target(parser)
    add_threads(parser)
    add_compiler(parser)
    add_table(parser)
    parser.add_argument("--save", type=Path, help="save the fastest's schedule here, as JSON")
    add_json(parser)


@dataclass(frozen=True)
class _Task:
    """An expression or a Spec to tune for.

    A kernel of a model has calls and what tuning is expected to gain (see `models.tuning`), as
    `goal` what was asked for, if its weights are prepacked, and the `target` with the costs by
    which it was chosen.
    """

    what: str | Spec
    goal: Spec | None = None
    calls: int = 1
    gain: float = 0.0
    target: Target | None = None

    @property
    def expression(self) -> str:
        return self.what if isinstance(self.what, str) else self.what.expression


def run(arguments: argparse.Namespace) -> None:
    """Tune for a Spec, or for each of a family or a model; results before an interrupt are kept."""
    check_outputs({"--save": arguments.save}, {"--db": arguments.db})
    if not 0 < arguments.seconds < inf:
        raise SearchError(f"tuning takes a number of seconds above 0, not {arguments.seconds}.")
    outcomes: list[TuningOutcome] = []
    interrupted = False
    with limit_threads(), opened(arguments) as table:
        tasks = _tasks(arguments, table)
        if arguments.save is not None and len(tasks) > 1:
            raise FileError(
                f"{arguments.save} can have the schedule of one Spec, and these are "
                f"{len(tasks)}; give a table with --db."
            )
        left = arguments.seconds
        for number, task in enumerate(tasks):
            try:
                seconds = _share(tasks, number, left) if task.gain else arguments.seconds
                if seconds is None:
                    break
                began = monotonic()
                outcomes.append(_tuned(task, seconds, arguments, table))
                left -= monotonic() - began
                interrupted = outcomes[-1].interrupted
            except KeyboardInterrupt:
                if not outcomes:
                    raise
                interrupted = True
            except MorelloError as error:
                if len(tasks) == 1:
                    raise
                outcomes.append(
                    TuningOutcome(task.expression, problem=str(error), calls=task.calls)
                )
            if interrupted:
                break
    _tell(outcomes, arguments, together=any(task.gain for task in tasks))
    if interrupted:
        raise KeyboardInterrupt


def _tasks(arguments: argparse.Namespace, table: ProgramTable | None) -> list[_Task]:
    """Each Spec of a family, or the kernels of a model, those of most expected gain first."""
    shapes = shapes_of(arguments)
    if arguments.expression.endswith(MODELS):
        _check_options(arguments)
        model = read_model_file(Path(arguments.expression), shapes)
        return _kernels(model.graph, model.framework, arguments, table)
    if shapes:
        raise GraphError("an expression says its own shapes", "leave out --shape")
    texts = [text for _, text in family(arguments.expression, arguments.sizes).expressions()]
    if len(texts) == 1:
        try:
            parse(texts[0])
        except SeveralKernelsError:
            _check_options(arguments)
            return _kernels(graph_of(texts[0]), C, arguments, table)
    return [_Task(text) for text in texts]


def _check_options(arguments: argparse.Namespace) -> None:
    """Raise `GraphError` for options that kernels of a graph cannot have, before it is made."""
    if arguments.threads != 1:
        raise GraphError("kernels of models are tuned for one thread", "leave out --threads")


def _kernels(
    graph: Graph,
    framework: Framework,
    arguments: argparse.Namespace,
    table: ProgramTable | None,
) -> list[_Task]:
    """The kernels of a graph, those of most expected gain first."""
    from morello.models import compile_graph
    from morello.models.tuning import kernels_to_tune

    with progress() as report:
        compiled = compile_graph(
            graph, framework, target=arguments.target, threads=1, table=table or OFF,
            compiler=arguments.compiler, progress=report,
        )  # fmt: skip
    kernels = kernels_to_tune(compiled)
    if not kernels:
        raise GraphError(f"{arguments.expression} has no kernels to tune", "give another model")
    return [
        _Task(
            kernel.impl.spec,
            kernel.goal if kernel.prepacked else None,
            kernel.calls,
            kernel.gain,
            kernel.impl.target,
        )
        for kernel in kernels
    ]


def _share(tasks: Sequence[_Task], number: int, left: float) -> float | None:
    """How many of the seconds left a kernel of a model gets; None if the others took them."""
    from morello.models.tuning import LEAST_S, first_share

    if number and left < LEAST_S:
        return None
    return first_share([task.gain for task in tasks[number:]], left)


def _tuned(
    task: _Task, seconds: float, arguments: argparse.Namespace, table: ProgramTable | None
) -> TuningOutcome:
    """Tune for a task and keep the result; interrupts before the first one are raised."""
    expression = task.expression
    spec, target = plan(task.what, task.target or arguments.target, arguments.threads)
    weights = "plain" if task.goal is None else "constant"
    kept = None if table is None else load_program(task.goal or spec, target, table, weights)
    before = kept.measured if kept is not None and kept.impl.spec == spec else 0
    known = [kept.impl] if kept is not None and before else []
    toolchain = find_compiler(arguments.compiler)
    trials = None  # models and corrections know programs for one thread
    if table is not None and not spec.parallel:
        trials = Trials.of(spec, target, toolchain, trials_folder())
    earlier = [] if trials is None else trials.fastest()
    known += [impl for impl, _ in earlier[:AGAIN] if impl not in known]
    tuning: Tuning | None = None
    interrupted = False
    steps = tune(
        spec, target, seconds, order=arguments.order, seed=arguments.seed, known=known,
        earlier=[] if arguments.cold else [pair for pair in earlier if pair[0] not in known],
        cold=arguments.cold,
        enough=Enough(arguments.programs, arguments.plateau, arguments.until),
        compiler=arguments.compiler,
    )  # fmt: skip
    with closing(steps), StatusLine() as line:
        line.about = expression
        try:
            for tuning in steps:
                line.about = f"{expression}: {_so_far(tuning)}"
        except KeyboardInterrupt:
            if tuning is None:
                raise
            interrupted = True
    assert tuning is not None
    best = tuning.best.impl
    if trials is not None:
        impls, labels = zip(*((t.impl, t.labels) for t in tuning.trials), strict=True)
        trials.add(impls, labels, Stopwatch(toolchain).hertz())
    tried = len(tuning.trials) - 1 + tuning.failed
    if table is not None and tried:  # else its program, measured first, may be faster
        measured = before + len(tuning.trials)
        store_program(StoredProgram(best, measured, tuning.gap), table, task.goal)
    if arguments.save is not None:
        write_text(arguments.save, json.dumps(saved.save(best), indent=2) + "\n")
    return TuningOutcome(expression, tuning, interrupted, calls=task.calls)


def _so_far(tuning: Tuning) -> str:
    fastest = f"the fastest {readable(tuning.best_s)}, {tuning.speedup:.2f}x the first choice"
    return f"{len(tuning.trials)} measured, {fastest}"


def _tell(
    outcomes: Sequence[TuningOutcome], arguments: argparse.Namespace, *, together: bool
) -> None:
    """Print the outcomes, and the time of all of them if they run `together`, in one program."""
    if arguments.json:
        about = {"target": arguments.target, "order": arguments.order, "seed": arguments.seed}
        about["threads"] = thread_count(arguments.threads)
        about |= {"cold": arguments.cold, "compiler": str(find_compiler(arguments.compiler))}
        print_json(about | {"goals": [outcome.data() for outcome in outcomes]})
        return
    console = Console(highlight=False)
    table = grid("", "calls", "first choice", "fastest", "speedup", "measured")
    tuned = [(o, o.tuning) for o in outcomes if o.tuning is not None]
    for outcome, tuning in tuned:
        times = readable(tuning.first_s), readable(tuning.best_s), f"{tuning.speedup:.2f}x"
        cells = str(outcome.calls), *times, str(len(tuning.trials))
        table.add_row(escape(outcome.expression), *cells)
    if tuned:
        console.print(table)
    if together:
        first = sum(outcome.calls * tuning.first_s for outcome, tuning in tuned)
        best = sum(outcome.calls * tuning.best_s for outcome, tuning in tuned)
        console.print(
            f"these kernels, as often as they run: {readable(first)} before, {readable(best)} now"
        )
    for outcome in outcomes:
        if outcome.problem:
            console.print(f"{outcome.expression}: {outcome.problem}", markup=False, soft_wrap=True)
    if len(outcomes) == len(tuned) == 1:
        tuning = tuned[0][1]
        console.print(
            f"{tuning.seconds:.0f} s, {tuning.hardware_s:.1f} s of it on hardware"
            + (f"; {tuning.failed} failed" if tuning.failed else "")
        )
        if len(tuning.curve) > 1:
            print(curve(tuning))
        else:
            console.print("no program was faster than the first choice")
    if tuned and not arguments.no_table:
        hint("what was fastest is remembered: `morello bench EXPR` times it.")


def curve(tuning: Tuning) -> str:
    """A text plot of the least time so far (up) over seconds spent on hardware (across).

    There must be a program that is faster than the first choice.
    """
    start, end = tuning.curve[0][0], tuning.hardware_s
    high, low = tuning.curve[0][1], tuning.curve[-1][1]
    points = []
    for step in range(STEPS):
        now = start + (end - start) * (step + 1) / STEPS
        least = min(seconds for spent, seconds in tuning.curve if spent <= max(now, start))
        points.append(((step + 0.5) / STEPS, (least - low) / (high - low)))
    ends = f"after {start:.1f} s", f"{end:.1f} s on hardware"
    return plot(points, HEIGHT, readable(high), readable(low), ends)
