"""The study of what a time depends on."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from morello.frontends.text import parse
from morello.runtime.argument import arguments
from study import labels
from study.labels import (
    BUILDS,
    PLACES,
    REPEATS,
    differences,
    label_errors,
    placed,
    table,
    table_of_variances,
    variances,
)

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


def test_labels_are_compared_with_what_ships() -> None:
    ns = np.full(SHAPE, 100.0)
    ns[:, :, 2, :, 0] *= 1.1  # a program that is slower in a file with others
    found = label_errors([ns])
    assert len(found) == 3
    for logs in found.values():
        assert sorted(set(np.round(logs, 9))) == [0.0, pytest.approx(np.log(1.1))]


def test_variances_are_those_of_their_causes() -> None:
    """Effects of known variances on many programs; what is left has one of its own."""
    random = np.random.default_rng(0)
    shape = (3, 3, 3, 1, 4_000)
    wanted = {
        "repeats, and what is left": (shape, 1.0),
        "places of operands": ((*shape[:2], 1, *shape[3:]), 2.0),
        "processes": ((3, 1, 1, 1, shape[-1]), 3.0),
    }
    logs = sum(1e-3 * sd * random.normal(size=size) for size, sd in wanted.values())
    code, file = np.zeros(shape), np.zeros(shape)
    code[:, :, 1], file[:, :, 2] = 4e-3, 5e-3
    ns = np.exp(logs + code + file)
    found = variances([ns])
    for cause, (_, sd) in wanted.items():
        assert found[cause] == pytest.approx(1e-6 * sd**2, rel=0.1), cause
    assert found["places of code"] == pytest.approx(4e-3**2 / 2, rel=0.1)
    assert found["twelve in a file"] == pytest.approx((2 * 5e-3 - 4e-3) ** 2 / 6, rel=0.1)
    *_, last = table_of_variances([ns])
    assert last.startswith("| twelve in a file | 0.24, ")


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(labels, "SPECS", {"squares": ["f32[8,8] @ f32[8,8]"]})
    folder = tmp_path / "times"
    command = [str(folder), "--programs", "2"]
    assert labels.main([*command, "--processes", "0"]) == 0
    assert not capsys.readouterr().out
    assert [path.name for path in folder.iterdir()] == ["programs.json"]
    assert labels.main([*command, "--processes", "2"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("| twelve in a file |") == 2 and "built" not in printed.err
    kept = sorted(folder.iterdir())
    assert [path.name for path in kept] == ["process-0.npz", "process-1.npz", "programs.json"]
    written = [path.stat().st_mtime_ns for path in kept]
    assert labels.main([*command, "--processes", "2"]) == 0
    assert [path.stat().st_mtime_ns for path in kept] == written
    listed = folder / "programs.json"
    listed.write_text(listed.read_text().replace("f32[8,8] @", "f32[4,8] @"))
    assert labels.main([*command, "--processes", "2"]) == 2
    assert "has times of other Specs" in capsys.readouterr().err
    (folder / "process-0.npz").write_text("damaged")
    assert labels.main([*command, "--processes", "2"]) == 2
