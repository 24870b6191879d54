"""One search over Specs that differ in the layouts of their weights."""

from __future__ import annotations

import pytest
from tests.sampling import some

from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.search.budget import UNTIMED, Budget, BudgetError
from morello.search.growing_graph import GrowingGraph
from morello.search.prepacking import with_layouts
from morello.search.session import Session
from morello.targets.catalog import find_target

GOALS = {
    "f32[6,24] @ f32[24,48]": "avx2",
    "f32[16,12] @ f32[12,32] + f32[32]": "avx512",
    "u8[4,16] @ i8[16,64]": "avx512",
    "bf16[2,32] @ bf16[32,64]": "avx2",
    "conv(f32[1,3,6,6], f32[16,3,3,3])": "avx512",
    "relu(f32[5,7] @ f32[7,16])": "avx2",
    "f32[5,12] @ f32[12,40]": "avx512",
}


@pytest.mark.parametrize(("text", "name"), some(GOALS.items(), 7))
def test_the_program_is_the_cheapest_of_any_layout(text: str, name: str) -> None:
    target = find_target(name)
    first, *others = with_layouts(parse(text), target)
    session = Session(first, target, others=others)
    result = session.solve()
    costs = {goal: Session(goal, target).solve().cost for goal in (first, *others)}
    assert result.cost == pytest.approx(min(costs.values()), rel=1e-12)
    assert costs[result.goal] == pytest.approx(result.cost, rel=1e-12)
    assert result.statistics.proven
    assert reconstruct(result.goal, target, result.decisions).cost == pytest.approx(result.cost)
    assert session.goal == result.goal


@pytest.mark.parametrize("after", ["", " + f32[8]"])
def test_depthwise_filters_lie_as_the_result(after: str) -> None:
    """They have no panels, in which registers hold channels of a filter pixel; groups do."""
    filters, target = "transpose(f32[8,1,3,3], order=[2,3,1,0])", find_target("avx2")
    goal = f"conv(f32[1,6,6,8], {filters}, groups=8, layout=NHWC){after}"
    (only,) = with_layouts(parse(goal), target)
    assert "f32[8,1,3,3]{0,3,2,1}" in only.expression
    shared = goal.replace(",8]", ",16]").replace("8,1,", "16,4,").replace("[8]", "[16]")
    (panels,) = with_layouts(parse(shared.replace("groups=8", "groups=4")), target)
    assert "f32[16,4,3,3]{3,2,1,0:T(8,1,1,1)}" in panels.expression
    rows = "conv(f32[1,8,6,6], f32[8,1,3,3], groups=8)"
    assert len(with_layouts(parse(rows), target)) > 2


def test_only_the_last_register_of_panels_is_filled_up() -> None:
    def widths(columns: int) -> list[int]:
        goal = parse(f"f32[12,128] @ f32[128,{columns}]")
        layouts = [s.placements[1].layout for s in with_layouts(goal, find_target("avx512"))]
        return [layout.panel[1] for layout in layouts if layout.panel]

    assert widths(96) == [16, 32, 48]
    assert widths(1000) == [16, 48]
    assert widths(513) == [16, 48]
    assert widths(40) == [16]


def test_after_the_search_its_goal_is_that_of_the_program() -> None:
    target = find_target("avx2")
    first, *others = with_layouts(parse("f32[12,128] @ f32[128,1024]"), target)
    session = Session(first, target, others=others)
    best = session.solve()
    assert best.goal != first
    cheapest = next(session.alternatives(UNTIMED.start()))
    impl = reconstruct(best.goal, target, cheapest)
    assert impl.cost == pytest.approx(best.cost, rel=1e-12)
    assert session.solve() is best


def test_without_time_a_program_has_the_first_layout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = find_target("avx2")
    first, *others = with_layouts(parse("f32[16,24] @ f32[24,48]"), target)
    session = Session(first, target, others=others)
    session._space.bound_within(UNTIMED.start())

    def used_up(graph: GrowingGraph) -> None:
        raise BudgetError("no time is left")

    monkeypatch.setattr(GrowingGraph, "check", used_up)
    result = session.solve(Budget(1.0))
    assert result.goal == first
    assert reconstruct(first, target, result.decisions).cost == pytest.approx(result.cost)
    assert not result.statistics.proven
