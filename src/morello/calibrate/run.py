"""All of a calibration: programs, their times, the fit, and whether it is better than before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

from morello.calibrate.fit import DECIDED, Quality, Sample, fit, quality
from morello.calibrate.goals import FITTED, HELD_OUT
from morello.calibrate.programs import compiled, found
from morello.calibrate.stopwatch import Stopwatch
from morello.runtime.threads import available_threads
from morello.runtime.toolchain import Compiler
from morello.targets.calibration import Calibration
from morello.targets.costs import FORK, coefficients, tied
from morello.targets.cpu import HostCPU
from morello.targets.target import Target

SEARCH_SECONDS = 60.0
"""How long to look for programs; timing them takes a few seconds more."""

LEAST_FORK = 100.0
"""Cycles: no parallel loop costs less, whatever was measured at a noisy moment."""

Report = Callable[[str, int], None]
"""Told what is being done, and how many of these are done."""


@dataclass(frozen=True)
class Outcome:
    """What was measured, and how well it predicts programs, those fitted and those held out.

    `measured` are the coefficients that programs said something about.
    """

    calibration: Calibration
    before: Mapping[str, float]
    measured: frozenset[str]
    fitted: tuple[Quality, Quality]
    held_out: tuple[Quality, Quality]
    programs: int
    seconds: float

    @property
    def better(self) -> bool:
        """Whether the held-out programs are predicted better, and none chosen worse."""
        before, after = self.held_out
        return after.error < before.error and after.regret < DECIDED * before.regret


def calibrate(target: Target, cpu: HostCPU, compiler: Compiler, report: Report) -> Outcome:
    """Measure this machine, whose target is given with the costs that come with Morello.

    Raises `BuildError` if there is no compiler that works.
    """
    began = perf_counter()
    stopwatch = Stopwatch(compiler)
    report("clock", 0)
    hertz = stopwatch.hertz()
    programs = found((*HELD_OUT, *FITTED), target, SEARCH_SECONDS, lambda n: report("search", n))
    candidates = compiled(programs, compiler, lambda n: report("compile", n))
    times = stopwatch.times(candidates, progress=lambda n: report("time", n))
    samples = [
        Sample(program.goal, program.paid, seconds * hertz)
        for program, seconds in zip(programs, times, strict=True)
    ]
    report("threads", 0)
    forked = _fork(stopwatch, hertz)
    return judged(samples, coefficients(target), forked, cpu, hertz, perf_counter() - began)


def judged(
    samples: list[Sample],
    before: Mapping[str, float],
    forked: Mapping[str, float],
    cpu: HostCPU,
    hertz: float,
    seconds: float,
) -> Outcome:
    """The fit of some samples, and what the others say of it."""
    fitted = [sample for sample in samples if sample.goal in FITTED]
    held_out = [sample for sample in samples if sample.goal in HELD_OUT]
    after = tied({**fit(fitted, before), **forked}, before)
    return Outcome(
        Calibration(cpu.name, hertz, {name: cost for name, cost in after.items() if cost}),
        before,
        frozenset(forked).union(*(sample.paid for sample in fitted)),
        (quality(fitted, before), quality(fitted, after)),
        (quality(held_out, before), quality(held_out, after)),
        len(samples),
        seconds,
    )


def _fork(stopwatch: Stopwatch, hertz: float) -> dict[str, float]:
    """The cycles of a parallel loop, where there is more than one core to run it."""
    threads = available_threads()
    if threads < 2:
        return {}
    return {FORK: max(LEAST_FORK, stopwatch.fork(threads) * hertz)}
