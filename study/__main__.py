"""The command of the study: trains and judges many models on a corpus.

python -m study CORPUS [--programs N] [--seeds 2] [--seed 0] [--docs PAGE] [--json]

Models that were trained before are not trained again (see `learn/fits.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from morello.base.workers import local_workers
from morello.learn.corpus import files
from morello.learn.dataset import cached_features, load
from morello.learn.evaluate import described, extent
from morello.runtime.threads import available_threads
from study import experiments
from study.command import exit_code
from study.report import table_of, write_report


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    console = Console(stderr=True, highlight=False)
    return exit_code("study", lambda: _study(arguments, console))


def _study(arguments: argparse.Namespace, console: Console) -> None:
    results = []
    with local_workers(available_threads()) as workers:
        paths = cached_features(arguments.corpus, workers, arguments.programs)
        for result in experiments.run(paths, arguments.seeds, workers, arguments.seed):
            results.append(result)
            tau, regret = result.mean.tau[0], result.mean.regrets[1]
            name = f"{result.trial.table}, {result.trial.protocol}: {result.trial.name}"
            console.print(f"{name}: tau {tau:.3f}, first choice {regret:.1f} % slower")
        results.append(experiments.again(files(arguments.corpus)))
    if arguments.docs is not None:
        write_report(arguments.docs, results, f"On {extent(load(paths))}:")
    if arguments.json:
        data = [
            {"table": result.trial.table} | described(result.mean)
            | {"seeds": [described(score) for score in result.each]}
            for result in results
        ]  # fmt: skip
        print(json.dumps(data, indent=2))
    else:
        print("\n".join(table_of(results)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m study", description="Train and judge many models of times."
    )
    parser.add_argument("corpus", type=Path, metavar="CORPUS", help="measured programs")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="of each model (2)")
    parser.add_argument("--seed", type=int, default=0, help="of the random splits (0)")
    parser.add_argument(
        "--programs", type=int, metavar="N", help="at most N of each Spec, 2 or more (all)"
    )
    parser.add_argument("--docs", type=Path, metavar="PAGE", help="put the tables into this page")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
