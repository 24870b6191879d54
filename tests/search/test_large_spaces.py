"""Goals whose Specs would multiply have spaces that are small, and bounds that are near."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import pytest
from tests.search.brute import Brute, small_target
from tests.support import forget_traces

from morello.frontends.text import parse
from morello.ir.operation import Operation
from morello.ir.spec import Spec
from morello.rewrites import MoveAll, ToAccumulate
from morello.search.budget import UNTIMED, Budget
from morello.search.parts import Parts
from morello.search.pruned_space import PrunedSpace
from morello.search.relaxation import relax
from morello.search.result import SearchResult
from morello.search.session import search
from morello.space.space import Space, goal_sizes
from morello.space.traits import MOST_PRODUCTS, RuleTraits
from morello.targets import find_target
from morello.targets.costs import on_cores

AVX512 = find_target("avx512")
CHAIN = " @ ".join(["f32[16,16]"] * 6)


def relaxed_space(expression: str) -> Space:
    goal = [(parse(expression),)]
    return Space(goal, AVX512, goal_sizes(goal, AVX512), relaxed=True)


def search_without(
    limits: Sequence[str], goal: Spec, monkeypatch: pytest.MonkeyPatch
) -> SearchResult:
    """The result of a search for which no operand is small by these limits of the rules."""
    for name in limits:
        monkeypatch.setattr(f"morello.space.rules.{name}", 0.0)
    forget_traces(monkeypatch)
    return search(goal, AVX512)


def test_a_long_chain_costs_no_more_than_its_parts_and_is_proven() -> None:
    goal = parse(CHAIN)
    found = search(goal, AVX512, budget=Budget(inf, gap=0.02))
    parts = Parts((goal,), AVX512).plain(UNTIMED.start())
    assert found.statistics.gap <= 0.02
    assert found.cost < 0.95 * parts.cost  # which write what is between them to main memory
    assert found.statistics.bounded < 100_000


def test_a_search_goes_on_to_programs_that_fit_a_small_cache() -> None:
    """It does not expand all the many cheaper ones that do not fit."""
    haswell = find_target("x86-64-v3").tunings[0]
    goal, target = on_cores(parse("f32[1000,1000] @ f32[1000,1000]"), haswell)
    found = search(goal, target, budget=Budget(inf, gap=0.02))
    assert found.statistics.gap <= 0.02
    assert found.statistics.specs < 60_000


def test_a_search_expands_few_specs_at_once_until_it_has_a_good_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    goal, budget = parse("f32[256,256] @ f32[256,256]"), Budget(inf, gap=0.02)
    found = search(goal, AVX512, budget=budget)
    monkeypatch.setattr("morello.search.best_first.GOOD", inf)  # any program is
    hasty = search(goal, AVX512, budget=budget)
    assert found.cost == pytest.approx(hasty.cost)
    assert found.statistics.specs < 0.8 * hasty.statistics.specs


def test_the_operands_of_long_compositions_are_moved_together() -> None:
    short = " @ ".join(["f32[16,16]"] * (MOST_PRODUCTS + 1))
    for expression, long in ((short, False), (CHAIN, True)):
        goal = parse(expression)
        assert RuleTraits.of(AVX512, goal).long == long
        space = PrunedSpace([(goal,)], AVX512).space
        kind = space.encoding(space.batch_of(goal)).kind
        tried = {type(rewrite) for rewrite in space.rewrites(kind)}
        assert (MoveAll in tried, ToAccumulate in tried) == (long, not long)


def test_of_a_long_chain_no_program_is_cheaper_than_what_is_found() -> None:
    goal, target = (
        parse("f32[2,1] @ f32[1,2] @ f32[2,1] @ f32[1,1] @ f32[1,2]"),
        small_target(masks=False),
    )
    assert RuleTraits.of(target, goal).long
    cheapest = Brute(goal, target).cheapest(target.limits)
    found = search(goal, target)
    assert found.cost == pytest.approx(cheapest)
    assert PrunedSpace([(goal,)], target).lower_bound() <= cheapest * (1 + 1e-9)


def batches_and_rows(expression: str) -> set[tuple[int, int]]:
    """The batches and the rows of the products that a bound comes from."""
    relaxed = relax(relaxed_space(expression))
    found = set()
    for number, (keys, _) in relaxed.specs.items():
        encoding = relaxed.space.encodings[number]
        operation: Operation = encoding.kind.operation
        if operation.is_product:
            specs = encoding.batch(keys, relaxed.space.placements)
            found |= {*zip(specs.size("b").tolist(), specs.size("m").tolist(), strict=True)}
    return found


@pytest.mark.parametrize(
    "expression",
    [
        "f32[6,32,64] @ f32[6,64,48]",
        "f32[6,32,20] @ f32[6,20,32]",
        "f32[6,32,80] @ f32[6,80,5]",
        "relu(f32[6,32,64] @ f32[6,64,48])",
    ],
)
def test_large_products_of_a_batch_are_looped_over_first(expression: str) -> None:
    found = batches_and_rows(expression)
    assert {batch for batch, _ in found} == {1, 6}
    assert {rows for batch, rows in found if batch > 1} == {32}
    assert {2, 4, 8} <= {rows for batch, rows in found if batch == 1}


def test_small_products_of_a_batch_are_tiled_in_any_order() -> None:
    found = batches_and_rows("f32[6,8,8] @ f32[6,8,8]")
    assert {(6, 4), (3, 4), (2, 8)} <= found


def test_batches_of_products_by_vectors_are_tiled_in_any_order() -> None:
    """The rows of several matrices may be neighbours in memory."""
    assert {1, 2, 3, 6} <= {batch for batch, _ in batches_and_rows("f32[6,1,64] @ f32[6,64,192]")}


@pytest.mark.parametrize(
    ("expression", "interleaved"),
    [
        ("f32[40,200,30]{0,2,1} @ f32[40,30,20]", True),
        ("f32[40,160,30]{0,2,1} @ f32[40,30,20]", False),  # all its lines and a matrix fit L2
        ("f32[40,164,30]{0,2,1} @ f32[40,30,20]", True),
        ("f32[50,200,30] @ f32[50,30,20] -> f32[50,200,20]{0,1,2}", True),
        ("max(f32[40,200,30]{0,2,1} @ f32[40,30,20], axis=2) - f32[40,1] @ f32[1,200]", True),
        ("f32[1,200,300]{0,2,1} @ f32[1,300,200]", False),
        ("f32[40,20,30]{0,2,1} @ f32[40,30,20]", False),
        ("f32[12,128,64]{2,0,1} @ f32[12,64,128]", False),
        ("conv(f32[8,56,56,64], f32[3,3,1,64], groups=64, layout=NHWC)", False),
    ],
)
def test_goals_whose_batches_lie_inside_of_large_operands_are_interleaved(
    expression: str, interleaved: bool
) -> None:
    assert RuleTraits.of(AVX512, parse(expression)).interleaved == interleaved


def test_interleaved_products_cost_no_more_than_others_and_a_copy() -> None:
    """Each of the single matrices has an element of every line."""
    product, layout = "f32[16,200,64] @ f32[16,64,64]", "f32[16,200,64]{0,2,1}"
    whole, others, copy = (
        search(parse(text), AVX512, budget=Budget(inf, gap=0.05)).cost
        for text in (f"{product} -> {layout}", product, f"move(f32[16,200,64]) -> {layout}")
    )
    assert whole <= 1.05 * (others + copy)


@pytest.mark.parametrize(
    "expression",
    [
        "softmax(minimum(bf16[48,63], bf16[48,63]{0,1}), axis=-2)",
        "relu(broadcast(f32[48,64]{0,1}, axis=0, size=4)) + f32[4,48,64]",
        "sign(sum(maximum(i32[24,32,16], i32[32,16]), axis=[2,0]))",
    ],
)
def test_orders_that_differ_are_not_reconciled_for_nothing(expression: str) -> None:
    """The bound knows that a buffer which suits one operand does not suit the other."""
    space = PrunedSpace([(parse(expression),)], AVX512)
    assert space.lower_bound() > 0.8 * search(parse(expression), AVX512).cost


@pytest.mark.parametrize(
    "expression",
    ["f32[16,16] @ f32[16,16]", "i16[12,7] @ i16[7,18]", "bf16[16,32] @ bf16[32,20]"],
)
def test_small_operands_are_brought_near_before_loops(
    expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nearly nothing is lost: tiles of few rows hide a little more of what comes from memory."""
    goal = parse(expression)
    found, other = search(goal, AVX512), search_without(["SMALL"], goal, monkeypatch)
    assert found.cost == pytest.approx(other.cost, rel=0.02)
    assert found.statistics.bounded < other.statistics.bounded / 2


