"""A campaign: runs kinds of fuzzers in turns on one or more workers, until the time is up."""

from __future__ import annotations

import shlex
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.adversary import Adversary, numbered
from fuzz.process import CaseWorker, Outcome
from fuzz.shrink import shrink
from morello.base.workers import CrashError

TURN_S = 5.0
"""The seconds that a kind runs before the next has its turn."""
SHRINKING_S = 60.0
"""Seconds to shrink each fault."""
OVERTIME_S = 30.0
"""Seconds to finish shrinking when the time is up."""
MOST_SHRUNK = 20
"""The most faults of a kind that are shrunk; the others are only counted."""
LIFETIME_S = 300.0
"""Seconds after which a worker is replaced, so that leaks do not look like faults."""


@dataclass
class Finding:
    """A fault, its smallest known case, and how many cases failed in the same way."""

    kind: str
    seed: int
    number: int
    sort: str
    detail: str
    case: str
    times: int = 1

    @property
    def line(self) -> str:
        """The command that reproduces the fault."""
        plain = not set(self.case) & set('"$`\\!')
        quoted = f'"{self.case}"' if plain else shlex.quote(self.case)
        return f"python -m fuzz {self.kind} --case {quoted}"


@dataclass
class Score:
    """The counts and findings of a kind so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        return self.outcomes.total()

    @property
    def faults(self) -> int:
        return sum(finding.times for finding in self.findings.values())


class Campaign:
    """A run of kinds of adversaries with numbered cases, shared among workers."""

    def __init__(
        self,
        kinds: Sequence[Adversary],
        seed: int,
        folder: Path,
        environment: dict[str, str],
        *,
        seconds: float,
        count: int | None = None,
        first: int = 0,
        workers: int = 1,
        on_progress: Callable[[], None] = lambda: None,
    ) -> None:
        """For `seconds`, or `count` cases of each kind if that comes sooner."""
        self.kinds, self.seed = kinds, seed
        self.scores = {kind.name: Score() for kind in kinds}
        self._workers = [CaseWorker(folder / str(i), environment) for i in range(workers)]
        self._until = time.monotonic() + seconds
        self._last = 1 << 62 if count is None else first + count
        self._next = {(k.name, i): first + i for k in kinds for i in range(workers)}
        self._on_progress, self._lock = on_progress, threading.Lock()
        self._stopped = threading.Event()

    def run(self) -> None:
        """Run the campaign; ends the workers in any case."""
        with ThreadPoolExecutor(len(self._workers)) as threads:
            slots = [threads.submit(self._work, i) for i in range(len(self._workers))]
            try:
                while not all(slot.done() for slot in slots):
                    time.sleep(0.2)
                    self._on_progress()
                for slot in slots:
                    slot.result()
            finally:
                self._stopped.set()
                for worker in self._workers:
                    worker.kill()
        for worker in self._workers:
            worker.end()

    @property
    def findings(self) -> list[Finding]:
        return [finding for score in self.scores.values() for finding in score.findings.values()]

    def _work(self, slot: int) -> None:
        """Run kinds in turns. Workers begin with different ones: a short time is for all."""
        first = slot * len(self.kinds) // len(self._workers)
        ordered = [*self.kinds[first:], *self.kinds[:first]]
        spent = {kind.name: 0.0 for kind in ordered}
        worker = self._workers[slot]
        while not self._stopped.is_set():
            left = self._until - time.monotonic()
            kinds = [k for k in ordered if self._next[k.name, slot] < self._last]
            if left <= 0 or not kinds:
                return
            kind = min(kinds, key=lambda k: spent[k.name] / k.share)
            began = time.monotonic()
            faults = self._turn(kind, slot, min(TURN_S, left))
            taken = time.monotonic() - began
            spent[kind.name] += taken
            with self._lock:
                self.scores[kind.name].seconds += taken
            for fault in faults:
                self._record(kind, worker, fault)
            if worker.age() > LIFETIME_S:
                worker.end()

    def _turn(self, kind: Adversary, slot: int, seconds: float) -> list[Finding]:
        """Run a kind for some seconds; returns its faults."""
        worker, step = self._workers[slot], len(self._workers)
        place = kind.name, slot
        faults: list[tuple[int, Outcome]] = []
        try:
            for outcome in worker.cases(
                kind.name, self.seed, self._next[place], self._last, step, seconds, kind.patience_s
            ):
                self._count(place, step, outcome, faults)
        except CrashError as error:
            if self._stopped.is_set():
                return []
            self._count(place, step, Outcome.of_crash(error), faults)
        return [
            Finding(
                kind.name, self.seed, number, fault.sort, fault.detail,
                kind.case(numbered(kind.name, self.seed, number)),
            )
            for number, fault in faults
        ]  # fmt: skip

    def _count(
        self, place: tuple[str, int], step: int, outcome: Outcome,
        faults: list[tuple[int, Outcome]],
    ) -> None:  # fmt: skip
        """Count the outcome of the next case; a fault is added to the `faults`."""
        number = self._next[place]
        self._next[place] = number + step
        with self._lock:
            self.scores[place[0]].outcomes[outcome.name] += 1
        if outcome.name == "fault":
            faults.append((number, outcome))

    def _record(self, kind: Adversary, worker: CaseWorker, finding: Finding) -> None:
        """Record a fault, shrunk; if there is one of its sort already, only count it."""
        with self._lock:
            known = self.scores[kind.name].findings
            if like := known.get(finding.sort):
                like.times += 1
                return
            known[finding.sort] = finding
            many = len(known) > MOST_SHRUNK
        if not many:
            finding.case, finding.detail = self.shrunk(kind, worker, finding)

    def shrunk(self, kind: Adversary, worker: CaseWorker, finding: Finding) -> tuple[str, str]:
        """The smallest case that fails with the same sort, and its detail."""
        now = time.monotonic()
        until = min(now + SHRINKING_S, max(now, self._until) + OVERTIME_S)
        details = {finding.case: finding.detail}

        def fails(case: str) -> bool:
            if time.monotonic() > until or self._stopped.is_set():
                return False
            outcome = worker.check(kind.name, case, kind.patience_s)
            if outcome.sort != finding.sort:
                return False
            details[case] = outcome.detail
            return True

        smallest = shrink(finding.case, kind.smaller, fails)
        return smallest, details[smallest]
