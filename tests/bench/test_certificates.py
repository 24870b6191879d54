"""Certificates of the benchmark's Specs: some of ten, made and checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.sampling import some

from benchmarks import certificates
from benchmarks.certificates import certified, expressions
from morello.base.errors import SearchError
from morello.search.budget import Budget

TEN = [
    *expressions(["f32-square"])[:3],
    *expressions(["bf16-vector"]),
    *expressions(["softmax"])[::3],
    *expressions(["f32-square"], "128"),
]


def test_there_are_ten() -> None:
    assert len(set(TEN)) == 10


@pytest.mark.parametrize("text", some(TEN, 3))
def test_the_cheapest_programs_are_proven(text: str) -> None:
    row = certified(text, "avx512", Budget(60.0))
    assert row.gap <= 1e-9 and row.size < 50_000


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.json"
    arguments = ["f32-square", "--only", "[16,", "--target", "avx512"]
    assert certificates.main([*arguments, "--json", str(path)]) == 0
    assert "1 certificates were accepted, 0 could not" in capsys.readouterr().out
    assert [row["expression"] for row in json.loads(path.read_text())] == [TEN[0]]

    def fails(*_: object, **__: object) -> None:
        raise SearchError("too short")

    monkeypatch.setattr(certificates, "certify", fails)
    assert certificates.main(arguments) == 1
    assert "too short" in capsys.readouterr().out
