"""What this machine can do at most, measured: products, reading memory, calling functions."""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat

import numpy as np

from benchmarks.native import compiled, on_pointers, pointer
from benchmarks.work import Array
from morello.runtime.argument import aligned_bytes
from morello.targets.cpu import host_cpu

DTYPES = ("f32", "bf16", "u8")
READ_KIB = (16, 32, 64, 256, 512, 1024, 4096, 16384, 32768, 65536, 262144)
Rounds = Callable[[int], int]
"""Does something so many times, and gives the nanoseconds it took."""

READ_AT_ONCE = 100 << 20
"""Bytes, some milliseconds' worth."""
TRIES, TRY_S = 60, 0.001
"""Many short tries: on a machine that others use, some of them are undisturbed."""


@dataclass(frozen=True)
class Peak:
    """The most on some threads: billions of operations a second by dtype, GB/s by bytes read."""

    gops: Mapping[str, float]
    reads: Mapping[int, float]

    def bandwidth(self, size: int) -> float:
        """GB/s of reading about as many bytes again and again."""
        nearest = min(self.reads, key=lambda known: abs(math.log(known / size)))
        return self.reads[nearest]

    def product_seconds(self, flops: int, dtype: str) -> float:
        """What the products of some work take at least."""
        peak = self.gops.get(dtype, 0.0)
        return flops / peak / 1e9 if peak else 0.0

    def memory_seconds(self, size: int) -> float:
        """What reading as many bytes takes."""
        return size / self.bandwidth(size) / 1e9


@dataclass(frozen=True)
class Machine:
    """The CPU, its clock in GHz, its peaks by threads, and what an empty call takes, in ns."""

    cpu: str
    cores: int
    ghz: float
    peaks: Mapping[int, Peak]
    call_ns: Mapping[str, float]


def measure_machine(threads: tuple[int, ...]) -> Machine:
    """Measure it; takes a few seconds."""
    library = _library()
    cycles = library.clock_width() * 12
    took = _fastest(library.clock_cycles)
    return Machine(
        cpu=host_cpu().model or host_cpu().machine,
        cores=len(os.sched_getaffinity(0)),
        ghz=cycles / took,
        peaks={n: _peak(library, n) for n in threads},
        call_ns=_calls(library),
    )


def _library() -> ctypes.CDLL:
    library = compiled("machine.c")
    for name in (*DTYPES, "clock_cycles", "read_all", "chains", "clock_width"):
        getattr(library, name).restype = ctypes.c_int64
    for name in (*DTYPES, "clock_cycles"):
        getattr(library, name).argtypes = [ctypes.c_int64]
    library.read_all.argtypes = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64]
    return library


def _peak(library: ctypes.CDLL, threads: int) -> Peak:
    gops = {}
    for dtype in DTYPES:
        width = getattr(library, f"{dtype}_width")() * library.chains()
        rate = partial(_best_rate, getattr(library, dtype))
        gops[dtype] = width * _together([rate] * threads)
    reads = {}
    for size in (kib << 10 for kib in READ_KIB):
        readers = _readers(library, size, threads)
        rounds = _together([partial(_best_rate, reader) for reader in readers])
        reads[size] = rounds * (size // threads)
    return Peak(gops, reads)


def reading(size: int, threads: int) -> Callable[[], float]:
    """A function that reads so many bytes on some threads, and gives the seconds that takes.

    It reads them again and again, the first time not timed: what is small enough is in a cache.
    What streaming takes just now, since that changes where others use the machine as well.
    """
    readers = _readers(_library(), size, threads)
    rounds = max(1, READ_AT_ONCE // size)

    def rate(read: Rounds) -> float:
        read(1)
        return rounds / read(rounds)

    return lambda: 1e-9 * threads / _together([partial(rate, reader) for reader in readers])


def _readers(library: ctypes.CDLL, size: int, threads: int) -> list[Rounds]:
    """For each thread, what reads its part of so many bytes."""

    def reader(part: Array) -> Rounds:
        return lambda n: int(library.read_all(n, pointer(part), part.size))

    return [reader(_memory(size // threads)) for _ in range(threads)]


def _memory(size: int) -> Array:
    """Bytes that are there, on a cache line."""
    memory, offset = aligned_bytes(0, size)
    memory[...] = 1
    return memory[offset : offset + size]


def _best_rate(run: Rounds) -> float:
    """Rounds a nanosecond, at best."""
    return 1 / _fastest(run)


def _fastest(run: Rounds) -> float:
    """Nanoseconds a round, at best."""
    rounds, best = 1, math.inf
    while (took := run(rounds)) < TRY_S * 1e9:
        rounds = max(rounds * 2, min(rounds * 100, int(1.2 * rounds * TRY_S * 1e9 / max(took, 1))))
    for _ in range(TRIES):
        best = min(best, run(rounds) / rounds)
    return best


def _together(rates: Sequence[Callable[[], float]]) -> float:
    """The sum of what threads reach at the same time, each on a CPU of its own."""
    threads = len(rates)
    cpus = sorted(os.sched_getaffinity(0))[-threads:]
    found = [0.0] * threads
    ready = threading.Barrier(threads)

    def run(thread: int) -> None:
        os.sched_setaffinity(0, {cpus[thread % len(cpus)]})
        ready.wait()
        found[thread] = rates[thread]()

    workers = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(found)


def _calls(library: ctypes.CDLL) -> dict[str, float]:
    """What calling a function that does nothing takes."""
    nothing = library.nothing
    address = ctypes.cast(nothing, ctypes.c_void_p).value or 0
    argument = np.zeros(1)
    calls = 10_000
    looped = on_pointers(address, [argument, argument], keep=library)

    def python(function: Callable[[], object]) -> float:
        rounds = repeat(None, calls)
        began = time.perf_counter_ns()
        for _ in rounds:
            function()
        return (time.perf_counter_ns() - began) / calls

    def empty() -> None:
        pass

    where = pointer(argument)
    return {
        "a C function from C": min(looped(calls) for _ in range(TRIES)) / calls * 1e9,
        "a Python function from Python": min(python(empty) for _ in range(TRIES)),
        "a C function through ctypes": min(
            python(lambda: nothing(where, where)) for _ in range(TRIES)
        ),
    }
