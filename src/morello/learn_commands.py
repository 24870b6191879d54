"""What `morello learn` does."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack

from rich.console import Console

from morello.errors import CorpusError, quoted
from morello.learn.collect import Progress, collect, summary
from morello.learn.specs import SPECS, interleaved
from morello.precompute import dask_workers
from morello.runtime.bench import limit_threads

LEAST_PROGRAMS, MOST_PROGRAMS = 3, 10_000


def run(arguments: argparse.Namespace) -> None:
    """Collect a corpus."""
    if not LEAST_PROGRAMS <= arguments.programs <= MOST_PROGRAMS:
        raise CorpusError(
            f"{LEAST_PROGRAMS} to {MOST_PROGRAMS:,} programs of each Spec can be measured, "
            f"not {arguments.programs}."
        )
    if arguments.only is not None and arguments.only not in SPECS:
        raise CorpusError(
            f"there is no family {quoted(arguments.only)}; there are {', '.join(SPECS)}."
        )
    specs = [one for one in interleaved() if arguments.only in (None, one[0])]
    console = Console(stderr=True, highlight=False)
    with ExitStack() as stack:
        workers = None
        if arguments.dask:
            workers, _ = stack.enter_context(dask_workers(arguments.dask))
        stack.enter_context(limit_threads())
        for progress in collect(arguments.folder, arguments.programs, specs, workers):
            console.print(_line(progress), markup=False)
    found = summary(arguments.folder)
    if arguments.json:
        print(json.dumps(found, indent=2))
        return
    apart = "" if found["noise"] is None else f"; measured twice {found['noise']:.1%} apart"
    print(
        f"{found['programs']:,} programs of {found['specs']} Specs in {found['families']} "
        f"families, {found['bytes'] / 1e6:.1f} MB{apart}."
    )


def _line(progress: Progress) -> str:
    where = f"{progress.done} of {progress.specs}: {progress.expression}"
    if progress.problem:
        return f"{where}: left out, as {progress.problem}"
    if not progress.programs:
        return where
    return f"{where}: {progress.programs} programs, measured twice {progress.noise:.1%} apart"
