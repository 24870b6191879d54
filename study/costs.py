"""How well the costs of today predict the times of corpora: needs no features and no training.

python -m study.costs CORPUS... [--programs N]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from morello.learn.corpus import MeasuredSpec, files, read
from morello.learn.evaluate import Judged, Score, judge_one, score
from study.command import run_on_corpora

HEADER = "| costs of | tau | APE % | MAPE % | top 5 % | reranked % |\n|---|---|---|---|---|---|"


def judged(measured: MeasuredSpec) -> Judged | None:
    """How the affine cost does on a Spec's programs that are still legal; None if none is."""
    costs = np.array([np.nan if impl is None else impl.cost for impl in measured.impls()])
    legal = ~np.isnan(costs)
    if not legal.any():
        return None
    logarithms = np.log(costs[legal] / float(measured.about["hertz"]))
    return judge_one(
        measured, logarithms, measured.seconds[legal], measured.origins[legal], absolute=True
    )


def scores(results: Sequence[Judged], corpus: str) -> Iterator[Score]:
    """The score of a corpus, and of each of its families."""
    yield score("costs", f"{corpus}, {len(results)} Specs", results)
    for family in dict.fromkeys(result.family for result in results):
        yield score("costs", family, [result for result in results if result.family == family])


def line(of: Score) -> str:
    """A score as a line of a Markdown table, with intervals of tau and APE."""
    (tau, *tau_ends), (ape, *ape_ends) = of.tau, of.ape
    figures = (
        f"{tau:.3f} ({tau_ends[0]:.3f}-{tau_ends[1]:.3f})",
        f"{ape:.1f} ({ape_ends[0]:.1f}-{ape_ends[1]:.1f})",
        f"{of.mape[0]:.1f}",
        f"{of.regrets[5]:.1f}",
        f"{of.reranked[0]:.1f}",
    )
    return f"| {of.model} | {' | '.join(figures)} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return run_on_corpora("study.costs", "Judge today's costs by measured programs.", _judge, argv)


def _judge(corpora: Sequence[Path], most: int | None) -> None:
    print(HEADER)
    for corpus in corpora:
        every = map(read, files(corpus))
        several = every if most is None else (measured.sample(most) for measured in every)
        results = [each for each in map(judged, several) if each is not None]
        for each in scores(results, corpus.name):
            print(line(each), flush=True)


if __name__ == "__main__":
    sys.exit(main())
