"""Ways to divide a model's programs among its kernels, and their gains, replayed on corpora.

    python -m study.shares CORPUS... [--programs N]

Models are drawn: Specs of one machine, whose calls take a random part of the time. Each kernel
measures its programs in the tuner's order. How many it may is its share of all; or the next are
always those of the kernel that is expected to gain most by them, after what it has gained so far.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf, log
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
from study.orders import NEAR, order_of, programs_of

KERNELS, MODELS, NEAR_MODELS = 15, 400, 200
"""The kernels of a model that is drawn, and how many are drawn of each machine."""

BATCH = 3
"""The programs of a kernel that are measured at once."""

SURPRISE = 0.1
"""The part of a kernel's doubt that counts as if it had been gained before the first program."""

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


Gain = Callable[[Kernel, int], float]
"""The part of a kernel's time that one more program is expected to gain, after so many."""


def _gain_by_gains(kernel: Kernel, tried: int) -> float:
    """Kernels that have gained much, of what is doubtful, gain more; the more tried, the less."""
    left = float(kernel.left[tried])
    return left * (SURPRISE * kernel.doubt - log(left)) / (tried + BATCH)


def _gain_by_number(kernel: Kernel, tried: int) -> float:
    return float(kernel.left[tried]) * kernel.doubt / (tried + 1)


def _gain_known(kernel: Kernel, tried: int) -> float:
    """The most time saved for each program tried, over all numbers of programs tried next."""
    later = kernel.left[tried + 1 :]
    return float(((kernel.left[tried] - later) / np.arange(1, len(later) + 1)).max())


GAINS: Mapping[str, Gain] = {
    "number tried": _gain_by_number,
    "gains so far": _gain_by_gains,
    "known gains": _gain_known,
}
"""By what the next programs are chosen."""


def kernel_of(spec: Predicted) -> Kernel:
    """A Spec, tuned in the learned order; a time is known once its program has run."""
    programs, group = programs_of(spec), spec.group
    low, high = shipped().seen.of(family_of(parse(group.expression)))
    numbers = [*chain(*order_of("learned", programs, Random(0)))]
    first, least = programs.first, np.minimum.accumulate(programs.seconds[numbers])
    by_cost, seconds = float(group.cost[first] / group.hertz), programs.seconds_of(first)
    return Kernel(by_cost, seconds, high - low, least / least[0])


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


def after_shares(kernels: Sequence[Kernel], parts: Floats, weights: Floats) -> int:
    """The least programs, divided by these weights, with which a model is nearly the fastest."""
    most = sum(len(kernel.left) - 1 for kernel in kernels)
    calls = parts / [kernel.seconds for kernel in kernels]
    enough = 1.0 - NEAR * _least(kernels, parts) / float(parts.sum())
    for programs in range(most):
        if gained(kernels, calls, weights, programs) >= enough:
            return programs
    return most


def after_gains(kernels: Sequence[Kernel], parts: Floats, gain: Gain) -> int:
    """The programs after which it is, if those of the most expected gain are next, in batches."""
    tried = [0] * len(kernels)
    gains = parts * [gain(kernel, 0) for kernel in kernels]
    left, wanted = parts.copy(), NEAR * _least(kernels, parts)
    while left.sum() > wanted:
        number = int(gains.argmax())
        kernel, last = kernels[number], len(kernels[number].left) - 1
        tried[number] = count = min(tried[number] + BATCH, last)
        left[number] = parts[number] * kernel.left[count]
        gains[number] = parts[number] * gain(kernel, count) if count < last else -inf
    return sum(tried)


def _least(kernels: Sequence[Kernel], parts: Floats) -> float:
    """The time of the fastest programs of all kernels, whose first choices take these parts."""
    return float((parts * [kernel.left[-1] for kernel in kernels]).sum())


def drawn(kernels: Sequence[Kernel], count: int) -> Iterator[tuple[list[Kernel], Floats]]:
    """So many models: their kernels, and the parts of the time of these."""
    random = np.random.default_rng(0)
    for _ in range(count):
        chosen = random.choice(len(kernels), KERNELS)
        parts = np.exp(random.uniform(0, log(APART), KERNELS))
        yield [kernels[number] for number in chosen], parts


def table(machine: str, kernels: Sequence[Kernel]) -> Iterator[str]:
    """Lines of Markdown: the mean gains by each division, and what the last one gains more."""
    models = [*drawn(kernels, MODELS)]
    for each in EACH:
        gains = {name: np.zeros(MODELS) for name in SHARES}
        for number, (model, parts) in enumerate(models):
            calls = parts / [kernel.seconds for kernel in model]
            for name, share in SHARES.items():
                weights = calls * [*map(share, model)]
                gains[name][number] = gained(model, calls, weights, each * KERNELS)
        first, *_, last = gains.values()
        cells = " | ".join(f"{100 * gain.mean():.2f}" for gain in gains.values())
        yield f"| {machine}, {len(kernels)} Specs | {each} | {cells} | {_mean(last - first)} |"


def near_table(machine: str, kernels: Sequence[Kernel]) -> str:
    """A line of Markdown: means of programs until models are nearly the fastest.

    By the last of the shares, and by expected gains over these.
    """
    share = [*SHARES.values()][-1]
    counts: dict[str, list[int]] = {name: [] for name in GAINS}
    by_share = []
    for model, parts in drawn(kernels, NEAR_MODELS):
        weights = parts * [share(kernel) / kernel.seconds for kernel in model]
        by_share.append(after_shares(model, parts, weights))
        for name, gain in GAINS.items():
            counts[name].append(after_gains(model, parts, gain))
    before = np.array(by_share, np.float64)
    cells = " | ".join(_over(np.array(some, np.float64), before) for some in counts.values())
    return f"| {machine}, {len(kernels)} Specs | {before.mean():.0f} | {cells} |"


def _over(programs: Floats, before: Floats) -> str:
    """The ratio of sums, and its interval."""
    low, high = interval(len(before), lambda rows: float(programs[rows].sum() / before[rows].sum()))
    return f"{programs.sum() / before.sum():.2f} ({low:.2f}-{high:.2f})"


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
    print(f"\n| machine | by {[*SHARES][-1]} | by {' | by '.join(GAINS)} |\n{'|---' * 5}|")
    for machine, kernels in several.items():
        print(near_table(machine, kernels))


if __name__ == "__main__":
    sys.exit(main())
