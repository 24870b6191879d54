"""Refinements of the learned first choice that do not ship, and what each would gain.

    python -m study.refinements CORPUS... [--programs N]

A second stage orders the first programs of the learned order anew by better predictions: their
times with independent errors of so much. Weights between network and cost are chosen by family, as
those with the best first choices of the other folds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from morello.frontends.text import parse
from morello.learn.evaluate import Floats
from morello.learn.families import family_of
from morello.learn.metrics import interval
from morello.learn.predictors import LEARNED
from study.choices import LEAST, Proposed
from study.command import run_on_corpora
from study.experiments import BEST
from study.held_out import held_out, random_folds

STAGE, ERRORS = 12, (0.1, 0.05, 0.02, 0.0)
"""The programs that come to the second stage, and the relative errors of its predictions."""

DRAWS = 20
"""So many draws of errors are averaged."""

WEIGHTS = np.linspace(0.0, 1.0, 11)
"""The weights of a network's logarithms; the cost's have the rest. Those that ship are halves."""

DRAWN_TO_ALL = 20.0
"""The weight of the mean of all families in that of one; a Spec of its own counts 1."""


@dataclass(frozen=True)
class Candidate:
    """The programs proposed for a Spec, its family, and the number of the fold that held it out."""

    proposed: Proposed
    family: str
    fold: int


def after_second_stage(proposed: Proposed, error: float) -> float:
    """How far behind the fastest the first of a second stage is: a logarithm, mean over draws."""
    near = set(_near(proposed).tolist())
    chosen = [number for number in proposed.ranked(STAGE) if number in near]
    times = np.log(proposed.seconds[chosen])
    noise = np.random.default_rng(0).normal(0.0, error, (DRAWS, len(chosen)))
    return float(times[(times + noise).argmin(axis=1)].mean() - np.log(proposed.seconds.min()))


def by_weight(proposed: Proposed) -> Floats:
    """How far behind the first choice is with each of the `WEIGHTS`."""
    near = _near(proposed)
    costs, predicted = np.log(proposed.costs[near]), proposed.predicted[near]
    behind = []
    for weight in WEIGHTS:
        scores = 2 * (weight * predicted + (1 - weight) * costs)
        with np.errstate(divide="ignore"):
            scores[costs.argmin()] += np.log(proposed.surer)
        behind.append(proposed.behind([int(near[scores.argmin()])]))
    return np.array(behind)


def _near(proposed: Proposed) -> npt.NDArray[np.intp]:
    """The numbers of the programs that the learned order considers."""
    return np.flatnonzero(proposed.costs <= LEARNED.slack * proposed.costs[0])[: LEARNED.count]


def by_family(candidates: Sequence[Candidate], drawn_to_all: float) -> Floats:
    """How far behind first choices are, with weights of families chosen on the other folds.

    The mean of all families counts in each as so many Specs of its own.
    """
    behind = np.array([by_weight(candidate.proposed) for candidate in candidates])
    families = np.array([candidate.family for candidate in candidates])
    folds = np.array([candidate.fold for candidate in candidates])
    found = np.empty(len(candidates))
    for number, candidate in enumerate(candidates):
        others = folds != candidate.fold
        own = behind[others & (families == candidate.family)].sum(axis=0)
        means = own + drawn_to_all * behind[others].mean(axis=0)
        found[number] = behind[number, means.argmin()]
    return found


def table(candidates: Sequence[Candidate]) -> list[str]:
    """Lines of Markdown: each refinement, and what it gains over what ships."""
    proposed = [candidate.proposed for candidate in candidates]
    ships = np.array([one.behind(one.ranked(1)) for one in proposed])
    rows: Mapping[str, Callable[[], Floats]] = {
        "what ships": lambda: ships,
        "four measured": lambda: np.array([one.behind(one.ranked(4)) for one in proposed]),
        "weights by family": lambda: by_family(candidates, 0.0),
        "weights by family, drawn to all": lambda: by_family(candidates, DRAWN_TO_ALL),
    }
    lines = ["| first choice of | behind % | difference |", "|---|---|---|"]
    lines += [_line(name, row(), ships) for name, row in rows.items()]
    for error in ERRORS:
        staged = np.array([after_second_stage(one, error) for one in proposed])
        lines.append(_line(f"a second stage with errors of {error:.0%}", staged, ships))
    return lines


def _line(name: str, behind: Floats, ships: Floats) -> str:
    apart = behind - ships
    low, high = interval(len(apart), lambda rows: float(apart[rows].mean()))
    return (
        f"| {name} | {100 * np.expm1(behind.mean()):.2f} "
        f"| {100 * apart.mean():+.2f} ({100 * low:.2f} to {100 * high:.2f}) |"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return run_on_corpora("study.refinements", "Judge refinements of first choices.", _judge, argv)


def _judge(corpora: Sequence[Path], most: int | None) -> None:
    specs = [*held_out(corpora, BEST, most=most)]
    splits = random_folds([spec.group for spec in specs])
    folds = {number: fold for fold, split in enumerate(splits) for number in split.test}
    every = [
        Candidate(Proposed.of(spec), family_of(parse(spec.group.expression)), folds[number])
        for number, spec in enumerate(specs)
    ]
    print("\n".join(table([one for one in every if len(one.proposed.costs) >= LEAST])))


if __name__ == "__main__":
    sys.exit(main())
