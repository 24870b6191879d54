"""A correction of a learned model for one machine, kept in a file beside its calibration."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from morello.base.errors import CorpusError
from morello.base.files import write_text
from morello.learn.adapt import Correction
from morello.learn.features import PROGRAM_FEATURES

SUFFIX = ".model.json"


@dataclass(frozen=True)
class Local:
    """A correction of the model of this name that ships, by that many measured `programs`.

    On held-out Specs, the relative error of predictions was `costs` from costs alone, and `error`
    from the corrected model.
    """

    model: str
    correction: Correction
    programs: int
    costs: float
    error: float

    def described(self) -> dict[str, Any]:
        """Its errors, as JSON-able data."""
        return {
            "programs": self.programs, "costs": self.costs, "error": self.error,
        }  # fmt: skip

    def __str__(self) -> str:
        return (
            f"corrected by {self.programs} programs: predictions off by "
            f"{self.error:.0%}, those from costs by {self.costs:.0%}"
        )


def local_path(calibration: Path) -> Path:
    """The file of the correction that belongs to a calibration's file."""
    return calibration.with_suffix(SUFFIX)


def write_local(path: Path, local: Local) -> None:
    """Write a file atomically; raises `FileError` if it cannot be written."""
    correction = local.correction
    more = {
        "model": local.model, "slope": correction.slope.tolist(), "offset": correction.offset,
    }  # fmt: skip
    write_text(path, json.dumps(local.described() | more) + "\n")


def read_local(path: Path, model: str) -> Local | None:
    """The correction in a file; None if there is none, or it is of a model of another name.

    Raises `CorpusError` if it is damaged.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.get("model") != model:
            return None
        slope = np.array(data["slope"], np.float64)
        local = Local(
            model, Correction(slope, float(data["offset"])), int(data["programs"]),
            float(data["costs"]), float(data["error"]),
        )  # fmt: skip
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise _damaged(path) from None
    numbers = np.isfinite(slope).all() and np.isfinite(local.correction.offset)
    if slope.shape != (len(PROGRAM_FEATURES),) or not numbers:
        raise _damaged(path)
    return local


def _damaged(path: Path) -> CorpusError:
    return CorpusError(
        f"{path} is no correction of a learned model; delete it, or run `morello calibrate` again."
    )
