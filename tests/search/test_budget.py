"""Searches that may not go on for as long as they like."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.sampling import some
from tests.search.small_goals import GOALS
from tests.support import optimum

from morello import implement
from morello.base import memory
from morello.base.errors import SearchError
from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.ir.spec import Spec
from morello.memo import Table
from morello.memo.programs import StoredProgram, load_program, store_program
from morello.runtime.threads import available_threads
from morello.search import best_first
from morello.search import budget as module
from morello.search.budget import UNTIMED, Budget, BudgetError, clock
from morello.search.deepening import deepen, narrow
from morello.search.expansion import build
from morello.search.relaxed_bound import RelaxedBound
from morello.search.result import SearchResult
from morello.search.rewriting import Pruning
from morello.search.session import Session, search
from morello.space.space import Space, goal_sizes
from morello.targets import find_target
from morello.targets.costs import on_cores
from morello.targets.target import Target

AVX2 = find_target("avx2")
EXPRESSIONS = (
    "f32[6,7] @ f32[7,10]",
    "softmax(f32[3,2] @ f32[2,5]) @ f32[5,1]",
    "rms_norm(f32[3,7], f32[7])",
    "conv(f32[1,2,3,5], f32[3,2,3,3], padding=1)",
    "maximum(u16[4,7] @ u16[7,6], 0)",
)
BETWEEN = "softmax(f32[7,11] @ f32[11,13])"
"""Its search has a program long before it has proven that none is cheaper."""

SHORT = Budget(1e-6)
SOME = some(GOALS, 30)
"""Goals of many kinds."""


def impl_cost(solution: SearchResult) -> float:
    """The cost of a result's program, by its rewrites, within all limits."""
    impl = reconstruct(solution.goal, solution.target, solution.decisions)
    assert impl.complete
    return impl.cost


@pytest.mark.parametrize("expression", some(EXPRESSIONS, 3))
def test_a_search_without_time_has_a_program(expression: str) -> None:
    goal = parse(expression)
    hasty = search(goal, AVX2, budget=SHORT)
    assert impl_cost(hasty) == pytest.approx(hasty.cost)
    assert not hasty.statistics.proven
    cheapest = optimum(goal, AVX2)
    assert cheapest.statistics.proven
    assert cheapest.cost <= hasty.cost * (1 + 1e-9)
    assert hasty.cost <= cheapest.cost * (1 + hasty.statistics.gap)
    assert hasty.cost < 10 * cheapest.cost


@pytest.mark.parametrize("name", SOME)
def test_time_enough_changes_nothing(name: str) -> None:
    goal, target = GOALS[name]
    free, timed = optimum(goal, target), search(goal, target, budget=Budget(600.0))
    assert timed.decisions == free.decisions
    assert timed.statistics.proven


@pytest.mark.filterwarnings("ignore::morello.SearchWarning")
@pytest.mark.skipif(available_threads() < 2, reason="it needs two CPUs")
def test_what_runs_beside_a_longer_part_needs_a_program() -> None:
    """The last rows of odd sizes cost nothing there, so that they were not waited for."""
    product = "f32[2048] @ transpose(f32[1000,2048]) + f32[1000]"
    impl, _ = implement(product, threads=2, gap=0.001, budget=0.3, table="off")
    assert impl.spec.expression == parse(product).expression


def parts_of(goal: Spec, target: Target) -> tuple[Space, RelaxedBound]:
    sizes = goal_sizes([(goal,)], target)
    return Space([(goal,)], target, sizes), RelaxedBound([(goal,)], target, sizes)


@pytest.mark.parametrize("name", SOME)
def test_a_narrowed_space_holds_no_cheaper_program(name: str) -> None:
    goal, target = GOALS[name]
    space, bound = parts_of(goal, target)
    least = float(bound(space.goal_batches()[0])[0])
    narrowed = narrow(space, bound, least, SHORT.start())
    cheapest = optimum(goal, target).cost
    assert narrowed.found
    assert least <= cheapest * (1 + 1e-9)
    assert cheapest <= narrowed.cost * (1 + 1e-9)
    assert narrow(space, bound, least, UNTIMED.start()).cost == pytest.approx(cheapest)


def test_a_narrowed_graph_has_the_best_rewrites_of_each_spec() -> None:
    space, bound = parts_of(parse("f32[3,4] @ f32[4,16]"), AVX2)
    whole = build(space, Pruning(bound, inf))
    narrowed = build(space, Pruning(bound, inf, 2))
    assert narrowed.node_count < whole.node_count
    counts = np.bincount(narrowed.edges.parent)
    assert counts[0] == counts.max() == 2


def test_deepening_that_is_ended_says_what_it_proved() -> None:
    """Ended at the third attempt, it has the program of the second, and a bound by both."""
    goal = parse("maximum(u16[6,7] @ u16[7,9], 0)")
    space, bound = parts_of(goal, AVX2)
    cheapest = search(goal, AVX2).cost
    watch = Ending()
    for calls in (500, 5_000, 10**9):
        watch.calls = calls
        outcome = deepen(space, bound, None, watch)
        assert outcome.found
        assert outcome.lower <= cheapest * (1 + 1e-9) <= outcome.cost * (1 + 2e-9)
    assert outcome.gap == 0.0
    assert outcome.cost == pytest.approx(cheapest)


