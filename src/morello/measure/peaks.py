"""The peak of this machine: its rates of products and of reading memory, measured once and kept."""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from morello.base.errors import BuildError, FileError, TargetError
from morello.base.files import make_folder, write_text
from morello.ir.tensor import LINE_BYTES
from morello.measure.bounds import Peak
from morello.measure.stopwatch import Stopwatch
from morello.native.build import build
from morello.native.toolchain import arch_flags, find_compiler
from morello.runtime.argument import Array, aligned_bytes
from morello.targets.calibration_path import VARIABLE, default_path
from morello.targets.catalog import uncalibrated
from morello.targets.cpu import host_cpu

VERSION = 2
"""The version of the file that peaks are kept in."""

_TILES = {"bf16_tiles": "amx_bf16", "u8_tiles": "amx_int8"}
"""The functions for products of tiles, which a process has to be allowed, and their features."""
_PROBES = ("f32", "bf16", "u8", *_TILES)

READ_KIB = (16, 32, 64, 256, 512, 1024, 2048, 4096, 16384, 32768, 65536, 262144)
Rounds = Callable[[int], int]
"""Does something this many times, and returns the nanoseconds it took."""

READ_AT_ONCE = 100 << 20
"""Bytes that one sample reads: some milliseconds."""
TRIES, TRY_S = 60, 0.001
"""Many short attempts: on a shared machine, some of them are undisturbed."""
LEAST_TRIES, TRIES_S = 5, 0.06
"""After so many seconds, there are no more than the least."""


def host_peak(threads: int) -> Peak:
    """The peak of so many threads of this machine: the one that is kept, or measured now.

    Raises `BuildError` if there is no compiler that works.
    """
    return kept_peak(threads) or _measured_once(threads)


def keeps_peaks() -> bool:
    """Whether a peak that is measured is kept for later processes."""
    return _path() is not None


def kept_peak(threads: int) -> Peak | None:
    """The peak that was measured before, if it is kept.

    It is kept beside the calibration of the CPU, unless `$MORELLO_CALIBRATION` is set.
    """
    path = _path()
    if path is not None:
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            return _read(_kept(path)[str(threads)])
    return None


def _kept(path: Path) -> dict[str, Any]:
    """The data in a file, by number of threads; none if it cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["morello"] == VERSION:
            return dict(data["threads"])
    return {}


def _path() -> Path | None:
    """Where peaks are kept, if they are."""
    if os.environ.get(VARIABLE):
        return None
    try:
        return default_path(host_cpu()).with_suffix(".peaks.json")
    except TargetError:
        return None


def _read(data: dict[str, Any]) -> Peak:
    reads = {int(size): float(rate) for size, rate in data["reads"].items()}
    return Peak(data["gops"], reads, data["caches"], float(data["hertz"]))


@cache
def _measured_once(threads: int) -> Peak:
    """Measure a peak, and keep it if that is possible."""
    path = _path()
    if path is not None:
        told = "measuring what this machine can do at most, once, for some seconds"
        print(f"morello: {told} ({VARIABLE}=off: do not keep it) ...", file=sys.stderr, flush=True)
    peak = measured_peak(threads)
    if path is not None:
        with suppress(FileError):
            make_folder(path)
            peaks = {**_kept(path), str(threads): asdict(peak)}
            write_text(path, json.dumps({"morello": VERSION, "threads": peaks}, indent=2) + "\n")
    return peak


def measured_peak(threads: int) -> Peak:
    """Measure the peak of so many threads of this machine, which takes about two seconds.

    Raises `BuildError` if there is no compiler that works.
    """
    library, cpu = _library(), host_cpu()
    rates = {
        name: getattr(library, f"{name}_operations")()
        * _together([partial(_best_rate, getattr(library, name))] * threads)
        for name in _PROBES
        if name not in _TILES or cpu.has(_TILES[name])
    }
    # bf16 can be converted and multiplied as f32
    products = {
        "f32": rates["f32"],
        "bf16": max(rates["f32"], rates["bf16"], rates.get("bf16_tiles", 0.0)),
        "u8": max(rates["u8"], rates.get("u8_tiles", 0.0)),
    }
    reads = {}
    for size in (kib << 10 for kib in READ_KIB):
        readers = _readers(library, size, threads)
        rounds = _together([partial(_best_rate, reader) for reader in readers])
        reads[size] = rounds * (size // threads)
    return Peak(
        products,
        reads,
        _caches(),
        Stopwatch(find_compiler()).hertz(),
    )


def _caches() -> dict[str, int]:
    """The bytes of this machine's caches; of the last, what a program can count on."""
    nearest = {f"L{level}": host_cpu().cache(level) for level in (1, 2)}
    sizes = {name: 0 if known is None else known.size for name, known in nearest.items()}
    sizes["L3"] = uncalibrated().usable_cache * LINE_BYTES
    return {name: size for name, size in sizes.items() if size}


