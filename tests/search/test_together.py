"""One search for several goals gives what a search for each gives."""

from __future__ import annotations

from collections import defaultdict

import pytest
from tests.sampling import some
from tests.search.small_goals import GOALS
from tests.search.spaces import space_of
from tests.support import optimum, with_capacities

from morello.base.errors import SearchError
from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.ir.spec import Spec
from morello.search import together
from morello.search.budget import UNTIMED, Budget, BudgetError
from morello.search.growing_graph import GrowingGraph
from morello.search.prepacking import with_layouts
from morello.search.together import search_together
from morello.space.family import Family
from morello.targets.catalog import find_target
from morello.targets.target import Target

AVX2 = find_target("avx2")
FEW = tuple(parse(text) for text in ("f32[12,16] @ f32[16,24]", "f32[24,16] @ f32[16,12]"))


def families(goals: list[tuple[Spec, Target]]) -> list[tuple[list[Spec], Target]]:
    """The goals by family, with their targets."""
    members: dict[tuple[Family, frozenset[int]], list[Spec]] = defaultdict(list)
    for goal, target in goals:
        space = space_of(goal, target)
        members[space.family, space.sizes.widths].append(goal)
    return [(specs, family.target) for (family, _), specs in members.items()]


def test_costs_are_those_of_searches_alone() -> None:
    """Goals of all kinds, some of which are parts of others."""
    of_families = families(some(GOALS.values(), 8))
    assert any(len(goals) > 4 for goals, _ in of_families)
    for goals, target in of_families:
        agrees(goals, target)


def test_a_goal_may_be_given_twice() -> None:
    goal, target = GOALS["matmul"]
    agrees([goal, goal], target)


@pytest.mark.parametrize("capacities", some([(3, 4), (4, 5)], 2), ids=str)
def test_limits_hold_for_each(capacities: tuple[int, ...]) -> None:
    tight = [
        (goal, with_capacities(target, capacities))
        for goal, target in some(GOALS.values(), 12)
        if not goal.parallel and len(target.limits) == len(capacities)
    ]
    for goals, target in families(tight):
        agrees(goals, target)


def agrees(goals: list[Spec], target: Target) -> None:
    results = search_together([(goal,) for goal in goals], target, [UNTIMED] * len(goals))
    for goal, result in zip(goals, results, strict=True):
        try:
            alone = optimum(goal, target)
        except SearchError:
            assert result is None
            continue
        assert result is not None and result.goal == goal and result.statistics.proven
        assert result.cost == pytest.approx(alone.cost, rel=1e-12)
        assert reconstruct(goal, target, result.decisions).cost == pytest.approx(result.cost)


@pytest.mark.parametrize("first", some([together.FIRST, 0.0], 2))
def test_each_goal_may_have_its_layouts(first: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches begin with plain programs, and without."""
    monkeypatch.setattr(together, "FIRST", first)
    texts = ("f32[16,12] @ f32[12,32] + f32[32]", "relu(f32[5,7] @ f32[7,16])")
    goals = [tuple(with_layouts(parse(text), AVX2)) for text in texts]
    for goal, result in zip(goals, search_together(goals, AVX2, [Budget(60.0)] * 2), strict=True):
        assert result is not None and result.goal in goal
        assert result.cost == pytest.approx(min(optimum(spec, AVX2).cost for spec in goal))


def test_each_is_within_the_gap() -> None:
    results = search_together([(goal,) for goal in FEW], AVX2, [Budget(gap=0.1)] * 2)
    for goal, result in zip(FEW, results, strict=True):
        assert result is not None and result.statistics.gap <= 0.1
        assert result.cost <= optimum(goal, AVX2).cost * (1 + result.statistics.gap) * (1 + 1e-12)


def test_their_statistics_add_up() -> None:
    results = search_together([(goal,) for goal in FEW], AVX2, [UNTIMED] * 2)
    statistics = [result.statistics for result in results if result is not None]
    assert len(statistics) == 2
    assert (
        0
        < sum(each.bounded for each in statistics)
        < sum(optimum(goal, AVX2).statistics.bounded for goal in FEW)
    )
    assert all(each.specs > 0 and each.seconds > 0 for each in statistics)


def test_without_time_there_are_plain_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    def used_up(graph: GrowingGraph) -> None:
        raise BudgetError("no time is left")

    monkeypatch.setattr(GrowingGraph, "check", used_up)
    assert all(search_together([(goal,) for goal in FEW], AVX2, [UNTIMED] * 2))


def test_without_a_bound_in_time_there_are_no_programs() -> None:
    assert search_together([(goal,) for goal in FEW], AVX2, [Budget(1e-9)] * 2) == [None, None]


def test_what_a_goal_does_not_need_is_not_for_the_others() -> None:
    goals = [(FEW[0],), (parse("softmax(f32[64,130] @ f32[130,100])"),)]
    few, many = search_together(goals, AVX2, [Budget(600.0), Budget(0.01)])
    assert few and many and few.statistics.proven and not many.statistics.proven
