"""The first use of a machine whose costs are only published measures it, once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.hosts import ZEN2, ZEN5
from tests.support import skip_unless_it_runs

import morello
from benchmarks.probes import EXPRESSIONS, TARGETS, chosen
from morello.cli import bench, targets
from morello.cli.parser import main
from morello.measure.calibrate import first_use, probing, shipped
from morello.measure.calibrate.first_use import find_calibrated
from morello.measure.calibrate.fit import Sample
from morello.measure.calibrate.probing import better, probes
from morello.measure.calibrate.shipped import PROBES
from morello.targets import catalog
from morello.targets.calibration import load
from morello.targets.calibration_path import VARIABLE, default_path
from morello.targets.costs import coefficients
from morello.targets.machines import ALDER_LAKE, SKYLAKE, SKYLAKE_X, ZEN1, Machine
from morello.targets.x86 import AVX2, avx2, avx512

FEW = 2
"""Specs whose programs are timed here."""


@pytest.fixture
def stranger(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Path]:
    """This machine is a Zen 2 that was never measured; the file that its costs will be in."""
    skip_unless_it_runs(AVX2)
    entries = json.loads(gzip.decompress((PROBES / "avx2.json.gz").read_bytes()))[:FEW]
    (tmp_path / "avx2.json.gz").write_bytes(gzip.compress(json.dumps(entries).encode()))
    for module in (catalog, first_use, bench, targets):
        monkeypatch.setattr(module, "host_cpu", lambda: ZEN2)
    monkeypatch.setattr(shipped, "PROBES", tmp_path)
    monkeypatch.setattr(probing, "COMPILED_AFTER", inf)  # whatever else this machine does
    monkeypatch.setattr(probing, "TIMED_AFTER", 0.0)
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    catalog.native.cache_clear()
    yield default_path(ZEN2)
    catalog.native.cache_clear()


def test_it_is_measured_once(stranger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = morello.compile("f32[8,8] @ f32[8,16]", verify=False)
    assert kernel.impl.target.vector_bytes == (32, 16)
    told = capsys.readouterr().err
    assert "measuring this machine once" in told and str(stranger) in told
    found = load(stranger)
    assert found.cpu == ZEN2.name and found.measured == "first use" and found.hertz > 3e8
    assert set(found.coefficients) <= set(coefficients(catalog.uncalibrated()))
    stamp = stranger.stat().st_mtime_ns
    morello.compile("f32[8,8] @ f32[8,24]", verify=False)
    assert capsys.readouterr().err == "" and stranger.stat().st_mtime_ns == stamp


def test_figures_say_so(stranger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "f32[8,8] @ f32[8,16]", "--vs", "numpy", "--seconds", "0.01"]) == 0
    assert "at first use" in capsys.readouterr().out
    assert main(["targets"]) == 0
    assert f"at first use, in {stranger}" in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize("why", ["off", "measured machine", "no folder", "other target"])
def test_it_is_not_measured(
    why: str, stranger: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = "avx2" if why == "other target" else "native"
    if why == "off":
        monkeypatch.setenv(VARIABLE, "off")
    if why == "measured machine":
        monkeypatch.setattr(catalog, "host_cpu", lambda: ZEN5)
        monkeypatch.setattr(first_use, "host_cpu", lambda: ZEN5)
    if why == "no folder":
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(probing, "measured", lambda *_: pytest.fail("it was measured"))
    assert find_calibrated(target).name == target
    assert not stranger.exists()


def test_what_a_compiler_cannot_build_is_not_kept(
    stranger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "false")
    assert find_calibrated("native").name == "native"
    assert not stranger.exists()


@pytest.mark.parametrize("machine", [SKYLAKE, ALDER_LAKE, ZEN1, SKYLAKE_X], ids=lambda m: m.key)
def test_machines_have_programs_to_measure(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    uncounted = SimpleNamespace(of=lambda impl: {})  # what programs pay is no matter here
    monkeypatch.setattr(probing, "Multiplicities", lambda _: uncounted)
    target = avx512(machine, frozenset()) if machine.target == "avx512" else avx2(machine)
    groups = probes(target)
    assert len(groups) >= 12 and sum(map(len, groups)) >= 40
    assert len({group[0].goal for group in groups}) == len(groups)


def test_costs_are_kept_if_they_choose_better() -> None:
    """Costs that make products twice as dear as they are choose others; true ones stay."""
    truth = coefficients(AVX2)
    wrong = truth | {
        name: 2.5 * cost
        for name, cost in truth.items()
        if name.startswith(("kernels.products", "kernels.block"))
    }
    measured = [
        Sample(program.goal, program.paid, sum(truth[n] * t for n, t in program.paid.items()))
        for group in probes(AVX2)
        for program in group
    ]
    assert better(measured, truth) == {}
    kept = better(measured, wrong)
    assert kept["kernels.products"] < 0.7 * wrong["kernels.products"]


def test_probes_are_what_uncertain_costs_choose() -> None:
    text = gzip.decompress((PROBES / "avx512.json.gz").read_bytes())
    kept = {group["expression"]: group["programs"] for group in json.loads(text)}
    assert list(kept) == list(EXPRESSIONS)
    (again, *_) = chosen("max(f32[256,512], axis=1)", TARGETS["avx512"], 3)
    assert again["rewrites"] in [one["rewrites"] for one in kept["max(f32[256,512], axis=1)"]]
