"""The results of a run, as data: cases, times, failures, the machine."""

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
        """Whether the entry is Morello's."""
        return self.peer == OURS


@dataclass(frozen=True)
class Failure:
    """A peer that could not do something, and why."""

    peer: str
    why: str


@dataclass(frozen=True)
class Outcome:
    """The results of one case on some threads."""

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
    """About Morello's kernel: search_s, specs, and the cycles that the cost model predicts."""
    reads_s: float | None = None
    """The time of reading as many bytes, in turns with all peers; measured for large cases only."""

    def ours(self, language: str) -> Entry | None:
        """Morello's time, called from a language."""
        return next((e for e in self.entries if e.ours and e.language == language), None)

    @property
    def ratios(self) -> dict[str, float]:
        """Each peer's time over Morello's, called from the same language."""
        result = {}
        for entry in self.entries:
            ours = self.ours(entry.language)
            if not entry.ours and ours is not None:
                result[entry.peer] = entry.median_s / ours.median_s
        return result


@dataclass(frozen=True)
class Run:
    """All results of the command."""

    machine: Machine
    seconds: float
    versions: Mapping[str, str]
    absent: tuple[tuple[int, Failure], ...]
    outcomes: tuple[Outcome, ...]

    def to_json(self) -> dict[str, Any]:
        """The results as JSON-able data, with the ratios."""
        data = asdict(self)
        data["outcomes"] = [asdict(o) | {"ratios": o.ratios} for o in self.outcomes]
        data["absent"] = [{"threads": n} | asdict(failure) for n, failure in self.absent]
        return data
