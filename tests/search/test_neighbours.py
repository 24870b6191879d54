"""Which goals keep neighbours in sums of products, and what their bounds gain."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from tests.sampling import some
from tests.search.brute import Brute
from tests.search.small_goals import GOALS, MASKS, brute

from morello.frontends import parse
from morello.ir.kept import EVERY, NONE, Kept
from morello.ir.spec import Spec
from morello.search import pruned_space
from morello.search.budget import BudgetError
from morello.search.pruned_space import PrunedSpace
from morello.search.relaxed_bound import RelaxedBound
from morello.search.session import search
from morello.space.neighbours import neighbours_kept
from morello.targets import find_target

SHORT = (
    "f32[120,44] @ f32[44,5]",
    "bf16[60,23] @ bf16[23,50]",
    "softmax(f32[40,8] @ f32[8,5])",
    "f32[3,40,8] @ f32[3,8,18]",
)
CONVOLUTIONS = (
    "conv(f32[1,96,13,13], f32[128,96,3,3], padding=1)",
    "relu(conv(f32[1,64,20,20], f32[64,64,3,3]) + f32[64,1,1])",
    "conv(f32[1,4,7,7], f32[5,4,3,3])",
    "conv(f32[1,64,56,56], f32[256,64,1,1])",
    "conv(f32[1,64,960], f32[64,64,3])",
    "conv(i8[4,20,5,4], i8[2,4,4,2], layout=NHWC)",
    "conv(f32[1,56,56,64], f32[3,3,1,64], groups=64, layout=NHWC)",
)
TRANSPOSED = (
    "f32[50,70] @ f32[70,90]{0,1}",
    "f32[90,400]{0,1} @ f32[400,130]",
    "relu(f32[64,129] @ transpose(f32[257,129]) + f32[257])",
    "i32[50,70] @ i32[70,90]{0,1}",
)
ALONG_BATCHES = {
    "f32[2,50,70]{0,2,1} @ f32[2,70,90]": ("a", "b"),
    "f32[2,50,70] @ f32[2,70,96]{0,1,2}": ("b",),
    "u16[3,2,5,93] @ u16[3,2,93,184]{1,2,3,0}": ("b",),
    "u8[2,50,70]{0,2,1} @ i8[2,70,9]": ("a",),
    "f32[2,50,70]{0,2,1} @ f32[2,70,96]": ("a",),
    "f32[2,50,1]{0,2,1} @ f32[2,1,90]": NONE,
    "f32[2,50,70]{2,0,1} @ f32[2,70,90]": NONE,
    "relu(f32[2,50,70]{0,2,1} @ f32[2,70,90])": NONE,
    "f32[2,50,70]{0,2,1} @ f32[2,70,9]": EVERY,
}
UNEVEN = {
    "bf16[192,80] @ bf16[80,309]": ("a", "b"),
    "u8[200,300] @ i8[300,150]": ("a", "b"),
    "f16[50,70] @ f16[70,90]": ("a", "b"),
    "f32[50,70] @ f32[70,90]": ("b", "c"),
    "f32[1,50,70]{0,2,1} @ f32[1,70,90]": ("b", "c"),
    "f32[401,999]{0,1} @ f32[999,700]": ("b", "c"),
    "f32[999,999] @ f32[999,999]{0,1}": NONE,
    "bf16[50,70] @ bf16[70,90]{0,1}": ("a", "b"),
    "u8[50,70] @ i8[70,90]{0,1}": ("b",),
    "u8[50,70]{0,1} @ i8[70,90]": ("b",),
    "i8[14,125] @ transpose(i8[299,125]{0,1})": ("a", "b"),
    "relu(bf16[50,70] @ bf16[70,90])": EVERY,
    "relu(f32[50,70] @ f32[70,90] + f32[90])": ("b", "c"),
    "relu(f32[999,999] @ f32[999,999]{0,1})": NONE,
    "relu(bf16[999,999] @ bf16[999,999]{0,1})": NONE,
}
BATCHES_FASTEST = parse("f32[2,1,2] @ f32[2,2,2]{0,2,1}")
OTHERS = (
    "f32[128,128] @ f32[128,128]",
    "f32[5,44] @ f32[44,128]",
    "f32[50,70] @ f32[70,96]{0,1}",
    "bf16[50,70] @ bf16[70,96]",
    "bf16[50,1] @ bf16[1,90]",
    "f16[3,50,70] @ f16[3,70,90]",
    "relu(bf16[50,70] @ bf16[70,96])",
    "f32[40,1] @ f32[1,90]",
    "softmax(f32[50,70] @ f32[70,90])",
    "f32[50,1]{0,1} @ f32[1,90]",
    "softmax(f32[40,5])",
    "conv(f32[1,14,14,96], f32[1,1,96,64], layout=NHWC)",
    "conv(f32[1,14,14,64], f32[3,3,64,32], padding=1, layout=NHWC)",
    " @ ".join(["f32[40,40]"] * 5),
)


@pytest.mark.parametrize("text", (*SHORT, *CONVOLUTIONS, *TRANSPOSED))
def test_short_or_uneven_rows_and_transposed_inputs_keep_neighbours(text: str) -> None:
    assert neighbours_kept([(parse(text),)]) == EVERY


@pytest.mark.parametrize("text", ALONG_BATCHES)
def test_products_keep_neighbours_along_batches(text: str) -> None:
    assert neighbours_kept([(parse(text),)]) == ALONG_BATCHES[text]


@pytest.mark.parametrize("text", UNEVEN)
def test_products_keep_few_neighbours_where_rows_fill_no_vectors(text: str) -> None:
    assert neighbours_kept([(parse(text),)]) == UNEVEN[text]


@pytest.mark.parametrize("text", OTHERS)
def test_other_goals_keep_none(text: str) -> None:
    assert neighbours_kept([(parse(text),)]) == NONE


def test_goals_with_a_choice_of_layouts_do_not() -> None:
    rows, columns = parse("f32[9,7] @ f32[7,5]"), parse("f32[9,7] @ f32[7,5]{0,1}")
    assert neighbours_kept([(rows,), (columns,)]) == EVERY
    assert neighbours_kept([(rows,), (rows, columns)]) == NONE


@pytest.mark.parametrize("text", ["f32[64,16] @ f32[16,5]", "f32[48,8]{0,1} @ f32[8,3]"])
def test_their_bounds_are_near_their_costs(text: str) -> None:
    """With ideal layouts alone, these are below half of the costs."""
    goal, target = parse(text), find_target("avx512")
    bound, cost = PrunedSpace([(goal,)], target).lower_bound(), search(goal, target).cost
    assert 0.85 * cost <= bound <= cost


def test_a_bound_that_takes_too_long_is_one_without(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def slow_bound(*arguments: Any, neighbours: Kept) -> RelaxedBound:
        asked.append(neighbours)
        if neighbours != NONE:
            raise BudgetError("it takes too long")
        return RelaxedBound(*arguments, neighbours=NONE)

    goal, target = parse("f32[8,16] @ f32[16,5]"), find_target("avx512")
    wanted = search(goal, target).cost
    monkeypatch.setattr(pruned_space, "RelaxedBound", slow_bound)
    assert search(goal, target).cost == wanted
    assert asked == [EVERY, NONE]


def test_filters_are_not_transposed_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    goal, target = parse("conv(f32[1,16,7,7], f32[32,16,3,3])"), find_target("avx512")
    cost = search(goal, target).cost
    bound = PrunedSpace([(goal,)], target).lower_bound()
    monkeypatch.setattr(pruned_space, "neighbours_kept", lambda goals: NONE)
    free = PrunedSpace([(goal,)], target).lower_bound()
    assert free < 0.8 * cost
    assert 0.9 * cost <= bound <= cost


@pytest.mark.parametrize("name", some([n for n in GOALS if n.startswith("conv")], 6))
def test_bounds_of_convolutions_never_exceed_the_truth(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal, target = GOALS[name]
    monkeypatch.setattr(pruned_space, "neighbours_kept", lambda goals: EVERY)
    pruned = PrunedSpace([(goal,)], target)
    bound = pruned.bound()
    for spec, cost in brute(name, target.limits).optima(target.limits).items():
        assert float(bound(pruned.space.batch_of(spec))[0]) <= cost * (1 + 1e-9), spec


@pytest.mark.parametrize("kept", [("a",), ("b",), ("a", "b"), ("b", "c")])
def test_bounds_that_keep_some_operands_never_exceed_the_truth(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruned_space, "neighbours_kept", lambda goals: kept)
    pruned = PrunedSpace([(BATCHES_FASTEST,)], MASKS)
    bound = pruned.bound()
    for spec, cost in _costs_of_batches_fastest().items():
        assert float(bound(pruned.space.batch_of(spec))[0]) <= cost * (1 + 1e-9), spec


@cache
def _costs_of_batches_fastest() -> dict[Spec, float]:
    return Brute(BATCHES_FASTEST, MASKS).optima(MASKS.limits)


@pytest.mark.parametrize(
    "text", ["f32[4,1,60] @ f32[4,60,70]{0,2,1}", "f16[7,9,38] @ f16[7,38,128]{0,1,2}"]
)
def test_bounds_are_nearer_where_neighbours_are_along_batches(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal, target = parse(text), find_target("avx512")
    bound = PrunedSpace([(goal,)], target).lower_bound()
    monkeypatch.setattr(pruned_space, "neighbours_kept", lambda goals: NONE)
    assert PrunedSpace([(goal,)], target).lower_bound() < 0.8 * bound
