"""How much memory is free: of the machine, of the container, and of this process's own limit."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """The bytes that this process may still take: the machine's, or its container's."""
    import psutil  # slow to import, and not needed to call what was compiled before

    free = int(psutil.virtual_memory().available)
    try:
        most, used = (
            int((_CGROUP / name).read_text()) for name in ("memory.max", "memory.current")
        )
    except (OSError, ValueError):  # no container, or one without a limit
        return free
    return max(0, min(free, most - used))


def allocatable() -> int:
    """The bytes that an array may take: the free memory, within the limit of `ulimit -v`."""
    import psutil  # as above

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return free_memory()
    return max(0, min(free_memory(), limit - int(psutil.Process().memory_info().vms)))


def return_freed() -> None:
    """Return memory that was freed to the system; glibc keeps it, in pieces that others left."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@contextmanager
def uncollected() -> Iterator[None]:
    """Turns Python's collection of reference cycles off in the body.

    Collections visit all live objects, again and again where many are made. Objects outside of
    cycles are freed all the same.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


LARGE_PAGE = 2 << 20
"""The size of a large page of x86-64 and of most ARM systems, in bytes."""

_COLLAPSE = 25
"""MADV_COLLAPSE of Linux 6.1 and later."""


def move_to_large_pages(address: int, count: int) -> None:
    """Put memory that is in use into large pages, as far as the system can: contents stay.

    What streams from memory is read faster, as addresses of more of it are at hand. Only whole
    pages are moved, and each takes about a millisecond. Where the system has no such request,
    nothing happens.
    """
    first = -(-address // LARGE_PAGE) * LARGE_PAGE
    end = (address + count) // LARGE_PAGE * LARGE_PAGE
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if advise is not None and sys.platform == "linux" and first < end:
        advise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), _COLLAPSE)


def move_later(blocks: Iterable[tuple[int, int]]) -> None:
    """Move blocks of memory, by address and size, to large pages, in a thread of its own.

    They may be freed meanwhile: what is at their addresses then keeps its contents, too.
    """
    waiting = [*blocks]

    def move() -> None:
        for address, count in waiting:
            move_to_large_pages(address, count)

    if waiting:
        Thread(target=move, name="morello-pages", daemon=True).start()


def gib(count: int) -> str:
    """A number of bytes, as text."""
    return f"{count / 2**30:.1f} GiB"
