"""The parent's side of a worker: limits its memory and time, and restarts it when it ends."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from fuzz.worker import Place

ROOT = Path(__file__).resolve().parents[1]
MEMORY = 6 << 30
"""The limit of a worker's address space, in bytes."""
START_S = 120.0
"""The seconds that a worker may take until it is ready."""
_POLL_S = 0.25
_ASLEEP = 4
"""After this many polls in a row with all processes asleep, an overdue case counts as hung."""


class LostError(Exception):
    """A worker crashed, or was killed because it hung, in the case of this number."""

    def __init__(self, number: int, sort: str, detail: str) -> None:
        super().__init__(sort)
        self.number, self.sort, self.detail = number, sort, detail


class StartError(Exception):
    """No worker can be started."""


class Process:
    """A worker process, with its own folder."""

    def __init__(self, folder: Path, environment: dict[str, str], memory: int = MEMORY) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log, self._number = folder / "log", folder / "number"
        self._environment, self._memory = environment, memory
        self._child: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._began = 0.0
        self._closed = False

    def run(
        self,
        kind: str,
        seed: int,
        first: int,
        last: int,
        step: int,
        seconds: float,
        patience: float,
    ) -> Iterator[dict[str, Any]]:
        """Run cases in the worker and yield its reports; raises `LostError`."""
        order = {
            "do": "run", "kind": kind, "seed": seed, "first": first, "last": last, "step": step,
            "seconds": seconds,
        }  # fmt: skip
        self._send(order, first)
        while True:
            answer = self._read(patience)
            yield answer
            if answer["done"]:
                return

    def check(self, kind: str, case: str, patience: float) -> dict[str, Any]:
        """Run one case; returns its outcome, and its fault if there is one."""
        try:
            self._send({"do": "check", "kind": kind, "case": case}, -1)
            return self._read(patience)
        except LostError as lost:
            return {"outcome": "fault", "sort": lost.sort, "detail": lost.detail}

    def age(self) -> float:
        """Seconds since the worker was started; 0 if it does not run."""
        return time.monotonic() - self._began if self._child else 0.0

    def end(self) -> None:
        """Kill the worker and all processes that it started."""
        if self._child is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.communicate()
        self._child = None

    def close(self) -> None:
        """Kill the worker, and start no other."""
        self._closed = True
        self.end()

    # ---- communication

    def _send(self, order: dict[str, Any], number: int) -> None:
        if self._child is None or self._child.poll() is not None:
            self._start()
        assert self._child is not None and self._child.stdin is not None
        self._place.set(number)
        self._child.stdin.write(json.dumps(order).encode() + b"\n")
        self._child.stdin.flush()

    def _start(self) -> None:
        self.end()
        if self._closed:
            raise LostError(-1, "closed", "no more cases are run")
        self._number.write_bytes(bytes(8))
        self._place = Place(self._number)
        self._unread = b""
        with self._log.open("wb") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "fuzz.worker", str(self._memory), str(self._number)],
                cwd=self._log.parent,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )
        self._began = time.monotonic()
        try:
            self._read(START_S)
        except LostError as lost:
            raise StartError(f"no worker can be started: {lost.sort}: {lost.detail}") from None

    def _read(self, patience: float) -> dict[str, Any]:
        """The next answer; raises `LostError` if a case takes longer than `patience`.

        If the CPUs are busy with other processes, only the case's own CPU time counts.
        """
        assert self._child is not None and self._child.stdout is not None
        stream = self._child.stdout.fileno()
        number, since, before = self._place.get(), time.monotonic(), _spent(self._child.pid)
        asleep = 0
        while b"\n" not in self._unread:
            if select.select([stream], [], [], _POLL_S)[0]:
                chunk = os.read(stream, 1 << 16)
                if not chunk:
                    raise self._lost()
                self._unread += chunk
            if self._place.get() != number:
                number, since = self._place.get(), time.monotonic()
                before = _spent(self._child.pid)
            if time.monotonic() - since < patience:
                continue
            asleep = 0 if _wants_to_run(self._child.pid) else asleep + 1
            if asleep > _ASLEEP or _spent(self._child.pid) - before > patience:
                self.end()
                raise LostError(number, "hang", f"still busy after {patience:.0f} s")
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _lost(self) -> LostError:
        assert self._child is not None
        code = self._child.wait()
        number = self._place.get()
        self.end()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        written = self._log.read_text(errors="replace").strip().splitlines()
        return LostError(
            number, f"crash: {how}", " | ".join([*written[:4], *written[4:][-3:]])[:700]
        )


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
