"""Loads of recently stored data: forwarded by the store buffer, or stalled.

A load is forwarded from a store that is still in flight if this one store wrote all of its data. If
several narrower stores did, or a masked one, it stalls until they have reached the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from morello.ir.tensor import LINE_BYTES
from morello.learn.nest import Access, ProgramLoop

IN_FLIGHT = 64
"""The most stores that a core has in flight, not yet written to its cache."""


@dataclass
class Use:
    """How an array is used: numbers of stores and loads, and their bytes.

    A masked store counts as one of no bytes.
    """

    stores: float = 0.0
    narrowest: float = inf
    loads: float = 0.0
    widest: float = 0.0

    def add(self, other: Use, times: int = 1) -> None:
        """Add another use, `times` times."""
        self.stores += times * other.stores
        self.narrowest = min(self.narrowest, other.narrowest)
        self.loads += times * other.loads
        self.widest = max(self.widest, other.widest)


Uses = dict[str, Use]


def forwarded(loop: ProgramLoop) -> tuple[float, float]:
    """The numbers of an iteration's loads that are forwarded, and that are stalled.

    Counts those between different loops directly in this one, and in its own code. Deeper loops
    count their own.
    """
    own = _of_code(loop)
    parts = [own, *(_of_loop(inner) for inner in loop.inner)]
    forwards = stalls = 0.0
    for number, reader in enumerate(parts):
        for array, use in reader.items():
            if not use.loads:
                continue
            others = [part for n, part in enumerate(parts) if n != number or part is own]
            stores = [part[array] for part in others if array in part and part[array].stores]
            recent = [store for store in stores if store.stores <= IN_FLIGHT]
            if not recent:
                continue
            loads = min(use.loads, float(IN_FLIGHT))
            if use.widest <= min(store.narrowest for store in recent):
                forwards += loads
            else:
                stalls += loads
    return forwards, stalls


def _of_loop(loop: ProgramLoop) -> Uses:
    """The uses of arrays in all iterations of a loop."""
    uses: Uses = {}
    for part in (_of_code(loop), *(_of_loop(inner) for inner in loop.inner)):
        for array, use in part.items():
            uses.setdefault(array, Use()).add(use, loop.times)
    return uses


def _of_code(loop: ProgramLoop) -> Uses:
    """The uses of arrays in one iteration of the code directly in a loop."""
    uses: Uses = {}
    for site in loop.sites:
        for access in site.accesses:
            for use in _uses(access, site.kernel.masked):
                uses.setdefault(access.array, Use()).add(use)
    return uses


def _uses(access: Access, masked: bool) -> Iterator[Use]:
    width = _width(access)
    count = access.bytes / width
    if access.written:
        yield Use(stores=count, narrowest=0.0 if masked else width)
    if access.read:
        yield Use(loads=count, widest=width)


def _width(access: Access) -> float:
    """The bytes that one instruction loads or stores: a contiguous run, at most a cache line."""
    if access.spans and access.spans[0][1] == access.size:
        return float(min(LINE_BYTES, access.spans[0][0] * access.size))
    return float(access.size)
