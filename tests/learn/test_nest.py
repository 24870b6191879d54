"""Loop nests against the programs that they are of, footprints against addresses one by one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.learn.drawn import EXPRESSIONS, programs

from morello.impl.tree import Impl
from morello.learn.footprint import CacheGeometry, Footprints, Traffic
from morello.learn.nest import Access, Nests, ProgramLoop
from morello.rewrites import Select
from morello.targets.catalog import find_target

TARGET = find_target("avx512")


def every(expressions: tuple[str, ...] = EXPRESSIONS) -> Iterator[Impl]:
    for expression in expressions:
        yield from programs(TARGET, expression)


def addresses(loop: ProgramLoop, at: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """The accesses of a loop in order: (array, first byte, bytes) of each element."""
    for n in range(loop.times):
        now = {**at, loop.name: n}
        for site in loop.sites:
            for access in site.accesses:
                yield from elements(access, now)
        for inner in loop.inner:
            yield from addresses(inner, now)


def elements(access: Access, at: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    moved = sum(step * at[name] for name, step in access.steps)
    for start, *place in product(access.starts, *(range(count) for count, _ in access.spans)):
        offset = sum(n * step for n, (_, step) in zip(place, access.spans, strict=True))
        yield access.array, start + moved + offset, access.size


def units(loop: ProgramLoop, unit: int) -> Iterator[tuple[str, int]]:
    for array, first, size in addresses(loop, {}):
        for number in range(first // unit, (first + size - 1) // unit + 1):
            yield array, number


def fetched(loop: ProgramLoop, unit: int, capacity: int) -> int:
    """Misses of a cache that replaces what was not used for longest."""
    held: OrderedDict[tuple[str, int], None] = OrderedDict()
    misses = 0
    for one in units(loop, unit):
        misses += one not in held
        held[one] = None
        held.move_to_end(one)
        if len(held) > capacity:
            held.popitem(last=False)
    return misses


def test_calls_are_those_of_the_program() -> None:
    for impl in every():
        called: dict[str, int] = {}
        for loop, executions in executed(Nests().of(impl), 1):
            for site in loop.sites:
                name = site.kernel.name
                called[name] = called.get(name, 0) + executions * site.calls
        assert called == selected(impl, 1)


def executed(loop: ProgramLoop, times: int) -> Iterator[tuple[ProgramLoop, int]]:
    yield loop, times * loop.times
    for inner in loop.inner:
        yield from executed(inner, times * loop.times)


def selected(impl: Impl, times: int) -> dict[str, int]:
    if isinstance(impl.rewrite, Select):
        return {impl.rewrite.kernel: times}
    found: dict[str, int] = {}
    for child in impl.children:
        for name, count in selected(child.impl, times * child.times).items():
            found[name] = found.get(name, 0) + count
    return found


@pytest.mark.parametrize("unit", [64, 4096])
def test_footprints_are_what_is_touched(unit: int) -> None:
    for impl in every():
        root = Nests().of(impl)
        guessed = Footprints(root).touched(0, unit, once=False)
        touched: dict[str, set[int]] = {}
        for array, number in units(root, unit):
            touched.setdefault(array, set()).add(number)
        assert guessed.keys() == touched.keys()
        for array, numbers in touched.items():
            # an array begins anywhere in a unit, and tiles beside each other count as one
            assert 0.5 * len(numbers) <= guessed[array].units <= 1.5 * len(numbers) + 1


def test_traffic_is_about_that_of_a_simulated_cache() -> None:
    ratios = []
    for impl in every((EXPRESSIONS[0], EXPRESSIONS[-1])):
        root = Nests().of(impl)
        for capacity in (16, 64, 256):
            traffic = Footprints(root).traffic(CacheGeometry(64, capacity))[0]
            guessed = sum(one.units for one in traffic.values())
            ratios.append(guessed / fetched(root, 64, capacity))
    assert 0.7 < np.median(ratios) < 1.5
    assert np.mean((np.array(ratios) > 0.4) & (np.array(ratios) < 3)) > 0.9


def test_a_shared_cache_misses_a_part_of_what_fills_it() -> None:
    impl = next(every(("f32[16,64] + f32[16,64]",)))
    footprints = Footprints(Nests().of(impl))
    lines = 3 * 16 * 64 * 4 / 64
    for full, missing in ((0.25, 0.0), (0.5, 1 / 3), (0.75, 2 / 3), (1.0, 1.0), (1.25, 1.0)):
        capacity = round(lines / full)
        alone, shared = CacheGeometry(64, capacity), CacheGeometry(64, capacity, shared=True)
        assert footprints.missing(alone) == (full > 1)
        assert footprints.missing(shared) == pytest.approx(missing, abs=0.02)


def test_what_a_cache_holds_is_fetched_once_unless_sets_overflow() -> None:
    impl, *_ = programs(TARGET, "transpose(f32[32,512])", 1)
    footprints = Footprints(Nests().of(impl))
    touched = footprints.touched(0, 64, once=False)
    roomy = footprints.traffic(CacheGeometry(64, 1 << 20))[0]
    assert {array: one.units for array, one in roomy.items()} == {
        array: one.units for array, one in touched.items()
    }
    tight = footprints.traffic(CacheGeometry(64, 1 << 12, sets=1 << 9))[0]  # of eight ways
    loose = footprints.traffic(CacheGeometry(64, 1 << 12))[0]
    total = [sum(one.units for one in traffic.values()) for traffic in (tight, loose)]
    assert total[0] >= total[1]


def rows_in_pieces(rows: int) -> Footprints:
    """The footprints of a loop that reads 16 bytes more of each of so many rows, each time."""
    access = Access("x", (("j", 16),), ((rows, 5200),), 16, (0,), read=True, written=False)
    (impl, *_) = programs(TARGET, "f32[12,16] @ f32[16,32]", 1)
    (site, *_) = (site for loop in Nests().of(impl).walk() for site in loop.sites)
    inner = ProgramLoop("j", 8, 1, (replace(site, accesses=(access,)),), (), 0.0)
    return Footprints(ProgramLoop("", 1, 0, (), (inner,), 0.0))


@pytest.mark.parametrize(("rows", "runs"), [(10, 10), (100, 250)])
def test_more_rows_than_go_on_side_by_side_are_begun_anew(rows: int, runs: int) -> None:
    traffic = rows_in_pieces(rows).traffic(CacheGeometry(64, 1 << 10))[1]["x"]
    assert traffic.units == rows * 2.5  # a run may begin anywhere in a line
    assert traffic.runs == runs


def test_runs_are_as_short_as_those_of_a_nearer_cache() -> None:
    assert Traffic(100, 1).in_order_of(Traffic(200, 50)) == Traffic(100, 25)
    assert Traffic(100, 40).in_order_of(Traffic(200, 50)) == Traffic(100, 40)
    assert Traffic(100, 1).in_order_of(Traffic()) == Traffic(100, 1)


def test_large_arrays_are_in_large_pages() -> None:
    (impl, *_) = programs(TARGET, "f32[2048,1024] + f32[1024]", 1)
    pages = Footprints(Nests().of(impl)).touched(0, 4096, once=False)
    large, small, result = (pages[array].units for array in impl.spec.arrays)
    assert 4 <= large == result <= 5 and 1 <= small <= 2


@pytest.mark.parametrize(
    ("expression", "lines"), [("take(f32[99,48], i32[2,4])", 24), ("take(f32[3,16], i32[40])", 3)]
)  # sizes of which no last tile overlaps the one before: it would count as one behind that
def test_rows_of_a_table_are_touched_if_they_are_taken(expression: str, lines: int) -> None:
    for impl in every((expression,)):
        root, row = Nests().of(impl), impl.spec.shape(0)[1] * 4
        table, *_ = impl.spec.arrays
        accesses = [a for loop in root.walk() for site in loop.sites for a in site.accesses]
        assert all(a.bytes <= row for a in accesses if a.array == table)
        touched = {number for array, number in units(root, 64) if array == table}
        assert 0.8 * lines <= len(touched) <= lines + 2  # remainders begin at row 0 again
        guessed = Footprints(root).touched(0, 64, once=False)[table].units
        assert 0.8 * lines <= guessed <= 1.2 * lines + 2
