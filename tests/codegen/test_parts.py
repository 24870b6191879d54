"""Items of parallel loops in parts: each is done once, in any order, on any thread."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.support import skip_unless_it_runs

from morello import api
from morello.codegen.lower import lower
from morello.codegen.statements import ParallelFor, Shared, walk
from morello.frontends import parse
from morello.impl.tree import Impl
from morello.scheduling import Schedule
from morello.targets import find_target

TWO = replace(find_target("avx2"), cores=2, fork=0.01)
"""With threads that cost nearly nothing, so that all loops have parts."""

BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long, ctypes.c_long)
RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, BODY, ctypes.c_void_p, ctypes.c_long)


def in_parallel(expression: str) -> Schedule:
    return Schedule.of(replace(parse(expression), parallel=True), TWO)


def plain() -> Impl:
    """Two items and a remainder, each with loops over rows and columns."""
    schedule = in_parallel("f32[40,24] @ f32[24,72]").parallel(m=16).tile(n=32)
    return schedule.tile(m=4).solve().impl


def copying() -> Impl:
    """Items that copy what their loops read, and again in each iteration of the outer one."""
    schedule = in_parallel("f32[256,24] @ f32[24,72]").parallel(n=32)
    return (
        schedule.move("b", "L2", packed=8)
        .tile(m=64)
        .move("a", "L2", packed=8)
        .tile(m=8)
        .solve()
        .impl
    )


PROGRAMS = {"plain": (plain, 0), "copying": (copying, 2)}


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> tuple[Impl, int]:
    make, copies = PROGRAMS[request.param]
    return make(), copies


def region(impl: Impl) -> ParallelFor:
    (found,) = [s for s in walk(lower(impl).body) if isinstance(s, ParallelFor)]
    return found


def test_parts(program: tuple[Impl, int]) -> None:
    impl, copies = program
    loop = region(impl)
    assert loop.parts > 1
    shared = {s.part for s in walk(loop.body) if isinstance(s, Shared) and s.part}
    assert bool(loop.counter) == bool(shared) == bool(copies)


def test_short_parts_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("morello.codegen.parts.LEAST", 1e12)
    loop = region(plain())
    assert (loop.parts, loop.last_parts) == (1, 1)


def with_rows_in_registers() -> Impl:
    """An item that loads b to registers before its loop."""
    schedule = in_parallel("f32[1024,64] + f32[64]").parallel(i=512)
    schedule = schedule.move("b", "L2").move("b", "L1").move("b", "registers", vector=8)
    return schedule.tile(i=64).solve().impl


def with_a_barrier() -> Impl:
    """A loop over rows of a, whose tiles are loaded again within an iteration."""
    schedule = in_parallel("f32[264,512] += f32[264,1] @ f32[1,512]").parallel(m=132).tile(m=6)
    for level in ("L2", "L1"):
        for operand in "abc":
            schedule = schedule.move(operand, level)
    schedule = schedule.tile(n=16).move("c", "registers", vector=8)
    return schedule.tile(n=8).tile(m=1).solve().impl


@pytest.mark.parametrize("make", [with_rows_in_registers, with_a_barrier])
def test_registers_and_constants_are_of_one_part(make: Callable[[], Impl]) -> None:
    """An item is one part if its loop reads registers loaded before it, or has barriers."""
    skip_unless_it_runs(TWO)
    impl = make()
    assert region(impl).parts == 1
    api.compile(impl)  # is verified


def test_tiles_that_overlap_and_are_added_to_are_of_one_part() -> None:
    """Another thread would clear what they share, or add to it."""
    for expression, dim in (("f32[40,8] @ f32[8,16]", "m"), ("f32[40,16] + f32[40,16]", "i")):
        schedule = in_parallel(expression).parallel(**{dim: 20}).overlap(**{dim: 8})
        assert region(schedule.solve().impl).parts > 1
        if dim == "m":
            assert region(schedule.to_accumulate().solve().impl).parts == 1


def ranges(random: Random, count: int) -> list[tuple[int, int]]:
    """Ranges that make up [0, count), in any order."""
    cuts = [0, *sorted(random.sample(range(1, count), random.randint(0, count - 1))), count]
    found = list(pairwise(cuts))
    random.shuffle(found)
    return found


def test_any_order(program: tuple[Impl, int]) -> None:
    """Parts, or items, in any order, of new arrays at each call: no copy of older ones is read."""
    skip_unless_it_runs(TWO)
    impl, _ = program
    kernel: Any = api.compile(impl)  # is verified
    random, rng = Random(0), np.random.default_rng(0)

    def function(suffix: str, *arguments: Any) -> Any:
        address = kernel.library.address(f"{kernel.symbol}_{suffix}")
        return ctypes.CFUNCTYPE(None, *arguments)(address)

    def run(_: int, body: Any, environment: int, count: int) -> None:
        for begin, end in ranges(random, count):
            body(environment, begin, end)

    wrapped = RUN(run)
    pointer, number = ctypes.c_void_p, ctypes.c_long
    set_parallel = function("set_parallel", pointer, pointer)
    of_items = function("range", pointer, pointer, pointer, number, number)
    a, b, _ = kernel.arguments
    set_parallel(ctypes.cast(wrapped, pointer), None)
    for _ in range(20):
        x, y = (rng.standard_normal(arg.shape).astype(np.float32) for arg in (a, b))
        expected = x.astype(np.float64) @ y
        result = kernel(x, y)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
        result[...] = 77
        for begin, end in ranges(random, kernel.source.items):
            of_items(x.ctypes.data, y.ctypes.data, result.ctypes.data, begin, end)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    set_parallel(None, None)
