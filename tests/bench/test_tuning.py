"""Hardware time that tuning needs, and what fusion is worth: reports of made-up results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import fusion, tuning
from benchmarks.cuts import CutTiming, Row
from benchmarks.tuning import Spent, compare
from morello import api
from morello.learn.choosers import ORDERS, Order
from morello.learn.label import Labels
from morello.learn.tune import Trial, Tuning

IMPL, _ = api.implement("f32[4,4] @ f32[4,4]", target="avx2")


def tuned(*ratios: float) -> Tuning:
    """One program in two seconds, of which one on hardware; first the search's first choice."""
    none = Labels.none(cold=False)
    trials = [
        Trial(IMPL, ratio, float(n), 2.0 * n, none)
        for n, ratio in enumerate((1.0, *ratios), start=1)
    ]
    return Tuning(1e-3, tuple(trials), 0, float(len(trials)), 10.0, 0.0)


def test_time_counts_until_a_program_is_as_good_as_the_best_of_all_orders() -> None:
    ways = compare({"learned": tuned(0.8, 0.5), "affine": tuned(0.7, 0.6), "random": tuned(0.509)})
    assert ways["learned"].reached == Spent(3.0, 6.0)
    assert ways["affine"].reached is None and ways["affine"].at_least == Spent(3.0, 10.0)
    assert ways["random"].reached == Spent(2.0, 4.0) and ways["random"].programs == 2


def test_the_report_of_tuning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = {"learned": tuned(0.5), "affine": tuned(0.9, 0.8, 0.5), "random": tuned(0.9)}

    def tune(goal: object, target: object, seconds: float, *, order: Order, seed: int) -> object:
        return iter([found[order]])

    monkeypatch.setattr(tuning, "tune", tune)
    assert tuning.main(["f32[4,4] @ f32[4,4]", "nonsense", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "tuning.md").read_text()
    cells = "2.0, 4.0, 0.50 | 4.0, 8.0, 0.50 | > 2.0, 10.0, 0.90"
    assert f"| f32[4,4] @ f32[4,4] | {cells} |" in text
    assert "0.50 times the hardware time of affine, and 0.50 times the wall time." in text
    assert {*ORDERS} == {*found}


def test_the_report_of_fusion(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    apart = CutTiming(4, 4e-6, 8e-6)
    row = Row("chain of 3, square", replace(apart, measured=4e-6), apart, apart)
    monkeypatch.setattr(fusion, "study", lambda *given: iter([row]))
    assert fusion.main(["--predictor", "cost", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "fusion.md").read_text()
    assert "| chain of 3, square | 4, 4, 4 | 4.0 | 0.50 | 0.50 | 1.00 |" in text
    assert "| geometric mean | | | 0.50 | 0.50 | |" in text
