"""This machine: its clock, its peaks, and the overheads of calls."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.native import loops, on_pointers, pointer
from morello.measure.bounds import Peak
from morello.measure.peaks import measured_peak
from morello.measure.timing import runner
from morello.targets.cpu import host_cpu

TRIES = 60
"""Many short attempts: on a shared machine, some of them are undisturbed."""


@dataclass(frozen=True)
class Machine:
    """The CPU, its clock in GHz, its peaks by threads, and the times of empty calls in ns."""

    cpu: str
    cores: int
    ghz: float
    peaks: Mapping[int, Peak]
    call_ns: Mapping[str, float]


def measure_machine(threads: tuple[int, ...]) -> Machine:
    """Measure this machine; takes a few seconds."""
    peaks = {n: measured_peak(n) for n in threads}
    return Machine(
        cpu=host_cpu().model or host_cpu().machine,
        cores=len(os.sched_getaffinity(0)),
        ghz=max(peak.hertz for peak in peaks.values()) / 1e9,
        peaks=peaks,
        call_ns=_calls(),
    )


def _calls() -> dict[str, float]:
    """The nanoseconds of calling a function that does nothing, by kind of call."""
    library = loops()
    nothing = library.nothing
    address = ctypes.cast(nothing, ctypes.c_void_p).value or 0
    argument = np.zeros(1)
    calls = 10_000
    looped = on_pointers(address, [argument, argument], keep=library)

    def empty() -> None:
        pass

    def fewest(run: Callable[[int], float]) -> float:
        return min(run(calls) for _ in range(TRIES)) / calls

    where = pointer(argument)
    return {
        "a C function from C": 1e9 * fewest(looped),
        "a Python function from Python": fewest(runner(empty)),
        "a C function through ctypes": fewest(runner(lambda: nothing(where, where))),
    }
