"""Precomputing gives the same table wherever it runs, and however often it was interrupted."""

from __future__ import annotations

import sqlite3
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from morello import precompute as module
from morello.base.errors import TableError, TargetError
from morello.base.workers import local_workers
from morello.frontends.ranges import family
from morello.frontends.text import parse
from morello.memo import Table
from morello.memo.programs import load_program
from morello.precompute import (
    PrecomputeProgress,
    Setting,
    Task,
    dask_workers,
    precompute,
    solve_task,
    tasks_of,
)
from morello.search.session import search
from morello.targets import find_target
from morello.targets.costs import on_cores

TARGET = "avx2"
SETTING = Setting(TARGET)
SUMS = family("sum(f32[m,n], axis=1)", ["m=1..4", "n=2,8"])
MOVES = family("move(f32[m,n])", ["m=1..2", "n=1..6"])


@pytest.fixture(autouse=True)
def several_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WEIGHT", 30.0)


def rows(path: Path) -> list[list[Any]]:
    """All that a table's file has, as it is kept."""
    with closing(sqlite3.connect(path)) as file:
        return [
            file.execute(f"SELECT * FROM {what} ORDER BY 1, 2, 3").fetchall()
            for what in (
                "(SELECT space, kinds.kind, part, body FROM pages JOIN kinds ON pages.kind = id)",
                "goals",
                "(SELECT name, 0, 0 FROM tasks)",
            )
        ]


