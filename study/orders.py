"""How many programs tuning measures until one is nearly the fastest, replayed on corpora.

    python -m study.orders CORPUS... [--programs N]

Each Spec's programs are predicted by a network that has not seen it, and "measured" by looking up
their times, in four orders: as the tuner chooses them, as it would if all predictions were exact,
by cost, and at random. Programs are measured in batches, as the tuner does.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import inf
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

from morello.impl.tree import Impl
from morello.learn.choosers import ORDERS
from morello.learn.evaluate import Floats
from morello.learn.guided_chooser import ByPrediction
from morello.learn.metrics import interval
from morello.learn.programs import ORIGINS
from morello.learn.tune import batch_sizes
from morello.search.session import Session
from study.command import run_on_corpora
from study.experiments import BEST
from study.held_out import Predicted, held_out

NEAR = 1.02
"""A program at most this many times slower than the fastest counts as equally good."""

AFTER = (4, 10, 22, 34)
"""Programs: the first choice, then one, two, three, four batches."""

EXACT = "exact"
"""The learned order, if the times of all programs were known."""

SEEDS = 5
"""So many random orders are averaged."""

_BEST, _RANDOM = ORIGINS.index("best"), ORIGINS.index("random")

Ints = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Programs:
    """Programs of a Spec: where they come from, their seconds, and the logarithms predicted."""

    impls: Sequence[Impl]
    origins: Ints
    seconds: Floats
    predicted: Floats

    @property
    def by_cost(self) -> list[int]:
        """The numbers of all programs, the cheapest first."""
        return [*map(int, np.argsort([impl.cost for impl in self.impls], kind="stable"))]

    @property
    def first(self) -> int:
        """The number of the first choice: the cheapest of the search's programs, if any is."""
        return min(self.by_cost, key=lambda number: self.origins[number] != _BEST)

    def of_origin(self, origin: int) -> list[int]:
        """The numbers of the programs that come from there."""
        return [*map(int, np.flatnonzero(self.origins == origin))]

    def seconds_of(self, number: int) -> float:
        """The seconds of a call of the program with this number."""
        return float(self.seconds[number])


class _Known:
    """Predicts programs whose times were predicted before."""

    def __init__(self, programs: Programs) -> None:
        self._of = {
            id(impl): logarithm
            for impl, logarithm in zip(programs.impls, programs.predicted, strict=True)
        }

    def seconds(self, impls: Sequence[Impl]) -> Floats:
        seconds: Floats = np.exp([self._of[id(impl)] for impl in impls])
        return seconds


class _Replayed(ByPrediction):
    """The tuner's choices, if a corpus has all the programs that it can find."""

    def __init__(self, programs: Programs, random: Random) -> None:
        impl = programs.impls[0]
        super().__init__(Session(impl.spec, impl.target), _Known(programs), random, inf)
        self._programs = programs

    def _search_choices(self) -> Iterator[Impl]:
        best = {*self._programs.of_origin(_BEST)}
        yield from self._others([n for n in self._programs.by_cost if n in best])

    def _build_graphs(self) -> Generator[bool | None, None, None]:
        drawn = self._others(self._programs.of_origin(_RANDOM))
        self._random.shuffle(drawn)
        self._drawn = ((impl, ()) for impl in drawn if self._new(impl))
        self._left += self._predicted(self._others(self._programs.by_cost))
        yield True

    def _anneal(self) -> Iterator[None]:
        return iter(())

    def _others(self, numbers: Sequence[int]) -> list[Impl]:
        """The programs with these numbers but the first choice, which is measured already."""
        first = self._programs.first
        return [self._programs.impls[number] for number in numbers if number != first]


def order_of(order: str, programs: Programs, random: Random) -> Iterator[list[int]]:
    """The numbers of programs in an order, by batch; the first choice is measured alone."""
    first = programs.first
    yield [first]
    if order == "affine":
        yield from batches(number for number in programs.by_cost if number != first)
    elif order == "random":
        drawn = [number for number in programs.of_origin(_RANDOM) if number != first]
        yield from batches(random.sample(drawn, len(drawn)))
    elif order == EXACT:
        known = replace(programs, predicted=np.log(programs.seconds))
        yield from islice(order_of("learned", known, random), 1, None)
    else:
        numbers = {id(impl): number for number, impl in enumerate(programs.impls)}
        chooser, new = _Replayed(programs, random), [first]
        for size in batch_sizes():
            for number in new:
                chooser.learn(programs.impls[number], programs.seconds_of(number))
            new = [numbers[id(impl)] for impl in chooser.choose(size)]
            if not new:
                return
            yield new
            chooser.look_further(lambda: False)


