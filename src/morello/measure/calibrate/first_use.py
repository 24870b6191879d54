"""Calibrating a machine when it is first used, so that no choice rests on published costs alone.

About seventy programs that come with Morello are timed: those whose ranking depends on uncertain
costs. Costs are fitted to their times, but replace the published ones only if they choose faster
programs for Specs that they were not fitted to.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from morello.base.errors import BuildError, FileError
from morello.base.files import check_writable, make_folder
from morello.measure.calibrate.shipped import probes_of
from morello.native.toolchain import find_compiler
from morello.targets.calibration import save
from morello.targets.calibration_path import VARIABLE, default_path
from morello.targets.catalog import find_target, host_machine, native, uncalibrated
from morello.targets.cpu import HostCPU, host_cpu
from morello.targets.target import Target


def find_calibrated(name: str) -> Target:
    """The target called `name`; for `native`, this machine is calibrated before its first use.

    Raises `TargetError`.
    """
    measure_once(name)
    return find_target(name)


def measure_once(name: str) -> None:
    """Calibrate this machine and save the result, if only published costs are known for it.

    Does nothing if another is named, `$MORELLO_CALIBRATION` is set, nothing can be saved, or no
    compiler works.
    """
    if name != "native" or os.environ.get(VARIABLE):
        return
    cpu = host_cpu()
    if _is_known(cpu):
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
            from morello.measure.calibrate.probing import measured  # slow, and needed once

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
    if machine is None or not probes_of(machine.target).exists():
        return True
    return machine.source == "measured" and cpu.number in machine.models.get(cpu.family, ())


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
