"""A corpus: measured programs of many Specs on one machine, in one file per Spec.

A file is a NumPy archive without pickles. Like TpuGraphs' tile archives, it has `config_runtime`
and `config_runtime_normalizers`, the nanoseconds of each program and of the reference kernel timed
with it. In addition, `schedules` are the programs, in the format of saved schedules; `origins`
where they come from; `repeats`, `references` and `cold` all timings; `about` is JSON of the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.base.errors import CorpusError, MorelloError, RewriteError, quoted
from morello.impl.fields import Fields
from morello.impl.saved import VERSION as SAVED
from morello.impl.saved import load
from morello.impl.tree import Impl
from morello.learn.archive import read_about, read_arrays, write_arrays
from morello.learn.label import Floats, Labels
from morello.learn.programs import ORIGINS
from morello.targets.catalog import recorded
from morello.targets.target import Target

VERSION = 1
SUFFIX = ".npz"


@dataclass(frozen=True)
class MeasuredSpec:
    """The programs of one Spec, and their times in nanoseconds (see `label.Labels`).

    `about` has the `family` and `expression` of the Spec, the `spec` in the format of saved
    schedules, and of the machine `cpu`, `microarchitecture`, `compiler`, `hertz`, `caches` and
    `target`.
    """

    about: Mapping[str, Any]
    schedules: Sequence[Sequence[Mapping[str, Any]]]
    origins: npt.NDArray[np.int8]
    repeats: Floats
    reference: Floats
    cold: Floats

    @property
    def family(self) -> str:
        return str(self.about["family"])

    @property
    def expression(self) -> str:
        return str(self.about["expression"])

    @property
    def seconds(self) -> Floats:
        """The least time of a call of each program, in seconds."""
        least: Floats = np.nanmin(self.repeats, axis=1) * 1e-9
        return least

    @property
    def noise(self) -> float:
        """The median relative difference of a program's least times of even and odd repeats.

        No prediction can be more accurate.
        """
        whole = self.repeats[~np.isnan(self.repeats).any(axis=1)]
        if not len(whole) or whole.shape[1] < 2:
            return float("nan")
        halves = [whole[:, start::2].min(axis=1) for start in (0, 1)]
        return float(np.median(np.abs(np.log(halves[0] / halves[1]))))

    @property
    def target(self) -> Target:
        """The machine that they were measured on, with the current costs of its kind."""
        return recorded(self.about["microarchitecture"], self.about["caches"])

    def only(self, chosen: Sequence[int]) -> MeasuredSpec:
        """The programs with these numbers."""
        rows = np.array(chosen, np.intp)
        return replace(
            self,
            schedules=[self.schedules[n] for n in chosen],
            origins=self.origins[rows],
            repeats=self.repeats[rows],
            reference=self.reference[rows],
            cold=self.cold[rows],
        )

    def sample(self, count: int) -> MeasuredSpec:
        """At most so many of the programs: the search's first choice, and others at random."""
        others = len(self.schedules) - 1
        if count > others:
            return self
        drawn = 1 + np.random.default_rng(0).permutation(others)[: count - 1]
        return self.only([0, *sorted(drawn.tolist())])

    def impls(self, target: Target | None = None) -> list[Impl | None]:
        """The programs, for another target if one is given.

        None for those that the current rewrites do not allow.
        """
        return replayed(self.schedules, self.about["spec"], target or self.target)


def replayed(
    schedules: Sequence[Sequence[Mapping[str, Any]]], spec: Mapping[str, Any], target: Target
) -> list[Impl | None]:
    """Programs of a Spec in the format of saved schedules; None for those that are not legal."""
    about = {"morello": SAVED, "target": target.name, "cores": 1, "limits": {}, "spec": spec}
    programs: list[Impl | None] = []
    for rewrites in schedules:
        try:
            programs.append(load(about | {"rewrites": rewrites}, target))
        except MorelloError:
            programs.append(None)
    return programs


def kept(
    about: Mapping[str, Any],
    schedules: Sequence[Sequence[Mapping[str, Any]]],
    origins: Sequence[int],
    labels: Labels,
) -> MeasuredSpec:
    """The programs that have times, with these times."""
    timed = ~np.isnan(labels.repeats).all(axis=1)
    about = {**about, "lost": int((~timed).sum()), "wrong": int(labels.wrong.sum())}
    every = MeasuredSpec(
        about, schedules, np.array(origins, np.int8), labels.repeats, labels.reference, labels.cold
    )
    return every.only(np.flatnonzero(timed).tolist())