class Ending(module.Watch):
    """Ends after so many calls, but for those who need a program."""

    def __init__(self) -> None:
        super().__init__(0.0, inf, 1 << 60, 0, None)
        self.calls = 0

    def __call__(self, specs: int, rewrites: int) -> None:
        self.calls -= 1
        if self.calls <= 0:
            raise BudgetError("enough")

    def part(self, share: float) -> module.Watch:
        return self

    def untimed(self) -> module.Watch:
        return UNTIMED.start()


def test_a_search_minds_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERVAL_S", 0.0)
    used = count()
    monkeypatch.setattr(module, "_in_use", lambda process: next(used))
    for expression in EXPRESSIONS[:2]:
        with pytest.raises(SearchError, match=r"no program in 0\.0 GiB of memory; make the sizes"):
            search(parse(expression), AVX2, budget=Budget(inf, 0.0))


@pytest.mark.parametrize("expression", EXPRESSIONS[:2])
def test_a_search_may_run_out_of_memory(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("morello.search.pruned_space.RelaxedBound", full)
    with pytest.raises(SearchError, match="ran out of memory"):
        search(parse(expression), AVX2)


def test_a_watch_reports_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now, told = 100.0, list[tuple[int, int]]()
    monkeypatch.setattr(module, "clock", lambda: now)
    watch = Budget(0.15, gap=0.5).start(lambda *counts: told.append(counts))
    watch(1, 2)
    watch(3, 4)  # too soon to tell
    now = 100.03
    watch(5, 6)
    assert told == [(1, 2), (5, 6)]
    assert Budget(inf).start().part(0.5)(0, 0) is None
    now = 100.18
    for _ in range(2):  # again and again, however soon
        with pytest.raises(BudgetError, match=r"no program in 0\.15 s"):
            watch(7, 8)
    part, now = watch.part(0.5), 100.19
    with pytest.raises(BudgetError):
        part(7, 8)
    watch.at_least(0.02)(9, 10)
    assert watch.over and not watch.at_least(0.02).over
    watch.untimed()(9, 10)
    assert told[-1] == (9, 10)
    assert watch.gap == watch.part(0.5).gap == watch.untimed().gap == 0.5


def test_waiting_for_the_processor_counts_little(monkeypatch: pytest.MonkeyPatch) -> None:
    now, processor = 100.0, 10.0
    clocks = SimpleNamespace(monotonic=lambda: now, thread_time=lambda: processor)
    monkeypatch.setattr(module, "time", clocks)
    began = clock()
    now += 4.0
    waited = clock() - began
    now, processor = now + 4.0, processor + 4.0
    worked = clock() - began - waited
    assert (waited, worked) == pytest.approx((1.0, 4.0))


def test_a_watch_does_something_once_after_a_share_of_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, told, done = 100.0, list[int](), list[float]()
    monkeypatch.setattr("morello.search.budget.clock", lambda: now)
    watch = Budget(10.0).start(lambda specs, _: told.append(specs))
    waiting = watch.after(watch.part(0.1), lambda: done.append(now)).part(0.5)
    untimed = UNTIMED.start().after(UNTIMED.start().part(0.1), lambda: done.append(now))
    for now in (100.5, 101.5, 102.0):
        waiting(int(now), 0)
        untimed(int(now), 0)
    assert told == [100, 101, 102]
    assert done == [101.5]
    late = watch.after(watch.part(0.1), lambda: done.append(now))
    now = 111.0
    assert watch.over and not UNTIMED.start().over
    with pytest.raises(BudgetError):
        late(1, 1)
    assert done == [101.5]


def test_what_reports_can_end_a_search_where_watches_are_called() -> None:
    def report(*_: int) -> None:
        called.append(module.Watch.called)
        raise BudgetError("enough")

    called: list[int] = []
    goal = parse(BETWEEN)
    with pytest.raises(SearchError, match="enough"):
        Session(goal, AVX2).solve(progress=report)
    assert {*called} == {1} and module.Watch.called == 0
    with UNTIMED.start():
        assert module.Watch.called == 0


@pytest.mark.parametrize("seconds", [0, -1, nan, "3", None, True, [1], 10**400])
def test_budgets_that_cannot_be(seconds: object) -> None:
    with pytest.raises(SearchError, match="a positive number of seconds"):
        Budget(seconds)  # type: ignore[arg-type]


@pytest.mark.parametrize("gap", [-0.01, nan, "0.02", None, True, [0.1], 10**400])
def test_gaps_that_cannot_be(gap: object) -> None:
    with pytest.raises(SearchError, match=r"a number of at least 0, such as 0\.02 for 2 %, not"):
        Budget(gap=gap)  # type: ignore[arg-type]


@pytest.mark.parametrize("expression", some([*EXPRESSIONS, BETWEEN], 5))
@pytest.mark.parametrize("gap", [0.02, 0.5, inf])
def test_a_search_may_end_within_a_gap(expression: str, gap: float) -> None:
    goal = parse(expression)
    near, cheapest = search(goal, AVX2, budget=Budget(inf, gap=gap)), optimum(goal, AVX2)
    assert near.statistics.gap <= gap
    assert cheapest.cost <= near.cost <= cheapest.cost * (1 + near.statistics.gap) * (1 + 1e-9)
    if gap > 0.1:  # with smaller ones, what is not known weighs less from the start
        assert near.statistics.specs <= cheapest.statistics.specs


def test_any_gap_still_takes_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search goes on until it has one if the first narrowed space has none."""
    monkeypatch.setattr("morello.search.deepening.WIDTHS", (0, 1 << 30))
    space, bound = parts_of(parse("softmax(f32[3,2] @ f32[2,5])"), AVX2)
    assert narrow(space, bound, 0.0, Budget(1e-6, gap=inf).start()).found


def test_a_gap_saves_work() -> None:
    session = Session(parse(BETWEEN), AVX2)
    near = session.solve(Budget(inf, gap=0.5))
    assert 0 < near.statistics.gap <= 0.5
    assert session.solve(Budget(inf, gap=near.statistics.gap)) is near
    cheapest = session.solve()
    assert cheapest.statistics.proven
    assert near.statistics.specs < cheapest.statistics.specs


def test_what_hardly_matters_for_the_gap_is_not_searched_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Remainders by tiles, of which any program will do."""
    goal, target = parse("f32[300,500] @ f32[500,700]"), find_target("avx2")
    quick = search(goal, target, budget=Budget(inf, gap=0.02))
    monkeypatch.setattr(best_first, "LAST_WEIGHT", 0.0)
    thorough = search(goal, target, budget=Budget(inf, gap=0.02))
    assert 1.05 * quick.statistics.specs < thorough.statistics.specs
    assert quick.statistics.gap <= 0.02 and quick.cost <= 1.02 * thorough.cost


def test_searches_one_after_the_other_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("morello.search.budget.clock", lambda: now)
    seconds = []
    for share in Budget(12.0, 0.25, 0.5).shares(4):
        seconds.append(share.seconds)
        assert (share.memory, share.gap) == (0.25, 0.5)
        now += len(seconds) * 2
    assert seconds == [3.0, 10 / 3, 3.0, module.LEAST_S]


@pytest.mark.parametrize(("used", "left"), [(0.0, 12.0), (5.0, 7.0), (12.5, module.LEAST_S)])
def test_what_was_used_up_before_is_not_searched_for(
    used: float, left: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("morello.search.budget.clock", lambda: 100.0)
    budget = Budget(12.0, used=used)
    assert budget.left == pytest.approx(budget.start().left) == pytest.approx(left)
    assert next(budget.shares(1)).left == pytest.approx(left)


def test_a_container_may_have_less_memory_than_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    for name, text in (("memory.max", "max"), ("memory.current", "1000")):
        (tmp_path / name).write_text(text)
    assert memory.free_memory() > 4000
    (tmp_path / "memory.max").write_text("5000")
    assert memory.free_memory() == 4000


def test_a_table_keeps_what_is_not_proven_until_there_is_more_time() -> None:
    goal, target = on_cores(parse(BETWEEN), AVX2)
    hasty = search(goal, target, budget=SHORT)
    assert not hasty.statistics.proven
    impl = reconstruct(goal, target, hasty.decisions)
    with Table(":memory:") as table:
        stored = StoredProgram(impl, gap=hasty.statistics.gap, seconds=SHORT.seconds)
        store_program(stored, table)
        kept = load_program(goal, target, table)
        assert kept is not None
        assert (kept.impl, kept.gap) == (impl, hasty.statistics.gap)
        assert kept.serves(True, SHORT.seconds, 0.0)
        assert not kept.serves(True, 2 * SHORT.seconds, 0.0)
        assert not kept.serves(False, SHORT.seconds, 0.0)
        store_program(StoredProgram(impl, gap=inf, seconds=3.0), table)
        assert load_program(goal, target, table) == replace(kept, gap=inf, seconds=3.0)
        store_program(StoredProgram(impl), table)
        proven = load_program(goal, target, table)
        assert proven is not None and proven.gap == 0.0 and proven.serves(True, inf, 0.0)


def test_a_table_keeps_what_is_within_a_gap_for_those_who_asked_for_no_more() -> None:
    goal, target = on_cores(parse(BETWEEN), AVX2)
    near = search(goal, target, budget=Budget(inf, gap=0.5))
    gap, seconds = near.statistics.gap, 0.1  # which a busy machine may not keep to
    with Table(":memory:") as table:
        impl = reconstruct(goal, target, near.decisions)
        store_program(StoredProgram(impl, gap=gap, seconds=seconds), table)
        kept = load_program(goal, target, table)
    assert kept is not None
    assert kept.serves(True, inf, gap)
    assert kept.serves(True, seconds, 0.0)
    assert kept.serves(True, 1.05 * seconds, 0.0)
    assert not kept.serves(True, module.SECONDS, 0.0)
    assert not kept.serves(True, module.SECONDS, gap / 2)
