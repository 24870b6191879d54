"""Timing on this machine: programs, the clock rate, and the overhead of a parallel loop."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from pathlib import Path
from statistics import quantiles
from time import perf_counter

from morello.measure.timing import Runner, calls_for, in_turns, quiet
from morello.native.toolchain import Compiler
from morello.runtime.argument import Array
from morello.runtime.load import Library, own_library
from morello.runtime.threads import pool

SAMPLE_NS = 400_000
"""The least duration of a sample, in nanoseconds: much longer than reading the clock."""

MIN_ROUNDS = 3

ADDITIONS = 80_000
"""Additions that take about 20 us: long enough for other threads to start on their share."""


@dataclass(frozen=True)
class Candidate:
    """A compiled program and the arrays it runs on.

    With `turns`, each call takes the next arrays of these instead. Candidates may share them, so
    that none finds in a cache what another one has just used.
    """

    library: Library
    symbol: str
    arrays: tuple[Array, ...]
    turns: Iterator[tuple[Array, ...]] | None = None


class Stopwatch:
    """Measures times in C code that `compiler` builds. Raises `BuildError` if that fails."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler
        self._functions = _functions(compiler)

    def hertz(self, rounds: int = 20) -> float:
        """The clock rate in cycles per second, from the fastest of some samples."""
        return ADDITIONS / min(_samples(rounds, self._functions.time_additions, ADDITIONS))

    def fork(self, threads: int, rounds: int = 60) -> float:
        """The overhead of a parallel loop on so many threads, in seconds: its time beyond the work.

        This is the first quartile of the samples. Their minimum would be too optimistic: it is
        reached only when all threads happen to start at once.
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
        """The seconds that a call of each candidate takes: the minimum of several samples.

        Candidates take turns, so that noise at one moment does not affect one of them alone. Every
        second round goes backwards: programs on the same arrays are neighbours, of which the first
        finds them farther away. After `seconds` no further round starts, except for the first
        three.
        """
        end = perf_counter() + seconds
        with quiet(pin=True):
            runs = [self.runner(candidate) for candidate in candidates]
            calls = [calls_for(run, SAMPLE_NS) for run in runs]
            best = [inf] * len(runs)
            forwards, backwards = in_turns(runs, calls), in_turns(runs[::-1], calls[::-1])
            for done in range(1, rounds + 1):
                samples = next(forwards) if done % 2 else next(backwards)[::-1]
                best = list(map(min, best, samples))
                progress(done)
                if done >= MIN_ROUNDS and perf_counter() > end:
                    break
        return [nanoseconds * 1e-9 for nanoseconds in best]

    def runner(self, candidate: Candidate) -> Runner:
        """Calls a candidate from C, so that the call costs next to nothing."""
        address = candidate.library.address(candidate.symbol)
        run = self._functions.time_calls

        def on(arrays: tuple[Array, ...]) -> Runner:
            addresses = [array.ctypes.data for array in arrays]
            arguments = (ctypes.c_void_p * len(addresses))(*addresses)
            return lambda calls: int(run(address, len(addresses), arguments, calls))

        turns = candidate.turns
        if turns is None:
            return on(candidate.arrays)
        return lambda calls: sum(on(next(turns))(1) for _ in range(calls))


def _samples(rounds: int, timed: Callable[..., int], *arguments: int) -> list[float]:
    """The seconds that a call takes, sampled `rounds` times."""
    run = functools.partial(timed, *arguments)
    turns = in_turns([run], [calls_for(run, SAMPLE_NS)])
    return [nanoseconds * 1e-9 for (nanoseconds,) in islice(turns, rounds)]


@functools.cache
def _functions(compiler: Compiler) -> ctypes.CDLL:
    """The functions of timer.c, compiled and loaded."""
    functions = own_library(Path(__file__).with_name("timer.c"), "timer", compiler)
    for name, kinds in {
        "time_calls": [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_long],
        "time_additions": [ctypes.c_long, ctypes.c_long],
        "time_regions": [ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_long] * 3],
    }.items():
        function = getattr(functions, name)
        function.argtypes, function.restype = kinds, ctypes.c_int64
    return functions
