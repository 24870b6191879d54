"""Measures a client: compiled twice, compared with its framework, and timed."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

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
    for. `others_s` are the times of further programs by their names, `failed` the errors of those
    that did not run.
    """

    client: str
    threads: int
    first_compile_s: float
    second_compile_s: float
    ours_s: float
    theirs_s: float
    programs: tuple[ProgramReport, ...]
    left: int
    agreement: str
    others_s: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def kernels(self) -> int:
        """How many kernels the programs have."""
        return sum(program.kernel_count for program in self.programs)

    @property
    def segments(self) -> int:
        """How many calls of C run them."""
        return sum(program.segments for program in self.programs)

    @property
    def fastest(self) -> tuple[str, float]:
        """The fastest of the others, the framework among them, and its time."""
        every = {CLIENTS[self.client].rival: self.theirs_s} | self.others_s
        return min(every.items(), key=lambda each: each[1])

    @property
    def ratio(self) -> float:
        """How many times as fast as the fastest of the others."""
        return self.fastest[1] / self.ours_s


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
    """Compile, compare the results, and time all in turns, and then the kernels if asked."""
    contest = CLIENTS[name].contest(threads)
    expected = contest.theirs()
    fast, second = _compiled(contest)
    agreement = contest.agreement(expected, fast.call())
    others, failed = rivals(contest, expected)
    ours, theirs, *rest = _medians([fast.call, contest.theirs, *others.values()], seconds)
    programs = [program.measured(seconds) if kernels else program for program in fast.programs()]
    portable = tuple(replace(program, compiled=None) for program in programs)
    return Measured(
        name, threads, first, second, ours, theirs, portable, fast.left, agreement,
        dict(zip(others, rest, strict=True)), failed,
    )  # fmt: skip


def rivals(contest: Contest, expected: Any) -> tuple[dict[str, Callable[[], Any]], dict[str, str]]:
    """The further programs that give the expected results, and why others do not."""
    calls, failed = {}, {}
    for name, make in contest.others.items():
        try:
            call = make()
            contest.agreement(expected, call())
        except Exception as error:  # whatever another compiler raises
            failed[name] = (str(error) or type(error).__name__).splitlines()[0]
        else:
            calls[name] = call
    return calls, failed


def _medians(calls: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """The time of each call, which take turns until they have run for so long in the mean."""
    times: list[list[float]] = [[] for _ in calls]
    while len(times[0]) < LEAST_CALLS or sum(map(sum, times)) < len(calls) * seconds:
        for call, those in zip(calls, times, strict=True):
            begin = time.perf_counter()
            call()
            those.append(time.perf_counter() - begin)
    return [median(those) for those in times]
