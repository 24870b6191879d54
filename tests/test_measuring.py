"""Choosing among programs by measuring them, and remembering the choice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learn.made_up import CACHES

import morello
from morello import api
from morello.base.errors import SearchError, TargetError
from morello.cli.parser import main
from morello.codegen import generate
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.measure import choose as measuring
from morello.measure.choose import TimedImpl, build_and_time, candidate_impls
from morello.measure.timing import Timing
from morello.memo import Table
from morello.memo.programs import StoredProgram, load_program, store_program
from morello.native.toolchain import Compiler, find_compiler
from morello.options import requested
from morello.request import Ranking, answer
from morello.runtime.packing import random_inputs
from morello.search.budget import UNTIMED, Watch
from morello.search.result import SearchResult
from morello.search.session import Session
from morello.search.structure import structure
from morello.targets.catalog import recorded
from morello.targets.target import Target

GOAL = "f32[4,4] @ f32[4,8]"
LARGER = "f32[8,16] @ f32[16,32]"


@pytest.fixture
def backwards(monkeypatch: pytest.MonkeyPatch) -> list[list[Impl]]:
    """Replaces the clock: programs that cost more are faster. Returns the programs measured."""
    asked: list[list[Impl]] = []

    def build_and_time(impls: Iterable[Impl], _: Compiler) -> list[TimedImpl]:
        asked.append(list(impls))
        found = [TimedImpl(impl, Timing((1 / impl.cost,), 1)) for impl in asked[-1]]
        return sorted(found, key=lambda one: one.timing.min_s)

    monkeypatch.setattr("morello.request.answering.build_and_time", build_and_time)
    return asked


def test_rivals_differ_and_the_cheapest_is_the_first() -> None:
    best, _ = api.implement(GOAL)
    session = Session(best.spec, best.target, cost=best.cost)
    found = candidate_impls(best, session, 6, UNTIMED.start())
    assert found[0] is best and len(found) == 6
    assert len({generate(impl).text for impl in found}) == 6
    assert len({structure(impl) for impl in found}) == 6
    assert all(best.cost <= impl.cost <= 1.3 * best.cost for impl in found)


def test_what_is_timed_is_sorted_by_its_time() -> None:
    best, _ = api.implement(LARGER)
    slow = morello.schedule(LARGER).tile(m=1, n=1).solve().impl
    found = build_and_time([slow, best], find_compiler())
    assert [one.impl for one in found] == [best, slow]
    assert 0 < found[0].timing.min_s < found[1].timing.min_s


def test_what_is_timed_is_in_the_learned_order_if_a_model_knows_it() -> None:
    ranked = {
        (rank, *options.items()): ranking_of(rank=rank, **options)
        for rank in (None, "cost", "learned")
        for options in ({}, {"measure": 3}, {"threads": 2}, {"measure": 3, "threads": 2})
        if rank != "learned" or "threads" not in options
    }
    learned = [asked for asked, name in ranked.items() if name == "learned"]
    assert learned == [(None, ("measure", 3)), ("learned",), ("learned", ("measure", 3))]
    assert ranking_of(measure=3, target="neon") is None


def ranking_of(**options: Any) -> str | None:
    options = {"target": recorded("Zen 4", CACHES)} | options
    with requested(GOAL, table="off", **options) as request:
        return request.ranking.name if request.ranking else None


def test_programs_that_are_not_ranked_come_last(backwards: list[list[Impl]]) -> None:
    """A ranking orders programs that cost little more than the cheapest, which is timed first.

    If there are too few of these, the next ones are timed by cost.
    """
    seen: list[Sequence[Impl]] = []

    def backward(impls: Sequence[Impl]) -> list[Impl]:
        seen.append(impls)
        return [*reversed(impls)]

    with requested(GOAL, measure=7, rank="cost", table="off") as request:
        for count in (3, 20):
            for slack in (1.02, 1.3):
                ranking = Ranking("back", count, slack, backward, no_refusal)
                answer(replace(request, ranking=ranking))
    for asked, near, slack in zip(backwards, seen, [1.02, 1.3] * 2, strict=True):
        best, *others = asked
        assert len(asked) == 7 and best is near[0]
        assert others[: len(near) - 1] == [*reversed(near[1:])][:6]
        assert all(impl.cost <= slack * best.cost for impl in near)
        assert len({generate(impl).text for impl in asked}) == 7
    assert len(seen[0]) < len(seen[3])


def no_refusal(goal: Spec, target: Target) -> None:
    """Every goal can be ranked."""


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_are_those_that_were_fastest(backwards: list[list[Impl]], threads: int) -> None:
    kernel = morello.compile(GOAL, measure=4, threads=threads)
    (asked,) = backwards
    assert len(asked) == 4 and kernel.statistics is not None
    assert kernel.statistics.measured == 4 and kernel.statistics.specs > 0
    assert kernel.impl in asked
    assert kernel.impl.cost == pytest.approx(max(impl.cost for impl in asked))
    a, b = random_inputs(kernel.spec).plain
    np.testing.assert_allclose(kernel(a, b), a.astype(float) @ b, rtol=1e-5, atol=1e-6)


def test_the_winner_is_remembered(backwards: list[list[Impl]], tmp_path: Path) -> None:
    path = tmp_path / "specs.db"
    cheapest, statistics = api.implement(GOAL, table=path)
    assert statistics is not None and statistics.measured == 0
    assert api.implement(GOAL, table=path)[0] == cheapest
    winner, _ = api.implement(GOAL, table=path, measure=3, rank="cost")
    assert winner != cheapest and winner.cost >= cheapest.cost
    for measure in (1, 3, 5):
        impl, statistics = api.implement(GOAL, table=path, measure=measure)
        assert impl == winner and statistics is not None
        assert (statistics.measured, statistics.specs) == (3, 0)
    assert len(backwards) == 1
    with Table(path) as table:
        store_program(StoredProgram(cheapest), table)
        kept = load_program(winner.spec, winner.target, table)
        assert kept is not None and (kept.impl, kept.measured) == (winner, 3)
        parallel = replace(winner.spec, parallel=True)
        assert load_program(parallel, replace(winner.target, cores=2), table) is None


@pytest.mark.parametrize("weights", ["plain", "constant"])
def test_no_goal_is_searched_twice(
    backwards: list[list[Impl]], weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Spec] = []
    solve = Session._solve

    def counted(session: Session, everything: bool, watch: Watch) -> SearchResult:
        searched.append(session.goal)
        return solve(session, everything, watch)

    monkeypatch.setattr(Session, "_solve", counted)
    api.implement(GOAL, weights=weights, measure=3)
    goals = [goal for goal in searched if goal.sizes == (4, 4, 8)]
    assert len(goals) == len(set(goals)) >= 1 and len(backwards) == 1


def test_merged_tables_keep_what_was_measured(backwards: list[list[Impl]]) -> None:
    with Table(":memory:") as ours, Table(":memory:") as theirs:
        api.implement(GOAL, table=ours)
        winner, _ = api.implement(GOAL, table=theirs, measure=3)
        ours.take([theirs])
        assert api.implement(GOAL, table=ours)[0] == winner


def test_one_program_is_not_timed(backwards: list[list[Impl]]) -> None:
    _, statistics = api.implement(GOAL, measure=1)
    assert statistics is not None and statistics.measured == 0 and backwards == []


def test_what_cannot_be_measured() -> None:
    for count in (0, -1, 65):
        with pytest.raises(SearchError, match=f"1 to 64 programs can be measured, not {count}"):
            morello.compile(GOAL, measure=count)
    with pytest.raises(SearchError, match="a schedule is one program"):
        morello.compile(morello.schedule(GOAL).solve(), measure=2)
    with pytest.raises(TargetError, match="cannot run kernels for neon"):
        api.implement(GOAL, target="neon", measure=2)


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "SECONDS", 0.01)
    path = ["--db", str(tmp_path / "specs.db")]
    assert main(["explain", GOAL, *path, "--measure", "3"]) == 0
    told = "Ranked by the learned model. The fastest of 3 measured. The cheapest was proven so"
    assert told in " ".join(capsys.readouterr().out.split())
    assert main(["explain", GOAL, *path]) == 0
    assert "The fastest of 3 measured. Known from the table" in capsys.readouterr().out
    assert main(["bench", GOAL, *path, "--seconds", "0.01", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["search"]["measured"] == 3
    assert main(["synth", GOAL, "--measure", "0"]) == 2
    assert "1 to 64 programs" in capsys.readouterr().err
