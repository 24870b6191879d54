"""How many cache lines and pages a loop nest touches, and brings into a cache.

A loop's *footprint* is what all its iterations touch. What a cache must fetch follows: while the
footprint of one iteration fits, what the loop touches comes once; otherwise it comes again with
each iteration. It does not fit where more lines fall into one set than the cache has ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod

import numpy as np
import numpy.typing as npt

from morello.ir.batch import LINE_BYTES
from morello.learn.nest import Access, Dims, Loop

MOST_LINES = 6000
"""Sets are not looked at where an array has more lines than this: no cache's sets hold them."""


@dataclass(frozen=True)
class Cache:
    """What holds `capacity` units of so many bytes, in `sets` (1: fully associative)."""

    unit: int
    capacity: int
    sets: int = 1


@dataclass
class Traffic:
    """Units that come into a cache, and the gapless runs that they come in."""

    units: float = 0.0
    runs: float = 0.0

    def plus(self, other: Traffic) -> Traffic:
        return Traffic(self.units + other.units, self.runs + other.runs)

    def times(self, count: float) -> Traffic:
        return Traffic(self.units * count, self.runs * count)


ByArray = Mapping[str, Traffic]


class Footprints:
    """Of a loop nest. `loops` are all its loops in pre-order, which numbers say of."""

    def __init__(self, root: Loop) -> None:
        self.loops = list(root.walk())
        self.inner: list[list[int]] = []
        self._merged: list[dict[_Shape, set[int]]] = []
        self._times: list[dict[str, int]] = []
        for loop in reversed(self.loops):
            self._merge(loop)
        for column in (self.inner, self._merged, self._times):
            column.reverse()
        self._known: dict[tuple[int, int, bool], dict[str, Traffic]] = {}
        self._gone: dict[tuple[int, Cache], float] = {}

    def _merge(self, loop: Loop) -> None:
        """What is accessed in a loop, where those in it, which come after it, are known."""
        merged: dict[_Shape, set[int]] = {}
        for site in loop.sites:
            for access in site.accesses:
                merged.setdefault(_Shape.of(access), set()).add(access.start)
        times = {loop.name: loop.times}
        done = len(self._merged)
        at, inner = len(self.loops) - done, []
        for child in loop.inner:
            number = len(self.loops) - 1 - at
            for shape, starts in self._merged[number].items():
                merged.setdefault(shape, set()).update(starts)
            times |= self._times[number]
            inner.append(at)
            at += sum(1 for _ in child.walk())
        self.inner.append(inner)
        self._merged.append(merged)
        self._times.append(times)

    def touched(self, number: int, unit: int, *, once: bool) -> dict[str, Traffic]:
        """By array, the units that one iteration of a loop (`once`) or all of them touch."""
        key = (number, unit, once)
        if key not in self._known:
            parts: dict[str, dict[tuple[int, int], Traffic]] = {}
            for shape, starts in self._merged[number].items():
                dims = self._dims(number, shape, starts, once=once)
                low = min(starts)
                high = low + shape.size - 1 + sum((count - 1) * step for count, step in dims)
                ends = low // unit, high // unit
                one, of = _touched(dims, shape.size, unit), parts.setdefault(shape.array, {})
                of[ends] = max(one, of.get(ends, one), key=_units)
            self._known[key] = {array: _union(some) for array, some in parts.items()}
        return self._known[key]

    def _dims(self, number: int, shape: _Shape, starts: Iterable[int], *, once: bool) -> Dims:
        times, own = self._times[number], self.loops[number].name
        moving = tuple(
            (times[name], step)
            for name, step in shape.steps
            if name in times and not (once and name == own)
        )
        return (*moving, *shape.spans, *_regular(frozenset(starts)))

    def traffic(self, of: Cache) -> list[ByArray]:
        """By loop and array, what comes into the cache in all its iterations.

        As if the cache had nothing of it before. `fits` says whether it has.
        """
        found: list[ByArray] = [{}] * len(self.loops)
        for number in reversed(range(len(self.loops))):
            found[number] = self._traffic(number, of, found)
        return found

    def fits(self, number: int, of: Cache) -> bool:
        """Whether what an iteration of a loop touches is still there in the next one."""
        return self._evicted(number, of) <= 0.5

    def _evicted(self, number: int, of: Cache) -> float:
        """What part of the units that an iteration touches is gone when the next one begins."""
        key = (number, of)
        if key not in self._gone:
            units = sum(one.units for one in self.touched(number, of.unit, once=True).values())
            crowded = 0.0
            if units <= of.capacity and of.sets > 1:
                crowded = self._crowded(number, of)
            self._gone[key] = 1.0 if units > of.capacity else crowded / max(units, 1.0)
        return self._gone[key]

    def _traffic(self, number: int, of: Cache, known: Sequence[ByArray]) -> ByArray:
        times, evicted = self.loops[number].times, self._evicted(number, of)
        body = self.touched(number, of.unit, once=True)
        if self.fits(number, of):
            whole = self.touched(number, of.unit, once=False)
            found = {}
            for array, one in body.items():
                again = max(0.0, one.units * times - whole[array].units)
                found[array] = Traffic(whole[array].units + evicted * again, whole[array].runs)
            return found
        total: dict[str, Traffic] = {}
        for inner in self.inner[number]:
            for array, one in known[inner].items():
                total[array] = total.get(array, Traffic()).plus(one)
        for array, one in body.items():
            total.setdefault(array, one)
        return {array: one.times(times) for array, one in total.items()}

    def _crowded(self, number: int, of: Cache) -> float:
        """The lines of an iteration in sets that have more of them than ways."""
        ways = of.capacity // of.sets
        occupied = np.zeros(of.sets)
        by_array: dict[str, list[npt.NDArray[np.int64]]] = {}
        for shape, starts in self._merged[number].items():
            lines = _lines(self._dims(number, shape, starts, once=True), shape.size)
            if lines is None:
                return 0.0
            by_array.setdefault(shape.array, []).append(lines)
        for some in by_array.values():
            lines = np.unique(np.concatenate(some))
            occupied += np.bincount(lines % of.sets, minlength=of.sets)
        return float(occupied[occupied > ways].sum())


