"""`MORELLO_DEBUG`: what each of its topics reports, and words that are none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import morello
from morello.base import debug
from morello.cli.parser import main

PRODUCT = "f32[8,8] @ f32[8,8]"


def reported(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    topics: str,
    table: str | None = None,
) -> str:
    """The report of a compilation on stderr; standard output stays empty."""
    monkeypatch.setenv(debug.VARIABLE, topics)
    morello.compile(PRODUCT, table=table)
    streams = capsys.readouterr()
    assert streams.out == ""
    return streams.err


def test_nothing_is_reported_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reported(monkeypatch, capsys, "") == ""
    monkeypatch.delenv(debug.VARIABLE)
    assert not any(map(debug.shows, debug.TOPICS))


def test_search_reports_each_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = reported(monkeypatch, capsys, "search")
    waves = re.findall(r", relaxed, wave (\d+): (\d+) Specs, (\d+) rew", text)
    assert PRODUCT in text and "f32[1,1]" not in text, "loading the engine is not reported"
    assert waves[0][:2] == ("1", "1"), "the goal alone"
    steps = re.findall(r", step (\d+): (\d+) Specs, (\d+) rewrites, at least (\d+) cycles", text)
    assert steps[0][:3] == ("1", "0", "0") and len(steps) > 2
    lower = [int(step[3]) for step in steps]
    assert lower == sorted(lower)
    assert re.search(rf"at least {lower[-1]} cycles, {lower[-1]} cycles$", text)


def test_search_with_a_table_reports_each_wave_and_the_engine_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    morello.implement("f32[1,1] @ f32[1,1]", table=":memory:")  # loads what tables need
    text = reported(monkeypatch, capsys, "search", ":memory:")
    waves = re.findall(
        r", (relaxed|at most [\d,]+ cycles), wave (\d+): (\d+) Specs, (\d+) rew", text
    )
    assert PRODUCT in text and "f32[1,1]" not in text, "loading the engine is not reported"
    assert {bound == "relaxed" for bound, *_ in waves} == {True, False}
    assert waves[0][1:3] == ("1", "1"), "the goal alone"
    *_, last = text.splitlines()
    assert re.fullmatch(
        r"search: f32.* solved: [\d,]+ cycles, \d+ Specs, \d+ rewrites tried, \d+ boxes, .* ms",
        last,
    )


def test_c_reports_files_commands_and_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path / "cache"))
    for pattern in (
        r"c: (\S+\.c): .* -O3 .*kernel\.c -o kernel\.o && .* -o kernel\.so, [\d.]+ s",
        r"c: (\S+): built before",
    ):
        *_, line = reported(monkeypatch, capsys, "c").splitlines()
        match = re.fullmatch(pattern, line)
        assert match and Path(match[1]).is_file()


def test_cost_reports_a_table_whose_totals_are_the_whole_cost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(debug.VARIABLE, " cost,")
    impl, _ = morello.implement(PRODUCT, target="avx512")
    titles, *rows = capsys.readouterr().err.splitlines()
    assert titles.split() == ["cost:", "runs", "cycles", "total", "share", "rewrite"]
    assert len(rows) == len(list(impl.walk()))
    assert sum(float(row.split()[4].rstrip("%")) for row in rows) == pytest.approx(100, abs=2)


def test_an_unknown_word_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(debug.VARIABLE, "cost,serach")
    assert main(["targets", "--json"]) == 2
    streams = capsys.readouterr()
    assert streams.err == "morello: MORELLO_DEBUG: 'serach' is none of search, c, cost, verify.\n"
    assert json.loads(streams.out)["error"] in streams.err
    with pytest.raises(morello.MorelloError, match="none of search, c, cost, verify"):
        morello.implement(PRODUCT, target="avx512")


def test_help_lists_the_topics(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert all(f"{topic}: {what}" in text for topic, what in debug.TOPICS.items())
