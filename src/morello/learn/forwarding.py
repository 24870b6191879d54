"""Loads of recently stored data: forwarded by the store buffer, or stalled.

A load is forwarded from a store that is still in flight if this one store wrote all of its data. If
several narrower stores did, or a masked one, it stalls until they have reached the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def forwarded(root: ProgramLoop) -> list[tuple[float, float]]:
    """The loads of an iteration that are forwarded, and that stall, of each loop in pre-order.

    Counts those between different loops directly in one, and in its own code. Deeper loops count
    their own.
    """
    result: list[tuple[float, float]] = []
    _visit(root, result)
    return result


def _visit(loop: ProgramLoop, result: list[tuple[float, float]]) -> Uses:
    """Append what is counted for a loop and those in it; gives its uses in all iterations."""
    number = len(result)
    result.append((0.0, 0.0))
    parts = [_of_code(loop), *(_visit(inner, result) for inner in loop.inner)]
    result[number] = _between(parts)
    uses: Uses = {}
    for part in parts:
        for array, use in part.items():
            uses.setdefault(array, Use()).add(use, loop.times)
    return uses


def _between(parts: Sequence[Uses]) -> tuple[float, float]:
    """The loads that are forwarded and stalled, of what is stored in code, the first, and loops."""
    forwards = stalls = 0.0
    for number, reader in enumerate(parts):
        for array, use in reader.items():
            if not use.loads:
                continue
            others = [part for n, part in enumerate(parts) if n != number or n == 0]
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
    count = len(access.starts) * access.bytes / width
    if access.written:
        yield Use(stores=count, narrowest=0.0 if masked else width)
    if access.read:
        yield Use(loads=count, widest=width)


def _width(access: Access) -> float:
    """The bytes that one instruction loads or stores: a contiguous run, at most a cache line."""
    if access.spans and access.spans[0][1] == access.size:
        return float(min(LINE_BYTES, access.spans[0][0] * access.size))
    return float(access.size)
