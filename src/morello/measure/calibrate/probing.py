"""Costs of a machine from the times of the programs that come with Morello."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from morello.base.errors import MorelloError
from morello.impl.saved import load
from morello.measure.calibrate.fit import Sample, cross_validated, fit
from morello.measure.calibrate.goals import MEMORY, ProbeGoal
from morello.measure.calibrate.multiplicities import Multiplicities
from morello.measure.calibrate.programs import ProbeProgram, compiled
from morello.measure.calibrate.shipped import probes_of
from morello.measure.stopwatch import Candidate, Stopwatch
from morello.native.toolchain import Compiler
from morello.targets.calibration import Calibration
from morello.targets.costs import coefficients, keep_ratios
from morello.targets.cpu import HostCPU
from morello.targets.target import Target

COMPILED_AFTER = 4.5
TIMED_AFTER = 6.5
"""Deadlines for compiling and for timing, in seconds from the start: slow machines do less."""

GAIN = 1.02
"""Fitted costs are kept if they choose programs faster by this factor: less may be noise."""


def measured(target: Target, cpu: HostCPU, compiler: Compiler) -> Calibration | None:
    """The calibration of this machine: fitted costs, or no costs if the target's choose as well.

    None if there are no programs that it can run. Raises `BuildError`.
    """
    began = perf_counter()
    stopwatch = Stopwatch(compiler)
    hertz = stopwatch.hertz()
    programs, candidates = _compiled(probes(target), compiler, began + COMPILED_AFTER)
    if not programs:
        return None
    times = stopwatch.times(candidates, seconds=began + TIMED_AFTER - perf_counter())
    samples = [
        Sample(program.goal, program.paid, seconds * hertz)
        for program, seconds in zip(programs, times, strict=True)
    ]
    return Calibration(cpu.name, hertz, better(samples, coefficients(target)), "first use")


def better(samples: list[Sample], before: dict[str, float]) -> dict[str, float]:
    """The coefficients fitted to samples; empty unless they choose better than those `before`."""
    regret_before, regret_after = cross_validated(samples, before)
    if regret_before < GAIN * regret_after:
        return {}
    after = keep_ratios(fit(samples, before), before)
    return {name: cost for name, cost in after.items() if cost}


def probes(target: Target) -> list[list[ProbeProgram]]:
    """The programs to time, grouped by Spec, as far as the target can run them.

    Groups in which fewer than two programs are left are dropped.
    """
    name = "avx512" if target.masks else "avx2"
    counted = Multiplicities(target)

    def legal(goal: ProbeGoal, schedules: list[Any]) -> Iterator[ProbeProgram]:
        for schedule in schedules:
            try:
                impl = load(schedule, target)
            except MorelloError:
                continue
            yield ProbeProgram(goal, impl, counted.of(impl))

    entries = json.loads(gzip.decompress(probes_of(name).read_bytes()))
    groups = [
        list(legal(ProbeGoal(entry["expression"], MEMORY), entry["programs"])) for entry in entries
    ]
    return [programs for programs in groups if len(programs) > 1]


def _compiled(
    groups: list[list[ProbeProgram]], compiler: Compiler, end: float
) -> tuple[list[ProbeProgram], list[Candidate]]:
    """All programs of those Specs that can be begun before `end`, compiled; raises `BuildError`."""
    programs: list[ProbeProgram] = []
    candidates: list[Candidate] = []
    for group in groups:
        if perf_counter() > end:
            break
        candidates += compiled(group, compiler, lambda done: None)
        programs += group
    return programs, candidates
