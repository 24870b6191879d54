"""The measured costs of a machine, and the file that stores them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeGuard

from morello.base.errors import TargetError
from morello.base.files import make_folder, write_text
from morello.targets.calibration_path import OFF, VARIABLE, chosen_path
from morello.targets.costs import with_coefficients
from morello.targets.cpu import HostCPU
from morello.targets.target import Target

VERSION = 1
MOST = 1e15

NOMINAL_HERTZ = 4e9
"""The clock of a CPU that was not calibrated, as near as it need be to predict times."""

Measured = Literal["first use", "calibrate"]


@dataclass(frozen=True)
class Calibration:
    """The costs of one model of CPU: coefficients by name (see `costs`), in cycles of `hertz`.

    Coefficients that are missing are as published. `measured` says what measured the others.
    """

    cpu: str
    hertz: float
    coefficients: Mapping[str, float]
    measured: Measured = "calibrate"


def applied(target: Target, calibration: Calibration) -> Target:
    """The target with these costs; raises `TargetError` for one that it does not have."""
    return with_coefficients(target, calibration.coefficients)


def calibrated(target: Target, cpu: HostCPU) -> Target:
    """The target with the costs measured on this CPU, or unchanged if there are none.

    Raises `TargetError` for a file that is damaged, or of another CPU.
    """
    path = chosen_path(cpu)
    if path is None:
        return target
    calibration = load(path)
    if calibration.cpu != cpu.name:
        raise _unusable(path, f"is of another machine ({calibration.cpu}, and this is {cpu.name})")
    try:
        return applied(target, calibration)
    except TargetError as error:
        raise _unusable(path, f"does not fit this version of Morello: {error}") from None


def hertz_of(cpu: HostCPU) -> float:
    """The clock of this CPU that its calibration measured, else `NOMINAL_HERTZ`."""
    with suppress(TargetError):
        path = chosen_path(cpu)
        if path is not None and (calibration := load(path)).cpu == cpu.name:
            return calibration.hertz
    return NOMINAL_HERTZ


def load(path: Path) -> Calibration:
    """The calibration in a file; raises `TargetError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise _unusable(path, f"cannot be read ({reason})") from None
    return parse(text, path)


def save(calibration: Calibration, path: Path) -> None:
    """Write a calibration atomically; raises `FileError` if it cannot be written."""
    make_folder(path)
    write_text(path, json.dumps({"morello": VERSION} | asdict(calibration), indent=2) + "\n")


def parse(text: str, path: Path) -> Calibration:
    """Parse the text of a calibration file; raises `TargetError`, which names the file."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise _unusable(path, "is no JSON") from None
    if not isinstance(data, dict) or data.get("morello") != VERSION:
        raise _unusable(path, f"is no calibration of version {VERSION}")
    cpu, hertz, values = (data.get(key) for key in ("cpu", "hertz", "coefficients"))
    if not isinstance(cpu, str):
        raise _unusable(path, "names no cpu")
    if not _is_positive(hertz):
        raise _unusable(path, f"has {hertz!r} for hertz")
    if not isinstance(values, dict):
        raise _unusable(path, "has no coefficients")
    wrong = [name for name, value in values.items() if not _is_positive(value)]
    if wrong:
        raise _unusable(path, f"has {values[wrong[0]]!r} for {wrong[0]}")
    by: Measured = "first use" if data.get("measured") == "first use" else "calibrate"
    return Calibration(cpu, float(hertz), {name: float(v) for name, v in values.items()}, by)


def _is_positive(value: Any) -> TypeGuard[float]:
    """Whether a value can be a cost: above zero, or the search would use it without limit."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value < MOST


def _unusable(path: Path, why: str) -> TargetError:
    return TargetError(
        f"the calibration {path} {why}. Make it anew with `morello calibrate`, delete it, "
        f"or set {VARIABLE}={OFF}."
    )
