"""A full calibration: finding and timing programs, the fit, and a check of what it chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from time import perf_counter

from morello.codegen import generate
from morello.impl.tree import Impl
from morello.measure.calibrate.fit import DECIDED, FitQuality, Sample, fit, quality
from morello.measure.calibrate.goals import CHECKED, FITTED, HELD_OUT, ProbeGoal
from morello.measure.calibrate.programs import ProbeProgram, cheapest, compiled, find_programs
from morello.measure.stopwatch import Stopwatch
from morello.native.toolchain import Compiler
from morello.runtime.threads import available_threads
from morello.targets.calibration import Calibration, applied
from morello.targets.costs import FORK, coefficients, keep_ratios
from morello.targets.cpu import HostCPU
from morello.targets.target import Target

SEARCH_SECONDS = 60.0
"""How long to search for programs; timing and checking take about twenty seconds more."""

SLOWER = 1.03
"""The factor by which noise alone may make a program slower."""

MIN_FORK = 100.0
"""The least cost of a parallel loop, in cycles, in case noise makes the measured one too low."""

Report = Callable[[str, int], None]
"""A progress callback: takes the name of a phase, and how many of its items are done."""


@dataclass(frozen=True)
class Check:
    """The seconds that a goal takes with the programs that the old and the new costs choose."""

    expression: str
    before: float
    after: float


@dataclass(frozen=True)
class CalibrationOutcome:
    """The result of a calibration, and how well it predicts the programs fitted and held out.

    `fitted` and `held_out` are the qualities on either set, each for the costs `before` and for
    the new ones. `measured` are the coefficients that some fitted program pays, or that are
    measured directly. `checks` compare the programs that the new costs choose with those chosen
    now. `timed` are all programs and the seconds that a call of each takes.
    """

    calibration: Calibration
    before: Mapping[str, float]
    measured: frozenset[str]
    fitted: tuple[FitQuality, FitQuality]
    held_out: tuple[FitQuality, FitQuality]
    programs: int
    checks: Sequence[Check] = ()
    seconds: float = 0.0
    timed: Sequence[tuple[Impl, float]] = ()

    @property
    def after(self) -> Mapping[str, float]:
        """The new coefficients; a calibration leaves those out that cost nothing."""
        return {**self.before, **self.calibration.coefficients}

    @property
    def better(self) -> bool:
        """Whether held-out programs are predicted better, and the chosen programs are no slower."""
        return not self.drawbacks

    @property
    def drawbacks(self) -> list[str]:
        """Each reason not to keep the new costs, as what "they" do."""
        before, after = self.held_out
        drawbacks = []
        if after.error >= before.error:
            drawbacks.append("predict the programs held out no better")
        if after.regret >= DECIDED * before.regret:
            drawbacks.append("choose slower ones of the programs held out")
        if fmean([check.after / check.before for check in self.checks] or [1.0]) > 1.0:
            drawbacks.append("choose slower programs in the mean of all expressions")
        slower = [check for check in self.checks if check.after > SLOWER * check.before]
        if slower:
            texts = (f"{check.expression} ({check.before / check.after:.2f})" for check in slower)
            drawbacks.append(
                f"choose a program less than {1 / SLOWER:.2f} times as fast for {', '.join(texts)}"
            )
        return drawbacks


def calibrate(
    target: Target, current: Target, cpu: HostCPU, compiler: Compiler, report: Report
) -> CalibrationOutcome:
    """Calibrate this machine; `target` has Morello's own costs, `current` those in use now.

    Raises `BuildError` if there is no compiler that works.
    """
    began = perf_counter()
    stopwatch = Stopwatch(compiler)
    report("clock", 0)
    hertz = stopwatch.hertz()
    programs = find_programs(
        (*HELD_OUT, *FITTED), target, SEARCH_SECONDS, lambda n: report("search", n)
    )
    candidates = compiled(programs, compiler, lambda n: report("compile", n))
    times = stopwatch.times(candidates, progress=lambda n: report("time", n))
    samples = [
        Sample(program.goal, program.paid, seconds * hertz)
        for program, seconds in zip(programs, times, strict=True)
    ]
    report("threads", 0)
    forked = _fork(stopwatch, hertz)
    outcome = judged(samples, coefficients(target), forked, cpu, hertz)
    checks = checked(CHECKED, current, applied(target, outcome.calibration), stopwatch, report)
    timed = [(program.impl, seconds) for program, seconds in zip(programs, times, strict=True)]
    return replace(outcome, checks=checks, timed=timed, seconds=perf_counter() - began)


def judged(
    samples: list[Sample],
    before: Mapping[str, float],
    forked: Mapping[str, float],
    cpu: HostCPU,
    hertz: float,
) -> CalibrationOutcome:
    """A fit to the samples of `FITTED`, with its quality on these and on those of `HELD_OUT`."""
    fitted = [sample for sample in samples if sample.goal in FITTED]
    held_out = [sample for sample in samples if sample.goal in HELD_OUT]
    after = keep_ratios({**fit(fitted, before), **forked}, before)
    return CalibrationOutcome(
        Calibration(cpu.name, hertz, {name: cost for name, cost in after.items() if cost}),
        before,
        frozenset(forked).union(*(sample.paid for sample in fitted)),
        (quality(fitted, before), quality(fitted, after)),
        (quality(held_out, before), quality(held_out, after)),
        len(samples),
    )


def checked(
    goals: Sequence[ProbeGoal], before: Target, after: Target, stopwatch: Stopwatch, report: Report
) -> list[Check]:
    """The times of the programs that two targets' costs choose for each goal, taken in turns."""
    pairs = []
    for done, goal in enumerate(goals, start=1):
        pairs.append([ProbeProgram(goal, cheapest(goal, target), {}) for target in (before, after)])
        report("check", done)
    programs = [program for pair in pairs for program in pair]
    candidates = compiled(programs, stopwatch.compiler, lambda n: report("compile", n))
    times = stopwatch.times(candidates, progress=lambda n: report("time", n))
    return [
        Check(old.goal.expression, a, a if generate(old.impl) == generate(new.impl) else b)
        for (old, new), a, b in zip(pairs, times[::2], times[1::2], strict=True)
    ]


def _fork(stopwatch: Stopwatch, hertz: float) -> dict[str, float]:
    """The measured cost of a parallel loop, in cycles; empty if there is only one thread."""
    threads = available_threads()
    if threads < 2:
        return {}
    return {FORK: max(MIN_FORK, stopwatch.fork(threads) * hertz)}
