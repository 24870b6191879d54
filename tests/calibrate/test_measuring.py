"""The programs that calibration times are found and compiled; the command runs from end to end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, cycle
from pathlib import Path

import numpy as np
import pytest

from morello.cli import calibrate as command
from morello.cli.parser import main
from morello.ir.tensor import LINE_BYTES
from morello.measure.calibrate import programs as searched
from morello.measure.calibrate import run as runs
from morello.measure.calibrate.goals import FITTED, HELD_OUT, L1, L2, MEMORY, ProbeGoal
from morello.measure.calibrate.programs import compiled, find_programs
from morello.measure.calibrate.run import CalibrationOutcome
from morello.measure.stopwatch import Candidate, Stopwatch
from morello.native.build import build
from morello.native.toolchain import find_compiler
from morello.runtime.load import Library
from morello.targets.calibration import applied, load
from morello.targets.catalog import uncalibrated
from morello.targets.costs import coefficients
from morello.targets.cpu import host_cpu

SUMS = """\
void few(const float *x, float *out) { for (int i = 0; i < 1000; ++i) *out = *out * 0.5f + *x; }
void many(const float *x, float *out) { for (int i = 0; i < 9000; ++i) *out = *out * 0.5f + *x; }
"""


@pytest.mark.parametrize("goal", [*FITTED, *HELD_OUT], ids=lambda goal: goal.expression)
def test_goals_lie_where_they_say(goal: ProbeGoal) -> None:
    spec = goal.spec()
    assert spec.levels == (goal.level,) * len(spec.levels)
    least, most = {L1: (0, 20), L2: (64, 224), MEMORY: (80, 65536)}[goal.level]
    assert least <= spec.bytes / 1024 <= most


def test_no_goal_is_fitted_and_held_out() -> None:
    assert not set(FITTED) & set(HELD_OUT)


def test_several_programs_of_a_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    goal, target = ProbeGoal("f32[16,64] + f32[16,64]", L2), uncalibrated()
    told: list[int] = []
    monkeypatch.setattr(searched, "perf_counter", count().__next__)  # a second for each search
    programs = find_programs([goal], target, 6.0, told.append)
    assert told == sorted(told) and told[-1] == len(programs)
    assert len({repr(p.impl.decisions()) for p in programs}) == len(programs) > 1
    own = coefficients(target)
    for program in programs:
        assert program.impl.target is target
        cost = sum(own[name] * times for name, times in program.paid.items())
        assert cost == pytest.approx(program.impl.cost)
    assert programs[0].impl.cost == min(program.impl.cost for program in programs)
    candidates = compiled(programs, find_compiler(), lambda done: None)
    a, b, out = candidates[0].arrays
    for candidate in candidates:
        out[...] = 0
        (time,) = Stopwatch(find_compiler()).times([candidate], rounds=1)
        assert time > 0
        np.testing.assert_array_equal(out, a + b)


def test_what_takes_longer_is_timed_as_longer(tmp_path: Path) -> None:
    compiler = find_compiler()
    library = Library(build(SUMS, compiler=compiler, cache=tmp_path))
    arrays = (np.ones(1, np.float32), np.ones(1, np.float32))
    few, many = Stopwatch(compiler).times(
        [Candidate(library, name, arrays) for name in ("few", "many")], rounds=5
    )
    assert 4 < many / few < 20


def test_calls_take_turns_with_arrays(tmp_path: Path) -> None:
    compiler = find_compiler()
    text = "void count(float *calls) { *calls += 1; }"
    library = Library(build(text, compiler=compiler, cache=tmp_path))
    sets = [(np.zeros(1, np.float32),) for _ in range(3)]
    candidate = Candidate(library, "count", sets[0], cycle(sets))
    for run in map(Stopwatch(compiler).runner, (candidate, candidate)):
        assert run(2) >= 0
    assert [int(calls[0]) for (calls,) in sets] == [2, 1, 1]


def test_operands_lie_where_goals_say() -> None:
    """Operands in memory are used in turn with copies that together exceed L2."""
    target = uncalibrated()
    goals = [ProbeGoal("relu(f32[32,64])", level) for level in (MEMORY, L2, L1)]
    programs = find_programs(goals, target, 0.0, lambda done: None)
    far, *near = compiled(programs, find_compiler(), lambda done: None)
    assert far.turns and not any(candidate.turns for candidate in near)
    size = sum(array.nbytes for array in far.arrays)
    several = 4 * target.levels[L2].capacity * LINE_BYTES // size
    places = {next(far.turns)[0].ctypes.data for _ in range(several)}
    assert len(places) == several
    np.testing.assert_array_equal(next(far.turns)[0], far.arrays[0])


def test_the_clock_and_the_threads() -> None:
    stopwatch = Stopwatch(find_compiler())
    assert 0.3e9 < stopwatch.hertz() < 10e9
    assert 0 <= stopwatch.fork(2, rounds=5) < 1


FEW = (
    (ProbeGoal("f32[16,32] + f32[16,32]", L1), ProbeGoal("relu(f32[128,128])", L2)),
    (ProbeGoal("f32[16,48] * f32[16,48]", L1),),
)


@pytest.fixture(scope="module")
def few() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "FITTED", FEW[0])
        patch.setattr(runs, "HELD_OUT", FEW[1])
        patch.setattr(runs, "CHECKED", FEW[1])
        patch.setattr(runs, "SEARCH_SECONDS", 0.0)
        yield


@pytest.fixture(scope="module")
def outcome(few: None) -> CalibrationOutcome:
    target = uncalibrated()
    return runs.calibrate(target, target, host_cpu(), find_compiler(), lambda what, done: None)


@pytest.mark.usefixtures("few")
def test_a_calibration_from_end_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs.CalibrationOutcome, "drawbacks", [])
    path = tmp_path / "new" / "costs.json"
    assert main(["calibrate", "--json", "--output", str(path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == str(path) and told["programs"] == 3
    assert told["before"] == coefficients(uncalibrated())
    assert {"kernels.loads", "kernels.stores", "L2.per_line"} <= set(told["measured"])
    assert told["after"].keys() == told["before"].keys()
    unmeasured = told["before"].keys() - set(told["measured"])
    assert all(told["after"][name] == told["before"][name] for name in unmeasured)
    assert told["fitted"]["after"]["error"] <= told["fitted"]["before"]["error"] * 1.01
    (check,) = told["checks"]
    assert check["expression"] == FEW[1][0].expression and 0 < check["after"] < 1e-3
    target = applied(uncalibrated(), load(path))
    assert coefficients(target) == told["after"]
    assert replace(target, kernels=(), levels=(), fork=0.0) == replace(
        uncalibrated(), kernels=(), levels=(), fork=0.0
    )


@pytest.mark.parametrize(
    ("better", "options", "says"),
    [
        (True, ["--dry-run"], "They would be kept in"),
        (False, [], "are not kept: they choose slowly, and err. Try again"),
        (True, [], "Kept in"),
    ],
)
def test_what_people_are_told(
    better: bool,
    options: list[str],
    says: str,
    outcome: CalibrationOutcome,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawbacks = [] if better else ["choose slowly", "err"]
    monkeypatch.setattr(runs.CalibrationOutcome, "drawbacks", drawbacks)
    monkeypatch.setattr(command, "calibrate", lambda *_: outcome)
    path = tmp_path / "costs.json"
    assert main(["calibrate", *(options or ["--output", str(path)])]) == 0
    text = capsys.readouterr().out
    assert says in text and "held out: predictions off by" in text and "memory.per_line" in text
    assert path.exists() == (better and not options)
