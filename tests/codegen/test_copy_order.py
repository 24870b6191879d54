"""Large copies of whole rows write blocks of neighbouring rows, in the order of the source."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.support import skip_unless_it_runs

from morello import api
from morello.codegen import generate
from morello.frontends import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.search.session import search
from morello.targets import find_target
from morello.targets.target import Target

SMALL = replace(find_target("avx512"), last_cache=128, bypassed=0.5)
"""Results of more than 4 KiB bypass its caches."""


def permuted(shape: tuple[int, ...], order: tuple[int, ...], target: Target = SMALL) -> Impl:
    spec = parse(f"transpose(f32{[*shape]}, order={[*order]})".replace(" ", ""))
    return reconstruct(spec, target, search(spec, target).decisions)


def loops(impl: Impl) -> list[tuple[str, int, int]]:
    """The letter of the variable, the end and the step of each loop in C."""
    pattern = r"for \(long ([a-z])\d+ = 0; \w+ < (\d+); (?:\w+ \+= (\d+)|\+\+\w+)\)"
    found = re.findall(pattern, generate(impl).text)
    return [(letter, int(end), int(step or 1)) for letter, end, step in found]


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((4, 24, 6, 64), (0, 2, 1, 3)),
        ((3, 197, 5, 32), (0, 2, 1, 3)),
        ((12, 20, 50), (1, 0, 2)),
        ((6, 5, 8, 48), (2, 0, 1, 3)),
        ((16, 30, 90), (1, 0, 2)),
        ((40, 6, 64), (2, 0, 1)),
    ],
)
def test_results_are_right(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    skip_unless_it_runs(SMALL)
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    np.testing.assert_array_equal(api.compile(permuted(shape, order))(x), x.transpose(order))


@pytest.mark.parametrize(("name", "length"), [("avx2", 144), ("avx512", 131)])
def test_lines_that_two_rows_share_are_written_at_once(name: str, length: int) -> None:
    target = replace(find_target(name), last_cache=128, bypassed=0.5)
    impl = permuted((9, 3, length), (1, 0, 2), target)
    assert "bypass_rows(&" in generate(impl).text
    skip_unless_it_runs(target)
    kernel = api.compile(impl)
    x = np.random.default_rng(0).standard_normal((9, 3, length), np.float32)
    memory = np.full(x.size + 64, np.nan, np.float32)
    first = -memory.ctypes.data % 64 // 4
    for start in range(first, first + 17, 3):
        memory[:] = np.nan
        out = memory[start : start + x.size].reshape(3, 9, length)
        kernel(x, out=out)
        np.testing.assert_array_equal(out, x.transpose(1, 0, 2))
        assert np.isnan(memory).sum() == 64


def test_rows_are_written_in_blocks_in_the_order_of_the_source() -> None:
    assert loops(permuted((4, 24, 6, 64), (0, 2, 1, 3))) == [
        ("i", 4, 1), ("k", 24, 8), ("j", 6, 1), ("k", 8, 1), ("l", 4, 1),
    ]  # fmt: skip


def test_short_rows_are_written_in_longer_blocks() -> None:
    assert ("k", 16, 1) in loops(permuted((2, 64, 6, 32), (0, 2, 1, 3)))


def test_stores_of_blocks_bypass_the_caches() -> None:
    assert "bypass_f32x16" in generate(permuted((4, 24, 6, 64), (0, 2, 1, 3))).text


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0)])
def test_what_keeps_no_rows_stays_as_it_was_found(order: tuple[int, ...]) -> None:
    impl = permuted((16, 32, 48), order)
    plain = replace(impl, target=replace(SMALL, bypassed=0.0))
    assert loops(impl) == loops(plain)


def test_small_copies_stay_as_they_were_found() -> None:
    small = permuted((2, 2, 2, 64), (0, 2, 1, 3))
    assert loops(small) == loops(replace(small, target=replace(SMALL, bypassed=0.0)))
