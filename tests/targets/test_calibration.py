"""Calibrations in files: kept whole, read back, and refused with a reason."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from morello.base.errors import FileError, TargetError
from morello.cli.parser import main
from morello.targets import calibration, catalog
from morello.targets.calibration import (
    NOMINAL_HERTZ,
    Calibration,
    applied,
    calibrated,
    hertz_of,
    load,
    save,
)
from morello.targets.calibration_path import VARIABLE, default_path
from morello.targets.costs import coefficients
from morello.targets.cpu import HostCPU, host_cpu
from morello.targets.x86 import AVX2

CPU = HostCPU("x86_64", "AuthenticAMD", "AMD EPYC 9B45 (x)", frozenset(), (), 4, 26, 2)
MEASURED = Calibration(CPU.name, 4e9, {"memory.per_line": 3.5, "kernels.loads": 2.0, "fork": 1e4})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_a_file_for_each_model(home: Path) -> None:
    name = "authenticamd-family-26-model-2-amd-epyc-9b45-x.json"
    assert default_path(CPU) == home / "morello" / name


def test_what_is_saved_is_read_back_and_used() -> None:
    assert calibrated(AVX2, CPU) is AVX2
    save(MEASURED, default_path(CPU))
    assert load(default_path(CPU)) == MEASURED
    found = calibrated(AVX2, CPU)
    assert found == applied(AVX2, MEASURED)
    assert coefficients(found) == coefficients(AVX2) | dict(MEASURED.coefficients)


def test_only_the_file_is_left(home: Path) -> None:
    for _ in range(2):
        save(MEASURED, default_path(CPU))
    assert [path.name for path in home.rglob("*.*")] == [default_path(CPU).name]


def test_the_variable_turns_it_off_or_names_another(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(MEASURED, default_path(CPU))
    monkeypatch.setenv(VARIABLE, "off")
    assert calibrated(AVX2, CPU) is AVX2
    other = Calibration(CPU.name, 4e9, {"fork": 123.0})
    save(other, home / "other.json")
    monkeypatch.setenv(VARIABLE, str(home / "other.json"))
    assert calibrated(AVX2, CPU) == applied(AVX2, other)
    monkeypatch.setenv(VARIABLE, str(home / "missing.json"))
    with pytest.raises(TargetError, match=r"missing\.json cannot be read"):
        calibrated(AVX2, CPU)


GOOD = {"morello": calibration.VERSION} | asdict(MEASURED)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no JSON"),
        (json.dumps(GOOD)[:-9], "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "is no calibration of version 1"),
        (json.dumps(GOOD | {"morello": 2}), "is no calibration of version 1"),
        (json.dumps(GOOD | {"cpu": 7}), "names no cpu"),
        (json.dumps(GOOD | {"cpu": "a Z80"}), r"is of another machine \(a Z80, and this is Auth"),
        (json.dumps(GOOD | {"hertz": True}), "has True for hertz"),
        (json.dumps(GOOD | {"coefficients": [1]}), "has no coefficients"),
        (json.dumps(GOOD | {"coefficients": {"fork": 0}}), "has 0 for fork"),
        (json.dumps(GOOD | {"coefficients": {"fork": -1.5}}), "has -1.5 for fork"),
        (json.dumps(GOOD | {"coefficients": {"fork": float("nan")}}), "has nan for fork"),
        (json.dumps(GOOD | {"coefficients": {"fork": 10**400}}), "has 1000+ for fork"),
        (json.dumps(GOOD | {"coefficients": {"fork": "1"}}), "has '1' for fork"),
        (json.dumps(GOOD | {"coefficients": {"L9.x": 1}}), "does not fit .* no cost 'L9.x'"),
    ],
    ids=range(15),
)
def test_a_file_that_is_damaged_says_so(text: str, why: str) -> None:
    path = default_path(CPU)
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(TargetError, match=why) as caught:
        calibrated(AVX2, CPU)
    assert str(path) in str(caught.value)
    assert "`morello calibrate`" in str(caught.value) and "MORELLO_CALIBRATION" in str(caught.value)


def test_a_file_of_bytes() -> None:
    path = default_path(CPU)
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TargetError, match="cannot be read"):
        calibrated(AVX2, CPU)


def test_where_nothing_can_be_written(home: Path) -> None:
    (home / "file").write_text("")
    with pytest.raises(FileError, match=r"cannot write .*x\.json.*another file"):
        save(MEASURED, home / "file" / "x.json")


def test_the_clock_is_that_of_the_calibration() -> None:
    assert hertz_of(host_cpu()) == NOMINAL_HERTZ
    save(Calibration(host_cpu().name, 3e9, {}), default_path(host_cpu()))
    assert hertz_of(host_cpu()) == 3e9
    assert hertz_of(CPU) == NOMINAL_HERTZ  # it is of another CPU
    default_path(host_cpu()).write_text("{}")
    assert hertz_of(host_cpu()) == NOMINAL_HERTZ


def test_the_native_target_uses_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = coefficients(catalog.uncalibrated())
    native = catalog.native.__wrapped__
    assert coefficients(native()) == own
    save(Calibration(host_cpu().name, 4e9, {"fork": 4321.0}), default_path(host_cpu()))
    assert coefficients(native()) == own | {"fork": 4321.0}
    monkeypatch.setattr(catalog, "native", native)
    assert main(["targets"]) == 0
    assert f"costs measured here, in {default_path(host_cpu())}" in capsys.readouterr().out
    default_path(host_cpu()).write_text("{}")
    assert main(["targets"]) == 2
    assert "is no calibration of version" in capsys.readouterr().err
