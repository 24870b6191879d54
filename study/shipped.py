"""How well the model that ships predicts the programs of corpora that it has not seen.

python -m study.shipped CORPUS... [--programs N] [--model PATH]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from morello.base.workers import local_workers
from morello.learn.dataset import cached_features, load
from morello.learn.evaluate import Floats, Score
from morello.learn.groups import ProgramGroup
from morello.learn.model import Model, read_model
from morello.learn.predictors import SHIPPED
from morello.runtime.threads import available_threads
from study.command import corpora_parser, exit_code
from study.experiments import of_machine
from study.folds import scores
from study.report import table_of
from study.transfer import corrected


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = corpora_parser("study.shipped", "Judge a model on corpora that it has not seen.")
    parser.add_argument(
        "--model", type=Path, default=SHIPPED, help="another than the one that ships"
    )
    arguments = parser.parse_args(argv)

    def run() -> None:
        model = read_model(arguments.model)
        with local_workers(available_threads()) as workers:
            features = {
                path: cached_features(path, workers, arguments.programs)
                for path in arguments.corpora
            }
        for path, archives in features.items():
            print("\n".join(table_of([*of_machine(path.name, judged(model, load(archives)))])))

    return exit_code("study.shipped", run)


def judged(model: Model, groups: Sequence[ProgramGroup]) -> Iterator[Score]:
    """How well a model predicts a machine's programs, also corrected by some of them."""
    plain: list[Floats] = [model.log_cycles(group) - np.log(group.hertz) for group in groups]
    better = corrected(plain, groups, model.configs)
    return scores(groups, {"model": plain, "model, corrected": better}, "unseen")


if __name__ == "__main__":
    sys.exit(main())
