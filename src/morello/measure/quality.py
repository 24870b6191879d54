"""How well the cost model predicts measured times, for programs of one Spec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any, SupportsIndex

from morello.base.errors import SearchError, quoted
from morello.base.status import tell
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.measure.choose import COMPILER_S, candidate_impls
from morello.measure.correlation import kendall_tau
from morello.measure.load import load_all
from morello.measure.timing import check_seconds, in_turns, measure, runner
from morello.native.toolchain import Compiler, find_compiler
from morello.runtime.kernel import CompiledKernel
from morello.runtime.machine import check_memory, check_runs_here
from morello.runtime.packing import random_inputs
from morello.runtime.verify import CheckedOutputs
from morello.search.budget import SECONDS, Budget, Progress
from morello.search.session import Session
from morello.targets.target import Target

MOST_SAMPLES = 100_000
"""The most programs that may be sampled; each of them has to be compiled."""

CHOICES = 5
"""How many of the search's first choices are measured besides the samples."""

SLOW = 4.0
"""Programs whose calls take this many times the fastest one's are not timed for long."""

CLOSE = 1.3
"""Programs within this factor of the fastest one are timed once more."""

CALLS = 10
"""Further calls of slow programs, as long as they fit in the seconds for each program."""


@dataclass(frozen=True)
class Point:
    """A program, and the time that a call takes, in seconds.

    `choice` is its number among the search's choices, from 0; None for a sample.
    """

    impl: Impl
    seconds: float
    choice: int | None = None

    @property
    def predicted(self) -> float:
        """The predicted cost of a call, in cycles."""
        return self.impl.cost

    def data(self) -> dict[str, Any]:
        return {"cycles": self.predicted, "seconds": self.seconds, "choice": self.choice}


@dataclass(frozen=True)
class Quality:
    """Predicted costs and measured times of programs of one Spec, all verified."""

    spec: Spec
    target: Target
    points: tuple[Point, ...]

    @property
    def tau(self) -> float:
        """The rank correlation of predicted costs and measured times; 1 if their orders agree."""
        predicted, seconds = zip(*((p.predicted, p.seconds) for p in self.points), strict=True)
        return kendall_tau(predicted, seconds)

    @property
    def fastest_s(self) -> float:
        """The least time, in seconds."""
        return min(point.seconds for point in self.points)

    def regret(self, choices: int = 1) -> float:
        """How much slower the fastest of the first choices is than the fastest: a fraction."""
        chosen = (p.seconds for p in self.points if p.choice is not None and p.choice < choices)
        return min(chosen) / self.fastest_s - 1

    def data(self) -> dict[str, Any]:
        return {
            "spec": self.spec.expression,
            "target": self.target.name,
            "threads": self.target.cores if self.spec.parallel else 1,
            "programs": len(self.points),
            "tau": None if isnan(self.tau) else self.tau,
            "regret": self.regret(),
            "regret_of_choices": self.regret(CHOICES),
            "choices": CHOICES,
            "points": [point.data() for point in self.points],
        }


def check_sampling(samples: int, seed: int, seconds: float) -> None:
    """Raise `SearchError` for numbers that `assess` cannot work with."""
    if not isinstance(samples, SupportsIndex) or not 1 <= samples <= MOST_SAMPLES:
        raise SearchError(f"1 to {MOST_SAMPLES:,} programs can be sampled, not {quoted(samples)}.")
    if not isinstance(seed, SupportsIndex) or seed < 0:
        raise SearchError(f"a seed is a whole number of at least 0, not {quoted(seed)}.")
    check_seconds(seconds)


