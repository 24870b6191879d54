"""Which goals keep neighbours in sums of products, and what their bounds gain."""

from __future__ import annotations

import pytest

from morello.frontends import parse
from morello.search.pruned_space import PrunedSpace
from morello.search.session import search
from morello.space.neighbours import keeps_neighbours
from morello.targets import find_target

SHORT = (
    "f32[120,44] @ f32[44,5]",
    "bf16[60,23] @ bf16[23,50]",
    "softmax(f32[40,8] @ f32[8,5])",
    "f32[3,40,8] @ f32[3,8,18]",
)
OTHERS = (
    "f32[128,128] @ f32[128,128]",
    "f32[5,44] @ f32[44,120]",
    "softmax(f32[40,5])",
    "conv(f32[1,4,7,7], f32[5,4,3,3])",
    " @ ".join(["f32[40,40]"] * 5),
)


@pytest.mark.parametrize("text", SHORT)
def test_products_with_short_rows_do(text: str) -> None:
    assert keeps_neighbours([(parse(text),)])


@pytest.mark.parametrize("text", OTHERS)
def test_others_do_not(text: str) -> None:
    assert not keeps_neighbours([(parse(text),)])


def test_goals_with_a_choice_of_layouts_do_not() -> None:
    rows, columns = parse("f32[9,7] @ f32[7,5]"), parse("f32[9,7] @ f32[7,5]{0,1}")
    assert keeps_neighbours([(rows,), (columns,)])
    assert not keeps_neighbours([(rows,), (rows, columns)])


@pytest.mark.parametrize("text", ["f32[64,16] @ f32[16,5]", "f32[48,8]{0,1} @ f32[8,3]"])
def test_their_bounds_are_near_their_costs(text: str) -> None:
    """With ideal layouts alone, these are below half of the costs."""
    goal, target = parse(text), find_target("avx512")
    bound, cost = PrunedSpace([(goal,)], target).lower_bound(), search(goal, target).cost
    assert 0.85 * cost <= bound <= cost
