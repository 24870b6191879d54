"""Programs that are not proven the cheapest: what is said of them, and what a table keeps."""

from __future__ import annotations

import json
import os
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import PATIENCE_S

import morello
from morello.cli.parser import main
from morello.cli.program import WRITING_S
from morello.memo.program_table import RememberedPrograms
from morello.memo.programs import load_program
from morello.request import Request, answer
from morello.request.remembering import Interrupts, remembered
from morello.search import session
from morello.search.best_first import BestFirst
from morello.search.budget import UNTIMED, Budget, BudgetError, Watch
from morello.search.deepening import deepen
from morello.search.incumbent import Incumbent
from morello.search.result import SearchResult

GOAL = "softmax(f32[7,11] @ f32[11,33])"
"""Its search has a program long before it has proven that none is cheaper."""

SMALL = "relu(f32[8])"
"""It is solved at once."""

PRODUCT = "f32[12,12] @ f32[12,32]"
"""With constant weights, there are several layouts to search."""

OPTIONS: dict[str, Any] = {"target": "avx2"}
NO_TIME = 1e-6


@contextmanager
def no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def end_with(patch: pytest.MonkeyPatch, gap: float) -> None:
    """Have searches end with this gap, and programs that are as good as they are."""
    solve = session.Session.solve

    def ended(*arguments: Any, **options: Any) -> Any:
        result = solve(*arguments, **options)
        return replace(result, statistics=replace(result.statistics, gap=gap))

    patch.setattr(session.Session, "solve", ended)


# ---- warnings


