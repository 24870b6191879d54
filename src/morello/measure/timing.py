"""Timing callables against each other, fairly."""

from __future__ import annotations

import gc
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from morello.errors import SearchError, quoted

SAMPLE_SECONDS = 2e-3

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
    with quiet(pin):
        calls = {name: _calibrate(function) for name, function in callables.items()}
        samples: dict[str, list[float]] = {name: [] for name in callables}
        end = time.perf_counter() + seconds * len(callables)
        rounds = 0
        while rounds < repeats or time.perf_counter() < end:
            for name, function in callables.items():
                samples[name].append(_sample(function, calls[name]) / calls[name])
            rounds += 1
            if not callables:
                break
    return {name: Timing(tuple(samples[name]), calls[name]) for name in callables}


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


def _calibrate(function: Callable[[], object]) -> int:
    """The number of calls per sample; finding it also warms `function` up."""
    function()
    return calls_for(partial(_sample, function), SAMPLE_SECONDS)


def calls_for(sample: Callable[[int], float], least: float) -> int:
    """A number of calls for which `sample(calls)` is at least `least`, in the same unit."""
    calls = 1
    # The shorter of two samples, as one may have been interrupted.
    while (elapsed := min(sample(calls) for _ in range(2))) < least:
        # Extrapolate, but at most tenfold, as short samples are inexact.
        growth = min(10.0, 1.2 * least / max(elapsed, 1e-9))
        calls = max(calls + 1, int(calls * growth))
    return calls


def _sample(function: Callable[[], object], calls: int) -> float:
    """The seconds that `calls` calls take."""
    loop = itertools.repeat(None, calls)
    start = time.perf_counter_ns()
    for _ in loop:
        function()
    return (time.perf_counter_ns() - start) * 1e-9


@contextmanager
def quiet(pin: bool) -> Iterator[None]:
    """Within it, there is no garbage collection, and with `pin` no migration to another CPU."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        if pin and hasattr(os, "sched_setaffinity"):
            allowed = os.sched_getaffinity(0)
            # The last CPU, as interrupts tend to go to the first.
            os.sched_setaffinity(0, {max(allowed)})
            try:
                yield
            finally:
                os.sched_setaffinity(0, allowed)
        else:
            yield
    finally:
        if collecting:
            gc.enable()
