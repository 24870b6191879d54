"""How much slower than the fastest of a search's programs the fastest of K measured ones is.

    python -m study.choices CORPUS... [--programs N]

K are measured in the order of the search, or in the learned one, as `--measure K` does; of one, the
first in each order is taken unmeasured, as with `--rank`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from morello.frontends.text import parse
from morello.learn.evaluate import Floats
from morello.learn.metrics import interval
from morello.learn.predictors import LEARNED, SURER, in_order, surer_for
from morello.learn.programs import ORIGINS
from study.command import run_on_corpora
from study.experiments import BEST
from study.held_out import Predicted, held_out

COUNTS = (1, 2, 4, 8)
"""How many programs are measured."""

LEAST = 8
"""Specs of which a search proposed fewer programs are left out."""


@dataclass(frozen=True)
class Proposed:
    """Programs proposed for a Spec, in order of search: costs, times, and predicted logarithms.

    The cheapest counts as `surer`.
    """

    costs: Floats
    seconds: Floats
    predicted: Floats
    surer: float = SURER

    @classmethod
    def of(cls, spec: Predicted) -> Proposed:
        best = spec.group.origins == ORIGINS.index("best")
        goal = parse(spec.group.expression)
        return cls(
            spec.group.cost[best], spec.group.seconds[best], spec.logarithms[best], surer_for(goal)
        )

    def ranked(self, count: int) -> list[int]:
        """The numbers of `count` programs in the learned order; of several, the cheapest first."""
        near = np.flatnonzero(self.costs <= LEARNED.slack * self.costs[0])[: LEARNED.count]
        seconds, costs = np.exp(self.predicted[near]), self.costs[near]
        order = near[in_order(seconds, costs, self.surer)].tolist()
        first = [0] if count > 1 else []
        return [*dict.fromkeys((*first, *order, *range(len(self.costs))))][:count]

    def behind(self, numbers: Sequence[int]) -> float:
        """The logarithm of the least time of these programs, over that of the fastest of all."""
        return float(np.log(self.seconds[[*numbers]].min() / self.seconds.min()))


def table(name: str, several: Iterable[Proposed]) -> list[str]:
    """Lines of Markdown for the Specs of a corpus, without headings."""
    specs = [proposed for proposed in several if len(proposed.costs) >= LEAST]
    return [_line(name, specs, count) for count in COUNTS] if specs else []


def _line(name: str, specs: Sequence[Proposed], count: int) -> str:
    by_cost = np.array([proposed.behind(range(count)) for proposed in specs])
    learned = np.array([proposed.behind(proposed.ranked(count)) for proposed in specs])
    apart = learned - by_cost
    low, high = interval(len(apart), lambda rows: float(apart[rows].mean()))
    return (
        f"| {name}, {len(specs)} Specs | {count} | {_percent(by_cost)} | {_percent(learned)} "
        f"| {100 * apart.mean():+.1f} ({100 * low:.1f} to {100 * high:.1f}) |"
    )


def _percent(logarithms: Floats) -> str:
    """The geometric mean of ratios with these logarithms, as what it is above 1."""
    return f"{100 * np.expm1(logarithms.mean()):.2f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return run_on_corpora("study.choices", "Judge the fastest of K measured.", _judge, argv)


def _judge(corpora: Sequence[Path], most: int | None) -> None:
    specs = [(spec.corpus, Proposed.of(spec)) for spec in held_out(corpora, BEST, most=most)]
    print("| corpus | measured | by cost | learned | difference |\n|---|---|---|---|---|")
    for corpus in dict.fromkeys(name for name, _ in specs):
        print("\n".join(table(corpus, [each for name, each in specs if name == corpus])))
    print("\n".join(table("all", [each for _, each in specs])))


if __name__ == "__main__":
    sys.exit(main())