def batches(numbers: Iterable[int]) -> Iterator[list[int]]:
    """The numbers in order, in batches of the tuner's sizes."""
    left = iter(numbers)
    for size in batch_sizes():
        if not (batch := [*islice(left, size)]):
            return
        yield batch


def progress(order: str, programs: Programs, random: Random) -> Floats:
    """The least time known after each program of an order, over that of the fastest of all.

    The times of a batch are known at its end.
    """
    least: list[float] = []
    for batch in order_of(order, programs, random):
        fastest = min(chain(least[-1:], map(programs.seconds_of, batch)))
        least += [*(least[-1:] * (len(batch) - 1)), fastest]
    return np.array(least) / float(programs.seconds.min())


@dataclass(frozen=True)
class Replay:
    """An order on s Specs: logarithms of means over its draws.

    `programs` (s) is how many are measured until one is known to be near the fastest, or all, and
    `near` (s) in which part of the draws one is; `behind` (s, `AFTER`) is the least time after so
    many programs, over that of the fastest.
    """

    programs: Floats
    near: Floats
    behind: Floats


def replayed(several: Sequence[Programs]) -> dict[str, Replay]:
    """The results of all orders on these Specs."""
    found: dict[str, Replay] = {}
    for order in (*ORDERS, EXACT):
        results = []
        for programs in several:
            draws = [
                progress(order, programs, Random(seed))
                for seed in range(SEEDS if order == "random" else 1)
            ]
            counts = [min(len(least), 1 + int((least > NEAR).sum())) for least in draws]
            near = np.mean([least[-1] <= NEAR for least in draws])
            behind = np.log([[least[:count][-1] for count in AFTER] for least in draws])
            results.append((np.log(counts).mean(), near, behind.mean(axis=0)))
        found[order] = Replay(*(np.array(column) for column in zip(*results, strict=True)))
    return found


def to_gain(programs: Programs) -> bool:
    """Whether the first choice is slower than what counts as equally good."""
    return programs.seconds_of(programs.first) > NEAR * float(programs.seconds.min())


def table(corpora: Mapping[str, Mapping[str, Replay]]) -> list[str]:
    """Lines of Markdown: how many programs each order needs, and how far behind it then is."""
    after = " | ".join(f"after {count} %" for count in AFTER)
    lines = [
        f"| corpus | order | programs | near the fastest | learned over these | {after} |",
        f"|---|---|---|---|---|{'---|' * len(AFTER)}",
    ]
    for corpus, found in corpora.items():
        learned = found["learned"].programs
        for order, of in found.items():
            behind = 100 * np.expm1(of.behind.mean(axis=0))
            lines.append(
                f"| {corpus}, {len(learned)} Specs | {order} | {np.exp(of.programs.mean()):.1f} "
                f"| {of.near.mean():.0%} | {_ratio(learned - of.programs)} "
                f"| {' | '.join(f'{part:.1f}' for part in behind)} |"
            )
    return lines


def _ratio(logarithms: Floats) -> str:
    """The geometric mean of ratios with these logarithms, and its interval."""
    ends = interval(len(logarithms), lambda rows: float(logarithms[rows].mean()))
    mean, low, high = np.exp([logarithms.mean(), *ends])
    return f"{mean:.2f} ({low:.2f}-{high:.2f})"


def programs_of(spec: Predicted) -> Programs:
    """The programs of a Spec that are still legal."""
    impls = [impl for impl in spec.measured.impls() if impl is not None]
    return Programs(impls, spec.group.origins, spec.group.seconds, spec.logarithms)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return run_on_corpora(
        "study.orders", "Replay orders of tuning on measured programs.", _replay, argv
    )


def _replay(corpora: Sequence[Path], most: int | None) -> None:
    several: dict[str, list[Programs]] = {}
    for spec in held_out(corpora, BEST, most=most):
        programs = programs_of(spec)
        if to_gain(programs):
            several.setdefault(spec.corpus, []).append(programs)
    print("\n".join(table({name: replayed(every) for name, every in several.items()})))


if __name__ == "__main__":
    sys.exit(main())
