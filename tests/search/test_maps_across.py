"""Maps of inputs whose neighbours are not those of the output."""

from __future__ import annotations

import pytest

from morello.frontends.text import parse
from morello.rewrites import Move
from morello.search.session import search
from morello.space.traits import RuleTraits
from morello.targets import find_target

AVX512 = find_target("avx512")


def copies(text: str) -> set[tuple[str, str]]:
    """The operands that the cheapest program copies to another layout, and where."""
    made = [one for one in search(parse(text), AVX512).decisions if isinstance(one, Move)]
    return {(one.operand, one.level) for one in made if one.layout and not one.vector}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32[40,50] + transpose(f32[50,40])", {("b", "L1")}),
        ("transpose(f32[50,40]) + f32[40,50]", {("a", "L1")}),
        ("relu(f32[40,50]{0,1}) -> f32[40,50]", {("x", "L1")}),
        ("relu(f32[40,50]) -> f32[40,50]{0,1}", {("x", "L1")}),
        ("relu(f32[40,50]{0,1}) -> f32[40,50]{0,1}", set()),
        ("f32[40,50] + f32[50]", set()),
    ],
)
def test_they_are_copied_in_the_order_of_the_output(
    text: str, expected: set[tuple[str, str]]
) -> None:
    assert copies(text) == expected


def test_a_copy_costs_little_beside_elements_that_are_taken_one_by_one() -> None:
    plain, across = (
        search(parse(text), AVX512).cost
        for text in ("gelu(f32[32,64])", "gelu(transpose(f32[64,32]))")
    )
    assert across < 1.5 * plain


@pytest.mark.parametrize(
    ("text", "transposed"),
    [
        ("relu(f32[40,50]{0,1})", True),
        ("transpose(f32[9,8] @ f32[8,7]) + f32[7,9]", True),
        ("softmax(f32[4,50,9]{0,2,1})", True),
        ("relu(f32[40,50]{0,1}) -> f32[40,50]{0,1}", False),
        ("f32[40,1] + f32[40,1]{0,1}", False),
        ("attention(f32[12,128,64], f32[12,128,64], f32[12,128,64]{1,2,0})", False),
    ],
)
def test_only_goals_with_tensors_across_each_other_have_such_copies(
    text: str, transposed: bool
) -> None:
    assert RuleTraits.of(AVX512, parse(text)).transposed == transposed
