"""Calibrating a machine when it is first used, so that no choice rests on published costs alone.

About seventy programs that come with Morello are timed: those whose ranking depends on uncertain
costs. Costs are fitted to their times, but replace the published ones only if they choose faster
programs for Specs that they were not fitted to.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from morello.base.errors import BuildError, FileError, MorelloError
from morello.base.files import check_writable, make_folder
from morello.impl.saved import load
from morello.measure.calibrate.fit import Sample, cross_validated, fit
from morello.measure.calibrate.goals import MEMORY, ProbeGoal
from morello.measure.calibrate.multiplicities import Multiplicities
from morello.measure.calibrate.programs import ProbeProgram, compiled
from morello.measure.stopwatch import Candidate, Stopwatch
from morello.runtime.toolchain import Compiler, find_compiler
from morello.targets.calibration import VARIABLE, Calibration, default_path, save
from morello.targets.catalog import find_target, host_machine, native, uncalibrated
from morello.targets.costs import coefficients, keep_ratios
from morello.targets.cpu import HostCPU, host_cpu
from morello.targets.target import Target

PROBES = Path(__file__).with_name("probes")
"""A gzipped JSON file per target: Specs, each an `expression` and its `programs` (schedules)."""

COMPILED_AFTER = 4.5
TIMED_AFTER = 6.5
"""Deadlines for compiling and for timing, in seconds from the start: slow machines do less."""

GAIN = 1.02
"""Fitted costs are kept if they choose programs faster by this factor: less may be noise."""


def find_calibrated(name: str) -> Target:
    """The target called `name`; for `native`, this machine is calibrated before its first use.

    Raises `TargetError`.
    """
    if name == "native":
        _measure_once(host_cpu())
    return find_target(name)


def _measure_once(cpu: HostCPU) -> None:
    """Calibrate this machine and save the result, if only published costs are known for it.

    Does nothing if `$MORELLO_CALIBRATION` is set, nothing can be saved, or no compiler works.
    """
    if os.environ.get(VARIABLE) or _is_known(cpu):
        return
    try:
        path = default_path(cpu)
        if path.exists():
            return
        target, compiler = uncalibrated(), find_compiler()
        make_folder(path)
        check_writable(path)
        with _locked(path.parent):
            if path.exists():  # another process was first
                return
            _say(f"measuring this machine once, for some seconds ({VARIABLE}=off: never) ...")
            began = perf_counter()
            calibration = measured(target, cpu, compiler)
            if calibration is None:
                return
            save(calibration, path)
    except (BuildError, FileError, OSError):  # OSError: a file system without locks
        return
    kept = "replace" if calibration.coefficients else "are no better than"
    took = perf_counter() - began
    _say(f"took {took:.1f} s; measured costs {kept} the published ones. Kept in {path}")
    native.cache_clear()


def _is_known(cpu: HostCPU) -> bool:
    """Whether costs were measured on this CPU model, or there are no programs to time here."""
    machine = host_machine()
    if machine is None or not _probes_of(machine.target).exists():
        return True
    return machine.source == "measured" and cpu.number in machine.models.get(cpu.family, ())


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

    entries = json.loads(gzip.decompress(_probes_of(name).read_bytes()))
    groups = [
        list(legal(ProbeGoal(entry["expression"], MEMORY), entry["programs"])) for entry in entries
    ]
    return [programs for programs in groups if len(programs) > 1]


def _probes_of(target: str) -> Path:
    return PROBES / f"{target}.json.gz"


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


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the exclusive lock on a folder; other processes wait for it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _say(text: str) -> None:
    print(f"morello: {text}", file=sys.stderr, flush=True)
