"""The benchmark of searches: its lists, and what it reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import searches
from benchmarks.model_specs import resnet50, transformer
from morello.frontends.text import parse


def test_there_are_sixty_specs_of_models() -> None:
    specs = {parse(text) for text in (*transformer(), *resnet50())}
    assert len(specs) == 60


def test_random_compositions_are_always_the_same_and_differ() -> None:
    some = list(searches.random_compositions(12, seed=3))
    assert some == list(searches.random_compositions(12, seed=3))
    assert some != list(searches.random_compositions(12, seed=4))
    assert len(set(some)) > 8
    assert all(len(parse(text).operation.components) <= 8 for text in some)


def test_searches_are_timed_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.json"
    only = ["--only", "f32[16,2048],", "--target", "avx2", "--json", str(out)]
    assert searches.main(["models", *only]) == 0
    ((name, (row,)),) = json.loads(out.read_text()).items()
    assert name == "models" and row["text"].startswith("rms_norm")
    assert row["gap"] == 0.0 and row["specs"] > 0 and row["cost"] > 0 and row["seconds"] > 0
    said = capsys.readouterr().out
    assert "1 searches in" in said and "1 within 2% of the bound or proven" in said
