"""The study of what a time depends on."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from morello.frontends.text import parse
from morello.runtime.argument import arguments
from study import labels
from study.labels import BUILDS, PLACES, REPEATS, differences, placed, table

SHAPE = (2, PLACES, len(BUILDS), REPEATS, 5)
"""Times of a Spec: processes, places, builds, repeats, programs."""


def test_each_cause_is_told_from_the_others() -> None:
    exact = np.full(SHAPE, 100.0)
    for cause, slower in {
        "repeats": (slice(None), slice(None), slice(None), slice(0, None, 2)),
        "places of operands": (slice(None), slice(0, 1)),
        "processes": (slice(0, 1),),
        "places of code": (slice(None), slice(None), slice(1, 2)),
        "twelve in a file": (slice(None), slice(None), slice(2, 3)),
    }.items():
        ns = exact.copy()
        ns[slower] *= 1.1
        sizes = {name: float(np.abs(logs).max()) for name, logs in differences([ns]).items()}
        assert sizes[cause] == pytest.approx(np.log(1.1)), cause
        assert sum(size > 0 for size in sizes.values()) == 1, cause
        (row,) = (line for line in table([ns]) if line.startswith(f"| {cause} |"))
        assert "10.0" in row
    ns = exact.copy()
    ns[0, ..., 2] *= 1.1  # one program in one process: its Spec is not slower
    sizes = {name: float(np.abs(logs).max()) for name, logs in differences([ns]).items()}
    assert sizes["processes, medians of Specs removed"] == pytest.approx(np.log(1.1))


def test_operands_are_placed_at_lines_of_a_page() -> None:
    first, *_ = arguments(parse("f32[8,16] @ f32[16,8]"))
    values, random = first.random(np.random.default_rng(0)), Random(0)
    copies = [placed(first, values, random) for _ in range(8)]
    offsets = {copy.ctypes.data % 4096 for copy in copies}
    assert len(offsets) > 4 and all(offset % 64 == 0 for offset in offsets)
    for copy in copies:
        np.testing.assert_array_equal(copy, values)


def test_the_command(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(labels, "samples", lambda *some: iter([*_samples(*some)][:1]))
    command = [str(corpus), str(tmp_path), "--programs", "2"]
    assert labels.main([*command, "--processes", "0"]) == 0
    assert not capsys.readouterr().out and not [*tmp_path.iterdir()]
    assert labels.main([*command, "--processes", "2"]) == 0
    assert "| twelve in a file |" in capsys.readouterr().out
    kept = sorted(tmp_path.iterdir())
    assert [path.name for path in kept] == ["process-0.npz", "process-1.npz"]
    written = [path.stat().st_mtime_ns for path in kept]
    assert labels.main([*command, "--processes", "2"]) == 0
    assert [path.stat().st_mtime_ns for path in kept] == written
    assert labels.main([str(tmp_path / "nowhere"), str(tmp_path)]) == 2


_samples = labels.samples