def reading(size: int, threads: int) -> Callable[[], float]:
    """A function that reads `size` bytes on some threads, and returns the seconds it takes.

    It reads them repeatedly, the first time untimed: what is small enough is in a cache. Called
    in turns with other programs, since the bandwidth of a shared machine changes.
    """
    readers = _readers(_library(), size, threads)
    rounds = max(1, READ_AT_ONCE // size)

    def rate(read: Rounds) -> float:
        read(1)
        return rounds / read(rounds)

    return lambda: 1e-9 * threads / _together([partial(rate, reader) for reader in readers])


@cache
def _library() -> ctypes.CDLL:
    """The functions of peaks.c, compiled for this machine."""
    compiler = find_compiler()
    source = Path(__file__).with_name("peaks.c").read_text(encoding="utf-8")
    path = build(source, compiler=compiler, flags=arch_flags(compiler, "native"))
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise BuildError(f"{path} cannot be loaded: {error}.") from None
    for name in _PROBES:
        probe, operations = getattr(library, name), getattr(library, f"{name}_operations")
        probe.restype, probe.argtypes = ctypes.c_int64, [ctypes.c_int64]
        operations.restype, operations.argtypes = ctypes.c_int64, []
    library.read_all.restype = ctypes.c_int64
    library.read_all.argtypes = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64]
    return library


def _readers(library: ctypes.CDLL, size: int, threads: int) -> list[Rounds]:
    """For each thread, a function that reads its part of `size` bytes."""

    def reader(part: Array) -> Rounds:
        return lambda n: int(library.read_all(n, part.ctypes.data, part.size))

    return [reader(_memory(size // threads)) for _ in range(threads)]


def _memory(size: int) -> Array:
    """Memory that is mapped already, aligned to a cache line."""
    memory, offset = aligned_bytes(0, size)
    memory[...] = 1
    return memory[offset : offset + size]


def _best_rate(run: Rounds) -> float:
    """The most rounds per nanosecond."""
    rounds, best = 1, math.inf
    while (took := run(rounds)) < TRY_S * 1e9:
        rounds = max(rounds * 2, min(rounds * 100, int(1.2 * rounds * TRY_S * 1e9 / max(took, 1))))
    end = perf_counter() + TRIES_S
    for number in range(TRIES):
        best = min(best, run(rounds) / rounds)
        if number + 1 >= LEAST_TRIES and perf_counter() > end:
            break
    return 1 / best


def _together(rates: Sequence[Callable[[], float]]) -> float:
    """The sum of the rates that threads reach at the same time, each pinned to a CPU if it can."""
    threads, pins = len(rates), hasattr(os, "sched_setaffinity")
    cpus = sorted(os.sched_getaffinity(0))[-threads:] if pins else []
    reached = np.zeros(threads)
    ready = threading.Barrier(threads)

    def run(thread: int) -> None:
        if pins:
            os.sched_setaffinity(0, {cpus[thread % len(cpus)]})
        ready.wait()
        reached[thread] = rates[thread]()

    workers = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return float(reached.sum())
