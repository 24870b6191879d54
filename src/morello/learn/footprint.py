"""How many cache lines and pages a loop nest touches, and fetches into a cache.

A loop's *footprint* is the memory that all its iterations touch. It determines the cache misses: if
the footprint of one iteration fits in the cache, the loop fetches its footprint once; otherwise it
fetches in each iteration again. Lines beyond the ways of a set do not fit (conflict misses).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from morello.base.large_pages import LARGE_ARRAY, LARGE_PAGE
from morello.ir.tensor import LINE_BYTES, PAGE_BYTES
from morello.learn.nest import Access, Dims, ProgramLoop

LEFT = 0.25
"""The part of a shared cache that other cores always leave."""

STREAMS = 32
"""The most runs that go on side by side: more are begun anew by each iteration."""

MOST_LINES = 6000
"""Conflict misses are not computed if an array has more lines than this."""


@dataclass(frozen=True)
class CacheGeometry:
    """A cache of `capacity` units of `unit` bytes each, in `sets` (1: fully associative).

    If it is `shared`, other cores leave room for a part of its units, which differs.
    """

    unit: int
    capacity: int
    sets: int = 1
    shared: bool = False


class Traffic(NamedTuple):
    """Units that are fetched into a cache, and the contiguous runs that they form."""

    units: float = 0.0
    runs: float = 0.0

    def plus(self, other: Traffic) -> Traffic:
        return Traffic(self.units + other.units, self.runs + other.runs)

    def times(self, count: float) -> Traffic:
        return Traffic(self.units * count, self.runs * count)

    def in_order_of(self, other: Traffic) -> Traffic:
        """These units, in runs as long as those of other traffic, if its are shorter."""
        if not other.units:
            return self
        return Traffic(self.units, max(self.runs, self.units * other.runs / other.units))


ByArray = Mapping[str, Traffic]


class Piece(NamedTuple):
    """A regular set of addresses: from `low` on, `size` bytes at each that `dims` give."""

    dims: Dims
    size: int
    low: int


Pieces = dict[str, tuple[Piece, ...]]
"""The parts of each array that are accessed."""


class Footprints:
    """The footprints of a loop nest's loops, which are numbered as in `loops`: in pre-order."""

    def __init__(self, root: ProgramLoop) -> None:
        self.loops = list(root.walk())
        self.inner: list[list[int]] = []
        self._merged: list[dict[_Shape, set[int]]] = []
        self._times: list[dict[str, int]] = []
        for loop in reversed(self.loops):
            self._merge(loop)
        for column in (self.inner, self._merged, self._times):
            column.reverse()
        self._pieces = [
            {once: self._all_pieces(number, once=once) for once in (False, True)}
            for number in range(len(self.loops))
        ]
        self._large = {array for array, parts in self._pieces[0][False].items() if _is_large(parts)}
        self._memo: dict[tuple[int, int, bool], dict[str, Traffic]] = {}
        self._evictions: dict[tuple[int, CacheGeometry], float] = {}

    def _merge(self, loop: ProgramLoop) -> None:
        """Collect what a loop accesses. The loops in it, later in pre-order, are merged already."""
        merged: dict[_Shape, set[int]] = {}
        for site in loop.sites:
            for access in site.accesses:
                merged.setdefault(_Shape.of(access), set()).update(access.starts)
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

    def _all_pieces(self, number: int, *, once: bool) -> Pieces:
        """The parts of arrays that one iteration of a loop (`once`) or all of them access."""
        times, own = self._times[number], self.loops[number].name
        pieces: dict[str, list[Piece]] = {}
        for shape, starts in self._merged[number].items():
            moving = tuple(
                (times[name], step)
                for name, step in shape.steps
                if name in times and not (once and name == own)
            )
            dims = (*moving, *shape.spans, *_regular(frozenset(starts)))
            pieces.setdefault(shape.array, []).append(Piece(dims, shape.size, min(starts)))
        return {array: tuple(parts) for array, parts in pieces.items()}

    def touched(self, number: int, unit: int, *, once: bool) -> dict[str, Traffic]:
        """The units that one iteration of a loop (`once`) or all iterations touch, by array.

        Pages of large arrays are large.
        """
        key = (number, unit, once)
        if key not in self._memo:
            pieces = self._pieces[number][once]
            large = self._large if unit == PAGE_BYTES else ()
            self._memo[key] = {
                array: _union(parts, LARGE_PAGE if array in large else unit)
                for array, parts in pieces.items()
            }
        return self._memo[key]

    def traffic(self, cache: CacheGeometry) -> list[ByArray]:
        """The traffic of all iterations of a loop into the cache, by loop and array.

        Assumes that the cache has nothing of it before; `fits` says whether it has.
        """
        result: list[ByArray] = [{}] * len(self.loops)
        for number in reversed(range(len(self.loops))):
            result[number] = self._traffic(number, cache, result)
        return result

    def missing(self, cache: CacheGeometry) -> float:
        """The fraction of what the program touches that a call does not find from the last one."""
        if not self.fits(0, cache):
            return 1.0
        if not cache.shared:
            return 0.0
        touched = self.touched(0, cache.unit, once=True).values()
        full = sum(amount.units for amount in touched) / cache.capacity
        return max(0.0, (full - LEFT) / (1 - LEFT))

    def fits(self, number: int, cache: CacheGeometry) -> bool:
        """Whether what an iteration of a loop touches stays in the cache until the next one."""
        return self._evicted(number, cache) <= 0.5

    def _evicted(self, number: int, cache: CacheGeometry) -> float:
        """The fraction of an iteration's units that are evicted before the next one begins."""
        key = (number, cache)
        if key not in self._evictions:
            units = sum(
                amount.units for amount in self.touched(number, cache.unit, once=True).values()
            )
            crowded = 0.0
            if units <= cache.capacity and cache.sets > 1:
                arrays = self._pieces[number][True].values()
                sets = tuple([tuple([part[:2] for part in parts]) for parts in arrays])
                crowded = _crowded(sets, cache)
            self._evictions[key] = 1.0 if units > cache.capacity else crowded / max(units, 1.0)
        return self._evictions[key]

    def _traffic(self, number: int, cache: CacheGeometry, inner: Sequence[ByArray]) -> ByArray:
        times, evicted = self.loops[number].times, self._evicted(number, cache)
        body = self.touched(number, cache.unit, once=True)
        if self.fits(number, cache):
            whole = self.touched(number, cache.unit, once=False)
            fetched = {}
            for array, amount in body.items():
                units, runs = whole[array]
                again = max(0.0, amount.units * times - units)
                if amount.runs > STREAMS:
                    runs = max(runs, min(units, amount.runs * times))
                fetched[array] = Traffic(units + evicted * again, runs)
            return fetched
        total: dict[str, Traffic] = {}
        for child in self.inner[number]:
            for array, amount in inner[child].items():
                total[array] = total.get(array, Traffic()).plus(amount)
        for array, amount in body.items():
            total.setdefault(array, amount)
        return {array: amount.times(times) for array, amount in total.items()}


