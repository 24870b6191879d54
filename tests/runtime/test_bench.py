from __future__ import annotations

import gc
import os
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

from morello.measure.timing import limit_threads, measure


def test_interleaved() -> None:
    calls: list[str] = []

    def slow(name: str) -> None:
        calls.append(name)
        time.sleep(0.003)

    timings = measure({"a": lambda: slow("a"), "b": lambda: slow("b")}, seconds=0, repeats=5)
    assert timings["a"].calls == timings["b"].calls == 1
    assert calls[-10:] == ["a", "b"] * 5
    for timing in timings.values():
        assert timing.repeats == len(timing.samples) == 5
        assert 0.003 <= timing.min_s <= timing.median_s


def test_short_calls_are_grouped() -> None:
    count = 0

    def short() -> None:
        nonlocal count
        count += 1

    timing = measure({"short": short}, seconds=0.02, repeats=3)["short"]
    assert timing.calls > 1000
    assert timing.repeats >= 3
    assert count > timing.calls * timing.repeats
    assert timing.median_s * timing.calls < 0.1
    assert timing.min_s < 1e-5


def test_goes_on_for_the_time_given() -> None:
    start = time.perf_counter()
    measure({"sleep": lambda: time.sleep(0.01)}, seconds=0.2, repeats=1)
    assert time.perf_counter() - start >= 0.2


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
