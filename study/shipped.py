"""How well the model that ships predicts the programs of machines that it has not seen.

python -m study.shipped CORPUS... [--model PATH]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from morello.base.workers import local_workers
from morello.learn.dataset import cached_features, load
from morello.learn.model import read_model
from morello.learn.predictors import SHIPPED
from morello.runtime.threads import available_threads
from study.command import exit_code
from study.experiments import of_machine
from study.report import table_of
from study.transfer import compared


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m study.shipped", description="Judge a model on machines it has not seen."
    )
    parser.add_argument("corpora", type=Path, nargs="+", metavar="CORPUS")
    parser.add_argument(
        "--model", type=Path, default=SHIPPED, help="another than the one that ships"
    )
    arguments = parser.parse_args(argv)
    return exit_code("study.shipped", lambda: _judge(arguments.model, arguments.corpora))


def _judge(model: Path, corpora: Sequence[Path]) -> None:
    models = {model.stem: read_model(model)}
    with local_workers(available_threads()) as workers:
        features = {path: cached_features(path, workers) for path in corpora}
    for path, archives in features.items():
        results = of_machine(path.name, compared(models, load(archives)))
        print("\n".join(table_of([*results])), flush=True)


if __name__ == "__main__":
    sys.exit(main())
