"""Where inputs that may be packed in groups are converted instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from morello.frontends.text import parse
from morello.ir.batch import Batch
from morello.ir.placements import Placements
from morello.ir.spec import Spec
from morello.rewrites import Move, Select
from morello.search.budget import Budget
from morello.search.session import search
from morello.space.guards import Guard
from morello.space.kind import Kind
from morello.space.rules import rules
from morello.space.space import goal_sizes
from morello.targets import find_target
from morello.targets.machines import X86_64_V4
from morello.targets.target import Target
from morello.targets.x86 import AVX512, PRODUCTS, avx512

PACKING = avx512(X86_64_V4, PRODUCTS)


def _conversions(goal: Spec, target: Target) -> Iterator[tuple[str, Guard]]:
    """The caches to which an input is converted by a copy, and where rules admit that."""
    kind = Kind.of(Batch.of([goal], Placements()))
    caches = {level.name for level in target.levels[1 : target.registers]}
    for group in rules(kind, target, goal_sizes([(goal,)], target)):
        for move in group.rewrites:
            if not isinstance(move, Move) or move.operand == "c" or move.dtype is None:
                continue
            if move.level in caches:
                yield move.level, group.guard


@pytest.mark.parametrize("text", ["bf16[8,32] @ bf16[32,16]", "i8[8,32] @ i8[32,16]"])
def test_inputs_that_may_be_packed_are_converted_once_all_operands_are_near(text: str) -> None:
    goal, nearest = parse(text), PACKING.nearest
    conversions = [*_conversions(goal, PACKING)]
    assert {level for level, _ in conversions} == {PACKING.levels[nearest].name}
    batch = Batch.of([goal], Placements())
    for beyond, admitted in ((nearest - 2, False), (nearest - 1, True)):
        levels = [np.full(1, nearest - 1, np.int8)] * 2 + [np.full(1, beyond, np.int8)]
        placed = replace(batch, levels=tuple(levels))
        assert any(guard(placed)[0] for _, guard in conversions) == admitted


@pytest.mark.parametrize(
    ("text", "target"),
    [("bf16[8,32] @ bf16[32,16]", AVX512), ("bf16[8,32] @ f32[32,16]", PACKING)],
    ids=["no-packs", "mixed"],
)
def test_other_inputs_are_converted_in_any_cache(text: str, target: Target) -> None:
    levels = {level for level, _ in _conversions(parse(text), target)}
    assert levels == {level.name for level in target.levels[1 : target.registers]}


def test_filters_are_converted_to_rows_for_kernels_that_take_no_panels() -> None:
    """Sums of every second pixel multiply single elements of filters."""
    goal = parse("conv(f16[1,2,5,33], f16[4,2,3,3], stride=2)")
    result = search(goal, find_target("avx512"), budget=Budget(gap=0.1))
    assert Select("conv_by_two_f32x16") in result.decisions
