"""Measures a client: compiled twice, compared with its framework, and timed."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.clients import jax_blocks, onnx_models, torch_models
from benchmarks.clients.client import Client, Contest, Fast
from benchmarks.process import environment, pinned
from morello.base.workers import Worker
from morello.models.reporting import ProgramReport

CLIENTS = {
    client.name: client
    for client in (*torch_models.CLIENTS, *jax_blocks.CLIENTS, *onnx_models.CLIENTS)
}
LIMIT_S = 1200.0
"""The most seconds that a process may take for a model."""

LEAST_CALLS = 5


@dataclass(frozen=True)
class Measured:
    """A client on this machine; times in seconds, of calls the medians.

    `programs` are the reports of what was compiled, with the times of kernels if they were asked
    for.
    """

    client: str
    threads: int
    first_compile_s: float
    second_compile_s: float
    ours_s: float
    theirs_s: float
    calls: int
    programs: tuple[ProgramReport, ...]
    left: int
    agreement: str

    @property
    def kernels(self) -> int:
        """How many kernels the programs have."""
        return sum(program.kernel_count for program in self.programs)

    @property
    def segments(self) -> int:
        """How many calls of C run them."""
        return sum(program.segments for program in self.programs)

    @property
    def ratio(self) -> float:
        """How many times as fast as the framework."""
        return self.theirs_s / self.ours_s


def measured(client: Client, threads: int, seconds: float, *, kernels: bool = False) -> Measured:
    """Compile a client's model in two processes, and time it in the second one.

    With `kernels`, each of its kernels is then timed for as long.
    """
    with tempfile.TemporaryDirectory(prefix="morello-clients-") as cache:
        variables = environment(os.environ, threads) | {
            "MORELLO_CACHE": cache,
            "MORELLO_TABLE": f"{cache}/programs.table",
            "TORCHINDUCTOR_CACHE_DIR": cache,
        }
        with Worker(environment=variables) as worker:
            first = worker.run(compile_seconds, client.name, threads, seconds=LIMIT_S)
        with pinned(threads), Worker(environment=variables) as worker:
            return worker.run(timed, client.name, threads, seconds, first, kernels, seconds=LIMIT_S)


def compile_seconds(name: str, threads: int) -> float:
    """The time of compiling, up to the first result."""
    _, seconds = _compiled(CLIENTS[name].contest(threads))
    return seconds


def _compiled(contest: Contest) -> tuple[Fast, float]:
    """The compiled model, and the seconds that it took."""
    begin = time.perf_counter()
    fast = contest.compile()
    return fast, time.perf_counter() - begin


def timed(name: str, threads: int, seconds: float, first: float, kernels: bool) -> Measured:
    """Compile, compare the results, and time both in turns, and then the kernels if asked."""
    contest = CLIENTS[name].contest(threads)
    expected = contest.theirs()
    fast, second = _compiled(contest)
    agreement = contest.agreement(expected, fast.call())
    times: tuple[list[float], list[float]] = ([], [])
    while len(times[0]) < LEAST_CALLS or sum(map(sum, times)) < 2 * seconds:
        for call, those in zip((fast.call, contest.theirs), times, strict=True):
            begin = time.perf_counter()
            call()
            those.append(time.perf_counter() - begin)
    ours, theirs = map(median, times)
    programs = [program.measured(seconds) if kernels else program for program in fast.programs]
    portable = tuple(replace(program, compiled=None) for program in programs)
    return Measured(
        name, threads, first, second, ours, theirs, len(times[0]), portable, fast.left, agreement
    )
