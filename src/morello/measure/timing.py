"""Timing callables against each other, fairly: they take turns."""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from math import inf

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from morello.base.errors import SearchError, quoted
from morello.base.memory import uncollected
from morello.base.status import tell

Runner = Callable[[int], int]
"""Makes so many calls, and returns the nanoseconds that they take."""

SAMPLE_NS = 2_000_000
"""The least duration of a sample of calls from Python, in nanoseconds."""

MOST_SECONDS = 86_400.0
"""The longest time to time something for: a day."""


@dataclass(frozen=True)
class Timing:
    """How long one call takes, from `samples`: seconds per call, each a mean of `calls` calls."""

    samples: tuple[float, ...]
    calls: int

    @property
    def median_s(self) -> float:
        """The median of the samples, in seconds per call."""
        return statistics.median(self.samples)

    @property
    def min_s(self) -> float:
        """The minimum of the samples, in seconds per call."""
        return min(self.samples)

    @property
    def repeats(self) -> int:
        """The number of samples."""
        return len(self.samples)


def measure(
    callables: Mapping[str, Callable[[], object]],
    *,
    seconds: float = 1.0,
    repeats: int = 7,
    pin: bool = True,
) -> dict[str, Timing]:
    """The time that a call of each of `callables` takes, by name.

    They take turns, one sample each per round, so that noise on the machine affects all of
    them alike. A sample is as many calls as take 2 ms. Rounds go on until each callable has
    had about `seconds`, and at least `repeats` samples. With `pin`, everything runs on one CPU
    if the platform can do that; threads that the callables started before are not moved.
    """
    runners = {name: runner(function) for name, function in callables.items()}
    return measure_runners(runners, seconds=seconds, repeats=repeats, pin=pin)


def measure_runners(
    runners: Mapping[str, Runner], *, seconds: float = 1.0, repeats: int = 7, pin: bool = True
) -> dict[str, Timing]:
    """`measure` for calls that other runners make, such as those in other processes."""
    if not runners:
        return {}
    tell(phase="time", ends=inf)
    with quiet(pin):
        for run in runners.values():
            run(1)
        calls = [calls_for(run, SAMPLE_NS) for run in runners.values()]
        end = time.perf_counter() + seconds * len(runners)
        rounds = []
        for samples in in_turns([*runners.values()], calls):
            rounds.append([nanoseconds * 1e-9 for nanoseconds in samples])
            now = time.perf_counter()
            if len(rounds) >= repeats and now >= end:
                break
            tell(ends=end, now=now)
    columns = zip(runners, zip(*rounds, strict=True), calls, strict=True)
    return {name: Timing(samples, count) for name, samples, count in columns}


def in_turns(runners: Sequence[Runner], calls: Sequence[int]) -> Iterator[list[float]]:
    """Rounds without end. In each, every runner makes its calls: the nanoseconds of one call each.

    Noise on a shared machine lasts longer than a sample, and so affects all of them alike.
    """
    pairs = list(zip(runners, calls, strict=True))
    while True:
        yield [run(count) / count for run, count in pairs]


def runner(function: Callable[[], object]) -> Runner:
    """Makes calls of a Python callable."""

    def run(calls: int) -> int:
        loop = itertools.repeat(None, calls)
        start = time.perf_counter_ns()
        for _ in loop:
            function()
        return time.perf_counter_ns() - start

    return run


def check_seconds(seconds: float) -> None:
    """Raise `SearchError` unless `seconds` is positive and at most `MOST_SECONDS`."""
    number = isinstance(seconds, int | float | np.floating | np.integer)
    if not number or not 0 < seconds <= MOST_SECONDS:  # nan is refused, too
        raise SearchError(
            f"a program is timed for more than 0 and at most {MOST_SECONDS:,.0f} seconds, "
            f"not for {quoted(seconds)}."
        )


@contextmanager
def limit_threads(count: int = 1) -> Iterator[None]:
    """Within it, NumPy's BLAS (and OpenMP) use at most `count` threads."""
    with threadpool_limits(limits=count):
        yield


def calls_for(run: Runner, minimum_ns: int) -> int:
    """A number of calls that take at least `minimum_ns` nanoseconds."""
    calls = 1
    # The shorter of two samples, as one may have been interrupted.
    while (elapsed := min(run(calls) for _ in range(2))) < minimum_ns:
        # Extrapolate, but at most tenfold, as short samples are inexact.
        growth = min(10.0, 1.2 * minimum_ns / max(elapsed, 1))
        calls = max(calls + 1, int(calls * growth))
    return calls


@contextmanager
def pinned(threads: int = 1) -> Iterator[None]:
    """Run this thread, and what it starts in the body, on so many CPUs, if that can be set.

    They are the last ones, as interrupts tend to go to the first.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[-threads:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@contextmanager
def quiet(pin: bool) -> Iterator[None]:
    """Within it, there is no garbage collection, and with `pin` no migration to another CPU."""
    with uncollected(), pinned() if pin else nullcontext():
        yield
