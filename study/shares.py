"""Ways to divide a model's programs among its kernels, and their gains, replayed on corpora.

    python -m study.shares CORPUS... [--programs N]

Models are drawn: Specs of one machine, whose calls take a random part of the time. Each kernel
measures its programs in the tuner's order; how many it may is its share of all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from random import Random

import numpy as np

from morello.frontends.text import parse
from morello.learn.evaluate import Floats
from morello.learn.families import family_of
from morello.learn.metrics import interval
from morello.learn.predictors import shipped
from study.command import run_on_corpora
from study.experiments import BEST
from study.held_out import Predicted, held_out
from study.orders import programs_of, progress

KERNELS, MODELS = 15, 400
"""The kernels of a model that is drawn, and how many are drawn of each machine."""

APART = 30.0
"""A kernel may take so many times as long as another of its model, all calls together."""

EACH = (3, 6, 12)
"""Programs for each kernel, if all had as many."""

LEAST = 12
"""Specs with fewer programs are left out."""


@dataclass(frozen=True)
class Kernel:
    """Seconds of the first choice as costs have it and as measured, the width of the interval of
    predictions of its family, and the part of its time that is left after each program (n,).
    """

    by_cost: float
    seconds: float
    doubt: float
    left: Floats


SHARES: Mapping[str, Callable[[Kernel], float]] = {
    "cost": lambda kernel: kernel.by_cost,
    "time": lambda kernel: kernel.seconds,
    "time and doubt": lambda kernel: kernel.seconds * kernel.doubt,
}
"""In proportion to what, times the calls of a kernel, programs are divided."""


def kernel_of(spec: Predicted) -> Kernel:
    """A Spec, tuned in the learned order."""
    programs, group = programs_of(spec), spec.group
    low, high = shipped().seen.of(family_of(parse(group.expression)))
    behind, first = progress("learned", programs, Random(0)), programs.first
    by_cost, seconds = float(group.cost[first] / group.hertz), programs.seconds_of(first)
    return Kernel(by_cost, seconds, high - low, behind / behind[0])


def gained(kernels: Sequence[Kernel], calls: Floats, weights: Floats, programs: int) -> float:
    """The part of a model's time that is gained, if programs are divided by these weights."""
    before = calls * [kernel.seconds for kernel in kernels]
    after, rest = 0.0, float(weights.sum())
    for number in np.argsort(-weights).tolist():
        left = kernels[number].left
        count = min(len(left) - 1, round(programs * weights[number] / rest))
        programs, rest = programs - count, rest - weights[number]
        after += before[number] * left[count]
    return 1.0 - after / float(before.sum())


def table(machine: str, kernels: Sequence[Kernel]) -> Iterator[str]:
    """Lines of Markdown: the mean gains by each division, and what the last one gains more."""
    random = np.random.default_rng(0)
    drawn = [random.choice(len(kernels), KERNELS) for _ in range(MODELS)]
    models = [[kernels[number] for number in numbers] for numbers in drawn]
    parts = np.exp(random.uniform(0, log(APART), (MODELS, KERNELS)))
    for each in EACH:
        gains = {name: np.zeros(MODELS) for name in SHARES}
        for number, model in enumerate(models):
            calls = parts[number] / [kernel.seconds for kernel in model]
            for name, share in SHARES.items():
                weights = calls * [*map(share, model)]
                gains[name][number] = gained(model, calls, weights, each * KERNELS)
        first, *_, last = gains.values()
        cells = " | ".join(f"{100 * gain.mean():.2f}" for gain in gains.values())
        yield f"| {machine}, {len(kernels)} Specs | {each} | {cells} | {_mean(last - first)} |"


def _mean(more: Floats) -> str:
    """The mean in percent, and its interval."""
    low, high = interval(len(more), lambda rows: float(more[rows].mean()))
    return f"{100 * more.mean():+.2f} ({100 * low:.2f} to {100 * high:.2f})"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return run_on_corpora(
        "study.shares", "Divide programs among the kernels of models.", _divide, argv
    )


def _divide(corpora: Sequence[Path], most: int | None) -> None:
    several: dict[str, list[Kernel]] = {}
    for spec in held_out(corpora, BEST, most=most):
        if len(spec.group.seconds) >= LEAST:
            several.setdefault(spec.corpus, []).append(kernel_of(spec))
    print(f"| machine | programs | by {' | by '.join(SHARES)} | difference |\n{'|---' * 6}|")
    for machine, kernels in several.items():
        print("\n".join(table(machine, kernels)))


if __name__ == "__main__":
    sys.exit(main())
