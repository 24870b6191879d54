"""The command that tells how well the cost model orders programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import model
from benchmarks.work import Matmul


def test_every_case_has_a_row_and_its_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "GROUPS", {"tiny": (Matmul(4, 4, 8), Matmul(2048, 2048, 2048))})
    arguments = ["--samples", "4", "--seconds", "0.001", "--out", str(tmp_path)]
    assert model.main(arguments) == 0
    (case,) = json.loads((tmp_path / "model.json").read_text())
    assert (case["group"], case["size"]) == ("tiny", "4x4x8")
    assert len(case["points"]) >= 5 and -1 <= case["tau"] <= 1
    text = (tmp_path / "model.md").read_text()
    assert f"| tiny 4x4x8 | {case['programs']} | {case['tau']:.2f} |" in text
    assert "| median of 1 |" in text


def test_the_last_row_has_medians() -> None:
    cases = [
        {"group": "g", "size": n, "programs": 9, "tau": tau, "regret": r, "regret_of_choices": 0.0}
        for n, (tau, r) in enumerate([(0.2, 0.5), (0.9, 0.25), (0.7, 0.0)])
    ]
    assert model.markdown(cases).splitlines()[-1] == "| median of 3 |  | 0.70 | 25.0% | 0.0% |"
