"""Measured peaks of this machine: rates of products and of reading memory, and call overheads."""

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
"""Does something this many times, and returns the nanoseconds it took."""

READ_AT_ONCE = 100 << 20
"""Bytes that one sample reads: some milliseconds."""
TRIES, TRY_S = 60, 0.001
"""Many short attempts: on a shared machine, some of them are undisturbed."""


@dataclass(frozen=True)
class Peak:
    """The peak of some threads: billions of operations a second by dtype, GB/s by bytes read."""

    gops: Mapping[str, float]
    reads: Mapping[int, float]

    def bandwidth(self, size: int) -> float:
        """GB/s of repeatedly reading a working set of about `size` bytes."""
        nearest = min(self.reads, key=lambda known: abs(math.log(known / size)))
        return self.reads[nearest]

    def product_seconds(self, flops: int, dtype: str) -> float:
        """A lower bound of the seconds for `flops` operations; 0 for dtypes without a peak."""
        peak = self.gops.get(dtype, 0.0)
        return flops / peak / 1e9 if peak else 0.0

    def memory_seconds(self, size: int) -> float:
        """The seconds for reading `size` bytes."""
        return size / self.bandwidth(size) / 1e9


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
    """A function that reads `size` bytes on some threads, and returns the seconds it takes.

    It reads them repeatedly, the first time untimed: what is small enough is in a cache. Called
    in turns with the peers, since the bandwidth of a shared machine changes.
    """
    readers = _readers(_library(), size, threads)
    rounds = max(1, READ_AT_ONCE // size)

    def rate(read: Rounds) -> float:
        read(1)
        return rounds / read(rounds)

    return lambda: 1e-9 * threads / _together([partial(rate, reader) for reader in readers])


def _readers(library: ctypes.CDLL, size: int, threads: int) -> list[Rounds]:
    """For each thread, a function that reads its part of `size` bytes."""

    def reader(part: Array) -> Rounds:
        return lambda n: int(library.read_all(n, pointer(part), part.size))

    return [reader(_memory(size // threads)) for _ in range(threads)]


def _memory(size: int) -> Array:
    """Memory that is mapped already, aligned to a cache line."""
    memory, offset = aligned_bytes(0, size)
    memory[...] = 1
    return memory[offset : offset + size]


def _best_rate(run: Rounds) -> float:
    """The most rounds per nanosecond."""
    return 1 / _fastest(run)


def _fastest(run: Rounds) -> float:
    """The least nanoseconds per round."""
    rounds, best = 1, math.inf
    while (took := run(rounds)) < TRY_S * 1e9:
        rounds = max(rounds * 2, min(rounds * 100, int(1.2 * rounds * TRY_S * 1e9 / max(took, 1))))
    for _ in range(TRIES):
        best = min(best, run(rounds) / rounds)
    return best


def _together(rates: Sequence[Callable[[], float]]) -> float:
    """The sum of the rates that threads reach at the same time, each pinned to a CPU."""
    threads = len(rates)
    cpus = sorted(os.sched_getaffinity(0))[-threads:]
    reached = [0.0] * threads
    ready = threading.Barrier(threads)

    def run(thread: int) -> None:
        os.sched_setaffinity(0, {cpus[thread % len(cpus)]})
        ready.wait()
        reached[thread] = rates[thread]()

    workers = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(reached)


def _calls(library: ctypes.CDLL) -> dict[str, float]:
    """The nanoseconds of calling a function that does nothing, by kind of call."""
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
