"""The threads that the parallel loops of kernels run on."""

from __future__ import annotations

import ctypes
import functools
import math
import operator
import os
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from morello.base.errors import TargetError, quoted
from morello.native.toolchain import Compiler, find_compiler
from morello.runtime.load import Library, own_library
from morello.runtime.quota import cpu_quota

MAX_THREADS = 1024


def _c(name: str) -> str:
    """A file of C in this folder."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


CLAIMS = _c("claims.h")
"""C for threads that claim the items of a parallel loop."""

GATE = _c("gate.h")
"""C for numbers that threads wait for."""

SCHEDULED = (CLAIMS, GATE, _c("scheduled.h"))
"""C, in this order, that runs parallel loops as tasks of a host: scheduled.h says how."""

_pools: dict[tuple[int, int], Pool] = {}


class Threads(Protocol):
    """Threads on which kernels run, in C: a function `run(handle, body, environment, count)`.

    It calls `body(environment, begin, end)` for ranges that make up [0, count), on any thread and
    in any order, and returns when all are done. Each may run alone.
    """

    @property
    def address(self) -> int | None:
        """The address of the function; without one, all runs on the calling thread."""

    @property
    def handle(self) -> int | None: ...


@dataclass(frozen=True)
class HostThreads:
    """The threads of a framework."""

    address: int | None
    handle: int | None


CALLER: Threads = HostThreads(None, None)
"""The calling thread."""


class Pool:
    """A thread pool that runs one parallel region after another.

    The thread that starts a region takes part in it. The others spin briefly after a region, so
    that the next one starts at once, and then sleep. Nested regions, and regions in forked
    child processes, run on the calling thread alone.
    """

    threads: int
    address: int
    """The address of the C function `run(handle, body, environment, count)`."""
    handle: int

    def __init__(self, threads: int, compiler: Compiler) -> None:
        """Starts `threads - 1` threads; raises `TargetError` if they cannot be started."""
        functions = _functions(compiler)
        self.threads = threads
        self.address = _address(functions.pool_run)
        self.handle = functions.pool_create(threads)
        if not self.handle:
            raise TargetError(f"{threads} threads cannot be started here; ask for fewer.")
        # Not at exit: the threads may be inside a kernel, and end with the process anyway.
        weakref.finalize(self, functions.pool_destroy, self.handle).atexit = False


def usable_cpus() -> int:
    """The number of CPUs this process may use, at most `MAX_THREADS`."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:
        count = os.cpu_count() or 1
    return min(count, MAX_THREADS)


def available_threads() -> int:
    """How many threads this process can run at once: its CPUs, or fewer if it may use less time."""
    return max(1, min(usable_cpus(), math.ceil(min(cpu_quota(), MAX_THREADS))))


def thread_count(threads: int | str) -> int:
    """The number of threads that `threads` asks for; "all" is `available_threads()`.

    Raises `TargetError` if it is no integer from 1 to `MAX_THREADS`.
    """
    if threads == "all":
        return available_threads()
    try:
        count = operator.index(threads)  # type: ignore[arg-type]  # non-integers raise TypeError
    except TypeError:
        count = 0
    if not 1 <= count <= MAX_THREADS:
        raise TargetError(
            f"a kernel cannot run on {quoted(threads)} threads; ask for 1 to {MAX_THREADS}, or for "
            f'"all", which are {available_threads()}, the CPUs this process may use.'
        )
    return count


def check_threads(count: int) -> None:
    """Raise `TargetError` if there are more threads than CPUs, so that some would always wait."""
    if count > usable_cpus():
        raise TargetError(
            f"{count} threads are more than the CPUs this process may use, which are "
            f'{usable_cpus()}; ask for at most as many, or for "all".'
        )


def pool(threads: int, *, compiler: Compiler | None = None) -> Pool:
    """The process's pool of `threads` threads, the caller included; it is never destroyed.

    `compiler` builds the pool's own C code, once. Raises `TargetError` if that many threads
    cannot be started, `BuildError` if the code cannot be built.
    """
    threads = thread_count(threads)
    # By process, as a forked child has none of its parent's threads. Without a lock, which a
    # fork could leave locked forever: if two threads create a pool at once, one pool is kept.
    key = os.getpid(), threads
    return _pools.get(key) or _pools.setdefault(key, Pool(threads, compiler or find_compiler()))


def attach(
    library: Library, symbol: str, threads: int, *, compiler: Compiler | None = None
) -> None:
    """Makes the parallel loops of the kernel `symbol` in `library` run on `threads` threads.

    Raises `BuildError` if it has no `{symbol}_set_parallel`, and whatever `pool` raises.
    """
    address = library.address(f"{symbol}_set_parallel")
    set_parallel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)
    chosen = pool(threads, compiler=compiler)
    set_parallel(chosen.address, chosen.handle)


@functools.cache
def _functions(compiler: Compiler) -> ctypes.CDLL:
    """The compiled pool.c. It is never unloaded, as its threads execute its code."""
    functions = own_library(
        Path(__file__).with_name("pool.c"), "thread pool", compiler,
        before="\n".join(["#define _GNU_SOURCE", CLAIMS, GATE]),
    )  # fmt: skip
    functions.pool_create.argtypes = [ctypes.c_int]
    functions.pool_create.restype = ctypes.c_void_p
    functions.pool_destroy.argtypes = [ctypes.c_void_p]
    functions.pool_destroy.restype = None
    return functions


def _address(function: ctypes._NamedFuncPointer) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address
