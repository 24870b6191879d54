"""Loops along one dimension are as few as they can be."""

from __future__ import annotations

import re

import morello
from morello.codegen import generate
from morello.impl.tree import Impl

LOOP = re.compile(r"for \(long k\d = 0; k\d < (\d+);")


def of_one_rewrite(impl: Impl) -> set[int]:
    """How far the tiles of k reach, each rewrite for itself."""
    return {
        step.spec.size("k")
        for step in impl.walk()
        if step.spec.operation.name == "MatmulAccum" and step.children and step.spec.size("k") > 1
    }


def test_loops_that_go_on_alike_are_one() -> None:
    impl, _ = morello.implement("f32[8,100] @ f32[100,32]", target="avx512", budget=600)
    assert 96 in of_one_rewrite(impl), "k was cut"
    assert {int(end) for end in LOOP.findall(generate(impl).text)} == {100}


def test_long_loops_in_loops_are_one() -> None:
    impl, _ = morello.implement("f32[512,512] @ f32[512,512]", target="avx512", budget=600)
    assert len(of_one_rewrite(impl)) > 1, "k was tiled more than once"
    assert {int(end) for end in LOOP.findall(generate(impl).text)} == {512}
