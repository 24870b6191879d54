"""Recordings of machines: Specs, programs of each as schedules, and the times of their calls.

With them, costs can be evaluated without the machine, and without timing anything.
A recording is gzipped JSON: the `cpu`, its `microarchitecture`, `hertz` and `compiler`, the
`caches` of its target in lines, and `specs`, each with an `expression`, the `spec` in the format of
saved schedules, and `programs`: `rewrites` and the least `seconds` of a call.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from morello.impl.tree import Impl
from morello.learn.corpus import replayed
from morello.targets.catalog import recorded
from morello.targets.machines import MACHINES, Machine
from morello.targets.target import Target

FOLDER = Path(__file__).parent / "machines"
FIRST = 5
"""How many of the cheapest programs are timed to choose among them."""


@dataclass(frozen=True)
class Recorded:
    """A Spec, and its programs: schedules, each with the least time of a call in seconds."""

    expression: str
    spec: Mapping[str, Any]
    programs: Sequence[tuple[Sequence[Mapping[str, Any]], float]]


@dataclass(frozen=True)
class Recording:
    """Measured times of programs on one machine, with its microarchitecture and caches."""

    machine: Machine
    caches: Mapping[str, int]
    hertz: float
    specs: Sequence[Recorded]

    @property
    def target(self) -> Target:
        """The target of the machine, with the current costs of its kind."""
        return recorded(self.machine.name, self.caches)


@dataclass(frozen=True)
class Judged:
    """How the cheapest programs of a Spec compare with the fastest.

    `first` and `five` are the relative regrets of the cheapest program, and of the fastest of the
    `FIRST` cheapest: 0 is best. `lost` programs are no longer legal.
    """

    expression: str
    first: float
    five: float
    lost: int


def read(path: Path) -> Recording:
    """The recording in a file."""
    data = json.loads(gzip.decompress(path.read_bytes()))
    machine = next(m for m in MACHINES if m.name == data["microarchitecture"])
    specs = [
        Recorded(
            entry["expression"],
            entry["spec"],
            [(p["rewrites"], p["seconds"]) for p in entry["programs"]],
        )
        for entry in data["specs"]
    ]
    return Recording(machine, data["caches"], data["hertz"], specs)


def impls(recording: Recording, entry: Recorded) -> list[tuple[Impl, float]]:
    """The programs of a Spec that are still legal, and their seconds."""
    schedules, times = zip(*entry.programs, strict=True)
    programs = zip(replayed(schedules, entry.spec, recording.target), times, strict=True)
    return [(impl, seconds) for impl, seconds in programs if impl is not None]


def judged(recording: Recording, entry: Recorded) -> Judged:
    """Rank a Spec's programs by cost, and compare with the measured times.

    Raises `ValueError` if none of them is legal.
    """
    programs = sorted(impls(recording, entry), key=lambda program: program[0].cost)
    times = [seconds for _, seconds in programs]
    if not times:
        raise ValueError(f"no program of {entry.expression} is legal any more")
    least = min(seconds for _, seconds in entry.programs)
    lost = len(entry.programs) - len(programs)
    return Judged(entry.expression, times[0] / least - 1, min(times[:FIRST]) / least - 1, lost)