def assess(
    best: Impl,
    samples: int = 100,
    *,
    seconds: float = 0.1,
    seed: int = 0,
    budget: float = SECONDS,
    compiler: str | None = None,
    progress: Progress | None = None,
) -> Quality:
    """Build, verify and time random programs of a Spec, and the search's first choices.

    `best` is the Spec's cheapest program, from `morello.implement`. Each program is timed for about
    `seconds`, in turns; programs much slower than the fastest are called only a few times, and
    those that take the compiler too long are left out. Each of the two searches for them may take
    `budget` seconds. Raises `SearchError` for numbers that cannot be, and `VerificationError` if a
    program computes a wrong output.
    """
    check_sampling(samples, seed, seconds)
    goal, machine = best.spec, best.target
    check_runs_here(machine)
    check_memory(goal)
    built = programs(
        best, CHOICES, samples, seed, find_compiler(compiler), Budget(budget), progress
    )
    times = _times(goal, [program.kernel for program in built], seconds)
    points = [
        Point(program.impl, took, program.choice)
        for program, took in zip(built, times, strict=True)
    ]
    return Quality(goal, machine, tuple(points))


@dataclass(frozen=True)
class VerifiedProgram:
    """A program and its kernel. `choice` is that of `Point`."""

    impl: Impl
    kernel: CompiledKernel
    choice: int | None


def programs(
    best: Impl,
    choices: int,
    samples: int,
    seed: int,
    compiler: Compiler,
    limit: Budget,
    progress: Progress | None = None,
) -> list[VerifiedProgram]:
    """The search's first choices for the goal of `best`, its cheapest program, and random ones.

    Each of the two searches may use the budget `limit`. Programs that take the compiler too long
    are left out.
    """
    session = Session(best.spec, best.target, cost=best.cost)
    chosen = candidate_impls(best, session, choices, limit.start(progress))
    drawn = session.sample(samples, seed, limit.start(progress))
    impls = [*chosen, *(reconstruct(best.spec, best.target, decisions) for decisions in drawn)]
    tell(phase="build", note=f"{len(impls)} programs")
    kernels = load_all(impls, compiler, COMPILER_S)
    return [
        VerifiedProgram(impl, kernel, n if n < len(chosen) else None)
        for n, (impl, kernel) in enumerate(zip(impls, kernels, strict=True))
        if kernel is not None
    ]


def first_calls(
    goal: Spec, kernels: Sequence[CompiledKernel]
) -> tuple[list[Callable[[], object]], list[float]]:
    """A function that calls each kernel, on the same arrays, and the seconds of its first call.

    Raises `VerificationError` if a kernel computes a wrong output.
    """
    tell(phase="verify")
    inputs = random_inputs(goal)
    outputs = CheckedOutputs(goal, inputs.plain)
    calls: list[Callable[[], object]] = []
    times = []
    for kernel in kernels:
        outputs.clear()
        calls.append(partial(kernel.fast, *inputs.taken, *outputs.taken))
        times.append(runner(calls[-1])(1) * 1e-9)
        outputs.check(f"(of {len(kernels)} programs)")
    return calls, times


def _times(goal: Spec, kernels: Sequence[CompiledKernel], seconds: float) -> list[float]:
    """The minimum time of a call of each kernel, in seconds; all get the same arrays."""
    calls, times = first_calls(goal, kernels)
    slow = [n for n, took in enumerate(times) if took > SLOW * min(times)]
    for done in range(CALLS):
        chosen = [n for n in slow if done * times[n] < seconds]
        samples = next(in_turns([runner(calls[n]) for n in chosen], [1] * len(chosen)))
        for n, nanoseconds in zip(chosen, samples, strict=True):
            times[n] = min(times[n], nanoseconds * 1e-9)
    # Time those near the fastest more precisely, as they decide the regret.
    for near, repeats in ((SLOW, 3), (CLOSE, 9)):
        close = {str(n): calls[n] for n, took in enumerate(times) if took <= near * min(times)}
        timings = measure(close, seconds=seconds, repeats=repeats, pin=not goal.parallel)
        for name, timing in timings.items():
            times[int(name)] = min(times[int(name)], timing.min_s)
    return times