@dataclass(frozen=True)
class _Shape:
    """Accesses that differ in nothing but where they start."""

    array: str
    steps: tuple[tuple[str, int], ...]
    spans: Dims
    size: int

    @classmethod
    def of(cls, access: Access) -> _Shape:
        return cls(access.array, access.steps, access.spans, access.size)


def _union(parts: Mapping[tuple[int, int], Traffic]) -> Traffic:
    """What sets of units are together, given by the first and last of each.

    No more than lie between the first and the last of all.
    """
    total = Traffic()
    for one in parts.values():
        total = total.plus(one)
    between = max(high for _, high in parts) - min(low for low, _ in parts) + 1
    return Traffic(min(total.units, between), min(total.runs, between))


@lru_cache(maxsize=100_000)
def _regular(starts: frozenset[int]) -> Dims:
    """Dimensions that a set of addresses has, as far as it is regular."""
    dims: list[tuple[int, int]] = []
    left = sorted(starts)
    while len(left) > 1:
        gaps = [b - a for a, b in pairwise(left)]
        least = min(gaps)
        firsts, lengths = [left[0]], [1]
        for address, gap in zip(left[1:], gaps, strict=True):
            if gap == least:
                lengths[-1] += 1
            else:
                firsts.append(address)
                lengths.append(1)
        dims.append((max(lengths), least))
        if len(firsts) == len(left):
            break
        left = firsts
    return tuple(dims)


@lru_cache(maxsize=100_000)
def _runs(dims: Dims, size: int, unit: int) -> tuple[int, tuple[tuple[int, int], ...]]:
    """The bytes of a gapless run, and counts and steps of the dimensions across runs."""
    run, across = size, []
    for step, count in sorted((abs(step), count) for count, step in dims if count > 1 and step):
        if step <= max(run, unit):
            run = max(run, (count - 1) * step + run)
        else:
            across.append((count, step))
    return run, tuple(across)


@lru_cache(maxsize=100_000)
def _touched(dims: Dims, size: int, unit: int) -> Traffic:
    """The units that a regular set of addresses touches, and the runs that these make."""
    run, across = _runs(dims, size, unit)
    runs = prod(count for count, _ in across)
    # a run begins anywhere in a unit
    return Traffic(runs * (run / unit + 0.5 if run > unit else 1.0), float(runs))


@lru_cache(maxsize=1_000)
def _lines(dims: Dims, size: int) -> npt.NDArray[np.int64] | None:
    """The cache lines of a regular set of addresses from 0 on; None if they are many."""
    run, across = _runs(dims, size, LINE_BYTES)
    per_run = -(-run // LINE_BYTES)
    if per_run * prod(count for count, _ in across) > MOST_LINES:
        return None
    found = np.arange(per_run, dtype=np.int64) * LINE_BYTES
    for count, step in across:
        found = (found[:, None] + np.arange(count) * step).ravel()
    return found // LINE_BYTES


def _units(traffic: Traffic) -> float:
    return traffic.units
