"""The processes that run cases, so that a crash or a hang loses one case alone."""

from __future__ import annotations

import contextlib
import faulthandler
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from fuzz.adversary import fault_of, numbered
from fuzz.kinds import KINDS
from morello.base.workers import START_S, CrashError, Worker

ROOT = Path(__file__).resolve().parents[1]
MEMORY = 6 << 30
"""The limit of a worker's address space, in bytes."""
_ASLEEP = 4
"""After this many looks in a row at processes that all sleep, an overdue case counts as hung."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case; if it is "fault", `sort` and `detail` are those of the fault."""

    name: str
    sort: str = ""
    detail: str = ""

    @staticmethod
    def of_crash(error: CrashError) -> Outcome:
        """The fault of a case that ended its process, or did not end."""
        if not error.how:
            return Outcome("fault", "hang", str(error))
        lines = [*error.written[:4], *error.written[4:][-3:]]
        return Outcome("fault", f"crash: {error.how}", " | ".join(lines)[:700])


class CaseWorker(Worker):
    """A worker that runs cases, in a folder of its own."""

    def __init__(self, folder: Path, environment: dict[str, str], memory: int = MEMORY) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(memory=memory, environment=environment, folder=folder, log=folder / "log")
        self._began = 0.0

    def start(self) -> None:
        """Start the process if it does not run."""
        if not self.alive:
            super().start()
            self._began = time.monotonic()
            self.run(faulthandler.enable, seconds=START_S)

    def age(self) -> float:
        """Seconds since the process was started; 0 if it does not run."""
        return time.monotonic() - self._began if self.alive else 0.0

    def cases(
        self,
        kind: str,
        seed: int,
        first: int,
        last: int,
        step: int,
        seconds: float,
        patience: float,
    ) -> Iterator[Outcome]:
        """The outcomes of every `step`-th case from `first` on, until `seconds` are over.

        Raises `CrashError` if a case ends the process, or takes longer than its `patience`.
        """
        return self.stream(_outcomes, kind, seed, first, last, step, seconds, seconds=patience)

    def check(self, kind: str, case: str, patience: float) -> Outcome:
        """The outcome of one case."""
        try:
            return self.run(_outcome, kind, case, seconds=patience)
        except CrashError as error:
            return Outcome.of_crash(error)

    def time_limit(self, seconds: float) -> Callable[[], bool]:
        """The limit of any worker, but of its own CPU time while other processes keep CPUs busy."""
        is_over, asleep = super().time_limit(seconds), 0
        before: float | None = None

        def is_hung() -> bool:
            nonlocal asleep, before
            before = _spent(self.pid) if before is None else before
            if not is_over():
                return False
            asleep = 0 if _wants_to_run(self.pid) else asleep + 1
            return asleep > _ASLEEP or _spent(self.pid) - before > seconds

        return is_hung


# ---- in the process


def _outcomes(
    kind: str, seed: int, first: int, last: int, step: int, seconds: float
) -> Iterator[Outcome]:
    until = time.monotonic() + seconds
    for number in range(first, last, step):
        yield _outcome(kind, KINDS[kind].case(numbered(kind, seed, number)))
        if time.monotonic() >= until:
            return


def _outcome(kind: str, case: str) -> Outcome:
    try:
        return Outcome(KINDS[kind].check(case))
    except Exception as error:
        fault = fault_of(error)
        return Outcome("fault", fault.sort, fault.detail)


# ---- what a process does


def _family(pid: int) -> list[psutil.Process]:
    """A process and all its descendants."""
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    return []


def _spent(pid: int) -> float:
    """The CPU seconds of a process and of its children that ended."""
    with contextlib.suppress(psutil.Error):
        return float(sum(psutil.Process(pid).cpu_times()[:4]))
    return 0.0


def _wants_to_run(pid: int) -> bool:
    """Whether a process or a descendant is running, or would be if it had a CPU."""
    for process in _family(pid):
        with contextlib.suppress(psutil.Error):
            if process.status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP):
                return True
    return False
