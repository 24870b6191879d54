"""How the model's quality is told: the measure, the figures, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello import api
from morello.base.errors import SearchError, VerificationError
from morello.cli import model as quality_commands
from morello.cli.model import scatter
from morello.cli.parser import main
from morello.codegen import generate
from morello.impl.tree import Impl
from morello.ir.rounding import Bounds
from morello.ir.spec import Spec
from morello.measure import quality
from morello.measure.correlation import kendall_tau
from morello.measure.quality import Point, Quality, assess
from morello.runtime import tolerance

GOAL = "sum(f32[8,64], axis=0)"


@pytest.mark.parametrize(
    ("a", "b", "tau"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        ([12, 2, 1, 12, 2], [1, 4, 7, 1, 0], -0.4714045),
        ([1, 2, 3, 4], [1, 2, 4, 3], 4 / 6),
        ([1, 1, 2, 2], [1, 2, 1, 2], 0.0),
        ([1, 1, 2], [1, 2, 3], 2 / 6**0.5),
    ],
)
def test_tau_is_the_known_one(a: list[float], b: list[float], tau: float) -> None:
    assert kendall_tau(a, b) == pytest.approx(tau)
    assert kendall_tau(b, a) == pytest.approx(tau)


def test_tau_by_counting_pairs() -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(0, 9, 40).tolist(), random.integers(0, 9, 40).tolist()
    pairs = [(i, j) for i in range(40) for j in range(i)]
    agree = sum((a[i] - a[j]) * (b[i] - b[j]) > 0 for i, j in pairs)
    differ = sum((a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in pairs)
    untied = [sum(one[i] != one[j] for i, j in pairs) for one in (a, b)]
    assert kendall_tau(a, b) == pytest.approx((agree - differ) / (untied[0] * untied[1]) ** 0.5)
    assert isnan(kendall_tau([1, 1], [1, 2])) and isnan(kendall_tau([1, 2], [1, 1]))


def test_times_within_noise_do_not_count() -> None:
    close, wrong = [1.0, 1.01, 2.0], [2.0, 1.0, 3.0]
    assert kendall_tau(wrong, close) == pytest.approx(1 / 3)
    assert kendall_tau(wrong, close, 0.05) == 1.0
    assert kendall_tau(wrong, close, 0.005) == pytest.approx(1 / 3)
    assert isnan(kendall_tau(wrong, close, 1.0))


@cache
def plain() -> Impl:
    """Any program."""
    return api.implement(GOAL)[0]


def points(*known: tuple[float, float, int | None]) -> Quality:
    """Of programs with these costs, times and choices."""
    impl = plain()
    made = [Point(Impl(impl.spec, impl.target, None, c), s, n) for c, s, n in known]
    return Quality(impl.spec, impl.target, tuple(made))


def test_regret_is_that_of_the_choices() -> None:
    found = points((1.0, 3e-6, 0), (1.1, 2.2e-6, 1), (1.2, 9e-6, 2), (2.0, 2e-6, None))
    assert found.regret() == pytest.approx(0.5)
    assert found.regret(2) == pytest.approx(0.1) == pytest.approx(found.regret(5))
    assert found.fastest_s == 2e-6
    assert found.data()["tau"] == pytest.approx(-2 / 6)
    lines = scatter(found).splitlines()
    assert lines[0] == "9 us" and "1 cycles" in lines[-2] and "2 cycles" in lines[-2]
    assert sum(line.count("o") for line in lines[1:-3]) == 3
    assert sum(len(line.strip("|o ")) for line in lines[1:-3]) == 1


def test_a_model_is_assessed_by_programs_that_run() -> None:
    impl = api.implement("f32[16,32] @ f32[32,32]")[0]
    found = assess(impl, 15, seconds=0.005)
    costs = {point.predicted for point in found.points if point.choice is None}
    assert len(costs) == 15 and max(costs) > 5 * found.points[0].predicted
    assert [point.choice for point in found.points[:6]] == [0, 1, 2, 3, 4, None]
    dearest = max(found.points, key=lambda point: point.predicted)
    assert dearest.seconds > found.points[0].seconds
    assert 0 <= found.regret(5) <= found.regret()
    assert len({generate(point.impl).text for point in found.points}) > 15


def test_a_wrong_program_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    right = tolerance.expected_outputs

    def other(spec: Spec, *given: Any) -> Bounds:
        return tuple(replace(x, value=x.value + 1e-3) for x in right(spec, *given))

    monkeypatch.setattr("morello.runtime.verify.expected_outputs", other)
    with pytest.raises(VerificationError, match="elements are wrong"):
        assess(plain(), 1, seconds=0.002)


def test_what_takes_the_compiler_too_long_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path))
    monkeypatch.setattr(quality, "COMPILER_S", 0.0)
    found = assess(plain(), 2, seconds=0.002)
    assert [point.choice for point in found.points] == [0], "the first has all the time there is"
    assert found.regret() == 0.0 and found.data()["tau"] is None


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["model", GOAL, "--samples", "4", "--seconds", "0.002", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["programs"] == len(data["points"]) == 9
    assert all(point["cycles"] > 0 and point["seconds"] > 0 for point in data["points"])
    known = points((1.0, 3e-6, 0), (1.1, 2.2e-6, 1), (2.0, 2e-6, None))
    monkeypatch.setattr(quality_commands, "assess", lambda *_, **__: known)
    assert main(["model", GOAL]) == 0
    text = capsys.readouterr().out
    assert "predicted and measured: -1.00" in text and "the search's choices" in text
    assert "the first choice is 50.0% slower" in text and "the first 5 10.0%" in text


@pytest.mark.parametrize(
    "options",
    [
        {"samples": 0}, {"samples": -1}, {"samples": 10**9}, {"samples": 2.5}, {"samples": "2"},
        {"seconds": 0}, {"seconds": -1.0}, {"seconds": float("nan")}, {"seconds": float("inf")},
        {"seconds": 1e300}, {"seconds": "1"}, {"seed": -1}, {"seed": "0"},
    ],
    ids=str,
)  # fmt: skip
def test_numbers_that_cannot_be(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("there is no need to search")

    best = plain()
    monkeypatch.setattr(quality, "programs", never)
    with pytest.raises(SearchError, match=r"\.$"):
        assess(best, **options)
