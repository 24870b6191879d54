"""Programs of few sizes, and of parts one after the other."""

from __future__ import annotations

import time
from functools import cache
from math import inf

import pytest
from tests.sampling import some
from tests.support import optimum

from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.ir.layout import row_major
from morello.ir.spec import Spec
from morello.rewrites import Move, Tile
from morello.search import budget as module
from morello.search.best_first import BestFirst
from morello.search.budget import UNTIMED, Budget
from morello.search.graph import spec_and_decisions
from morello.search.incumbent import Incumbent
from morello.search.parts import COARSE, COARSEST, Parts
from morello.search.prepacking import with_layouts
from morello.search.pruned_space import PrunedSpace
from morello.search.reasons import why_none
from morello.search.session import search
from morello.space.space import coarse_sizes
from morello.space.steps import cut_points
from morello.targets import find_target

AVX2, AVX512 = find_target("avx2"), find_target("avx512")
SMALL = some(
    (
        "f32[6,7] @ f32[7,10]",
        "relu(f32[5,3] @ f32[3,6] + f32[6])",
        "softmax(f32[3,2] @ f32[2,5]) @ f32[5,1]",
        "rms_norm(f32[2,5], f32[5])",
        "u16[3,2] @ u16[2,2] @ u16[2,3]",
    ),
    2,
)
LARGER = (
    "f32[512,300] @ f32[300,127]",
    "relu(f32[127,64] @ f32[64,200])",
)
CHAIN = "f32[2,3] @ f32[3,2] @ f32[2,4] @ f32[4,1] @ f32[1,2]"
EQUAL = " @ ".join(["f32[8,8]"] * 6)
SHORT = Budget(1e-6)


def agreed(found: Incumbent, goal: Spec) -> None:
    """The program is complete, within all limits, and costs what was said."""
    impl = reconstruct(goal, AVX2, found.decisions)
    assert impl.complete and impl.cost == pytest.approx(found.cost)


@pytest.mark.parametrize("expression", [*SMALL, CHAIN])
def test_plain_programs_cost_no_less_than_the_cheapest(expression: str) -> None:
    goal = parse(expression)
    plain = Parts((goal,), AVX2).plain(SHORT.start())
    agreed(plain, goal)
    assert plain.gap == inf
    if expression != CHAIN:
        assert optimum(goal, AVX2).cost <= plain.cost * (1 + 1e-9)


@pytest.mark.parametrize(
    "expression", [one for one in SMALL if len(cut_points(parse(one).operation)) <= 2]
)
def test_with_time_enough_a_small_composition_is_proven(expression: str) -> None:
    goal, parts = parse(expression), Parts((parse(expression),), AVX2)
    best = parts.best(UNTIMED.start())
    agreed(best, goal)
    cheapest = optimum(goal, AVX2).cost
    assert best.lower == pytest.approx(cheapest)
    assert best.cost <= cheapest * (1 + 1e-9)


