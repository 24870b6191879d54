"""Memory in large pages, which streams are read from faster: more of it is at hand by address."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from threading import Thread

LARGE_PAGE = 2 << 20
"""The size of a large page of x86-64 and of most ARM systems, in bytes."""

_COLLAPSE = 25
"""MADV_COLLAPSE of Linux 6.1 and later."""


def move_to_large_pages(address: int, count: int) -> None:
    """Put memory that is in use into large pages, as far as the system can: contents stay.

    Only whole pages are moved, and each takes about a millisecond. Where the system has no such
    request, nothing happens.
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
