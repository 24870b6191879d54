"""The text that names a Spec reads back as it, or not at all."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.codegen.random_goals import PRIMITIVES, random_goals
from tests.codegen.random_rewrites import few_programs, with_cores
from tests.codegen.saved import saved_programs
from tests.goals import matmul_goal

from morello.base.errors import SpecError
from morello.frontends import parse
from morello.ir.dtype import BF16, F32
from morello.ir.operation import Primitive, accumulating, has_accumulating_form
from morello.ir.primitives import MAX, SUM, reduce
from morello.ir.spec import Spec, goal
from morello.targets import find_target


def read_back(spec: Spec) -> bool:
    """Whether a Spec's expression is one, which must be its own.

    What dimensions are called, and their order, no text says: a part of a composition has
    those of the whole. So are its operands called, which both get other names for.
    """
    try:
        found = parse(spec.expression)
    except SpecError:
        return False
    if found.operation is not spec.operation:
        names = tuple(f"tensor{i}" for i in range(len(spec.operation.operands)))
        assert spec.operation.components
        assert replace(found, names=names).expression == replace(spec, names=names).expression
        assert sorted(found.sizes) == sorted(spec.sizes)
        found = replace(found, operation=spec.operation, sizes=spec.sizes)
    assert found == replace(spec, parallel=False), spec.expression
    return True


UNSAYABLE = ("Broadcast(f32[1]", "neg(u", "unsquared", "padding=")
"""Parts of expressions that the language cannot say: a single number broadcast, a product of a
tensor and itself, negated unsigned numbers, and windows of nothing but padding."""


def test_goals_of_every_kind_read_back() -> None:
    goals = random_goals(Random(1), 600)
    refused = [spec for spec in goals if not read_back(spec)]
    read = [spec for spec in goals if spec not in refused]
    assert all(parse(spec.expression) == replace(spec, parallel=False) for spec in read)
    strange = [spec.expression for spec in refused]
    assert [text for text in strange if not any(mark in text for mark in UNSAYABLE)] == []
    assert len(refused) < 100


def test_goals_that_accumulate_read_back() -> None:
    goals = [spec for spec in random_goals(Random(2), 300) if read_back(spec)]
    forms = [
        replace(spec, operation=accumulating(spec.operation))
        for spec in goals
        if has_accumulating_form(spec.operation)
    ]
    assert [spec.expression for spec in forms if not read_back(spec)] == []
    assert len({spec.operation.name for spec in forms}) > 5


def test_no_part_of_a_program_reads_back_as_another_spec() -> None:
    random = few_programs(with_cores(find_target("avx2")))[: len(PRIMITIVES)]
    programs = [*random, *saved_programs("avx2").values(), *saved_programs("avx512").values()]
    parts = {impl.spec for program in programs for impl in program.walk()}
    read = [spec for spec in parts if read_back(spec)]
    assert len(read) < len(parts)
    assert all(level == 0 for spec in read for level in spec.levels)
    assert any(spec.operation.accumulates for spec in read)


@pytest.mark.parametrize(
    ("primitive", "said"),
    [(SUM, "f32[8] += sum(f32[8,16], axis=1)"), (MAX, "f32[8] max= max(f32[8,16], axis=1)")],
)
def test_what_accumulates_says_so(primitive: Primitive, said: str) -> None:
    one = reduce(primitive, 2, 1, accumulates=True)
    spec = goal(one, (8, 16), (F32, F32))
    assert spec.expression == said and read_back(spec)


def test_accumulating_products() -> None:
    plain = matmul_goal(8, 4, 16, BF16, BF16, F32)
    spec = replace(plain, operation=accumulating(plain.operation))
    assert spec.expression == "f32[8,16] += bf16[8,4] @ bf16[4,16]"
    assert read_back(spec)
    near = replace(plain, levels=(0, 1, 0))
    assert near.expression == "bf16[8,4] @ bf16[4,16] at level 1" and not read_back(near)
