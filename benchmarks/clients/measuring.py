"""Measures a client: compiled twice, compared with its framework, and timed."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median

from benchmarks.clients import jax_blocks, onnx_models, torch_models
from benchmarks.clients.client import Client, Contest, Fast
from benchmarks.process import environment
from morello.base.workers import PausedWorker, Worker
from morello.measure.timing import pinned
from morello.models.reporting import ProgramReport

CLIENTS = {
    client.name: client
    for client in (*torch_models.CLIENTS, *jax_blocks.CLIENTS, *onnx_models.CLIENTS)
}
LIMIT_S = 1200.0
"""The most seconds that a process may take for a model."""

LEAST_CALLS = 5
TURN_S = 0.2
"""The seconds of a turn."""

OURS = "Morello"


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
    trace_s: float = 0.0
    """Seconds of the second compilation that the framework needs to trace the model."""
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

    Each program that runs the model has a process of its own; they take turns until each has run
    for so many `seconds`. With `kernels`, each of the kernels is then timed for as long.
    """
    with ExitStack() as stack:
        cache = stack.enter_context(tempfile.TemporaryDirectory(prefix="morello-clients-"))
        variables = environment(os.environ, threads) | {
            "MORELLO_CACHE": cache,
            "MORELLO_TABLE": f"{cache}/programs.table",
            "TORCHINDUCTOR_CACHE_DIR": cache,
        }
        with Worker(environment=variables) as worker:
            first = worker.run(compile_seconds, client.name, threads, seconds=LIMIT_S)

        def process(program: str) -> tuple[PausedWorker, Ready]:
            worker = stack.enter_context(PausedWorker(environment=variables))
            with pinned(threads):
                worker.start()
            return worker, worker.run(prepare, client.name, threads, program, seconds=LIMIT_S)

        with Worker(environment=variables) as worker:
            trace = worker.run(trace_seconds, client.name, threads, seconds=LIMIT_S)
        ours, ready = process(OURS)
        racers, failed = {OURS: ours, client.rival: process(client.rival)[0]}, {}
        for name in ready.others:
            worker, other = process(name)
            if other.error:
                failed[name] = other.error
            else:
                racers[name] = worker
        turns = {name: partial(racer.run, turn, seconds=LIMIT_S) for name, racer in racers.items()}
        times = medians(turns, seconds)
        programs, left = ours.run(reports, seconds if kernels else 0.0, seconds=LIMIT_S)
    return Measured(
        client.name, threads, first, ready.compile_s, times.pop(OURS), times.pop(client.rival),
        programs, left, ready.agreement, times, trace, failed,
    )  # fmt: skip


def medians(turns: Mapping[str, Callable[[], list[float]]], seconds: float) -> dict[str, float]:
    """The time of a call of each program, which take turns until each has run for so long."""
    times: dict[str, list[float]] = {name: [] for name in turns}
    while any(len(those) < LEAST_CALLS or sum(those) < seconds for those in times.values()):
        for name, of_a_turn in turns.items():
            times[name] += of_a_turn()
    return {name: median(those) for name, those in times.items()}


# ---- in the process of a program


@dataclass(frozen=True)
class Ready:
    """A program that can be timed: in how many seconds it was compiled, up to the first result.

    `others` are the further programs that run the model. `error` is why this one does not run.
    """

    compile_s: float = 0.0
    agreement: str = ""
    others: tuple[str, ...] = ()
    error: str = ""


_ready: list[Fast] = []
"""The program of this process, once it is prepared."""


def compile_seconds(name: str, threads: int) -> float:
    """The time of compiling a client's model, up to the first result."""
    _, seconds = _compiled(CLIENTS[name].contest(threads).compile)
    return seconds


def trace_seconds(name: str, threads: int) -> float:
    """The time that the framework alone takes to trace a client's model; 0 if it does not."""
    trace = CLIENTS[name].contest(threads).trace
    begin = time.perf_counter()
    if trace is not None:
        trace()
    return time.perf_counter() - begin if trace is not None else 0.0


def prepare(name: str, threads: int, program: str) -> Ready:
    """Compile a client's model as a program does, and compare the result with the framework's."""
    client = CLIENTS[name]
    contest = client.contest(threads)
    if program == OURS:
        return _compared(contest, contest.compile)
    if program == client.rival:
        return _compared(contest, lambda: Fast(contest.theirs, tuple, 0))
    other = contest.others[program]
    try:
        return _compared(contest, lambda: Fast(other(), tuple, 0))
    except Exception as error:  # whatever another compiler raises
        return Ready(error=(str(error) or type(error).__name__).splitlines()[0])


def _compared(contest: Contest, make: Callable[[], Fast]) -> Ready:
    """Compile a program, and compare its result. Raises `AssertionError` if that is not right."""
    expected = contest.theirs()
    fast, seconds = _compiled(make)
    agreement = contest.agreement(expected, fast.call())
    _ready[:] = [fast]
    return Ready(seconds, agreement, tuple(contest.others))


def _compiled(make: Callable[[], Fast]) -> tuple[Fast, float]:
    """The compiled model, and the seconds that it took."""
    begin = time.perf_counter()
    fast = make()
    return fast, time.perf_counter() - begin


def turn() -> list[float]:
    """The seconds of each of several calls, after one that is not timed."""
    (fast,) = _ready
    fast.call()
    times: list[float] = []
    while sum(times) < TURN_S:
        begin = time.perf_counter()
        fast.call()
        times.append(time.perf_counter() - begin)
    return times


def reports(seconds: float) -> tuple[tuple[ProgramReport, ...], int]:
    """The programs of the model, each kernel timed for so many seconds, and the nodes left."""
    (fast,) = _ready
    programs = [each.measured(seconds) if seconds else each for each in fast.programs()]
    return tuple(replace(program, compiled=None) for program in programs), fast.left
