"""The threads that the parallel loops of kernels run on."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import weakref
from pathlib import Path

from morello.errors import TargetError, quoted
from morello.runtime.load import Library, own_library
from morello.runtime.toolchain import Compiler, find_compiler

MAX_THREADS = 1024

_pools: dict[tuple[int, int], Pool] = {}


class Pool:
    """Threads that share the items of one parallel region after another.

    Whoever starts a region is one of them. The others spin for a moment after each region, so
    that the next one starts at once, and then sleep. Regions within regions, and in children of
    this process, run in their caller alone.
    """

    threads: int
    address: int
    """Of the C function `run(handle, body, environment, count)`."""
    handle: int

    def __init__(self, threads: int, compiler: Compiler) -> None:
        """Starts `threads - 1` threads; raises `TargetError` if they cannot be."""
        functions = _functions(compiler)
        self.threads = threads
        self.address = _address(functions.pool_run)
        self.handle = functions.pool_create(threads)
        if not self.handle:
            raise TargetError(f"{threads} threads cannot be started here; ask for fewer.")
        # At exit they may be inside a kernel; the end of the process is theirs too.
        weakref.finalize(self, functions.pool_destroy, self.handle).atexit = False


def available_threads() -> int:
    """How many CPUs this process may use: the number of threads that makes sense."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:
        count = os.cpu_count() or 1
    return min(count, MAX_THREADS)


def thread_count(threads: int | str) -> int:
    """A number of threads that a kernel can run on, of which "all" are those available.

    Raises `TargetError` for any other.
    """
    if threads == "all":
        return available_threads()
    try:
        count = operator.index(threads)  # type: ignore[arg-type]  # what is no number raises
    except TypeError:
        count = 0
    if not 1 <= count <= MAX_THREADS:
        raise TargetError(
            f"a kernel cannot run on {quoted(threads)} threads; ask for 1 to {MAX_THREADS}, or for "
            f'"all", which are {available_threads()}, the CPUs this process may use.'
        )
    return count


def pool(threads: int, *, compiler: Compiler | None = None) -> Pool:
    """The pool of `threads` threads, the caller among them; one for all who ask, never ended.

    `compiler` is for the pool's own code, built once. Raises `TargetError` if there cannot be
    that many threads, `BuildError` if the code cannot be built.
    """
    threads = thread_count(threads)
    # A child process has none of its parent's threads. No lock, which a fork could leave
    # locked for ever: of two pools made at once, one is kept.
    key = os.getpid(), threads
    return _pools.get(key) or _pools.setdefault(key, Pool(threads, compiler or find_compiler()))


def attach(
    library: Library, symbol: str, threads: int, *, compiler: Compiler | None = None
) -> None:
    """Makes the parallel loops of the kernel `symbol` in `library` run on `threads` threads.

    Raises `BuildError` if it has no `{symbol}_set_parallel`, and all that `pool` raises.
    """
    address = library.address(f"{symbol}_set_parallel")
    set_parallel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)
    chosen = pool(threads, compiler=compiler)
    set_parallel(chosen.address, chosen.handle)


@functools.cache
def _functions(compiler: Compiler) -> ctypes.CDLL:
    """pool.c. Never unloaded: its threads run in it."""
    functions = own_library(Path(__file__).with_name("pool.c"), "thread pool", compiler)
    functions.pool_create.argtypes = [ctypes.c_int]
    functions.pool_create.restype = ctypes.c_void_p
    functions.pool_destroy.argtypes = [ctypes.c_void_p]
    functions.pool_destroy.restype = None
    return functions


def _address(function: ctypes._NamedFuncPointer) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found
