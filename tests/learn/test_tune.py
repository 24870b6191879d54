"""Tuning: what comes of it, what it survives, how it is timed, and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from itertools import islice, pairwise
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello import api
from morello.base.errors import SearchError, TargetError
from morello.base.workers import Worker
from morello.cli import tune as tune_command
from morello.cli.parser import main
from morello.codegen import generate
from morello.impl import saved
from morello.impl.tree import Impl
from morello.learn import choosers, hardware, label
from morello.learn import tune as tuning
from morello.learn.choosers import ORDERS, Order
from morello.learn.corpus import read
from morello.learn.dataset import program_group
from morello.learn.hardware import TOGETHER
from morello.learn.label import BuiltPrograms, source
from morello.learn.trials import Trials, all_trials
from morello.learn.tune import Enough, Tuning, plan, relative, tune
from morello.memo import Table
from morello.memo.programs import StoredProgram, load_program, store_program
from morello.native.toolchain import find_compiler
from morello.search.session import Session

EXPRESSION = "f32[4,8] @ f32[8,32]"
FEW = 4
"""Programs in a batch of the tests."""

LONG = inf
"""Seconds to tune for: tests that say so look at the first batches."""


@cache
def worker() -> Worker:
    """The process in which `tuned` programs run: one that crashed is replaced."""
    return Worker()


@pytest.fixture(scope="module", autouse=True)
def _end_of_worker() -> Iterator[None]:
    yield
    worker().end()


def tuned(order: Order, batches: int) -> Tuning:
    """The state of tuning after so many batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "FIRST_BATCH", FEW)
        patch.setattr(tuning, "TOGETHER", FEW)
        patch.setattr(tuning, "Worker", lambda: nullcontext(worker()))
        return list(islice(tune(*plan(EXPRESSION), LONG, order=order), 1 + batches))[-1]


@pytest.fixture(scope="module")
def learned() -> Tuning:
    return tuned("learned", 2)


def never() -> bool:
    return False


def texts(found: Tuning) -> list[str]:
    return [generate(one.impl).text for one in found.trials]


# ---- what comes of it


def test_programs_differ_and_the_first_is_the_first_choice(learned: Tuning) -> None:
    assert len(learned.trials) + learned.failed == 1 + 2 * FEW and learned.failed == 0
    assert len(set(texts(learned))) == len(learned.trials)
    first = learned.trials[0]
    assert first.ratio == 1.0
    assert first.impl.cost == pytest.approx(min(one.impl.cost for one in learned.trials))
    impl, _ = api.implement(EXPRESSION)
    assert generate(impl).text == generate(first.impl).text
    for one in learned.trials:
        assert saved.load(saved.save(one.impl), one.impl.target) == one.impl


def test_the_best_is_not_slower_than_the_first_choice(learned: Tuning) -> None:
    assert 0 < learned.best_s <= learned.first_s < 1e-3
    assert learned.speedup == pytest.approx(learned.first_s / learned.best_s)
    assert 0 < learned.hardware_s < learned.seconds


def test_the_curve_falls(learned: Tuning) -> None:
    many = replace(learned, trials=tuple(
        replace(learned.trials[0], ratio=ratio, hardware_s=1.0 + n)
        for n, ratio in enumerate([1.0, 1.2, 0.8, 0.9, 0.8, 0.5])
    ))  # fmt: skip
    assert [spent for spent, _ in many.curve] == [1.0, 3.0, 6.0]
    least = [seconds / many.first_s for _, seconds in many.curve]
    assert least == pytest.approx([1.0, 0.8, 0.5])
    for one in (many, learned):
        assert all(a[0] <= b[0] and a[1] > b[1] for a, b in pairwise(one.curve))
        assert one.curve[-1][1] == pytest.approx(one.best_s)
    _, *rows, _, _ = tune_command.curve(replace(many, hardware_s=8.0)).splitlines()
    lengths = [len(row) for row in rows if len(row) > 1]
    assert lengths == sorted(lengths) and len(lengths) == 3


def test_orders_differ(learned: Tuning) -> None:
    assert {*ORDERS} == {"learned", "affine", "random"}
    affine, random = tuned("affine", 1), tuned("random", 1)
    costs = [one.impl.cost for one in affine.trials]
    assert costs == sorted(costs)
    chosen = [texts(one)[1 : 1 + FEW] for one in (learned, affine, random)]
    assert chosen[2] not in chosen[:2]
    assert all(texts(one)[0] == texts(learned)[0] for one in (affine, random))


