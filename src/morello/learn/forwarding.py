"""Loads of what was stored shortly before: forwarded by the store buffer, or stalled.

A load gets its value from a store that is still in flight if that one store wrote all of it. If
several narrower stores did, or a masked one, it waits until they have reached the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from morello.ir.batch import LINE_BYTES
from morello.learn.nest import Access, Loop
from morello.targets.target import Kernel

IN_FLIGHT = 64
"""Stores that a core has not yet written to its cache, at most."""


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
        """As well as this, the other, so many times."""
        self.stores += times * other.stores
        self.narrowest = min(self.narrowest, other.narrowest)
        self.loads += times * other.loads
        self.widest = max(self.widest, other.widest)


Uses = dict[str, Use]


def forwarded(loop: Loop) -> tuple[float, float]:
    """Loads of an iteration that are forwarded, and those that are stalled.

    Between different loops directly in this one, and its own code: others count where they are.
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
            recent = [one for one in stores if one.stores <= IN_FLIGHT]
            if not recent:
                continue
            loads = min(use.loads, float(IN_FLIGHT))
            if use.widest <= min(one.narrowest for one in recent):
                forwards += loads
            else:
                stalls += loads
    return forwards, stalls


def is_masked(kernel: Kernel) -> bool:
    """Whether a kernel loads or stores parts of registers."""
    return "part_" in kernel.name


def _of_loop(loop: Loop) -> Uses:
    """What all iterations of a loop do."""
    found: Uses = {}
    for part in (_of_code(loop), *(_of_loop(inner) for inner in loop.inner)):
        for array, use in part.items():
            found.setdefault(array, Use()).add(use, loop.times)
    return found


def _of_code(loop: Loop) -> Uses:
    """What the code directly in a loop does in an iteration."""
    found: Uses = {}
    for site in loop.sites:
        masked = is_masked(site.kernel)
        for access in site.accesses:
            for use in _uses(access, masked):
                found.setdefault(access.array, Use()).add(use)
    return found


def _uses(access: Access, masked: bool) -> Iterator[Use]:
    width = _width(access)
    count = access.bytes / width
    if access.written:
        yield Use(stores=count, narrowest=0.0 if masked else width)
    if access.read:
        yield Use(loads=count, widest=width)


def _width(access: Access) -> float:
    """The bytes that an instruction loads or stores: a run's, of no more than a line."""
    if access.spans and access.spans[0][1] == access.size:
        return float(min(LINE_BYTES, access.spans[0][0] * access.size))
    return float(access.size)
