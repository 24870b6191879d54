"""How well the cost model ranks programs of the collection: tau, and the regret of its choices.

    python -m benchmarks.model [GROUP...] [--samples 100] [--threads 1] [--out DIR]

Of each case, random programs and the model's own first choices are built, checked and timed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

import morello
from benchmarks.collection import GROUPS, group
from morello.base.errors import MorelloError
from morello.base.files import write_text
from morello.measure.quality import assess


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    console = Console(stderr=True, highlight=False)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    for name in arguments.groups or list(GROUPS):
        for work in GROUPS[name]:
            if work.flops > arguments.flops:
                continue
            try:
                best, _ = morello.implement(work.expression, threads=arguments.threads, table="off")
                quality = assess(best, arguments.samples, seconds=arguments.seconds)
            except MorelloError as error:
                console.print(f"{name} {work.size}: {error}")
                continue
            results.append({"group": name, "size": work.size, **quality.data()})
            console.print(_line(results[-1]))
            write_text(arguments.out / "model.json", json.dumps(results, indent=1) + "\n")
    if results:
        write_text(arguments.out / "model.md", markdown(results))
        console.print(f"wrote {arguments.out / 'model.md'}")
    return 0 if results else 1


def markdown(results: Sequence[dict[str, Any]]) -> str:
    """A table of the cases, and their medians."""
    names = ("tau", "regret", "regret_of_choices")
    middle = {name: statistics.median(result[name] for result in results) for name in names}
    lines = [
        "# How good the cost model is",
        "",
        "Kendall's tau of predicted and measured times of random programs, and by how much the",
        "model's first choice, and the best of its first five, is slower than the fastest of all.",
        "",
        "| case | programs | tau | first choice | best of five |",
        "|---|---|---|---|---|",
        *map(_line, results),
        _line({"group": "median of", "size": len(results), "programs": "", **middle}),
    ]
    return "\n".join(lines) + "\n"


def _line(result: dict[str, Any]) -> str:
    cells = (
        f"{result['group']} {result['size']}",
        result["programs"],
        f"{result['tau']:.2f}",
        f"{result['regret']:.1%}",
        f"{result['regret_of_choices']:.1%}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.model", description="How well the cost model orders programs."
    )
    parser.add_argument("groups", nargs="*", type=group, metavar="GROUP", help="some groups (all)")
    parser.add_argument("--samples", type=int, default=100, help="random programs a case (100)")
    parser.add_argument("--threads", type=int, default=1, help="threads to run on (1)")
    parser.add_argument("--seconds", type=float, default=0.1, help="to time each program for (0.1)")
    parser.add_argument(
        "--flops", type=float, default=1e9, help="leave out cases of more operations (1e9)"
    )
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder (bench-out)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