def test_the_best_split_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of all ways to cut a chain into pieces and pairs, each with the cheapest program."""
    monkeypatch.setattr("morello.search.parts.MORE", inf)

    @cache
    def cheapest(spec: Spec) -> float:
        whole = optimum(spec, AVX2).cost if len(cut_points(spec.operation)) <= 1 else inf
        ways = [sum(cheapest(hole.spec) for hole in cut.step.holes) for cut in parts.cuts[spec]]
        return min(whole, *ways, inf)

    goal = parse(CHAIN)
    parts = Parts((goal,), AVX2)
    best = parts.best(Budget(inf, gap=1e-9).start())
    agreed(best, goal)
    assert best.cost <= cheapest(goal) * (1 + 1e-8)
    assert best.gap == inf  # a buffer in a cache may be cheaper
    counts = [len(cut_points(spec.operation)) for spec in parts.found if spec != goal]
    assert counts.count(0) == len(parts.pieces) == 4 and counts.count(1) == len(counts) - 4 == 3


@pytest.mark.parametrize(
    ("batch", "part"),
    [
        ("f32[6,4,8] @ f32[6,8,4]", "f32[1,4,8] @ f32[1,8,4]"),
        ("f32[2,3,4,8] @ f32[2,3,8,4]", "f32[1,1,4,8] @ f32[1,1,8,4]"),
        ("relu(f32[6,4,8] @ f32[6,8,4])", "relu(f32[1,4,8] @ f32[1,8,4])"),
    ],
)
def test_a_batch_is_a_loop_over_the_best_of_its_part(batch: str, part: str) -> None:
    goal = parse(batch)
    parts, one = Parts((goal,), AVX2), Parts((parse(part),), AVX2)
    plain = parts.plain(SHORT.start())
    agreed(plain, goal)
    assert isinstance(plain.decisions[0], Tile)
    assert plain.cost <= 6 * one.plain(SHORT.start()).cost * (1 + 1e-9)
    best = parts.best(UNTIMED.start())
    agreed(best, goal)
    assert best.cost <= 6 * one.best(UNTIMED.start()).cost * (1 + 1e-9)


@pytest.mark.parametrize(
    "expression",
    ["f32[6,4,8]{0,2,1} @ f32[6,8,4]", "relu(f32[6,4,8] @ f32[6,8,4]{0,2,1})"],
)
def test_an_operand_with_a_batch_inside_is_copied_before_the_loop(expression: str) -> None:
    goal = parse(expression)
    plain = Parts((goal,), AVX2).plain(SHORT.start())
    agreed(plain, goal)
    assert isinstance(plain.decisions[0], Move)
    assert Tile(goal.operation.dims[0], 1) in plain.decisions
    assert optimum(goal, AVX2).cost <= plain.cost * (1 + 1e-9)


def test_what_is_left_of_a_copy_is_a_piece_too() -> None:
    """One of two products has the batch that lies inside; the rest is not cut at buffers."""
    text = "max(f32[2,6,4]{} @ f32[2,4,8], axis=2) - f32[2,1] @ f32[1,6]"
    goal, rest = parse(text.format("{0,2,1}")), parse(text.format(""))
    parts = Parts((goal,), AVX2)
    plain = parts.plain_of_all_sizes(UNTIMED.start())
    agreed(plain, goal)
    copy = plain.decisions[0]
    assert copy == Move(goal.operation.operands[0].name, AVX2.levels[0].name, row_major(3))
    assert {rest, goal} & {*parts.found} == {rest}
    assert parts.found[rest][0] == pytest.approx(search(rest, AVX2).cost)


def test_plain_programs_of_all_sizes_are_those_of_the_best_parts() -> None:
    goal, part = parse("f32[6,4,8] @ f32[6,8,4]"), parse("f32[1,4,8] @ f32[1,8,4]")
    plain = Parts((goal,), AVX2).plain_of_all_sizes(UNTIMED.start())
    agreed(plain, goal)
    assert plain.cost <= 6 * search(part, AVX2).cost * (1 + 1e-9)


def test_what_is_in_one_piece_has_no_plain_program_of_all_sizes() -> None:
    assert not Parts((parse(SMALL[0]),), AVX2).plain_of_all_sizes(UNTIMED.start()).found


@pytest.mark.parametrize(
    "expression",
    [
        "f32[6,4] @ f32[4,8]", "softmax(f32[3,4,5])", "f32[1,4,8] @ f32[1,8,4]",
        "conv(f32[1,3,3,16], f32[2,2,1,16], groups=16, layout=NHWC)",
    ],
)  # fmt: skip
def test_only_products_of_a_batch_are_looped_over(expression: str) -> None:
    goal = parse(expression)
    parts = Parts((goal,), AVX2)
    parts.plain(SHORT.start())
    assert {*parts.found} == {goal}


def test_channels_that_are_apart_are_a_batch() -> None:
    goal = parse("conv(f32[1,16,3,3], f32[16,1,2,2], groups=16)")
    assert isinstance(Parts((goal,), AVX2).plain(SHORT.start()).decisions[0], Tile)


@pytest.mark.parametrize(
    ("expression", "number"),
    [
        ("f32[6,16] @ f32[16,8]", 0),
        ("f32[6,16] @ transpose(f32[8,16])", 1),
        ("conv(f32[1,3,6,6], f32[8,3,3,3])", 2),
        ("conv(f32[1,3,6,6], f32[9,3,3,3])", 3),
    ],
)
def test_parts_have_weights_that_kernels_read_as_they_are(expression: str, number: int) -> None:
    goal = tuple(with_layouts(parse(expression), AVX2))
    early = Parts(goal, AVX2).soon(SHORT.start())
    spec, decisions = spec_and_decisions(goal, early.decisions)
    assert spec == goal[number]
    assert reconstruct(spec, AVX2, decisions).cost == pytest.approx(early.cost)


@pytest.mark.parametrize("expression", SMALL)
def test_soon_there_is_a_program_of_few_sizes_of_the_whole(expression: str) -> None:
    goal = parse(expression)
    parts, watch = Parts((goal,), AVX2), UNTIMED.start()
    plain, soon = parts.plain(watch).cost, parts.soon(watch)
    agreed(soon, goal)
    assert search(goal, AVX2).cost <= soon.cost * (1 + 1e-9) <= plain * (1 + 1e-8)


def test_a_late_bound_is_not_begun_again() -> None:
    """The whole is searched with few sizes then, and its pieces with all."""
    parts = Parts((parse(SMALL[2]),), AVX2)
    parts.late = True
    best = parts.best(UNTIMED.start())
    agreed(best, parts.spec)
    assert best.lower == 0
    assert best.cost <= parts.soon(UNTIMED.start()).cost * (1 + 1e-9)


def test_a_plain_program_is_searched_once() -> None:
    goal = parse(SMALL[2])
    parts = Parts((goal,), AVX2)
    plain, again = parts.plain(SHORT.start()), parts.plain(SHORT.start())
    assert (again.cost, again.decisions, again.specs) == (plain.cost, plain.decisions, plain.specs)


def test_equal_pieces_are_searched_once() -> None:
    goal = parse(EQUAL)
    parts = Parts((goal,), AVX2)
    agreed(parts.plain(SHORT.start()), goal)
    assert [spec.expression for spec in parts.found] == ["f32[8,8] @ f32[8,8]"]
    assert len(parts.cuts) == 5  # with one cut after the other, of all that there are


@pytest.mark.parametrize("expression", SMALL)
def test_a_search_that_begins_with_a_program_finds_the_same_optimum(expression: str) -> None:
    goal = parse(expression)
    plain, space = Parts((goal,), AVX2).plain(SHORT.start()), PrunedSpace([(goal,)], AVX2)
    begun = BestFirst(space.space, space.bound(), UNTIMED.start())
    begun.improve(plain.cost, plain.decisions)
    (found,), cheapest = begun.run(), optimum(goal, AVX2).cost
    agreed(found, goal)
    assert found.gap == 0.0
    assert found.cost == pytest.approx(min(cheapest, plain.cost))


def test_a_program_from_outside_may_be_cheaper_than_all_of_the_space() -> None:
    goal = parse(SMALL[0])
    space = PrunedSpace([(goal,)], AVX2)
    begun = BestFirst(space.space, space.bound(), UNTIMED.start())
    begun.improve(1.0, ())
    (found,) = begun.run()
    assert (found.cost, found.decisions) == (1.0, ())


@pytest.mark.parametrize("expression", some(LARGER, 2))
def test_few_sizes_have_fewer_specs_and_costlier_programs(expression: str) -> None:
    goal = parse(expression)
    costs, counts = [], []
    for ratio in (COARSEST, COARSE, None):
        sizes = None if ratio is None else coarse_sizes([goal], AVX2, ratio)
        space = PrunedSpace([(goal,)], AVX2, sizes=sizes)
        (found,) = BestFirst(space.space, space.bound(), UNTIMED.start()).run()
        agreed(found, goal)
        costs.append(found.cost)
        counts.append(space.relaxed_specs)
    assert counts[0] < counts[1] < counts[2] / 2
    assert min(costs) == costs[2] and costs[0] <= 1.5 * costs[2]


@pytest.mark.parametrize("expression", ["sign(u16[247])", "i8[3,165] + i8[165]"])
def test_few_sizes_are_no_better_for_short_integers(expression: str) -> None:
    """Whose vectors are the longest: few sizes have them by themselves."""
    goal = parse(expression)
    sizes = coarse_sizes([goal], AVX512, COARSEST)
    space = PrunedSpace([(goal,)], AVX512, sizes=sizes)
    (found,) = BestFirst(space.space, space.bound(), UNTIMED.start()).run()
    assert search(goal, AVX512).cost <= found.cost * (1 + 1e-9)


@pytest.mark.parametrize("expression", some([*SMALL, CHAIN], 3))
def test_a_budget_is_exceeded_by_no_more_than_a_plain_program_takes(
    expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock ticks whenever it is read, so that the test does not depend on the machine."""
    tick, now = 2 * module.INTERVAL_S, 0.0

    def clock() -> float:
        nonlocal now
        now += tick
        return now

    goal = parse(expression)
    search(parse("f32[1,1] @ f32[1,1]"), AVX2)
    monkeypatch.setattr("morello.search.budget.clock", clock)
    taken = []
    for ticks in (1, 50, 200, 1000):
        began = now
        found = search(goal, AVX2, budget=Budget(ticks * tick))
        assert reconstruct(goal, AVX2, found.decisions).cost == pytest.approx(found.cost)
        taken.append((now - began) / tick - ticks)
    assert all(over <= taken[0] + 20 for over in taken)


