"""Every example runs, and prints what it should."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from tests.docs.pages import ROOT
from tests.sampling import rare
from tests.waiting import PATIENCE_S

from morello.search.budget import Budget

EXAMPLES = ROOT / "examples"
LARGEST_ERROR = 1e-3

PRINTS = {
    "attention": r"softmax\(q @ k\): .*\nattention\(q, k, v\): ",
    "explain": r"fma_row_\w+ (.*\n)+searched [\d,]+ Specs in .*\n(no program is|the budget)",
    "from_arrays": r"w = f32\[32,64\]\{0,1\}; relu\(x @ w\)",
    "from_cpp": r"void matmul\(const float (.*\n)+called from C\+\+: ",
    "from_numpy": r"block\(f32\[64,32\], .*: \d kernels? in 1 call, .*\n"
    r"  share .*\n( +\d+ % .*\n)+  they reach .*\n  compiled in .*\nlargest",
    "fusion": r"operations, \d kernels:\n(  .+ us predicted\n)+largest",
    "jax_block": r"\d+ kernels in \d+ calls(.*\n)+jax.jit: \d+ us\nmorello.jax.jit: \d+ us\n",
    "matmul": r"<morello.Kernel f32\[256,256\] @ f32\[256,256\] for native>",
    "matrix_vector": r"(gemma\w+: largest error: .*\n){6}",
    "onnx_magika": r"MorelloExecutionProvider .*\n(.*: label \d+, largest error: \S+\n){3}",
    "onnx_quantized": r"\d+ kernels; left to ONNX Runtime: 0 nodes\nleast cosine",
    "onnx_to_cpp": r"softmax\((.*\n)+wrote \d+ files; (.*\n)+called from C\+\+: [\d.]+ us, ",
    "packed_weights": r"\{0,1:T\(\d+,1\)\}\nplain \d+ us, packed \d+ us\n",
    "pytorch": r"graph \d+:\n\(f32\[16,64\]\): 3 kernels in 1 call, ",
    "pytorch_generate": r"^( ?\d+){21}\nprompt: \d+ kernels, .*\ntoken: \d+ kernels, ",
    "schedule": r"must be smaller than m(.*\n)+.*\?\? .*<- next(.*\n)+Solved:\n[^?]+largest",
    "table": r": searched [1-9][\d,]+ Specs in (.*\n)+.*: searched 0 Specs in .*\nthe table has ",
    "threads": r"1 threads: [\d.]+ ms.*\n2 threads: [\d.]+ ms",
    "tuning": r" 1 programs measured, (.*\n)*.*[\d.]+ times as fast as the first choice",
}
"""The output of each example, besides its largest error."""
WITHOUT_ERROR = {"explain", "onnx_quantized", "pytorch_generate", "table"}
"""These compute nothing, or compare otherwise."""
FOR_OTHERS = {"encoder_layer"}
"""Modules of other examples."""


PROCESSES = {"matmul", "tuning"}
"""These run as users start them; the last is imported by processes of its own."""
COSTLY = {
    "jax_block", "matrix_vector", "onnx_magika", "onnx_quantized", "onnx_to_cpp",
    "pytorch_generate",
}  # fmt: skip
"""These take most of the time of all examples, with models that the tests of doors have smaller."""
PROGRAMS = {"from_numpy", "jax_block", "onnx_quantized", "pytorch", "pytorch_generate"}
"""These have many kernels, and show what is done with them: any will do."""


def soon(seconds: float, *, gap: float) -> Budget:
    """The budget of a search that ends with any program."""
    return Budget(min(seconds, 0.5), gap=max(gap, 1.0))


def output_here(path: Path, capfd: pytest.CaptureFixture[str]) -> str:
    """The output of a program in this process, which must succeed without warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        runpy.run_path(str(path), run_name="__main__")
    printed, errors = capfd.readouterr()
    assert (errors, [str(warning) for warning in caught]) == ("", [])
    return printed


def output(path: Path) -> str:
    """The output of a program, which must succeed without warnings."""
    command = [sys.executable, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_every_example_is_known() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PRINTS, *FOR_OTHERS}
    page = (ROOT / "docs" / "examples.md").read_text()
    assert all(f'"examples/{path.name}"' in page for path in EXAMPLES.iterdir() if path.is_file())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=rare if name in COSTLY else ()) for name in sorted(PRINTS)]
)
def test_example(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MORELLO_CALIBRATION", "off")
    path = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.syspath_prepend(EXAMPLES)  # as for a program that runs by itself
    if name in PROGRAMS:
        monkeypatch.setattr("morello.options.Budget", soon)
    printed = output(path) if name in PROCESSES else output_here(path, capfd)
    if printed.startswith("skipped: "):
        pytest.skip(printed)
    assert re.search(PRINTS[name], printed), printed
    errors = [float(error) for error in re.findall(r"largest error: (\S+)", printed)]
    assert bool(errors) == (name not in WITHOUT_ERROR)
    assert all(error < LARGEST_ERROR for error in errors)
