"""Memory in large pages, which streams are read from faster: more of it is at hand by address."""

from __future__ import annotations

import ctypes
import sys
from collections import Counter
from collections.abc import Iterable
from threading import Thread

LARGE_PAGE = 2 << 20
"""The size of a large page of x86-64 and of most ARM systems, in bytes."""

LARGE_ARRAY = 4 << 20
"""The bytes of arrays from which on NumPy asks for large pages."""

_COLLAPSE = 25
"""MADV_COLLAPSE of Linux 6.1 and later."""


def move_to_large_pages(blocks: Iterable[tuple[int, int]]) -> None:
    """Put blocks of memory that are in use into large pages, as far as the system can.

    Blocks are given by address and size. Pages of which they fill a half are moved, with what else
    lies there; contents stay. Each takes about a millisecond. Where the system has no such request,
    nothing happens.
    """
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if advise is None or sys.platform != "linux":
        return
    for page in well_filled(blocks):
        advise(ctypes.c_void_p(page * LARGE_PAGE), ctypes.c_size_t(LARGE_PAGE), _COLLAPSE)


def well_filled(blocks: Iterable[tuple[int, int]]) -> list[int]:
    """The numbers of the large pages of which blocks, which do not overlap, fill a half."""
    filled: Counter[int] = Counter()
    for address, count in blocks:
        for page in range(address // LARGE_PAGE, -(-(address + count) // LARGE_PAGE)):
            first, end = page * LARGE_PAGE, (page + 1) * LARGE_PAGE
            filled[page] += min(end, address + count) - max(first, address)
    return [page for page, count in filled.items() if count >= LARGE_PAGE // 2]


def move_later(blocks: Iterable[tuple[int, int]]) -> None:
    """Move blocks of memory, by address and size, to large pages, in a thread of its own.

    They may be freed meanwhile: what is at their addresses then keeps its contents, too.
    """
    waiting = [*blocks]
    if waiting:
        thread = Thread(target=move_to_large_pages, args=[waiting], name="morello-pages")
        thread.daemon = True
        thread.start()
