"""Timing this machine: programs, its clock, and what a parallel loop takes to begin and end."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import quantiles
from time import perf_counter

from morello.runtime.argument import Array
from morello.runtime.bench import calls_for, quiet
from morello.runtime.load import Library, own_library
from morello.runtime.threads import pool
from morello.runtime.toolchain import Compiler

SAMPLE_NS = 400_000
"""How long a sample takes at least: much longer than reading the clock."""

LEAST_ROUNDS = 3

ADDITIONS = 80_000
"""Work for some 20 us: long enough for other threads to come and help."""


@dataclass(frozen=True)
class Candidate:
    """A compiled program and the arrays it runs on."""

    library: Library
    symbol: str
    arrays: tuple[Array, ...]


class Stopwatch:
    """Times things in C, with a compiler's help. Raises `BuildError` if that fails."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler
        self._functions = _functions(compiler)

    def hertz(self, rounds: int = 20) -> float:
        """Cycles a second, at the best of times."""
        return ADDITIONS / min(_samples(rounds, self._functions.time_additions, ADDITIONS))

    def fork(self, threads: int, rounds: int = 60) -> float:
        """Seconds that a parallel loop on so many threads takes beside the work of each.

        Not at the best of times, when all happen to be there at once, but at most good ones.
        """
        chosen = pool(threads, compiler=self.compiler)
        timed = self._functions.time_regions
        regions = _samples(rounds, timed, chosen.address, chosen.handle, threads, ADDITIONS)
        alone = _samples(rounds, self._functions.time_additions, ADDITIONS)
        return max(0.0, quantiles(regions)[0] - min(alone))

    def times(
        self,
        candidates: Sequence[Candidate],
        rounds: int = 15,
        seconds: float = inf,
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[float]:
        """Seconds that a call of each takes: the least of several samples.

        They take turns, so that no one of them has all of a bad moment. After so many
        `seconds` there are no further rounds than the first three.
        """
        end = perf_counter() + seconds
        with quiet(pin=True):
            runs = [self.runner(candidate) for candidate in candidates]
            calls = [calls_for(run, SAMPLE_NS) for run in runs]
            best = [float("inf")] * len(runs)
            for done in range(rounds):
                if done >= LEAST_ROUNDS and perf_counter() > end:
                    break
                for index, run in enumerate(runs):
                    best[index] = min(best[index], run(calls[index]) / calls[index])
                progress(done + 1)
        return [nanoseconds * 1e-9 for nanoseconds in best]

    def runner(self, one: Candidate) -> Callable[[int], int]:
        """A function of a number of calls that makes them and gives the nanoseconds they take."""
        addresses = [array.ctypes.data for array in one.arrays]
        arguments = (ctypes.c_void_p * len(addresses))(*addresses)
        address = one.library.address(one.symbol)
        run = self._functions.time_calls
        return lambda calls: int(run(address, len(addresses), arguments, calls))


def _samples(rounds: int, timed: Callable[..., int], *arguments: int) -> list[float]:
    """Seconds that a call takes, in every round."""
    run = functools.partial(timed, *arguments)
    calls = calls_for(run, SAMPLE_NS)
    return [run(calls) / calls * 1e-9 for _ in range(rounds)]


@functools.cache
def _functions(compiler: Compiler) -> ctypes.CDLL:
    """timer.c."""
    functions = own_library(Path(__file__).with_name("timer.c"), "timer", compiler)
    for name, kinds in {
        "time_calls": [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_long],
        "time_additions": [ctypes.c_long, ctypes.c_long],
        "time_regions": [ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_long] * 3],
    }.items():
        function = getattr(functions, name)
        function.argtypes, function.restype = kinds, ctypes.c_int64
    return functions
