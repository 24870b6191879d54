"""Evaluates fusion by predicted time, on compositions of 6 to 40 operations.

    python -m benchmarks.fusion [--only PART] [--predictor learned|cost] [--db PATH] [--out DIR]

Each composition is cut in three ways: by prediction; by the rule that a heavy operation takes the
maps that follow it; and into single operations. Their programs are timed in turns on one pinned
CPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from statistics import geometric_mean

from rich.console import Console

from benchmarks.compositions import COMPOSITIONS
from benchmarks.cuts import SECONDS, Row, study
from morello.base.files import write_text
from morello.learn.predictors import ByCost, Predictor, learned
from morello.measure.stopwatch import Stopwatch
from morello.measure.timing import limit_threads
from morello.memo import Table
from morello.native.toolchain import find_compiler
from morello.targets import find_target


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    console = Console(stderr=True, highlight=False)
    chosen = {
        name: expression for name, expression in COMPOSITIONS.items() if arguments.only in name
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    with limit_threads(), ExitStack() as stack:
        table = stack.enter_context(Table(arguments.db)) if arguments.db else None
        for row in study(chosen, _predictor(arguments.predictor), arguments.seconds, table):
            rows.append(row)
            console.print(_line(row), markup=False)
    if not rows:
        console.print(f"no composition's name has {arguments.only!r} in it.", markup=False)
        return 1
    data = json.dumps([asdict(row) for row in rows], indent=1) + "\n"
    write_text(arguments.out / "fusion.json", data)
    write_text(arguments.out / "fusion.md", markdown(rows))
    console.print(f"wrote {arguments.out / 'fusion.md'}")
    return 0


def _predictor(name: str) -> Predictor:
    model = learned(find_target("native")) if name == "learned" else None
    return model or ByCost(Stopwatch(find_compiler(None)).hertz())


def markdown(rows: Sequence[Row]) -> str:
    """A table of all compositions, and the geometric means of their ratios."""
    to_rule = geometric_mean(row.fused.measured / row.by_rule.measured for row in rows)
    to_apart = geometric_mean(row.fused.measured / row.apart.measured for row in rows)
    lines = [
        "| composition | kernels: fused, by the rule, apart | us, fused | of the rule | of apart |"
        " predicted of the rule |",
        "|---|---|---|---|---|---|",
        *map(_line, rows),
        f"| geometric mean | | | {to_rule:.2f} | {to_apart:.2f} | |",
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    fused, by_rule, apart = row.fused, row.by_rule, row.apart
    return (
        f"| {row.name} | {fused.kernels}, {by_rule.kernels}, {apart.kernels} |"
        f" {1e6 * fused.measured:.1f} | {fused.measured / by_rule.measured:.2f} |"
        f" {fused.measured / apart.measured:.2f} | {fused.predicted / by_rule.predicted:.2f} |"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fusion", description="What fusion by predicted time is worth."
    )
    parser.add_argument("--only", default="", metavar="PART", help="of the compositions' names")
    parser.add_argument(
        "--predictor", choices=("learned", "cost"), default="learned", help="of times (learned)"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each search (10)")
    parser.add_argument("--db", type=Path, help="a table, for what searches find")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder (bench-out)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
