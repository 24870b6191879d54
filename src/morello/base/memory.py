"""How much memory is free: of the machine, of the container, and of this process's own limit."""

from __future__ import annotations

import ctypes
import gc
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


def gib(count: int) -> str:
    """A number of bytes, as text."""
    return f"{count / 2**30:.1f} GiB"
