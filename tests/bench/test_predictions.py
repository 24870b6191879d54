"""Predicted times are compared with measured ones, which are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import predictions
from benchmarks.prediction_specs import SPECS
from benchmarks.predictions import Judged, table
from morello.frontends.text import parse
from morello.learn.collect import name_of
from morello.learn.corpus import read
from morello.learn.specs import interleaved

TINY = "relu(f32[3,60])"


def test_no_corpus_has_the_specs() -> None:
    every = [expression for members in SPECS.values() for expression in members]
    assert len(set(every)) == len(every) >= 120
    assert not {*every} & {expression for _, expression in interleaved()}
    assert sum(parse(expression).bytes > 32 << 20 for expression in every) >= 12


def test_tables_say_how_many_are_near() -> None:
    maps = [Judged("maps", "a", "L1", 1e-7, 2e-7), Judged("maps", "b", "L3", 1e-3, 1.1e-3)]
    takes = [Judged("take", "c", "L3", 1e-3, 0.5e-3)]
    lines = [*table([*maps, *takes])][2:]
    cells = {line.split(" | ")[0].strip("| "): line.split(" | ")[1:3] for line in lines}
    assert cells == {
        "maps": ["2", "50%"], "take": ["1", "0%"], "in L1": ["1", "0%"], "in L3": ["2", "50%"],
        "below 1 us": ["1", "0%"], "all": ["3", "33%"],
    }  # fmt: skip


def test_first_choices_are_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(predictions, "SPECS", {"maps": [TINY]})
    assert predictions.main([str(tmp_path)]) == 0
    first = capsys.readouterr().out
    assert TINY in first and "| all | 1 |" in first
    measured = read(tmp_path / name_of(TINY))
    assert len(measured.schedules) == 1 and np.isfinite(measured.seconds).all()
    assert predictions.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == first
    assert predictions.main([str(tmp_path), "--only", "gelu"]) == 2
    assert "no Spec has 'gelu'" in capsys.readouterr().err
