"""Texts that no single kernel computes: programs of several, called as kernels are."""

from __future__ import annotations

import ctypes
import inspect
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import call

import morello
from morello.base.errors import CallError, SeveralKernelsError, SpecError
from morello.cli.parser import main
from morello.program import TextProgram

JOINED = "concat(f32[4,8], f32[4,3], axis=1) @ f32[11,5]"

CASES: dict[str, Callable[..., Any]] = {
    "x = f32[2,8]; x * f32[8] + concat(-x[..., 4:], x[..., :4], axis=-1) * f32[8]": (
        lambda x, c, s: x * c + np.concatenate([-x[..., 4:], x[..., :4]], -1) * s
    ),
    "x = f32[8,7]; x[1:, ::2] - x[0, :4]": lambda x: x[1:, ::2] - x[0, :4],
    "x = f32[4,8] @ f32[8,8]; x @ transpose(x)": lambda x, w: (x @ w) @ (x @ w).T,
    "reshape(f32[4,6]{0,1}, shape=[8,3]) -> f32[8,3]{0,1}": lambda x: x.reshape(8, 3),
    "tril(f32[5,5])[1:] - pad(f32[3,4], padding=[0,1,1,0], value=0.5)": lambda x, y: (
        np.tril(x)[1:] - np.pad(y, ((0, 1), (1, 0)), constant_values=0.5)
    ),
    "concat(f32[2,1,6], f32[4,1,6], axis=0)[2:, :, 1:] -> f32[4,1,5]{2,0,1}": (
        lambda _, x: x[:, :, 1:]
    ),
}


def arrays(kernel: morello.Kernel) -> list[Any]:
    """Random arrays for the inputs of a kernel, in their layouts."""
    random = np.random.default_rng(0)
    given = [argument.empty() for argument in kernel.arguments if not argument.output]
    for array in given:
        array[...] = random.standard_normal(array.shape)
    return given


@pytest.mark.parametrize("text", CASES)
def test_programs_compute_what_numpy_does(text: str) -> None:
    program = morello.compile(text, budget=5.0)
    given = arrays(program)
    expected = CASES[text](*given)
    np.testing.assert_allclose(program(*given), expected, 1e-5, 1e-5)


def test_a_program_is_called_as_a_kernel() -> None:
    program = morello.compile(JOINED)
    assert isinstance(program, TextProgram) and program.max_error is not None
    assert program.cost == sum(kernel.cost for kernel in program.kernels)
    assert str(inspect.signature(program)) == "(a, b, c, /, out=None)"
    a, b, c = arrays(program)
    out = np.empty((4, 5), np.float32)
    assert program(a, b, c, out=out) is out
    np.testing.assert_allclose(out, np.concatenate([a, b], 1) @ c, 1e-5, 1e-5)
    with pytest.raises(CallError, match="argument c: expected f32"):
        program(a, b, c[:3])
    with pytest.raises(SeveralKernelsError, match="is a program of 3 kernels, and has no Spec"):
        _ = program.spec
    again = pickle.loads(pickle.dumps(program))
    assert again.max_error == program.max_error and again.arguments == program.arguments
    np.testing.assert_array_equal(again(a, b, c), out)
    assert repr(program) == f"<morello.TextProgram {JOINED} of 3 kernels>"


def test_programs_are_compiled_with_kernels() -> None:
    kernels = morello.compile_all([JOINED, "f32[8] + f32[8]", JOINED])
    assert [type(each).__name__ for each in kernels] == ["TextProgram", "Kernel", "TextProgram"]
    assert [len(each.kernels) for each in kernels] == [3, 1, 3]
    with pytest.raises(SpecError, match="leave out weights and choice"):
        morello.compile_all([JOINED, "f32[8] + f32[8]"], choice=2)


def test_numbers_of_rows_are_random_ones_of_all() -> None:
    program = morello.compile("take(f32[40,8][2:], i32[500])[1:]")
    ids = program.random_inputs().plain[1]
    assert {*ids.tolist()} == {*range(38)}


def test_inputs_keep_their_names() -> None:
    program = morello.compile("b = f32[6]; b[1:3] + f32[4][2:] + f32[2]")
    assert [each.name for each in program.arguments] == ["b", "a", "c", "out"]


def test_what_no_program_can_be_gets_one_sentence() -> None:
    eight = "; ".join(f"x{n} = f32[4]" for n in range(8))
    parts = " + ".join(f"x{n}[1:]" for n in range(8))
    with pytest.raises(SpecError, match="takes 8 tensors, and a function takes 7; `morello export"):
        morello.compile(f"{eight}; {parts}")
    with pytest.raises(SpecError, match="leave out weights and choice"):
        morello.compile(JOINED, weights="constant")
    with pytest.raises(SeveralKernelsError, match="has no views"):
        morello.implement(JOINED)
    with pytest.raises(SpecError, match="has no views"):
        morello.compile("f32[2] += sum(f32[4,8][2:])")


def test_bench_and_explain_show_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x = f32[4,6]; concat(x[:, ::2], reshape(x, shape=[4,2,3])[:, 1], axis=0) @ f32[3,2]"
    assert main(["bench", text, "--vs", "numpy", "--seconds", "0.01", "--json"]) == 0
    timed = json.loads(capsys.readouterr().out)
    assert timed["verified"] and not timed["refused"] and timed["ratio"]["numpy"] > 0
    assert timed["cost"] == pytest.approx(sum(each["cost"] for each in timed["kernels"]))
    assert main(["explain", text]) == 0
    shown = capsys.readouterr().out
    count = len(timed["kernels"])
    assert f"kernel {count} of {count}\nMatmul for native" in shown and "In all " in shown
    assert main(["explain", text, "--json"]) == 0
    kernels = json.loads(capsys.readouterr().out)["kernels"]
    assert kernels[-1]["schedule"]["spec"] and len(kernels) == count
    for option in (
        ["--html", "x.html"], ["--against", "x.json"], ["--top", "2"], ["--certificate", "x.cert"],
    ):  # fmt: skip
        assert main(["explain", text, *option]) == 2
        assert "several" in capsys.readouterr().err


def test_synth_writes_one_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name for name in ("joined.c", "joined.h", "joined.so")]
    code, header, library = map(str, paths)
    assert main(["synth", JOINED, "-o", code, "--header", header, "--object", library,
                 "--name", "joined"]) == 0  # fmt: skip
    assert "a: f32[4,8] row-major, b: f32[4,3] row-major, c: f32[11,5]" in paths[1].read_text()
    given = arrays(morello.compile(JOINED))
    out = np.empty((4, 5), np.float32)
    call(ctypes.CDLL(library).joined, *given, out)
    np.testing.assert_allclose(out, np.concatenate(given[:2], 1) @ given[2], 1e-5, 1e-5)
    assert main(["synth", JOINED, "--abi", "c,xla,tvm-ffi,ort", "-o", code]) == 0
    assert "kernel((void *)arrays[0]" in paths[0].read_text()
    capsys.readouterr()
    for option in (["--save", code], ["--rows", "2"], ["--target", "x86-64-v3,x86-64"]):
        assert main(["synth", JOINED, *option]) == 2
        assert "several" in capsys.readouterr().err
