"""`morello precompute`: solves a family of Specs into a table."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from morello.base.status import tell
from morello.base.workers import local_workers
from morello.cli.arguments import (
    add_json,
    add_limits,
    add_sizes,
    add_target,
    add_threads,
    add_weights,
    whole,
)
from morello.cli.hints import hint
from morello.cli.output import print_json, size_text
from morello.frontends.ranges import family
from morello.frontends.text import parse
from morello.measure.calibrate.first_use import find_calibrated
from morello.memo import Table
from morello.precompute import PrecomputeProgress, Setting, dask_workers, precompute
from morello.runtime.threads import available_threads, thread_count
from morello.status_line import StatusLine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expression", metavar="EXPR", help='such as "f32[m,k] @ f32[k,n]"')
    add_sizes(parser, "m=1..2048 (1, 2, 4, ...), m=64..512+64 (by 64) or m=1,3,7")
    parser.add_argument("--db", type=Path, required=True, metavar="PATH", help="the table")
    add_target(parser)
    add_limits(parser)
    add_threads(parser)
    add_weights(parser)
    parser.add_argument(
        "--keep", type=whole, default=0, metavar="K", help="decisions to keep of each Spec (1)"
    )
    parser.add_argument("--workers", type=whole, metavar="N", help="processes (all)")
    parser.add_argument("--dask", metavar="ADDRESS", help="work on this Dask cluster instead")
    parser.add_argument(
        "--cache", type=whole, default=256, metavar="MB", help="memory for the table's pages (256)"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Solve a family of Specs into a table."""
    members = family(arguments.expression, arguments.sizes)
    parse(next(members.expressions())[1])  # raises for an invalid expression right away
    find_calibrated(arguments.target)  # so that workers need not measure the machine
    setting = Setting(
        arguments.target, thread_count(arguments.threads), arguments.weights, arguments.limits or ""
    )
    setting.machine()  # raises for limits that cannot be
    began = time.perf_counter()
    progress = PrecomputeProgress(0, 0, 0, 0.0, 0)
    with ExitStack() as stack:
        log: Path | None = None
        if arguments.dask:
            workers, count = stack.enter_context(dask_workers(arguments.dask))
        else:
            log = Path(stack.enter_context(TemporaryDirectory(prefix="morello-solved-")), "log")
            log.touch()
            count = available_threads() if arguments.workers is None else arguments.workers
            workers = stack.enter_context(local_workers(count))
        table = stack.enter_context(
            Table(arguments.db, arguments.keep, cache_bytes=arguments.cache << 20)
        )
        stack.enter_context(StatusLine())
        start = 0.0
        for number, progress in enumerate(precompute(members, table, setting, workers, count, log)):
            if number == 0:
                start = progress.share  # the share done by earlier runs
            left = _left(time.perf_counter() - began, start, progress.share)
            tell(phase="search", done=progress.goals, count=len(members), ends=left)
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
        print_json(result)
        return
    failed = f"; {progress.failed} have no program" if progress.failed else ""
    print(
        f"{len(members):,} goals in {arguments.db}, {size_text(size)}, "
        f"in {result['seconds']:.0f} s{failed}."
    )
    hint(f"`morello table stats {arguments.db}` shows what it has.")


def _left(seconds: float, start: float, share: float) -> float:
    """The estimated seconds that are left; infinite until 1 % of the work is done."""
    return seconds * (1 - share) / (share - start) if share - start >= 0.01 else inf
