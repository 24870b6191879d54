"""Trials: the programs that tunings measured, kept as a corpus.

A file has those of one Spec on one machine, of one compiler. Later tunings of the Spec begin with
them, `morello calibrate` corrects the model by them, and models can be trained on them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from morello.base.errors import CorpusError, FileError, MorelloError
from morello.impl.saved import save
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.collect import about_here, name_of
from morello.learn.corpus import SUFFIX, MeasuredSpec, kept, read, write
from morello.learn.label import Floats, Labels
from morello.learn.programs import ORIGINS
from morello.native.cache import default_cache
from morello.native.toolchain import Compiler
from morello.targets.target import Target

FAMILY = "tuned"
MOST = 1000
"""The most programs that are kept of a Spec: the latest."""

LATER = 36
"""Later tunings begin with so many, the fastest."""

FITTED = 12
"""The model of this machine is corrected by so many of a Spec, from the fastest to the slowest."""

Timed = tuple[Impl, float]
"""A program, and the seconds of a call."""


@dataclass(frozen=True)
class Trials:
    """The trials of a goal: the machine and the compiler that they are of, and their file.

    They are kept for later, so that no error of the file is raised: a damaged one counts as none.
    """

    path: Path
    about: dict[str, Any]
    target: Target

    @classmethod
    def of(cls, goal: Spec, target: Target, compiler: Compiler, folder: Path) -> Trials:
        """The trials of a goal on this machine."""
        about = about_here(goal, target, compiler) | {"family": FAMILY}
        return cls(folder / name_of(goal.expression, json.dumps(about)), about, target)

    def fastest(self) -> list[Timed]:
        """The fastest that are still legal, with the costs of today."""
        measured = self._read()
        return [] if measured is None else _some(measured, self.target, slice(LATER))

    def add(self, impls: Sequence[Impl], labels: Sequence[Labels], hertz: float) -> None:
        """Keep these, in place of what was known of them."""
        schedules = [save(impl)["rewrites"] for impl in impls]
        origins = [ORIGINS.index(FAMILY)] * len(impls)
        about = self.about | {"hertz": hertz}
        new = kept(about, schedules, origins, Labels.joined(labels))
        with suppress(FileError):
            write(self.path, _joined(self._read(), new))

    def _read(self) -> MeasuredSpec | None:
        with suppress(CorpusError):
            return read(self.path)
        return None


def trials_folder() -> Path:
    """Where trials are kept: in the kernel cache. Raises `BuildError` if it has no place."""
    return default_cache() / "trials"


def all_trials(folder: Path, target: Target, compiler: Compiler) -> list[Timed]:
    """Programs of all Specs with trials of this machine, target and compiler, `FITTED` of each."""
    programs: list[Timed] = []
    here = about_here(None, target, compiler)
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with suppress(MorelloError):
            measured = read(path)
            if here.items() <= measured.about.items():
                every = max(1, len(measured.schedules) // FITTED)
                programs += _some(measured, target, slice(None, None, every))
    return programs


def _some(measured: MeasuredSpec, target: Target, chosen: slice) -> list[Timed]:
    """Some of the programs in the order of their times, for a target."""
    order = np.argsort(measured.seconds, kind="stable")[chosen]
    pairs = zip(measured.only(order.tolist()).impls(target), measured.seconds[order], strict=True)
    return [(impl, float(seconds)) for impl, seconds in pairs if impl is not None]


def _joined(old: MeasuredSpec | None, new: MeasuredSpec) -> MeasuredSpec:
    """All programs, the new ones last, without old ones that were measured again."""
    if old is None:
        return new
    again = {json.dumps(schedule) for schedule in new.schedules}
    left = [n for n, schedule in enumerate(old.schedules) if json.dumps(schedule) not in again]
    before = old.only(left[-max(0, MOST - len(again)) :] if len(again) < MOST else [])
    return replace(
        new,
        schedules=[*before.schedules, *new.schedules],
        origins=np.concatenate([before.origins, new.origins]),
        repeats=np.concatenate([before.repeats, new.repeats]),
        reference=np.concatenate([before.reference, new.reference]),
        cold=_stacked(before.cold, new.cold),
    )


def _stacked(above: Floats, below: Floats) -> Floats:
    """The rows of both; nan in columns that one of them lacks."""
    rows = np.full((len(above) + len(below), max(above.shape[1], below.shape[1])), np.nan)
    rows[: len(above), : above.shape[1]] = above
    rows[len(above) :, : below.shape[1]] = below
    return rows