@pytest.mark.parametrize(
    ("enough", "left"),
    [
        (Enough(), inf),
        (Enough(programs=5), 1),
        (Enough(programs=2), 0),
        (Enough(plateau=4), 2),
        (Enough(plateau=2), 0),
        (Enough(programs=5, plateau=4), 1),
        (Enough(seconds=0.81e-6), 0),
        (Enough(seconds=0.79e-6), inf),
    ],
)
def test_what_is_enough(enough: Enough, left: float) -> None:
    assert enough.left([1.0, 1.2, 0.8, 0.9, 0.8], 1e-6) == left
    assert replace(enough, seconds=0.0).left([1.0], 1e-6) == min(enough.programs, enough.plateau)


def test_the_first_batches_are_small() -> None:
    """So what is predicted fastest is known before all others of a file have been measured."""
    assert [*islice(tuning.batch_sizes(), 4)] == [3, 6, TOGETHER, TOGETHER]


def test_no_more_programs_are_measured_than_asked_for(learned: Tuning) -> None:
    *_, cold = tune(*plan(EXPRESSION), LONG, order="affine", enough=Enough(programs=2), cold=True)
    assert len(cold.trials) + cold.failed == 3
    assert cold.trials[0].labels.cold.shape[1] > 0 == learned.trials[0].labels.cold.shape[1]
    assert 0 < cold.first_s <= cold.trials[0].labels.cold.min() * 1.001e-9


def test_finalists_are_compiled_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[int] = []

    def counted(impls: Sequence[Impl], names: Sequence[str]) -> str:
        files.append(len(impls))
        return source(impls, names)

    measure = tuning._Run.batches

    def slow_first(run: tuning._Run, *arguments: Any) -> Iterator[Tuning]:
        yield from measure(run, *arguments)
        run._trials[0] = replace(run._trials[0], ratio=100.0)

    monkeypatch.setattr(hardware, "source", counted)
    monkeypatch.setattr(tuning, "available_threads", lambda: 1)
    monkeypatch.setattr(tuning._Run, "batches", slow_first)
    enough = Enough(programs=tuning.FIRST_BATCH)
    *_, found = tune(*plan(EXPRESSION), LONG, order="affine", enough=enough)
    assert files[:2] == [1, tuning.FIRST_BATCH] and files[2:] == [1] * len(files[2:])
    assert len(files) > 2 and found.best.impl != found.trials[0].impl


def test_time_is_kept() -> None:
    """When it is used up, the first choice has been measured, and nothing else is."""
    *_, found = tune(*plan(EXPRESSION), 1e-3)
    assert [one.ratio for one in found.trials] == [1.0]


def test_a_program_that_crashes_costs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(impls: Sequence[Impl], names: Sequence[str]) -> str:
        text = source(impls, names)
        if len(names) == 1:
            return text
        before, after = text.split(f"void {names[1]}(")
        crash = "{\n  *(volatile int *)0 = 0;"
        return f"{before}void {names[1]}({after.replace('{', crash, 1)}"

    monkeypatch.setattr(hardware, "source", spoiled)
    monkeypatch.setattr(tuning, "available_threads", lambda: 1)
    found = tuned("affine", 1)
    assert found.failed == 1 and len(found.trials) == FEW


def test_a_first_choice_that_crashes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def crashing(impls: Sequence[Impl], names: Sequence[str]) -> str:
        return source(impls, names).replace(") {", ") {\n  *(volatile int *)0 = 0;")

    monkeypatch.setattr(hardware, "source", crashing)
    with pytest.raises(SearchError, match="crashed"):
        tuned("affine", 0)


