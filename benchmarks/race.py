"""Measures one case: all peers compute it, in turns."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from benchmarks.data import make, save
from benchmarks.peers import OURS
from benchmarks.peers.peer import UnavailableError
from benchmarks.process import Process
from benchmarks.results import Entry, Failure, Outcome
from benchmarks.work import Work, memory
from benchmarks.worker import Ready, forget, prepare, sample
from morello.measure.peaks import reading

SAMPLE_S = 0.01
"""The seconds of a sample, which is at least one call."""

LEAST_SAMPLES = 5

MANY_BYTES = 1 << 20
"""The least bytes of cases for which the time of reading them is measured in turns, too."""


@dataclass
class Runner:
    """A peer called from a language, and its samples in seconds."""

    process: Process
    ready: Ready
    samples: list[float]

    def takes_part(self, turn: int, turns: int) -> bool:
        """Whether to time it in this round; implementations with long calls skip some rounds."""
        every = min(ceil(self.ready.seconds / SAMPLE_S), turns // LEAST_SAMPLES)
        return turn % max(1, every) == 0

    def sample(self) -> None:
        """Take a sample."""
        calls = max(1, round(SAMPLE_S / self.ready.seconds))
        self.samples.append(self.process.ask(sample, self.ready.language, calls))

    def entry(self) -> Entry:
        """The statistics of its samples."""
        return Entry(
            peer=self.process.name,
            language=self.ready.language,
            setting=self.ready.setting,
            median_s=statistics.median(self.samples),
            min_s=min(self.samples),
            samples=len(self.samples),
            error=self.ready.error,
        )


def race(
    group: str, work: Work, processes: Sequence[Process], threads: int, seconds: float
) -> Outcome:
    """Let all peers do some work: check the results, then time them in turns, `seconds` each."""
    failures: dict[str, str] = {}
    runners: list[Runner] = []
    rejected: list[Failure] = []
    with tempfile.TemporaryDirectory(prefix="morello-bench-") as folder:
        save(make(work), Path(folder))
        for process in processes:
            try:
                prepared = process.ask(prepare, work, Path(folder))
            except UnavailableError as problem:
                failures[process.name] = str(problem)
                continue
            rejected += [Failure(process.name, why) for why in prepared.rejected]
            runners += [Runner(process, ready, []) for ready in prepared.ready]
    turns = max(LEAST_SAMPLES, round(seconds / SAMPLE_S))
    read = reading(memory(work), threads) if memory(work) >= MANY_BYTES else None
    reads: list[float] = []
    for turn in range(turns):
        if read:
            reads.append(read())
        for runner in runners:
            if runner.process.name in failures or not runner.takes_part(turn, turns):
                continue
            try:
                runner.sample()
            except UnavailableError as problem:
                failures[runner.process.name] = str(problem)
    for process in processes:
        if process.alive:
            with suppress(UnavailableError):
                process.ask(forget)
    finished = [runner for runner in runners if runner.process.name not in failures]
    facts = {k: v for r in finished if r.process.name == OURS for k, v in r.ready.facts.items()}
    return Outcome(
        group=group,
        size=work.size,
        expression=work.expression,
        threads=threads,
        flops=work.flops,
        bytes=memory(work),
        multiplies=work.multiplies,
        entries=tuple(runner.entry() for runner in finished),
        reads_s=statistics.median(reads) if reads else None,
        failures=(*(Failure(name, why) for name, why in failures.items()), *rejected),
        facts=facts,
    )
