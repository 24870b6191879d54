"""The command: its output for people and machines, and a sentence for every misuse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from morello.cli import main

SMALL = "f32[8,8] @ f32[8,8]"


def test_bench_prints_one_object_with_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", SMALL, "--vs", "numpy", "--json", "--seconds", "0.05"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["spec"] == SMALL
    assert result["target"] == "native"
    assert result["threads"] == 1
    assert result["compiler"]
    assert set(result["search"]) >= {"seconds", "specs", "entries", "rewrites"}
    assert min(result["search"].values()) > 0
    assert result["cost"] > 0
    kernel = result["kernel"]
    assert 0 < kernel["min_s"] <= kernel["median_s"]
    assert kernel["gflops"] == pytest.approx(2 * 8**3 / kernel["median_s"] / 1e9)
    assert result["verified"] is True
    assert 0 <= result["max_error"] < 1e-5
    theirs = result["vs"]["numpy"]["median_s"]
    assert result["ratio"]["numpy"] == pytest.approx(theirs / kernel["median_s"])


def test_bench_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", SMALL, "--vs", "numpy", "--seconds", "0.05"]) == 0
    text = capsys.readouterr().out
    assert SMALL in text and "morello" in text and "numpy" in text and "verified" in text


def test_synth_writes_code_that_compiles_in_c_and_cpp(tmp_path: Path) -> None:
    code, header, saved = tmp_path / "mm.c", tmp_path / "mm.h", tmp_path / "mm.json"
    arguments = ["synth", SMALL, "-o", str(code), "--header", str(header), "--name", "mm"]
    assert main([*arguments, "--save", str(saved)]) == 0
    assert "void mm(" in code.read_text() and "mm.h" not in code.read_text()
    user = tmp_path / "user.cc"
    user.write_text('#include "mm.h"\nvoid f(float *x) { mm(x, x + 64, x + 128); }\n')
    for source in (code, user):
        command = ["gcc", "-Wall", "-Werror", "-march=native", "-c", str(source)]
        subprocess.run(command, check=True, cwd=tmp_path)


def test_a_saved_schedule_replays_to_the_same_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "mm.json"
    assert main(["synth", SMALL, "--save", str(saved)]) == 0
    first = capsys.readouterr().out
    assert main(["synth", SMALL, "--schedule", str(saved)]) == 0
    assert capsys.readouterr().out == first


def test_explain_shows_the_program_and_the_proof(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", SMALL]) == 0
    text = capsys.readouterr().out
    assert "Matmul(m=8, k=8, n=8)" in text and "fma_" in text and "Specs" in text
    assert main(["explain", SMALL, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["spec"] == SMALL and data["search"]["specs"] > 0
    assert data["schedule"]["rewrites"]


def test_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    assert "avx512" in capsys.readouterr().out
    assert main(["targets", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"avx2", "avx512", "native"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bench", "f32[0,4] @ f32[4,4]"], "at least 1"),
        (["bench", "f32[4,5] @ f32[4,4]"], "5 and 4 differ"),
        (["bench", "f99[4,4] @ f32[4,4]"], "unknown dtype 'f99'"),
        (["bench", "f32[4,4] @"], "missing"),
        (["bench", "f32[1000000000,100] @ f32[100,4]"], "GiB"),
        (["bench", SMALL, "--target", "vax"], "unknown target 'vax'"),
        (["bench", SMALL, "--compiler", "/no/such/cc"], "/no/such/cc"),
        (["bench", SMALL, "--threads", "3"], "one thread"),
        (["synth", SMALL, "-o", "/no/such/place/x.c"], "/no/such/place/x.c"),
        (["explain", SMALL, "--schedule", "/no/such.json"], "/no/such.json"),
    ],
)
def test_misuse_gets_a_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("morello: ") and words in captured.err
    assert "Traceback" not in captured.err
    assert main([*arguments, "--json"]) == 2
    assert words in json.loads(capsys.readouterr().out)["error"]


def test_an_unwritable_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("MORELLO_CACHE", str(blocked / "cache"))
    assert main(["bench", SMALL]) == 2
    assert "MORELLO_CACHE" in capsys.readouterr().err


def test_no_compiler_at_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("morello.runtime.toolchain._zig_wheel", lambda: None)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CC", raising=False)
    assert main(["bench", SMALL]) == 2
    assert "ziglang" in capsys.readouterr().err


def test_the_command_starts_without_heavy_imports() -> None:
    check = "import morello.cli, sys; sys.exit('numpy' in sys.modules or 'numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_interrupting_leaves_cleanly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("morello.api.search", interrupt)
    assert main(["explain", SMALL]) == 130
    assert "interrupted" in capsys.readouterr().err