def test_programs_for_several_threads_run_on_these(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, target = plan("f32[256,256] @ f32[256,256]", threads=2)
    *_, found = tune(spec, target, LONG, order="affine", enough=Enough(programs=2))
    assert found.failed == 0 and all(one.impl.spec.parallel for one in found.trials)
    attached: list[tuple[str, int]] = []

    def attach(library: object, symbol: str, threads: int, **options: object) -> None:
        attached.append((symbol, threads))

    monkeypatch.setattr(label, "attach", attach)
    compiler = find_compiler()
    programs = hardware.compiled_apart([one.impl for one in found.trials], compiler)
    built = [program for program in programs if program is not None]
    assert len({program.path for program in built}) == 1 < len(built) == len(programs)
    libraries = [(built[0].path, [program.name for program in built])]
    labels = label.label(BuiltPrograms(spec.expression, libraries, 2), compiler, cold=False)
    assert not labels.wrong.any()  # without a pool, the caller runs all items
    assert len(attached) > 1 and {threads for _, threads in attached} == {2}


# ---- times


def test_nothing_is_timed_without_patience() -> None:
    spec, target = plan(EXPRESSION)
    impl = choosers.program(session := Session(spec, target), session.solve().decisions)
    program = hardware.Compiled(impl, Path("nowhere.so"), "program")
    for cold in (False, True):
        timer = hardware.Hardware(worker(), find_compiler(), cold)
        found = timer.labels([program] * 2, lambda programs: 0.0)
        assert len(found.repeats) == 2 and np.isnan(found.repeats).all() and not found.wrong.any()
        assert found.cold.shape == (2, label.COLD_REPEATS if cold else 0)


def test_a_change_of_the_clock_makes_no_program_faster() -> None:
    reference = np.array([10.0, 10.0, 8.0, 8.0, 8.0])
    faster = np.array([8.0, 8.0, 6.4, 6.4, np.nan])
    assert relative(reference, reference) == 1.0
    assert relative(faster, reference) == pytest.approx(0.8)
    assert np.isnan(relative(np.full(5, np.nan), reference))


# ---- what is kept


@pytest.fixture(autouse=True)
def _own_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test keeps trials in a folder of its own: tests of one Spec may run in any order."""
    monkeypatch.setattr(tune_command, "trials_folder", lambda: tmp_path / "trials")


@pytest.fixture
def faster(learned: Tuning) -> Tuning:
    """A tuning in which another program than the first choice is twice as fast."""
    first, other = learned.trials[:2]
    return replace(learned, trials=(first, replace(other, ratio=0.5)), gap=0.1)


def stand_in(
    patch: pytest.MonkeyPatch, found: Tuning, interrupted: bool = False
) -> list[dict[str, Any]]:
    """Let the command find this; gives the options that it tunes with."""
    options: list[dict[str, Any]] = []

    def steps(*arguments: object, **given: Any) -> Iterator[Tuning]:
        options.append(given)
        yield found
        if interrupted:
            raise KeyboardInterrupt

    patch.setattr(tune_command, "tune", steps)
    return options


def test_later_calls_use_what_a_table_has(
    faster: Tuning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, schedule = tmp_path / "tuned.db", tmp_path / "best.json"
    options = stand_in(monkeypatch, faster)
    command = ["tune", EXPRESSION, "--db", str(path), "--json"]
    assert main([*command, "--save", str(schedule)]) == 0
    impl, statistics = api.implement(EXPRESSION, table=path)
    assert impl == faster.trials[1].impl != faster.trials[0].impl
    assert statistics is not None and statistics.measured == 2 and statistics.specs == 0
    assert saved.load(json.loads(schedule.read_text())) == impl
    assert main(command) == 0
    assert [one["known"] for one in options] == [[], [impl, faster.trials[0].impl]]
    assert api.implement(EXPRESSION, table=path)[0] == impl


def test_trials_are_kept_for_later(learned: Tuning, tmp_path: Path) -> None:
    spec, target = plan(EXPRESSION)
    compiler = find_compiler()
    trials = Trials.of(spec, target, compiler, tmp_path)
    assert trials.fastest() == []
    labels = [one.labels for one in learned.trials]
    for impls in ([one.impl for one in learned.trials[:4]], [one.impl for one in learned.trials]):
        trials.add(impls, labels[: len(impls)], 3e9)
    found = trials.fastest()
    assert {generate(impl).text for impl, _ in found} == {*texts(learned)}
    assert [seconds for _, seconds in found] == sorted(seconds for _, seconds in found)
    of_first = next(seconds for impl, seconds in found if impl == learned.trials[0].impl)
    assert of_first == pytest.approx(float(np.nanmin(labels[0].repeats)) * 1e-9, rel=1e-6)
    assert len(all_trials(tmp_path, target, compiler)) == len(found)
    assert all_trials(tmp_path, replace(target, name="other"), compiler) == []
    group = program_group(read(trials.path))  # as for training
    assert group.family == "tuned" and len(group.seconds) == len(found)
    trials.add([learned.trials[0].impl], [replace(labels[0], cold=np.ones((1, 3)))], 3e9)
    assert np.isnan(read(trials.path).cold).all(axis=1).sum() == len(found) - 1
    trials.path.write_bytes(b"damaged")
    assert trials.fastest() == all_trials(tmp_path, target, compiler) == []


def test_the_fastest_is_remembered(
    faster: Tuning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MORELLO_TABLE", str(tmp_path / "remembered.db"))
    stand_in(monkeypatch, faster)
    assert main(["tune", EXPRESSION, "--json", "--no-table"]) == 0
    assert api.implement(EXPRESSION)[0] == faster.trials[0].impl
    assert main(["tune", EXPRESSION, "--json"]) == 0
    assert api.implement(EXPRESSION)[0] == faster.trials[1].impl


def test_what_a_table_has_is_not_replaced_untried(
    faster: Tuning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tuned.db"
    for found in (faster, replace(faster, trials=faster.trials[:1])):
        stand_in(monkeypatch, found)
        assert main(["tune", EXPRESSION, "--db", str(path), "--json"]) == 0
        assert api.implement(EXPRESSION, table=path)[0] == faster.trials[1].impl


def test_known_programs_are_measured_in_any_case(
    learned: Tuning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "SEARCHING", LONG)  # so that the first choice is the cheapest
    known = learned.trials[-1].impl
    *_, found = tune(*plan(EXPRESSION), 0.1, known=[known])
    assert [one.impl for one in found.trials] == [learned.trials[0].impl, known]


def test_a_measured_program_serves_all_searches(faster: Tuning) -> None:
    impl = faster.trials[1].impl
    with Table(":memory:") as table:
        store_program(StoredProgram(impl, 2, gap=0.1), table)
        kept = load_program(impl.spec, impl.target, table)
    assert kept is not None and kept.gap == 0.1 and kept.seconds == inf
    assert kept.serves(False, 1000.0, 0.0)


def test_an_interrupt_keeps_what_was_found(
    faster: Tuning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    stand_in(monkeypatch, faster, interrupted=True)
    path = tmp_path / "tuned.db"
    assert main(["tune", "f32[m,8] @ f32[8,32]", "m=4,5", "--db", str(path), "--json"]) == 130
    (goal,) = json.loads(capsys.readouterr().out)["goals"]
    assert goal["interrupted"] and goal["programs"] == 2
    assert api.implement(EXPRESSION, table=path)[0] == faster.trials[1].impl


def test_an_interrupt_keeps_what_was_found_of_other_members(
    faster: Tuning, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def steps(*arguments: object, **given: object) -> Iterator[Tuning]:
        monkeypatch.setattr(tune_command, "plan", interrupt)
        yield faster

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tune_command, "tune", steps)
    assert main(["tune", "f32[m,8] @ f32[8,32]", "m=4,5", "--json"]) == 130
    (goal,) = json.loads(capsys.readouterr().out)["goals"]
    assert not goal["interrupted"] and goal["programs"] == 2
    assert main(["tune", "f32[m,8] @ f32[8,32]", "m=4,5", "--json"]) == 130
    assert capsys.readouterr().out == ""


# ---- the command


def test_the_command_prints_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", EXPRESSION, "--seconds", "3", "--order", "affine", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["order"] == "affine" and result["compiler"]
    (goal,) = result["goals"]
    assert goal["spec"] == EXPRESSION and goal["programs"] >= 1
    assert 0 < goal["best"]["seconds"] <= goal["first"]["seconds"]
    assert goal["speedup"] == pytest.approx(goal["first"]["seconds"] / goal["best"]["seconds"])
    assert saved.load(goal["best"]["schedule"]).complete
    assert goal["curve"][0]["seconds"] == goal["first"]["seconds"]


def test_the_command_for_people(
    faster: Tuning, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch, faster)
    assert main(["tune", EXPRESSION]) == 0
    text = capsys.readouterr().out
    assert EXPRESSION in text and "2.00x" in text and "on hardware" in text
    stand_in(monkeypatch, replace(faster, trials=faster.trials[:1]))
    assert main(["tune", EXPRESSION]) == 0
    assert "no program was faster" in capsys.readouterr().out
    assert main(["tune", "sum(f32[4,m], axis=a)", "m=2,3"]) == 0
    assert "sum(f32[4,3], axis=a): " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([EXPRESSION, "--seconds", "0"], "a number of seconds above 0, not 0.0"),
        ([EXPRESSION, "--target", "x86-64-v3"], "tune for native"),
        (["f32[m,4] @ f32[4,4]", "m=1..4", "--save", "x.json"], "--db"),
        (["f32[m,4] @ f32[4,4]"], "needs a range for m"),
        ([EXPRESSION, "--save", "nowhere/x.json"], "no folder"),
        ([EXPRESSION, "--order", "best"], "invalid choice"),
        ([EXPRESSION, "--threads", "0"], "cannot run on 0 threads"),
        (["model.onnx", "--threads", "2"], "leave out --threads"),
    ],
)
def test_what_cannot_be_tuned(
    more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", *more]) == 2
    assert said in capsys.readouterr().err


def test_targets_that_are_many_machines_are_refused() -> None:
    with pytest.raises(TargetError, match="many machines"):
        plan(EXPRESSION, "x86-64-v3")
