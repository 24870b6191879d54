"""What a run finds, as data: cases, times, what could not be done, the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.machine import Machine
from benchmarks.peers import OURS


@dataclass(frozen=True)
class Entry:
    """How long one peer takes for one case, called from one language."""

    peer: str
    language: str
    setting: str
    median_s: float
    min_s: float
    samples: int
    error: float

    @property
    def ours(self) -> bool:
        """Whether it is Morello's."""
        return self.peer == OURS


@dataclass(frozen=True)
class Failure:
    """What a peer could not do, and why."""

    peer: str
    why: str


@dataclass(frozen=True)
class Outcome:
    """One case on some threads."""

    group: str
    size: str
    expression: str
    threads: int
    flops: int
    bytes: int
    multiplies: str
    entries: tuple[Entry, ...]
    failures: tuple[Failure, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Of our kernel: search_s, specs, and the cycles that the cost model predicts."""
    reads_s: float | None = None
    """What reading as many bytes took, in turns with all others; only measured of many."""

    def ours(self, language: str) -> Entry | None:
        """Our time, called from a language."""
        return next((e for e in self.entries if e.ours and e.language == language), None)

    @property
    def ratios(self) -> dict[str, float]:
        """Each peer's time over ours, called from where the peer is called from."""
        found = {}
        for entry in self.entries:
            ours = self.ours(entry.language)
            if not entry.ours and ours is not None:
                found[entry.peer] = entry.median_s / ours.median_s
        return found


@dataclass(frozen=True)
class Run:
    """Everything."""

    machine: Machine
    seconds: float
    versions: Mapping[str, str]
    absent: tuple[tuple[int, Failure], ...]
    outcomes: tuple[Outcome, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it, and the ratios."""
        data = asdict(self)
        data["outcomes"] = [asdict(o) | {"ratios": o.ratios} for o in self.outcomes]
        data["absent"] = [{"threads": n} | asdict(failure) for n, failure in self.absent]
        return data