def test_a_reason_is_not_sought_longer_than_the_budget() -> None:
    watch = SHORT.start()
    time.sleep(0.001)
    text = why_none(parse(SMALL[0]), AVX2, watch)
    assert text == (f"{SMALL[0]}: there is no program for avx2; a larger budget may tell why.")


NORM = "layer_norm(relu(f32[12,51] @ f32[51,26]), f32[26], f32[26])"
LONGER = f"layer_norm({NORM} @ f32[26,26], f32[26], f32[26])"


CHAINS = (
    " @ ".join(["f32[48,48]"] * 6),
    " @ ".join(f"f32[{n},{n + 10}]" for n in range(300, 360, 10)),
)


SUMS = (
    "y = floor(transpose(f32[256,248]) / f32[248,256]) + min(transpose(f32[1,256]), axis=1); "
    "z = y - sum(y, axis=1, keepdims=True); exp(z - max(z, axis=1, keepdims=True))"
)
"""Sums with many maps between: the estimate for all is five times that for two pieces."""


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [
        ("attention(f32[12,128,64], f32[12,128,64], f32[12,128,64])", 1.0),
        (CHAINS[0], 1.0),
        (NORM, 10.0),
        (LONGER, inf),
        (SUMS, inf),
        (CHAINS[1], inf),
    ],
)
def test_compositions_whose_bounds_take_long_are_searched_in_pieces(
    expression: str, seconds: float
) -> None:
    """If there are so many seconds, the whole is searched, unless they never suffice."""
    parts = Parts((parse(expression),), AVX2)
    assert parts.apart(min(seconds, 1.0) / 20)
    assert parts.apart(seconds) == (seconds == inf)


@pytest.mark.parametrize(
    "expression",
    [
        "layer_norm(f32[8,64], f32[64], f32[64])",
        "layer_norm(f32[12,26] + f32[12,26] + f32[12,26], f32[26], f32[26])",
        "layer_norm(rms_norm(f32[77,64], f32[64]), f32[64], f32[64])",
        "f32[512,512] @ f32[512,512]",
        "relu(exp(f32[512,300]) @ f32[300,512])",
    ],
)
def test_pieces_are_searched_as_a_whole(expression: str) -> None:
    assert not Parts((parse(expression),), AVX2).apart(0.01)