@dataclass(frozen=True)
class _Shape:
    """Accesses that differ only in their start."""

    array: str
    steps: tuple[tuple[str, int], ...]
    spans: Dims
    size: int

    @classmethod
    def of(cls, access: Access) -> _Shape:
        return cls(access.array, access.steps, access.spans, access.size)


def _is_large(pieces: Sequence[Piece]) -> bool:
    """Whether an array of these pieces is in large pages."""
    begin = min(low for _, _, low in pieces)
    end = max(low + size + sum((n - 1) * step for n, step in dims) for dims, size, low in pieces)
    return end - begin >= LARGE_ARRAY


@lru_cache(maxsize=100_000)
def _union(pieces: tuple[Piece, ...], unit: int) -> Traffic:
    """The units that pieces of an array touch.

    Of those with the same first and last unit, the largest counts. The union of the rest is
    estimated as their sum, but at most the range from the first to the last of all.
    """
    parts: dict[tuple[int, int], Traffic] = {}
    for dims, size, low in pieces:
        high = low + size - 1 + sum((count - 1) * step for count, step in dims)
        ends = low // unit, high // unit
        amount = _touched(dims, size, unit)
        parts[ends] = max(amount, parts.get(ends, amount), key=_units)
    total = Traffic()
    for amount in parts.values():
        total = total.plus(amount)
    between = max(high for _, high in parts) - min(low for low, _ in parts) + 1
    return Traffic(min(total.units, between), min(total.runs, between))


@lru_cache(maxsize=10_000)
def _crowded(arrays: tuple[tuple[tuple[Dims, int], ...], ...], cache: CacheGeometry) -> float:
    """The lines of arrays' pieces that are in sets with more such lines than ways."""
    occupied = np.zeros(cache.sets)
    for pieces in arrays:
        lines = [_lines(dims, size) for dims, size in pieces]
        known = [each for each in lines if each is not None]
        if len(known) < len(lines):
            return 0.0
        every = np.unique(np.concatenate(known)) if len(known) > 1 else known[0]
        occupied += np.bincount(every % cache.sets, minlength=cache.sets)
    return float(occupied[occupied > cache.capacity // cache.sets].sum())


@lru_cache(maxsize=100_000)
def _regular(starts: frozenset[int]) -> Dims:
    """Counts and steps that describe a set of addresses, as far as it is regular."""
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
    """The bytes of a contiguous run, and counts and steps of the dimensions across runs."""
    run, across = size, []
    for step, count in sorted((abs(step), count) for count, step in dims if count > 1 and step):
        if step <= max(run, unit):
            run = max(run, (count - 1) * step + run)
        else:
            across.append((count, step))
    return run, tuple(across)


@lru_cache(maxsize=100_000)
def _touched(dims: Dims, size: int, unit: int) -> Traffic:
    """The units that a regular set of addresses touches, and the contiguous runs of these."""
    run, across = _runs(dims, size, unit)
    runs = prod(count for count, _ in across)
    # a run may begin anywhere in a unit
    return Traffic(runs * (run / unit + 0.5 if run > unit else 1.0), float(runs))


@lru_cache(maxsize=1_000)
def _lines(dims: Dims, size: int) -> npt.NDArray[np.int64] | None:
    """The cache lines of a regular set of addresses from 0 on; None if more than `MOST_LINES`."""
    run, across = _runs(dims, size, LINE_BYTES)
    per_run = -(-run // LINE_BYTES)
    if per_run * prod(count for count, _ in across) > MOST_LINES:
        return None
    addresses = np.arange(per_run, dtype=np.int64) * LINE_BYTES
    for count, step in across:
        addresses = (addresses[:, None] + np.arange(count) * step).ravel()
    return np.unique(addresses // LINE_BYTES)


def _units(traffic: Traffic) -> float:
    return traffic.units
