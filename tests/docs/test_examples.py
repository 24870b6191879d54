"""Every example runs, and prints what it should."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

EXAMPLES = ROOT / "examples"
LARGEST_ERROR = 1e-3
PATIENCE_S = 300

PRINTS = {
    "attention": r"softmax\(q @ k\): .*\nattention\(q, k, v\): ",
    "explain": r"fma_row_\w+ (.*\n)+searched [\d,]+ Specs in .*\n(no program is|the budget)",
    "from_arrays": r"w = f32\[64,128\]\{0,1\}; softmax\(x @ w\)",
    "from_cpp": r"void matmul\(const float (.*\n)+called from C\+\+: ",
    "fusion": r"operations, \d kernels:\n(  .+ us predicted\n)+largest",
    "matmul": r"<morello.Kernel f32\[256,256\] @ f32\[256,256\] for native>",
    "packed_weights": r"\{0,1:T\(\d+,1\)\}\nplain \d+ us, packed \d+ us\n",
    "schedule": r"must be smaller than m(.*\n)+.*\?\? .*<- next(.*\n)+Solved:\n[^?]+largest",
    "table": r": searched [1-9][\d,]+ Specs in (.*\n)+.*: searched 0 Specs in .*\nthe table has ",
    "threads": r"1 threads: [\d.]+ ms.*\n2 threads: [\d.]+ ms",
    "tuning": r" 1 programs measured, (.*\n)*.*[\d.]+ times as fast as the first choice",
}
"""What each example prints, besides its largest error."""
WITHOUT_ERROR = {"explain", "table"}
"""These compute nothing."""


def output(path: Path) -> str:
    """What a program prints; it must succeed, and print no warnings."""
    command = [sys.executable, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_every_example_is_known() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PRINTS}
    page = (ROOT / "docs" / "examples.md").read_text()
    assert all(f'"examples/{path.name}"' in page for path in EXAMPLES.iterdir() if path.is_file())


@pytest.mark.parametrize("name", sorted(PRINTS))
def test_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MORELLO_CALIBRATION", "off")
    printed = output(EXAMPLES / f"{name}.py")
    if printed.startswith("skipped: "):
        pytest.skip(printed)
    assert re.search(PRINTS[name], printed), printed
    errors = [float(error) for error in re.findall(r"largest error: (\S+)", printed)]
    assert bool(errors) == (name not in WITHOUT_ERROR)
    assert all(error < LARGEST_ERROR for error in errors)
