"""Memory that is moved to large pages."""

from __future__ import annotations

import ctypes
import mmap
import sys
from pathlib import Path

import numpy as np
import pytest

from morello.base.large_pages import LARGE_PAGE, move_to_large_pages, well_filled

ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def large_pages() -> int:
    """The KiB of this process that are in large pages."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such request")
def test_contents_stay() -> None:
    size = 4 * LARGE_PAGE
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE) as memory:
        array = np.frombuffer(memory, np.uint32)
        array[:] = np.random.default_rng(0).integers(1 << 32, size=array.size)
        expected, before = array.copy(), large_pages()
        address = array.ctypes.data
        move_to_large_pages([(address + 3, 100)])
        move_to_large_pages([(address + 1, 3 * LARGE_PAGE), (address + 1 + 3 * LARGE_PAGE, 100)])
        np.testing.assert_array_equal(array, expected)
        collapses = ctypes.CDLL(None).madvise(ctypes.c_void_p(address), ctypes.c_size_t(0), 25) == 0
        if collapses and ENABLED.exists() and "[never]" not in ENABLED.read_text():
            assert large_pages() > before
        del array


def test_pages_are_moved_of_which_blocks_fill_a_half() -> None:
    third = LARGE_PAGE // 3
    blocks = [
        (10 * LARGE_PAGE + third, third),  # two thirds of page 10, with the next one
        (10 * LARGE_PAGE + 2 * third, LARGE_PAGE),  # two thirds of page 11
        (13 * LARGE_PAGE - third, third),  # a third of page 12
        (20 * LARGE_PAGE, 2 * LARGE_PAGE),
    ]
    assert well_filled(blocks) == [10, 11, 20, 21]
    assert well_filled([]) == []
