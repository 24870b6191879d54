from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.machine import Machine
from benchmarks.peers import MORELLO, PEERS
from benchmarks.peers.peer import Options, UnavailableError
from benchmarks.process import Process, environment
from benchmarks.race import LEAST_SAMPLES, race
from benchmarks.work import Matmul
from morello.measure.bounds import Peak

HERE = "tests.bench.peers"
WORK = Matmul(8, 12, 10)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Process]]:
    where = {"morello": MORELLO, "numpy": PEERS["numpy"]}
    where |= {name: f"{HERE}:{name}" for name in ("Wrong", "OnlyWrong", "Stale", "Raises")}
    where |= {"Crashes": f"{HERE}:Crashes"}
    logs = tmp_path_factory.mktemp("logs")
    made = {name: Process(name, place, Options(), logs) for name, place in where.items()}
    yield made
    for process in made.values():
        process.end()


def test_a_race(team: dict[str, Process]) -> None:
    outcome = race("tiny", WORK, [*team.values()], 1, seconds=0.02)
    entries = {(e.peer, e.language): e for e in outcome.entries}
    assert entries.keys() == {
        ("morello", "C"), ("morello", "Python"), ("numpy", "Python"), ("Wrong", "Python"),
        ("Stale", "Python"),
    }  # fmt: skip
    for entry in entries.values():
        assert 0 < entry.min_s <= entry.median_s < 1
        assert entry.samples >= LEAST_SAMPLES
        assert 0 < entry.error < 1e-6
    # a wrong way does not count, however fast
    assert entries["Wrong", "Python"].setting == "right"
    assert entries["Stale", "Python"].setting == "right"
    assert outcome.facts["cycles"] > 0
    assert outcome.facts["specs"] > 0
    ours = entries["morello", "Python"].median_s
    assert outcome.ratios["numpy"] == entries["numpy", "Python"].median_s / ours

    why = {failure.why for failure in outcome.failures if failure.peer == "Wrong"}
    assert any(text.startswith("almost: wrong: 80 of 80 elements") for text in why)
    assert any("never written" in text and "shape (0,)" in text for text in why)
    why_not = {f.peer: f.why for f in outcome.failures}
    assert "almost: wrong" in why_not["OnlyWrong"]
    assert why_not["Stale"].startswith("does nothing: wrong: 80 of 80")
    assert why_not["Raises"] == "ValueError: no such luck"
    assert why_not["Crashes"] == "its process ended with code 3: out of luck"
    assert not team["Crashes"].alive
    assert team["numpy"].alive


def test_who_is_not_here_says_why(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="not for this machine"):
        Process("absent", f"{HERE}:Absent", Options(), tmp_path)
    with pytest.raises(UnavailableError, match="No module named"):
        Process("absent", "nowhere:Nothing", Options(), tmp_path)


def test_settings_that_hold_libraries_back_are_not_passed_on() -> None:
    given = {"OPENBLAS_CORETYPE": "Haswell", "ONEDNN_MAX_CPU_ISA": "SSE41", "HOME": "x"}
    made = environment(given, 2)
    assert "OPENBLAS_CORETYPE" not in made
    assert "ONEDNN_MAX_CPU_ISA" not in made
    assert made["HOME"] == "x"
    assert made["OMP_NUM_THREADS"] == made["OPENBLAS_NUM_THREADS"] == "2"


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peak = Peak({"f32": 200.0}, {1 << 14: 400.0})
    machine = Machine("a CPU", os.cpu_count() or 1, 4.0, {1: peak}, {"from C": 2.0})
    monkeypatch.setattr(command, "measure_machine", lambda threads: machine)
    known = {"numpy": PEERS["numpy"], "absent": f"{HERE}:Absent"}
    monkeypatch.setattr("benchmarks.peers.PEERS", known)
    options = ["--only", "16x16x16", "--threads", "1", "--seconds", "0.02", "--json"]
    out = tmp_path / "out"
    code = command.main(
        ["f32-square", *options, "--peers", "numpy,absent", "--out", str(out)]
    )  # fmt: skip
    assert code == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads((out / "results.json").read_text())
    (outcome,) = data["outcomes"]
    assert outcome["size"] == "16x16x16"
    assert outcome["ratios"]["numpy"] > 0
    assert data["versions"]["numpy"].startswith("numpy ")
    report = (out / "report.md").read_text()
    assert "| absent | 1 | every case | it is not for this machine |" in report
    assert "| 16x16x16 | " in report


def test_an_unknown_group_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["no-such-group"])
    assert "no-such-group" in capsys.readouterr().err
