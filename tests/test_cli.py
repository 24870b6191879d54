"""The command: its output for people and machines, and a sentence for every misuse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.sampling import some

from morello.cli import bench as bench_command
from morello.cli.parser import COMMANDS, main
from morello.measure import timing
from morello.rivals.racing import PACKAGES
from morello.runtime.threads import available_threads
from morello.targets import PORTABLE, TARGETS
from morello.targets.cpu import host_cpu

SMALL = "f32[8,8] @ f32[8,8]"
TINY = "relu(f32[8])"
"""For levels of x86-64, whose search takes a multiple of that of a machine."""


def test_bench_prints_one_object_with_everything(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plot = tmp_path / "race.svg"
    words = ["--vs", "numpy", "--json", "--seconds", "0.05", "--plot", str(plot)]
    assert main(["bench", SMALL, *words]) == 0
    drawn = ElementTree.parse(plot).getroot()
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == f"{SMALL}, one thread" and {"morello", "numpy"} <= {*texts}
    assert texts[-1] is not None and " at least, by " in texts[-1]
    result = json.loads(capsys.readouterr().out)
    assert result["spec"] == SMALL
    assert result["target"] == "native"
    assert result["threads"] == 1
    assert result["compiler"]
    assert set(result["search"]) >= {"seconds", "specs", "entries", "rewrites"}
    assert result["search"].pop("measured") == result["search"].pop("gap") == 0
    assert result["search"].pop("proven") is True
    assert result["search"].pop("worst") is None
    assert result["search"].pop("ranked") == "cost"
    # boxes are filled, and rewrites tried for them, only where limits bind
    assert (result["search"].pop("entries") > 0) == (result["search"].pop("tried") > 0)
    assert min(result["search"].values()) > 0
    assert result["cost"] > 0
    kernel = result["kernel"]
    assert 0 < kernel["min_s"] <= kernel["median_s"]
    assert kernel["gflops"] == pytest.approx(2 * 8**3 / kernel["median_s"] / 1e9)
    assert result["verified"] is True
    assert kernel["gbytes_s"] == pytest.approx(3 * 8 * 8 * 4 / kernel["median_s"] / 1e9)
    assert 0 <= result["max_error"] < 1e-5
    theirs = result["vs"]["numpy"]["median_s"]
    assert result["ratio"]["numpy"] == pytest.approx(theirs / kernel["median_s"])


def test_bench_says_which_rivals_are_not_timed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PACKAGES, "jax", ("no_such_module",))
    words = ["bench", SMALL, "--vs", "jax,numpy", "--seconds", "0.01"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "jax is not timed: no_such_module is not installed; pip install no_such_module." in text
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {*result["vs"]} == {*result["ratio"]} == {"numpy"}
    assert {*result["refused"]} == {"jax"}


def test_a_shared_object_is_replaced_and_not_changed(tmp_path: Path) -> None:
    """A program that has loaded the old one goes on."""
    path = tmp_path / "x.so"
    path.write_text("old")
    with path.open() as old:
        assert main(["synth", SMALL, "--object", str(path)]) == 0
        assert old.read() == "old"
    assert path.read_bytes().startswith(b"\x7fELF")


def test_bench_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", SMALL, "--vs", "numpy", "--seconds", "0.05"]) == 0
    text = capsys.readouterr().out
    assert SMALL in text and "morello" in text and "numpy" in text and "verified" in text
    assert host_cpu().name in text and "costs of" in text


def test_bench_is_headed_by_what_was_typed(capsys: pytest.CaptureFixture[str]) -> None:
    """The heading is not the many operations that the text stands for."""
    typed = "layer_norm(f32[4,16],  f32[16], f32[16])"
    options = ["--seconds", "0.01", "--no-verify", "--budget", "5"]
    assert main(["bench", typed, *options]) == 0
    heading = capsys.readouterr().out.splitlines()[0]
    assert heading.startswith("layer_norm(f32[4,16], f32[16], f32[16]) for native, ")


@pytest.mark.parametrize("faster", [True, False])
def test_bench_says_what_to_do_where_another_is_faster(
    faster: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    race = timing.measure_runners

    def decided(*arguments: Any, **options: Any) -> dict[str, timing.Timing]:
        first, second = sorted(race(*arguments, **options).values(), key=lambda t: t.median_s)
        return dict(
            zip(("morello", "numpy"), (first, second) if faster else (second, first), strict=True)
        )

    monkeypatch.setattr(bench_command, "measure_runners", decided)
    assert main(["bench", SMALL, "--vs", "numpy", "--seconds", "0.02"]) == 0
    text = capsys.readouterr().out
    assert ("morello calibrate" not in text and "--measure 12" not in text) == faster


@pytest.mark.parametrize(
    ("expression", "columns"),
    some(
        [
            ("softmax(f32[4,16])", ["GB/s"]),
            ("relu(f32[64,64] @ f32[64,64])", ["GFLOP/s"]),
            ("f32[1,64] @ f32[64,64]", ["GFLOP/s", "GB/s"]),
            ("bf16[32,32] @ bf16[32,32]", ["GFLOP/s"]),
            ("u8[16,32] @ i8[32,16]", ["GFLOP/s"]),
            ("transpose(f32[40,30])", ["GB/s"]),
            ("sum(f32[8,30], axis=1)", ["GB/s"]),
            ("cast(f32[40,30], bf16)", ["GB/s"]),
            ("conv(f32[1,16,16,16], f32[16,16,3,3])", ["GFLOP/s"]),
        ],
        3,
    ),
)
def test_bench_any_spec(
    expression: str, columns: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", expression, "--vs", "numpy", "--seconds", "0.01"]) == 0
    text = capsys.readouterr().out
    headings = next(line for line in text.splitlines() if "median" in line).split()
    assert headings == ["median", "min", *columns, "ratio"]
    assert "verified" in text and "one thread" in text


def test_bench_on_several_threads(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned, limits = [], []

    def look(*args: Any, pin: bool, **options: Any) -> Any:
        pinned.append(pin)
        return timing.measure_runners(*args, pin=pin, **options)

    def limited(count: int) -> Any:
        limits.append(count)
        return timing.limit_threads(count)

    monkeypatch.setattr(bench_command, "measure_runners", look)
    monkeypatch.setattr(bench_command, "limit_threads", limited)
    for threads in ("2", "all", "1"):
        command = ["bench", "relu(f32[512,512])", "--threads", threads]
        assert main([*command, "--json", "--seconds", "0.01"]) == 0
        count = available_threads() if threads == "all" else int(threads)
        assert json.loads(capsys.readouterr().out)["threads"] == count
    assert pinned == [False, available_threads() == 1, True]
    assert limits == [2, available_threads(), 1]


def test_a_saved_parallel_schedule_keeps_its_threads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, expression = tmp_path / "mm.json", "relu(f32[2048,512])"
    assert main(["synth", expression, "--threads", "2", "--save", str(saved)]) == 0
    first = capsys.readouterr().out
    assert "kernel_set_parallel" in first
    for threads in ([], ["--threads", "2"]):
        assert main(["synth", expression, "--schedule", str(saved), *threads]) == 0
        assert capsys.readouterr().out == first
    command = ["bench", expression, "--schedule", str(saved), "--seconds", "0.01", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["threads"] == 2
    assert main(["synth", expression, "--schedule", str(saved), "--threads", "3"]) == 2
    assert "for 2 threads, not 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    "expression",
    [
        "softmax(f32[4,16])",
        "relu(f32[8,8] @ f32[8,8])",
        "f32[8,16] @ f32[16,64]{0,1:T(16,1)}",
        "bf16[2,4] @ bf16[4,8] -> bf16[2,8]",
        "move(f32[8,16]{0,1})",
        "transpose(f32[8,16,4], order=[1,2,0])",
    ],
)
def test_synth_and_explain_any_spec(
    expression: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "it.json"
    assert main(["synth", expression, "--save", str(saved)]) == 0
    code = capsys.readouterr().out
    assert "void kernel(" in code
    assert main(["synth", expression, "--schedule", str(saved)]) == 0
    assert capsys.readouterr().out == code
    assert main(["explain", expression, "--schedule", str(saved)]) == 0
    assert "cycles" in capsys.readouterr().out


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


def test_a_level_of_x86_64_is_many_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", TINY, "--target", "x86-64-v3", "--json"]) == 0
    all_of_them = json.loads(capsys.readouterr().out)
    assert main(["explain", TINY, "--target", "x86-64-v3", "--tune", "zen3", "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert all_of_them["search"]["worst"] >= 0 and one["search"]["worst"] is None
    assert all_of_them["search"]["specs"] > one["search"]["specs"]
    assert main(["explain", TINY, "--target", "x86-64-v3"]) == 0
    assert "for each microarchitecture" in capsys.readouterr().out


def test_one_file_for_several_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "kernel.c"
    command = ["synth", TINY, "--target", "x86-64-v3", "--name", "mm"]
    assert main([*command[:3], "x86-64-v3,x86-64-v4", *command[4:], "-o", str(made)]) == 0
    text = made.read_text()
    assert all(f"mm_x86_64{level}(" in text for level in ("", "_v3", "_v4"))
    assert main([*command[:3], "x86-64-v3,x86-64", *command[4:], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["target"] for one in found["levels"]] == ["x86-64-v3", "x86-64"]
    assert "mm_x86_64_v4" not in found["c"]


def test_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    assert "avx512" in capsys.readouterr().out
    assert main(["targets", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {*TARGETS, *PORTABLE, "native"}
    assert {"Zen 3", "Haswell"} <= set(found["x86-64-v3"]["costs_of"])
    for one in found.values():
        assert {"f32", "bf16", "i8"} <= set(one["dtypes"])
        assert one["kernels"]["MatmulAccum"] > 10
        assert set(one["levels"]) == {"L2", "L1", "registers"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bench", "f32[0,4] @ f32[4,4]"], "at least 1"),
        (["bench", "f32[4,5] @ f32[4,4]"], "5 and 4 differ"),
        (["bench", "f99[4,4] @ f32[4,4]"], "unknown dtype 'f99'"),
        (["bench", "f32[4,4] @"], "missing"),
        (["bench", "f32[1000000000,100] @ f32[100,4]"], "GiB"),
        (["bench", SMALL, "--target", "vax"], "unknown target 'vax'"),
        (["bench", SMALL, "--target", "x86-64-v3", "--measure", "2"], "is many machines"),
        (["explain", SMALL, "--tune", "zen3"], "only x86-64 targets are tuned"),
        (["explain", SMALL, "--target", "avx2", "--tune", "zen9"], "is called 'zen9'; there are"),
        (["explain", SMALL, "--target", "avx512", "--tune", "zen3"], "lacks the instructions"),
        (["synth", SMALL, "--target", "x86-64-v3,neon"], "x86-64-v4, x86-64-v3, x86-64"),
        (["synth", SMALL, "--target", "x86-64,avx2", "--save", "x"], "several schedules"),
        (["bench", SMALL, "--compiler", "/no/such/cc"], "/no/such/cc"),
        (["bench", SMALL, "--threads", "0"], "ask for 1 to 1024"),
        (["bench", SMALL, "--threads", "-1"], "ask for 1 to 1024"),
        (["explain", SMALL, "--threads", "many"], 'or for "all"'),
        (["synth", SMALL, "--threads", "2000"], "cannot run on 2000 threads"),
        (["bench", "f32[4,4] @ f32[4,64] -> f32[4,64]{0,1:T(16,1)}"], "panels"),
        (["synth", SMALL, "-o", "/no/such/place/x.c"], "/no/such/place/x.c"),
        (["explain", SMALL, "--schedule", "/no/such.json"], "/no/such.json"),
        (["explain", SMALL, "--schedule", "/proc/self/mem"], "cannot read /proc/self/mem"),
        (["bench", SMALL, "--certificate", "/no/such/place/x"], "there is no folder"),
        (["tune", SMALL, "--programs", "-1"], "a number of programs of at least 0, not -1"),
        (["tune", SMALL, "--until", "nan"], "a number of seconds of at least 0, not nan"),
        (["explain", SMALL, "--measure", "0"], "1 to 64 programs can be measured, not 0"),
        (["explain", SMALL, "--measure", "9" * 99], "1 to 64 programs can be measured, not 999"),
        (["explain", SMALL, "--threads", "9" * 9999], "ask for 1 to 1024"),
        (["explain", SMALL, "--budget", "nan"], "a positive number of seconds, not nan"),
        (["synth", SMALL, "--gap", "-0.1"], "a number of at least 0, such as 0.02 for 2 %"),
        *(
            (["bench", SMALL, f"--seconds={seconds}"], "more than 0 and at most 86,400 seconds")
            for seconds in ("inf", "nan", "-inf", "-1", "0", "1e-999", "1e9")
        ),
        (["model", SMALL, "--seconds", "inf"], "more than 0 and at most 86,400 seconds"),
        (["model", SMALL, "--samples", "-5"], "1 to 100,000 programs can be sampled, not -5"),
        (["model", SMALL, "--samples", "9" * 99], "1 to 100,000 programs can be sampled"),
        (["model", SMALL, "--seed", "-1"], "a seed is a whole number of at least 0, not -1"),
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


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--workers", "0", "there can be 1 to 1024 workers, not 0"),
        ("--workers", "-1", "there can be 1 to 1024 workers, not -1"),
        ("--workers", "9" * 99, "there can be 1 to 1024 workers, not 999"),
        ("--cache", "-1", "cannot have a negative size"),
        ("--keep", "-1", "keeps 1 to 64 decisions of a Spec, not -1"),
        ("--keep", "9" * 99, "keeps 1 to 64 decisions of a Spec, not 999"),
    ],
)
def test_numbers_that_no_precomputing_can_have(
    option: str, value: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    family = ["precompute", "move(f32[m,n])", "m=1", "n=1", "--db", str(tmp_path / "t.db")]
    assert main([*family, option, value]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        ("bench", ["--rank", "learned"], "the learned model knows x86-64 machines"),
        ("bench", ["--rank", "learned", "--threads", "2"], "leave out the threads or the ranking"),
        ("bench", ["--compiler", "no-such-compiler"], "was not found"),
        ("bench", ["--threads", "1000"], "more than the CPUs"),
        ("bench", ["--seconds", "-1"], "for more than 0"),
        ("model", ["--compiler", "no-such-compiler"], "was not found"),
        ("model", ["--target", "neon"], "cannot run kernels for neon"),
        ("model", ["--seconds", "0"], "is timed for more than 0"),
    ],
)
def test_options_are_checked_before_the_search(
    command: str,
    options: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("it searches")

    monkeypatch.setattr("morello.search.session.Session.solve", fail)
    monkeypatch.setattr("morello.learn.predictors.model_for", lambda target: None)
    assert main([command, "exp(f32[512,512])", *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["bnch", SMALL], "bench"),
        (["explian", SMALL], "explain"),
        (["bench", SMALL, "--mesure", "3"], "--measure"),
        (["synth", SMALL, "--ouptut=x.c"], "--output"),
        (["bench", SMALL, "--rank", "lerned"], "learned"),
        (["table", "qurey", "x.db", SMALL], "query"),
        (["learn", "evaluate", "corpus", "--sed", "1"], "--seed"),
    ],
)
def test_what_is_misspelt_gets_a_suggestion(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.endswith(f"; did you mean {meant}?\n")


@pytest.mark.parametrize("arguments", [["zzz"], ["bench", SMALL, "--zzzzz"], ["table", "zzz"]])
def test_what_is_like_nothing_gets_no_suggestion(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "zzz" in error and "did you mean" not in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the following arguments are required: COMMAND; `morello --help` says what it takes."),
        (["synth"], "required: EXPR; `morello synth --help` says what it takes."),
        (["bench", SMALL, "--threads"], "argument --threads: expected one argument; "),
        (["table", "stats"], "required: PATH; `morello table stats --help` says what it takes."),
    ],
)
def test_a_command_line_that_is_wrong_gets_one_sentence(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, error = capsys.readouterr()
    assert said in error and error.count("\n") == 1 and not out
    assert main([*words, "--json"]) == 2
    out, error = capsys.readouterr()
    assert f"morello: {json.loads(out)['error']}\n" == error


@pytest.mark.parametrize("text", ["-u8[4]", "--u8[4]", "-(u8[4])", "-neg(u8[4])"])
def test_an_expression_may_begin_with_a_minus(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["synth", text]) == 2
    assert "u8 has no negative numbers" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["bench", "explain", "model", "synth"])
def test_a_file_is_no_expression(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "model.onnx"]) == 2
    assert "'model.onnx' is a model; `morello tune`" in capsys.readouterr().err
    assert main([command, "missing.html"]) == 2
    assert "'missing.html' seems to be a file; write an expression" in capsys.readouterr().err


def test_an_expression_is_one_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synth", *SMALL.split()]) == 2
    assert "are there quotes around the expression?" in capsys.readouterr().err


def test_every_command_has_its_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    for name, text in COMMANDS.items():
        assert main([name, "--help"]) == 0
        assert f"morello {name}" in capsys.readouterr().out
        assert f"    {name}" in listed and text.split()[0] in listed


@pytest.mark.parametrize("text", ["x", "", "1.5", "1e3", "9" * 9999, "nan"])
def test_what_is_no_number(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", SMALL, "--measure", text]) == 2
    error = capsys.readouterr().err
    assert "argument --measure" in error and "is no whole number" in error
    assert len(error) < 1000


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
    monkeypatch.setattr("morello.native.toolchain._zig_wheel", lambda: None)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CC", raising=False)
    assert main(["bench", SMALL]) == 2
    assert "ziglang" in capsys.readouterr().err


def test_the_command_starts_without_heavy_imports() -> None:
    check = "import morello.cli.parser, sys; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_interrupting_leaves_cleanly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("morello.search.session.Session.solve", interrupt)
    assert main(["explain", SMALL]) == 130
    assert "interrupted" in capsys.readouterr().err


WITHOUT_ONNX = """
import sys
sys.modules["onnx"] = None
from morello.cli.parser import main
for words in ["export", "folder", "x.onnx"], ["tune", "x.onnx"], ["onnx", "x.onnx", "-o", "y.onnx"]:
    assert main(words) == 2
"""


def test_commands_for_models_say_what_to_install(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_ONNX]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    said = "morello: ONNX models need the package onnx; pip install 'morello[onnx]'.\n"
    assert done.stderr == 3 * said
