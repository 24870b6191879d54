from __future__ import annotations

import gc
import os
import time
from itertools import groupby
from math import ceil

import numpy as np
import pytest
from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

from morello.measure.timing import limit_threads, measure


class Clock:
    """A clock that stands still but for calls of `a` and `b`, which take 3 ms and 1 us."""

    def __init__(self) -> None:
        self.ns = 0
        self.calls: list[str] = []

    def perf_counter_ns(self) -> int:
        return self.ns

    def perf_counter(self) -> float:
        return self.ns * 1e-9

    def a(self) -> None:
        self.ns += 3_000_000
        self.calls.append("a")

    def b(self) -> None:
        self.ns += 1_000
        self.calls.append("b")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("morello.measure.timing.time", made)
    return made


def test_interleaved(clock: Clock) -> None:
    timings = measure({"a": clock.a, "b": clock.b}, seconds=0, repeats=5)
    assert timings["a"].calls == 1 and timings["b"].calls >= 2_000
    assert [name for name, _ in groupby(clock.calls)][-10:] == ["a", "b"] * 5
    for timing, seconds in zip(timings.values(), (3e-3, 1e-6), strict=True):
        assert timing.repeats == len(timing.samples) == 5
        assert timing.min_s == timing.median_s == pytest.approx(seconds)


def test_short_calls_are_grouped(clock: Clock) -> None:
    timing = measure({"b": clock.b}, seconds=0.02, repeats=3)["b"]
    assert 2_000 <= timing.calls < 4_000 and timing.repeats >= 3
    assert len(clock.calls) > timing.calls * timing.repeats


def test_goes_on_for_the_time_given(clock: Clock) -> None:
    timing = measure({"a": clock.a}, seconds=0.2, repeats=1)["a"]
    assert timing.repeats == ceil(0.2 / 3e-3)


def test_a_call_takes_the_time_of_the_clock() -> None:
    timing = measure({"sleep": lambda: time.sleep(0.003)}, seconds=0, repeats=2)["sleep"]
    assert 0.003 <= timing.min_s <= timing.median_s


def test_nothing_to_measure() -> None:
    assert measure({}) == {}


def test_surroundings_are_restored() -> None:
    inside: list[tuple[bool, int]] = []

    def look() -> None:
        inside.append((gc.isenabled(), len(os.sched_getaffinity(0))))
        time.sleep(0.002)

    def fail() -> None:
        raise KeyboardInterrupt

    before = os.sched_getaffinity(0)
    measure({"look": look}, seconds=0, repeats=1)
    assert inside[-1] == (False, 1)
    with pytest.raises(KeyboardInterrupt):
        measure({"fail": fail})
    assert os.sched_getaffinity(0) == before
    assert gc.isenabled()


def test_limit_threads() -> None:
    def blas_threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    np.ones((2, 2)) @ np.ones((2, 2))
    before = blas_threads()
    with limit_threads(1):
        assert blas_threads() == [1] * len(before)
    assert blas_threads() == before
