"""`morello learn`: measures programs to learn from, judges models and trains them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

from morello.base.errors import CorpusError, quoted
from morello.base.files import check_writable
from morello.base.status import tell
from morello.base.workers import local_workers, processor_s
from morello.cli.arguments import add_command, add_json, whole
from morello.cli.hints import hint
from morello.cli.output import print_json
from morello.learn.collect import CollectProgress, collect, summary
from morello.learn.dataset import cached_features, load
from morello.learn.evaluate import Score, described, evaluate, extent
from morello.learn.model import read_model, write_model
from morello.learn.specs import SPECS, interleaved, varied
from morello.measure.timing import limit_threads
from morello.precompute import dask_workers
from morello.runtime.threads import available_threads
from morello.status_line import StatusLine

TOPS = (5, 50)
"""The numbers of measured programs for which regrets are shown."""

EXTRA = ("jax", "optax")
"""The packages that training needs."""

LEAST_PROGRAMS, MOST_PROGRAMS = 3, 10_000
MOST_VARIED = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    collecting = add_command(actions, "collect", "measure programs of many Specs on this machine")
    collecting.add_argument("folder", type=Path, metavar="FOLDER", help="the corpus, to go on with")
    collecting.add_argument(
        "--programs", type=whole, default=102, metavar="N", help="programs of each Spec (102)"
    )
    collecting.add_argument(
        "--varied", type=whole, default=0, metavar="N", help="also N Specs of random sizes (0)"
    )
    collecting.add_argument("--only", metavar="FAMILY", help="only Specs of this family")
    collecting.add_argument(
        "--dask", metavar="ADDRESS", help="measure on this Dask cluster instead"
    )
    add_json(collecting)
    evaluating = add_command(actions, "evaluate", "show how well models predict a corpus")
    evaluating.add_argument("folder", type=Path, metavar="FOLDER", help="the corpus")
    evaluating.add_argument("--seed", type=whole, default=0, help="seed of the random splits (0)")
    add_json(evaluating)
    training = add_command(actions, "train", "train a model on corpora (needs morello[learn])")
    training.add_argument(
        "folders", type=Path, nargs="+", metavar="FOLDER", help="a corpus; one of each machine"
    )
    training.add_argument("--output", type=Path, required=True, metavar="PATH", help="the model")
    training.add_argument(
        "--programs", type=whole, metavar="N", help="at most N programs of each Spec (all)"
    )
    training.add_argument("--seed", type=whole, default=0, help="seed of what is random (0)")
    training.add_argument(
        "--start", type=Path, metavar="MODEL", help="a model to train further, not a new one"
    )
    add_json(training)


def run(arguments: argparse.Namespace) -> None:
    """Collect a corpus, evaluate models on one, or train a model."""
    actions = {"collect": _collect, "evaluate": _evaluate, "train": _train}
    actions[arguments.action](arguments)


def _collect(arguments: argparse.Namespace) -> None:
    if not LEAST_PROGRAMS <= arguments.programs <= MOST_PROGRAMS:
        raise CorpusError(
            f"{LEAST_PROGRAMS} to {MOST_PROGRAMS:,} programs of each Spec can be measured, "
            f"not {arguments.programs}."
        )
    if not 0 <= arguments.varied <= MOST_VARIED:
        raise CorpusError(
            f"there can be 0 to {MOST_VARIED:,} Specs of random sizes, not {arguments.varied}."
        )
    if arguments.only is not None and arguments.only not in SPECS:
        raise CorpusError(
            f"there is no family {quoted(arguments.only)}; there are {', '.join(SPECS)}."
        )
    every = [*interleaved(), *varied(arguments.varied)]
    specs = [spec for spec in every if arguments.only in (None, spec[0])]
    with ExitStack() as stack:
        workers = None
        if arguments.dask:
            workers, _ = stack.enter_context(dask_workers(arguments.dask))
        stack.enter_context(limit_threads())
        line = stack.enter_context(StatusLine())
        for progress in collect(arguments.folder, arguments.programs, specs, workers):
            line.about = progress.expression
            tell(done=progress.done, count=progress.specs)
            if progress.programs or progress.problem:
                print(_line(progress), file=sys.stderr)
    totals = summary(arguments.folder)
    if arguments.json:
        print_json(totals)
        return
    apart = "" if totals["noise"] is None else f"; measured twice {totals['noise']:.1%} apart"
    print(
        f"{totals['programs']:,} programs of {totals['specs']} Specs in {totals['families']} "
        f"families, {totals['bytes'] / 1e6:.1f} MB{apart}."
    )
    hint(f"`morello learn evaluate {arguments.folder}` says how well models predict these.")


def _line(progress: CollectProgress) -> str:
    where = f"{progress.done} of {progress.specs}: {progress.expression}"
    if progress.problem:
        return f"{where}: left out, as {progress.problem}"
    return f"{where}: {progress.programs} programs, measured twice {progress.noise:.1%} apart"


def _evaluate(arguments: argparse.Namespace) -> None:
    with StatusLine() as line:
        line.about = f"features of {arguments.folder}"
        tell(phase="train")
        with local_workers(available_threads()) as workers:
            groups = load(cached_features(arguments.folder, workers))
        scores = []
        for score in evaluate(groups, arguments.seed):
            scores.append(score)
            line.about = f"{len(scores)} judged"
    if arguments.json:
        print_json([described(score) for score in scores])
        return
    console = Console(highlight=False)
    console.print(extent(groups))
    console.print(_grid(scores))


def _train(arguments: argparse.Namespace) -> None:
    _check_extra()
    from morello.learn import shipping

    check_writable(arguments.output)
    with StatusLine() as line, local_workers(available_threads()) as workers:
        line.about = "features"
        tell(phase="train")
        paths = [
            path
            for folder in arguments.folders
            for path in cached_features(folder, workers, arguments.programs)
        ]
        line.about = ""
        if arguments.start is None:
            model = shipping.train(paths, arguments.seed, workers)
        else:
            model = shipping.go_on(read_model(arguments.start), paths, arguments.seed, workers)
    write_model(arguments.output, model)
    data = {
        "machines": list(model.clocks), "members": len(model.members),
        "seen": asdict(model.seen), "unseen": asdict(model.unseen),
        "bytes": arguments.output.stat().st_size, "processor_s": processor_s(),
    }  # fmt: skip
    if arguments.json:
        print_json(data)
        return
    low, high = (np.exp(end) - 1 for end in model.seen.every)
    print(
        f"{arguments.output}: {data['bytes'] / 1e3:.0f} KB for {', '.join(model.clocks)}; nine of "
        f"ten held-out programs took {low:+.0%} to {high:+.0%} of what was predicted; "
        f"{data['processor_s']:.0f} s of the processor."
    )


def _check_extra() -> None:
    """Raise `CorpusError` if a package of `EXTRA` is not installed."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise CorpusError(f"{', '.join(missing)} is not installed; pip install 'morello[learn]'.")


def _grid(scores: Sequence[Score]) -> Grid:
    grid = Grid(box=None, pad_edge=False)
    tops = (f"top {n} %" for n in TOPS)
    headings = ("held out", "model", "tau", "APE %", "MAPE %", *tops, "reranked %")
    for heading in headings:
        left = heading in headings[:2]
        grid.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for score in scores:
        figures = (_figure(score.tau, 2), _figure(score.ape, 1), _figure(score.mape, 1))
        regrets = (f"{score.regrets[count]:.1f}" for count in TOPS)
        reranked = _figure(score.reranked, 1)
        grid.add_row(score.protocol, score.model, *figures, *regrets, reranked)
    return grid


def _figure(figure: tuple[float, float, float], places: int) -> str:
    """A figure, and half the width of its interval."""
    value, low, high = figure
    return f"{value:.{places}f} ±{(high - low) / 2:.{places}f}"
