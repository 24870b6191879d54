"""Loops along one dimension are as few as they can be."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import morello
from morello.codegen import generate
from morello.impl.tree import Impl
from morello.targets import find_target

LOOP = re.compile(r"for \(long k\d = 0; k\d < (\d+);")


def of_one_rewrite(impl: Impl) -> set[int]:
    """How far the tiles of k reach, each rewrite for itself."""
    return {
        step.spec.size("k")
        for step in impl.walk()
        if step.spec.operation.name == "MatmulAccum" and step.children and step.spec.size("k") > 1
    }


@pytest.mark.parametrize(("k", "loops"), [(100, {100}), (101, {96, 5})])
def test_loops_that_go_on_alike_are_one_or_that_and_a_rest(k: int, loops: set[int]) -> None:
    impl, _ = morello.implement(f"f32[8,{k}] @ f32[{k},32]", target="avx512", budget=600)
    assert 96 in of_one_rewrite(impl), "k was cut"
    assert {int(end) for end in LOOP.findall(generate(impl).text)} == loops


def test_long_loops_in_loops_are_one() -> None:
    even = replace(find_target("avx512"), rows=0)  # so that k is tiled in the kernel alone
    impl, _ = morello.implement("f32[512,512] @ f32[512,512]", target=even, budget=600)
    assert len(of_one_rewrite(impl)) > 1, "k was tiled more than once"
    assert {int(end) for end in LOOP.findall(generate(impl).text)} == {512}


def test_the_last_of_tiles_that_overlap_begins_earlier() -> None:
    schedule = morello.schedule("f32[13,9] @ f32[9,16]", target="avx512").overlap(m=4).solve()
    text = generate(schedule.impl).text
    assert "m0 < 13; m0 += 4) {\n    if (m0 > 9) m0 = 9;" in text
    assert text.count("m0 = 0") == 1


def test_loops_that_overlap_are_not_collapsed() -> None:
    outer = morello.schedule("exp(f32[77,8])", target="avx512").overlap(i=70).tile(i=1).solve()
    text = generate(outer.impl).text
    assert "i0 < 77; i0 += 70" in text and "i1 < 70; ++i1" in text
    inner = morello.schedule("exp(f32[154,8])", target="avx512").tile(i=77).overlap(i=2).solve()
    text = generate(inner.impl).text
    assert "i0 < 154; i0 += 77" in text and "i1 < 77; i1 += 2" in text


def test_a_loop_that_overlaps_goes_on_alike_where_another_ends() -> None:
    begun = morello.schedule("exp(f32[22,8])", target="avx512").tile(i=12).tile(i=4)
    schedule = replace(begun, path=(1,)).overlap(i=4).solve()
    text = generate(schedule.impl).text
    assert "i0 < 22; i0 += 4) {\n    if (i0 > 18) i0 = 18;" in text
    assert text.count("for (long i0") == 1