@pytest.mark.parametrize(
    ("expression", "crowded"),
    [
        ("relu(transpose(f32[512,512]))", True),
        ("sum(f32[64,16]S(1024,1), axis=0)", True),
        ("x = f32[512,512]; y = x * f32[512,512]{0,1}; y - expand_dims(max(y), axis=1)", True),
        ("f32[7,3]S(4096,1) @ f32[3,5]S(4096,1)", True),
        ("f32[512,512] @ f32[512,512]", False),
        ("relu(f32[64,1024])", False),
        ("attention(f32[12,128,64], f32[12,128,64], f32[12,128,64])", False),
        ("relu(transpose(f32[500,500]))", False),
    ],
)
def test_goals_whose_tiles_have_rows_in_few_sets_are_crowded(
    expression: str, crowded: bool
) -> None:
    """They have programs: parts of what is small may fit where the whole does not."""
    goal = parse(expression)
    assert RuleTraits.of(AVX512, goal).crowded == crowded
    if crowded:
        assert search(goal, AVX512, budget=Budget(inf, gap=0.05)).cost > 0


@pytest.mark.parametrize(
    "expression",
    [
        "broadcast(u32[226], axis=0, size=3) -> u32[3,226]{1,0}S(51076,226)",
        "relu(f32[64,64]{1,0}S(4096,64))",
        "sum(f32[64,16]{1,0}S(2048,64), axis=1)",
        "relu(f32[1024]S(32))",
        "f32[32,256] @ f32[256,64]S(1024,1)",
    ],
)
def test_rows_with_gaps_are_looped_over_while_they_are_far(
    expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearest cache does not hold all of their lines, or these evict each other."""
    goal = parse(expression)
    found, other = search(goal, AVX512), search_without(["SMALL", "TINY"], goal, monkeypatch)
    assert found.cost == pytest.approx(other.cost)
