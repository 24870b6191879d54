"""A session: what is asked of it after the search is what separate searches would give."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from itertools import islice
from math import inf
from typing import Any

import pytest
from tests.sampling import some
from tests.search.small_goals import GOALS
from tests.support import optimum, with_capacities

from morello.base.errors import RewriteError, SearchError
from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import grow, replay
from morello.ir.kept import Kept
from morello.ir.spec import Spec, matmul_spec
from morello.memo import Table
from morello.rewrites import Rewrite
from morello.rewrites.rewrite import apply
from morello.search import budget, pruned_space
from morello.search.budget import UNTIMED, Budget, Watch
from morello.search.candidates import candidates
from morello.search.expansion import build
from morello.search.graph import SearchGraph
from morello.search.incumbent import Incumbent
from morello.search.parts import Parts
from morello.search.pruned_space import PrunedSpace
from morello.search.relaxed_bound import RelaxedBound
from morello.search.runners_up import Choice, own_choices
from morello.search.session import Session, search
from morello.space.space import Goal
from morello.targets.catalog import find_target
from morello.targets.target import Target

AVX2 = find_target("avx2")
SOME = ["matmul", "conv-strides", "relu-of-matmul", "parallel-matmul"]
TIGHT = {"matmul": (3, 4), "divide-by-columns": (2, 2), "matmul-chain": (3, 3)}
"""Memory that the cheapest programs do not fit."""

CASES = [(name, GOALS[name][1].limits) for name in SOME] + list(TIGHT.items())
by_case = pytest.mark.parametrize(("name", "capacities"), CASES, ids=str)


def first(session: Session, count: int = 8) -> list[list[Rewrite]]:
    return list(islice(session.candidates(UNTIMED.start()), count))


@pytest.mark.parametrize("name", some(SOME, 3))
def test_alternatives_are_those_of_new_graphs(name: str) -> None:
    goal, target = GOALS[name]
    cost = optimum(goal, target).cost
    graphs = PrunedSpace([(goal,)], target).graph
    wanted = list(islice(candidates(graphs, cost, UNTIMED.start()), 8))
    solved, known, whole = (
        Session(goal, target),
        Session(goal, target, cost=cost),
        Session(*GOALS[name]),
    )
    solved.solve()
    whole.solve(everything=True)
    with Table(":memory:") as table:
        search(goal, target, table=table)
        recalled = Session(goal, target, table)
        recalled.solve()
        for session in (solved, known, whole, recalled):
            assert first(session) == wanted


def test_one_bound_serves_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[Goal] = []
    graphs = []

    def counted_bound(goals: tuple[Goal, ...], *arguments: Any, neighbours: Kept) -> RelaxedBound:
        bounds.extend(goals)
        return RelaxedBound(goals, *arguments, neighbours=neighbours)

    def counted_build(*arguments: object) -> SearchGraph:
        graphs.append(arguments)
        return build(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pruned_space, "RelaxedBound", counted_bound)
    monkeypatch.setattr(pruned_space, "build", counted_build)
    session = Session(*GOALS["matmul"])
    session.solve()
    first(session)
    before = len(graphs)
    assert first(session) and session.graph(session.cost)
    assert len(graphs) == before  # the last graph has them all
    session.sample(5)
    session.runners_up()
    assert bounds.count((session.goal,)) == 1
    bounds.clear()
    graphs.clear()
    whole = Session(*GOALS["matmul"])
    whole.solve(everything=True)
    first(whole)
    assert whole.runners_up()
    assert not bounds and not graphs  # nothing was left out of the first graph


def test_a_goal_is_solved_when_that_is_needed() -> None:
    goal, target = GOALS["matmul"]
    session = Session(goal, target)
    solution = optimum(goal, target)
    assert session.cost == solution.cost
    assert session.decisions == solution.decisions
    assert session.result is session.result


@by_case
def test_choices_are_those_of_the_cheapest_program(name: str, capacities: tuple[int, ...]) -> None:
    goal, target = GOALS[name]
    session = Session(goal, with_capacities(target, capacities))
    choices = session.runners_up(slack=1.5)
    assert [choice.taken.rewrite for choice in choices] == list(session.decisions)
    assert choices[0].taken.cost == pytest.approx(session.cost)
    assert choices[0].spec == goal and choices[0].limits == capacities
    assert any(choice.runners_up for choice in choices)
    for choice in choices:
        rewrites = [choice.taken.rewrite, *(other.rewrite for other in choice.runners_up)]
        assert len({*map(str, rewrites)}) == len(rewrites) <= 4
        costs = [choice.taken.cost, *(other.cost for other in choice.runners_up)]
        assert costs == pytest.approx(sorted(costs))
        for decision in (choice.taken, *choice.runners_up):
            target_left = with_capacities(target, choice.limits)
            program = replay(choice.spec, target_left, decision.decisions)
            assert program.complete and program.cost == pytest.approx(decision.cost)
    own = own_choices(replay(goal, session.target, session.decisions))
    for choice, each in zip(choices, own, strict=True):
        assert each.taken.cost == pytest.approx(choice.taken.cost)
        assert replace(choice, runners_up=(), taken=each.taken) == each


def test_rejected_rewrites_do_not_fit_or_cost_no_less() -> None:
    compared = lacking = 0
    for name, capacities in TIGHT.items():
        goal, target = GOALS[name]
        session = Session(goal, with_capacities(target, capacities))
        for choice in session.runners_up(20, slack=1.5):
            exact = {other.rewrite: other.cost for other in choice.runners_up}
            for each in session.rejected(replace(choice, runners_up=())):
                assert each.rewrite != choice.taken.rewrite
                if each.lacking:
                    lacking += 1
                    assert each.rewrite not in exact
                    with pytest.raises(RewriteError, match="are left"):
                        grow(each.rewrite, choice.spec, target, choice.limits)
                elif each.rewrite in exact:
                    compared += 1
                    assert each.bound <= exact[each.rewrite] * (1 + 1e-9)
    assert compared and lacking


@pytest.mark.parametrize("name", some(TIGHT, 2))
def test_runners_up_cost_what_a_search_finds(name: str) -> None:
    goal, target = GOALS[name]
    seen: dict[tuple[Spec, tuple[int, ...]], float] = {}
    runners_up = 0
    for choice in Session(goal, with_capacities(target, TIGHT[name])).runners_up(count=2):
        runners_up += len(choice.runners_up)
        for decision in (choice.taken, *choice.runners_up):
            wanted = cost_of(choice, decision.rewrite, target, seen)
            assert decision.cost == pytest.approx(wanted), (str(choice.spec), str(decision.rewrite))
    assert runners_up


@pytest.mark.parametrize("name", TIGHT)
def test_runners_up_are_all_other_rewrites_that_lead_to_a_program(name: str) -> None:
    goal, target = GOALS[name]
    session = Session(goal, with_capacities(target, TIGHT[name]))
    (choice, *_) = session.runners_up(count=1000, slack=4)
    others = session.rejected(replace(choice, runners_up=()))
    wanted = {other.rewrite for other in others if not other.lacking}
    for rewrite in wanted - {other.rewrite for other in choice.runners_up}:
        with pytest.raises(SearchError, match="no program fits"):
            cost_of(choice, rewrite, target, {})
    assert len(choice.runners_up) > 1


def cost_of(
    choice: Choice,
    rewrite: Rewrite,
    target: Target,
    seen: dict[tuple[Spec, tuple[int, ...]], float],
) -> float:
    """The cost of a Spec's cheapest program that begins with a rewrite, by searches."""
    step = apply(rewrite, choice.spec, with_capacities(target, choice.limits))
    left = tuple(
        limit - int(step.allocation.get(level, 0))
        for level, limit in enumerate(choice.limits, start=1)
    )
    cost = float(step.cost)
    for hole in step.holes:
        query = hole.spec, left
        if query not in seen:
            seen[query] = optimum(hole.spec, with_capacities(target, left)).cost
        cost += hole.times * seen[query]
    return cost