def write(path: Path, measured: MeasuredSpec) -> None:
    """Write a file of a corpus atomically. Raises `FileError`."""
    texts = [json.dumps(schedule, separators=(",", ":")) for schedule in measured.schedules]
    with np.errstate(all="ignore"):
        normalizers = np.nanmin(measured.reference, axis=1)
    arrays = {
        "config_runtime": np.rint(measured.seconds * 1e9).astype(np.int64),
        "config_runtime_normalizers": np.rint(np.nan_to_num(normalizers)).astype(np.int64),
        "schedules": np.frombuffer("\n".join(texts).encode(), np.uint8),
        "origins": measured.origins,
        "repeats": measured.repeats.astype(np.float32),
        "references": measured.reference.astype(np.float32),
        "cold": measured.cold.astype(np.float32),
    }
    write_arrays(path, arrays, {"version": VERSION, **measured.about})


def read(path: Path) -> MeasuredSpec:
    """Read a file of a corpus. Raises `CorpusError` for other files, or for invalid times."""
    damaged = "is no file of a corpus, or is damaged; take it from its source again."
    arrays = read_arrays(path, damaged)
    try:
        about = read_about(arrays)
        version = about["version"]
        if version != VERSION:
            raise CorpusError(
                f"{path} has version {version} of the corpus, and this Morello reads {VERSION}; "
                "collect it again."
            )
        lines = arrays["schedules"].tobytes().decode().splitlines()
        schedules = [json.loads(line) for line in lines]
        measured = MeasuredSpec(
            about, schedules, _numbers(arrays["origins"], np.int8),
            *(_numbers(arrays[name], np.float64) for name in ("repeats", "references", "cold")),
        )  # fmt: skip
        _check_about(Fields(about, "the description"))
    except (KeyError, TypeError, ValueError):  # which bad JSON and bad text are, too
        raise CorpusError(f"{path} lacks what a corpus has; collect it again.") from None
    except RewriteError as error:
        raise CorpusError(f"{path} lacks what a corpus has: {error}") from None
    _check(path, measured)
    return measured


def _numbers(array: npt.NDArray[Any], dtype: type) -> npt.NDArray[Any]:
    """The numbers of an array in another dtype; raises `ValueError` for one of anything else."""
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ValueError
    return array.astype(dtype)


def _check_about(about: Fields) -> None:
    """Raise `RewriteError` if the description of a file is missing something, or mistyped."""
    for name in ("family", "expression", "target", "microarchitecture"):
        about.get(name, str)
    about.get("spec", dict)
    hertz = about.get("hertz", object)
    if isinstance(hertz, bool) or not isinstance(hertz, int | float) or not 0 < hertz < inf:
        raise RewriteError(f"hertz is {quoted(hertz)}, and should be a positive number.")
    caches = Fields(about.get("caches", dict), "the caches")
    for level in ("L2", "L1", "registers"):
        caches.integer(level, minimum=1)


def _check(path: Path, measured: MeasuredSpec) -> None:
    count = len(measured.schedules)
    tables = (measured.repeats, measured.reference, measured.cold)
    if measured.origins.shape != (count,) or any(t.ndim != 2 or len(t) != count for t in tables):
        raise CorpusError(f"{path} has another number of times than programs; collect it again.")
    if not count or measured.repeats.shape[1] == 0:
        raise CorpusError(f"{path} has no programs; collect it again.")
    if not ((measured.origins >= 0) & (measured.origins < len(ORIGINS))).all():
        raise CorpusError(f"{path} has programs of unknown origin; collect it again.")
    timed = ~np.isnan(measured.repeats)
    times = measured.repeats[timed]
    if not timed.any(axis=1).all() or not (np.isfinite(times) & (times > 0)).all():
        raise CorpusError(f"{path} has times that are no positive numbers; collect it again.")


def files(folder: Path) -> list[Path]:
    """The files of a corpus, in order. Raises `CorpusError` if there are none."""
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        raise CorpusError(f"{folder} has no corpus; `morello learn collect {folder}` makes one.")
    return paths