def run(
    path: Path, workers: Executor, count: int, steps: int | None = None
) -> list[PrecomputeProgress]:
    """Precompute, or some steps of it."""
    with Table(path, 1) as table:
        return list(islice(precompute(SUMS, table, SETTING, workers, count), steps))


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table that one worker makes without a pause."""
    path = tmp_path_factory.mktemp("wanted") / "t.db"
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as workers:
        patch.setattr(module, "WEIGHT", 30.0)
        run(path, workers, 1)
    return path


def test_all_members_are_in_the_table(wanted: Path) -> None:
    target = find_target(TARGET)
    with Table(wanted) as table:
        assert table.check() == []
        assert len(table.goals()) == len(SUMS)
        for _, expression in SUMS.expressions():
            goal = parse(expression)
            kept = load_program(goal, target, table)
            assert kept is not None
            found = search(goal, target, table=table)
            assert found.statistics.specs == 0
            assert kept.impl.cost == pytest.approx(found.cost)
        _, expression = next(SUMS.expressions())
        assert search(parse(expression), target).cost == pytest.approx(
            search(parse(expression), target, table=table).cost
        )


def test_an_interrupted_run_goes_on(wanted: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    tasks = len(tasks_of(SUMS, SETTING, 1))
    assert tasks > 4
    with ThreadPoolExecutor(1) as workers:
        assert [p.done for p in run(path, workers, 1, 1)] == [0]
        first = run(path, workers, 1, 3)
        assert [p.done for p in first] == [0, 1, 2]
        rest = run(path, workers, 1)
        assert [p.done for p in rest] == list(range(2, tasks + 1))
        assert rest[0].share == pytest.approx(first[-1].share)
        assert (rest[-1].tasks, rest[-1].failed) == (tasks, 0)
        assert rest[-1].share == pytest.approx(1.0)
        assert [p.done for p in run(path, workers, 1)] == [tasks]
    assert rows(path) == rows(wanted)


def test_processes_give_the_same(wanted: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with local_workers(2) as workers:
        run(path, workers, 2, 2)
        run(path, workers, 1)
    assert rows(path) == rows(wanted)


def test_goals_are_counted_while_tasks_go_on(wanted: Path, tmp_path: Path) -> None:
    path, log = tmp_path / "t.db", tmp_path / "log"
    log.touch()
    with ThreadPoolExecutor(1) as workers, Table(path, 1) as table:
        steps = [*precompute(SUMS, table, SETTING, workers, 1, log)]
    assert rows(path) == rows(wanted)
    goals = [step.goals for step in steps]
    assert goals == sorted(goals) and (goals[0], goals[-1]) == (0, len(SUMS))
    first, second, *_ = tasks = tasks_of(SUMS, SETTING, 1)
    log.write_text(f"{second.name}\n")
    progress = module._progress(tasks, {first.name}, 0, log)
    assert (progress.done, progress.goals) == (1, len(first.expressions) + 1)
    solved = first.weight + second.weight / len(second.expressions)
    assert progress.share == pytest.approx(solved / sum(task.weight for task in tasks))


def test_a_dask_cluster_gives_the_same(wanted: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    path = tmp_path / "t.db"
    made = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with made as cluster, dask_workers(cluster.scheduler_address) as (workers, count):
        assert count == 2
        run(path, workers, count)
    assert rows(path) == rows(wanted)


def test_a_cluster_that_is_none_gets_a_sentence() -> None:
    distributed = pytest.importorskip("distributed")
    made = distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None)
    with made as empty:
        for address, words in (
            (empty.scheduler_address, "has no workers; start some"),
            ("nowhere://1", "no Dask scheduler answers at nowhere"),
        ):
            with pytest.raises(TableError, match=words), dask_workers(address):
                pass


def test_tasks_are_the_family_in_order() -> None:
    for weight in (1.0, 30.0, 1e9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "WEIGHT", weight)
            tasks = tasks_of(SUMS, SETTING, 1)
        listed = [member for task in tasks for member in task.expressions]
        assert listed == [member for _, member in SUMS.expressions()]
        assert len({task.name for task in tasks}) == len(tasks)
    assert len(tasks) == 1


def test_tasks_differ_by_all_that_answers_depend_on() -> None:
    name = partial(lambda *given: tasks_of(*given)[0].name, SUMS)
    others = {"target": "avx512"}, {"threads": 2}, {"weights": "constant"}, {"limits": "L1=64"}
    settings = [SETTING, *(replace(SETTING, **other) for other in others)]
    assert len({name(SETTING, 2), *(name(one, 1) for one in settings)}) == 2 + len(others)
    assert name(SETTING, 1) == name(Setting(TARGET), 1)


@pytest.mark.parametrize(
    ("setting", "weights"),
    [
        (Setting(TARGET, threads=2), "plain"),
        (Setting(TARGET, weights="constant"), "constant"),
        (Setting(TARGET, limits="L1=48,registers=8"), "plain"),
    ],
    ids=["threads", "weights", "limits"],
)
def test_what_is_asked_later_is_there(setting: Setting, weights: str) -> None:
    one = family("f32[m,4] @ f32[4,32]", ["m=4"])
    goal, target = on_cores(parse("f32[4,4] @ f32[4,32]"), setting.machine(), setting.threads)
    with Table(":memory:") as table, ThreadPoolExecutor(1) as workers:
        assert list(precompute(one, table, setting, workers, 1))[-1].failed == 0
        kept = load_program(goal, target, table, weights)
        assert kept is not None and kept.impl.target.limits == setting.machine().limits
        assert load_program(*on_cores(goal, find_target(TARGET)), table) is None


def test_members_without_a_program_are_counted() -> None:
    task = Task("name", ("f32[2,2] @ f32[2,2]", "f32[2,2] @ f32[3,2]"), 1.0)
    found = solve_task(task, SETTING, SETTING.space, 1, 1)
    assert len(found.programs) == 1 and found.pages
    (said,) = found.failed
    assert said.endswith(".")


def test_workers_must_be_alike() -> None:
    with pytest.raises(TargetError, match="another machine, or has another version"):
        solve_task(Task("name", (), 1.0), SETTING, "another space", 1, 1)


def test_a_worker_that_fails_ends_it_with_what_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    tasks = tasks_of(MOVES, SETTING, 1)

    def fails(task: Task, *others: Any) -> Any:
        if task == tasks[2]:
            raise OSError("lost")
        return solve_task(task, *others)

    with Table(path, 1) as table, ThreadPoolExecutor(2) as workers:
        monkeypatch.setattr(module, "solve_task", fails)
        with pytest.raises(OSError, match="lost"):
            list(precompute(MOVES, table, SETTING, workers, 2))
        assert table.done() == {task.name for task in tasks[:2]}
        monkeypatch.setattr(module, "solve_task", solve_task)
        last = list(precompute(MOVES, table, SETTING, workers, 2))[-1]
        assert last.done == last.tasks == len(tasks) == len(table.done())
        assert table.check() == []


def test_families_that_overlap_share_what_they_have_in_common(tmp_path: Path) -> None:
    """The same is known of every Spec whatever comes first; only pages may differ."""
    more = family("move(f32[m,n])", ["m=2..3", "n=4..9"])
    target = find_target(TARGET)
    found = []
    for number, order in enumerate([(MOVES, more), (more, MOVES)]):
        with Table(tmp_path / f"{number}.db") as table, ThreadPoolExecutor(1) as workers:
            for one in order:
                list(precompute(one, table, SETTING, workers, 1))
            costs = {}
            for one in order:
                for _, expression in one.expressions():
                    solution = search(parse(expression), target, table=table)
                    assert solution.statistics.specs == 0
                    costs[expression] = solution.cost
            found.append((costs, sorted(table.goals())))
    assert found[0] == found[1]


@pytest.mark.parametrize("count", [0, -1, 10**9])
def test_numbers_of_workers(count: int) -> None:
    with pytest.raises(TargetError, match="there can be 1 to 1024 workers"), local_workers(count):
        pass