def test_a_session_goes_on_after_its_budget() -> None:
    goal = parse("f32[4,5] @ f32[5,6]")
    session = Session(goal, AVX2)
    hasty = session.solve(Budget(1e-6))
    assert not hasty.statistics.proven
    choices = session.runners_up()
    assert session.result.statistics.proven and session.cost <= hasty.cost
    assert [choice.taken.rewrite for choice in choices] == list(session.decisions)
    session.solve(Budget(1e-6))
    assert list(session.candidates(Budget(1e-6).start())) == []
    assert session.solve().statistics.proven
    assert first(session, 3) == first(Session(goal, AVX2), 3)


@pytest.mark.parametrize("with_table", some([True, False], 2))
def test_a_plain_program_is_there_after_a_tenth_of_the_time(
    with_table: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock ticks whenever it is read, so that the test does not depend on the machine."""
    tick, now = 2 * budget.INTERVAL_S, 0.0

    def clock() -> float:
        nonlocal now
        now += tick
        return now

    began = []

    class Counted(Parts):
        def plain(self, watch: Watch, share: float = 0.0) -> Incumbent:
            if not self.found:
                began.append(now)
            return super().plain(watch, share)

    goal = parse("softmax(f32[7,11] @ f32[11,13])")
    search(goal, AVX2)
    monkeypatch.setattr("morello.search.budget.clock", clock)
    monkeypatch.setattr("morello.search.session.Parts", Counted)
    with Table(":memory:") as table:
        before = now
        session = Session(goal, AVX2, table if with_table else None)
        result = session.solve(Budget(500 * tick))
        assert len(began) == 1 and 50 * tick < began[0] - before < 60 * tick
    agreed = reconstruct(goal, AVX2, result.decisions)
    assert agreed.complete and agreed.cost == pytest.approx(result.cost)
    for enough in (Budget(1e9), UNTIMED):
        assert search(goal, AVX2, budget=enough).statistics.proven
    assert len(began) == 1  # a search that has a program by then needs no other


def test_a_poor_program_costs_no_more_than_the_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    goal = parse("f32[6,4,8] @ f32[6,8,4]")
    plain = Parts((goal,), AVX2).plain_of_all_sizes(UNTIMED.start())
    asked = []

    def only(self: Parts, watch: Watch) -> Incumbent:
        asked.append(watch)
        return plain

    monkeypatch.setattr(Parts, "plain_of_all_sizes", only)
    monkeypatch.setattr("morello.search.session.POOR", -1.0)
    monkeypatch.setattr("morello.search.session.SOON_S", 0.0)
    monkeypatch.setattr("morello.search.session.SOON", 1e-6)
    result = Session(goal, AVX2).solve(Budget(60.0, gap=0.0))
    assert len(asked) == 1 and result.cost <= plain.cost * (1 + 1e-9)
    assert result.cost == pytest.approx(search(goal, AVX2).cost)


def test_a_plain_program_with_copies_may_cost_less_than_all_of_the_space() -> None:
    """Its copy is within main memory, where the rules make none."""
    goal = parse("f16[19,9,8] @ f16[19,8,12]{0,1,2}")
    plain = Parts((goal,), AVX2).plain_of_all_sizes(UNTIMED.start())
    assert plain.cost < Session(goal, AVX2).solve(everything=True).cost
    with Table(":memory:") as table:
        for session in (Session(goal, AVX2), Session(goal, AVX2, table)):
            result = session.solve(Budget(60.0, gap=0.02))
            assert result.cost == pytest.approx(plain.cost) and result.statistics.proven
            agreed = reconstruct(goal, AVX2, result.decisions)
            assert agreed.complete and agreed.cost == pytest.approx(result.cost)


def test_a_parallel_target_has_its_choices() -> None:
    goal = replace(parse("f32[32,16] @ f32[16,32]"), parallel=True)
    session = Session(goal, replace(AVX2, cores=2))
    choices = session.runners_up()
    assert choices[0].taken.cost == pytest.approx(session.cost)
    assert [choice.taken.rewrite for choice in choices] == list(session.decisions)


def test_a_search_is_freed_without_the_collector_of_cycles() -> None:
    """Its graph is large: until that is freed, the next search would need as much again."""
    session = Session(matmul_spec((8, 8), (8, 8)), AVX2)
    session.solve()
    assert session._best_first is not None
    graph = weakref.ref(session._best_first.graph)
    gc.disable()
    try:
        del session
        assert graph() is None
    finally:
        gc.enable()


def test_a_gap_is_kept_and_a_large_one_takes_fewer_specs() -> None:
    goal = matmul_spec((60, 100), (100, 240))
    best = search(goal, AVX2)
    for gap in (0.005, 0.02, 0.3):
        near = search(goal, AVX2, budget=Budget(inf, gap=gap))
        assert near.statistics.gap <= gap and best.cost <= near.cost <= best.cost * (1 + gap)
    assert near.statistics.specs < best.statistics.specs


def test_a_table_does_not_make_a_search_with_a_gap_prove_its_program() -> None:
    goal, gap = matmul_spec((12, 20), (20, 48)), Budget(inf, gap=0.3)
    alone = search(goal, AVX2, budget=gap)
    with Table(":memory:") as table:
        near = search(goal, AVX2, table=table, budget=gap)
        assert (near.cost, near.statistics.specs) == (alone.cost, alone.statistics.specs)
        best = search(goal, AVX2, table=table)
        assert best.statistics.specs > 0, "nothing was stored"
        found = search(goal, AVX2, table=table, budget=gap)
    assert (found.cost, found.statistics.specs) == (best.cost, 0)