@pytest.mark.parametrize(
    ("gap", "words"),
    [(0.123, "a gap of 12.3% to the lower bound"), (1.7, "a gap of 170.0% to the lower bound"),
     (inf, "an unknown gap")],
)  # fmt: skip
def test_a_large_gap_is_a_warning(
    gap: float, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the line that asked for the program; the command writes a line on stderr."""
    end_with(monkeypatch, gap)
    text = f"the search for avx2 ended with {words}; a larger budget may find a cheaper program."
    with pytest.warns(morello.SearchWarning) as found:
        morello.implement(SMALL, **OPTIONS)
        morello.schedule(SMALL, **OPTIONS).solve()
    assert [str(warning.message) for warning in found] == [f"{SMALL}: {text}"] * 2
    assert [warning.filename for warning in found] == [__file__] * 2
    with pytest.warns(morello.SearchWarning, match="the search for native ended") as found:
        morello.compile(SMALL, verify=False)
    assert [warning.filename for warning in found] == [__file__]
    assert main(["synth", SMALL, "--target", "avx2", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"morello: {text}\n"
    searched = json.loads(captured.out)["search"]
    assert not searched["proven"] and searched["gap"] == (None if gap == inf else gap)


def test_a_search_that_its_budget_ends_warns() -> None:
    with pytest.warns(morello.SearchWarning, match="a larger budget may"):
        _, statistics = morello.implement(GOAL, budget=NO_TIME, **OPTIONS)
    assert statistics is not None and statistics.gap > 0.1


def test_other_gaps_are_no_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """None, small ones, and those that were asked for."""
    with no_warning():
        _, proven = morello.implement(GOAL, **OPTIONS)
        _, near = morello.implement(GOAL, gap=0.5, **OPTIONS)
        _, any_gap = morello.implement(GOAL, gap=inf, budget=NO_TIME, **OPTIONS)
    assert proven is not None and near is not None and any_gap is not None
    assert proven.gap == 0.0 < near.gap <= 0.5
    assert near.specs < proven.specs
    for gap, asked in ((0.0999, 0.0), (0.3, 0.3)):
        end_with(monkeypatch, gap)
        with no_warning():
            morello.implement(SMALL, gap=asked, **OPTIONS)
            morello.compile(SMALL, gap=asked, verify=False)
            morello.schedule(SMALL, **OPTIONS).solve(gap=asked)
        assert main(["explain", SMALL, "--target", "avx2", "--gap", str(asked)]) == 0
        captured = capsys.readouterr()
        text = " ".join(captured.out.split())
        assert captured.err == ""
        assert f"Found with a gap of {gap:.1%} to the lower bound under the cost model in" in text
        monkeypatch.undo()


# ---- tables


def test_a_table_does_not_answer_for_a_smaller_gap() -> None:
    with morello.Table(":memory:") as table:
        near, found = morello.implement(GOAL, table=table, gap=0.5, **OPTIONS)
        assert found is not None and found.specs and 0 < found.gap <= 0.5
        again, kept = morello.implement(GOAL, table=table, gap=0.5, **OPTIONS)
        assert kept is not None and not kept.specs and kept.gap == found.gap and again == near
        long = {"budget": 3600.0, **OPTIONS}  # more than the search above took on a busy machine
        cheapest, proven = morello.implement(GOAL, table=table, **long)
        assert proven is not None and proven.specs and proven.proven
        assert cheapest.cost <= near.cost
        _, kept = morello.implement(GOAL, table=table, gap=0.5, **OPTIONS)
        assert kept is not None and not kept.specs and kept.proven


def test_a_program_with_a_large_gap_is_kept_for_equal_budgets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The warning is the same; a search that may take longer is made."""
    with RememberedPrograms(tmp_path / "programs.db") as table:
        end_with(monkeypatch, 0.2)
        searched = []
        for budget in (20.0, 20.0, 2.0, 60.0):
            with pytest.warns(morello.SearchWarning, match="a gap of 20.0%"):
                _, found = morello.implement(SMALL, table=table, budget=budget, **OPTIONS)
            assert found is not None
            searched.append(found.specs > 0)
    assert searched == [True, False, False, True]


def test_an_interrupted_search_answers_for_no_other() -> None:
    """It could have taken longer than it did."""

    def interrupt(specs: int, rewrites: int) -> None:
        raise BudgetError("it was interrupted")

    impl, found = morello.implement(SMALL, table="off", **OPTIONS)
    assert found is not None
    short, goal = replace(found, gap=0.2, seconds=0.5), impl.spec
    with morello.Table(":memory:") as table:
        request = Request(goal, impl.target, table, budget=Budget(20.0))
        interrupts = Interrupts(interrupt)
        with pytest.raises(BudgetError):
            interrupts(1, 1)
        for ended, seconds in ((interrupts, 0.5), (Interrupts(None), 20.0), (interrupts, 20.0)):
            remembered(goal, request, (impl, short), ended)
            kept = load_program(goal, impl.target, table)
            assert kept is not None and kept.seconds == seconds


def test_a_cheaper_program_of_the_table_is_the_answer() -> None:
    """It is the answer where a search ends with another one, short of its gap."""
    impl, found = morello.implement(PRODUCT, table="off", **OPTIONS)
    worse = morello.alternatives(PRODUCT, 2, table="off", **OPTIONS)[1]
    assert found is not None and worse.cost > impl.cost
    short, request = replace(found, gap=0.5), Request(impl.spec, impl.target)
    with morello.Table(":memory:") as table:
        request = replace(request, table=table)
        answers = [
            remembered(impl.spec, request, (each, short), Interrupts(None))
            for each in (impl, worse)
        ]
    assert [each for each, _ in answers] == [impl, impl]
    assert answers[1][1].gap == pytest.approx(1.5 * impl.cost / worse.cost - 1)


# ---- several searches


@pytest.mark.parametrize(
    ("options", "searches"),
    [({"weights": "constant", **OPTIONS}, range(1, 2)), ({"target": "x86-64-v3"}, range(3, 99))],
    ids=["layouts", "machines"],
)
def test_what_there_is_no_time_for_is_left_out(
    options: dict[str, Any], searches: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of several layouts, or machines, is searched in any case."""
    solved = 0
    solve = session.Session.solve

    def counted(*arguments: Any, **keywords: Any) -> Any:
        nonlocal solved
        solved += 1
        return solve(*arguments, **keywords)

    monkeypatch.setattr(session.Session, "solve", counted)
    with pytest.warns(morello.SearchWarning, match="with an unknown gap; a larger budget"):
        impl, statistics = morello.implement(PRODUCT, budget=NO_TIME, **options)
    assert solved == 1 and impl.complete
    assert statistics is not None and statistics.gap == inf
    _, statistics = morello.implement(PRODUCT, gap=inf, **options)
    assert solved - 1 in searches and statistics is not None and statistics.gap < inf


def test_levels_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal parts of what is left, but the time for writing: none passes here."""
    budgets: list[float] = []

    def recording(request: Request) -> Any:
        budgets.append(request.budget.seconds)
        return answer(request)

    monkeypatch.setattr("morello.search.budget.clock", lambda: 100.0)
    monkeypatch.setattr("morello.cli.program.answer", recording)
    levels = ["--target", "x86-64-v3,x86-64-v4", "--budget", str(90 + WRITING_S)]
    assert main(["synth", SMALL, *levels]) == 0
    assert budgets == pytest.approx([30, 45, 90])


# ---- interrupts


@pytest.fixture
def _interruptible() -> Iterator[None]:
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


def stand_in(
    patch: pytest.MonkeyPatch, *, found: bool, interrupts: int = 1, spared: int = 0
) -> None:
    """Have searches interrupt their process, and go on until their watch ends them.

    By then they have `found` a program, or none. The first searches are `spared`.
    """
    searches = count(1)

    def ended(incumbent: Incumbent, watch: Watch) -> Incumbent:
        if not Watch.called or next(searches) <= spared:  # the first may be of what warms up
            return incumbent
        for _ in range(interrupts):
            os.kill(os.getpid(), signal.SIGINT)
        try:
            for _ in range(100):
                watch(1, 1)
            pytest.fail("the search was not ended")
        except BudgetError:
            if found:
                return replace(incumbent, lower=incumbent.cost / 1.25)
            raise

    def without_table(search: BestFirst, report: object = None) -> list[Incumbent]:
        graph, untimed = search.graph, UNTIMED.start()
        return [ended(deepen(graph.space, graph.bound, None, untimed), search.watch)]

    def with_table(space: Any, bound: Any, memo: Any, watch: Watch) -> Incumbent:
        return ended(deepen(space, bound, None, UNTIMED.start()), watch)

    patch.setattr("morello.search.budget.INTERVAL_S", 0.0)
    patch.setattr("morello.search.session.BestFirst.run", without_table)
    patch.setattr("morello.search.session.deepen", with_table)


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupted_search_gives_its_best_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = ["explain", SMALL, "--target", "avx2", "--json", "--db", str(tmp_path / "t.db")]
    stand_in(monkeypatch, found=True)
    assert main([*command, "--gap", "0.3"]) == 0
    captured = capsys.readouterr()
    assert captured.err == (
        "morello: interrupted; the best program so far has a gap of 25.0% to the lower bound.\n"
    )
    first = json.loads(captured.out)
    assert first["search"]["gap"] == pytest.approx(0.25)
    monkeypatch.undo()  # it was kept for what it is, and not as one of 20 s
    assert main(command) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["search"]["proven"] and second["search"]["specs"]
    assert second["cost"] == first["cost"]


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize(("found", "interrupts"), [(False, 1), (True, 2)])
def test_an_interrupted_search_ends_without_a_program_or_at_the_second_time(
    found: bool,
    interrupts: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in(monkeypatch, found=found, interrupts=interrupts)
    assert main(["explain", SMALL, "--target", "avx2"]) == 130
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "morello: interrupted.\n")
    assert Watch.called == 0


@pytest.mark.usefixtures("_interruptible")
def test_interrupts_outside_a_search_end_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(PATIENCE_S)

    monkeypatch.setattr("morello.measure.load.load", interrupt)
    assert main(["bench", SMALL]) == 130
    assert capsys.readouterr().err == "morello: interrupted.\n"


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_while_programs_to_measure_are_chosen_leaves_those_there_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupts = [signal.SIGINT]

    def endless(graph: object, cost: float, watch: Watch, slacks: object) -> Iterator[Any]:
        while interrupts:
            os.kill(os.getpid(), interrupts.pop())
        with suppress(BudgetError):
            for _ in range(100):
                watch(1, 1)
            pytest.fail("the search was not ended")
        yield from ()

    monkeypatch.setattr("morello.search.budget.INTERVAL_S", 0.0)
    monkeypatch.setattr("morello.search.session.candidates", endless)
    assert main(["explain", SMALL, "--measure", "3", "--json"]) == 0
    searched = json.loads(capsys.readouterr().out)["search"]
    assert searched["measured"] == 1 and searched["proven"]


@pytest.mark.usefixtures("_interruptible")
def test_python_raises_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, found=True)
    with pytest.raises(KeyboardInterrupt):
        morello.implement(SMALL, progress=lambda *_: None, **OPTIONS)


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_keeps_the_best_for_the_machines_searched(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends the search for the second machine, which has no program yet."""
    stand_in(monkeypatch, found=False, spared=1)
    assert main(["explain", PRODUCT, "--target", "x86-64-v3"]) == 0
    captured = capsys.readouterr()
    assert "Found with an unknown gap" in captured.out
    assert captured.err == "morello: interrupted; the best program so far has an unknown gap.\n"


def test_machines_for_which_little_time_is_left_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, seconds = 100.0, list[float]()
    search = session.Session.solve

    def solve(searched: session.Session, budget: Budget, progress: Any) -> SearchResult:
        nonlocal now
        seconds.append(budget.seconds)
        now += 5.0
        return search(searched)

    monkeypatch.setattr("morello.search.budget.clock", lambda: now)
    monkeypatch.setattr(session.Session, "solve", solve)
    with pytest.warns(morello.SearchWarning, match="unknown gap"):
        morello.implement(SMALL, target="x86-64-v3", table="off", budget=12.0)
    assert seconds == pytest.approx([2.0, 1.4])  # of 2.0 each, 0.5 would have been left
