"""Commands in separate processes, and the processes that they leave behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz.adversary import FaultError

_MARK = "MORELLO_FUZZ_MARK"
_GONE_S = 15.0
"""The seconds that processes started by a command may outlive it."""


@dataclass
class Command:
    """A running command; a mark in the environment identifies it and all processes it starts."""

    process: subprocess.Popen[str]
    mark: str

    @staticmethod
    def start(
        arguments: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
    ) -> Command:
        """Start `python` with these arguments, in a folder."""
        mark = uuid.uuid4().hex
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, **(environment or {}), _MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        return Command(process, mark)

    def after(self, seconds: float, number: signal.Signals, patience: float) -> tuple[int, str]:
        """Send a signal after `seconds`; returns the exit code and stderr."""
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            if self.process.poll() is None:
                self.process.send_signal(number)
        return self.done(patience)

    def done(self, patience: float) -> tuple[int, str]:
        """Wait for the end; returns the exit code and stderr. Raises `FaultError` if it hangs."""
        try:
            # wait for the process, not for its pipes: descendants may hold these open
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.end()
            raise FaultError("hang", f"still running after {patience:.0f} s") from None
        self._check_gone()
        _, errors = self.process.communicate(timeout=10)
        return self.process.returncode, errors

    def end(self) -> None:
        """Kill the command and all processes that it started."""
        with contextlib.suppress(OSError):
            self.process.kill()
        for pid in marked(self.mark):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.communicate(timeout=10)

    def _check_gone(self) -> None:
        until = time.monotonic() + _GONE_S
        while left := marked(self.mark):
            if time.monotonic() > until:
                names = ", ".join(command_line(pid) for pid in left)
                self.end()
                raise FaultError("a process left", f"{len(left)}: {names}"[:300])
            time.sleep(0.1)


def marked(mark: str) -> list[int]:
    """The processes that have a mark in their environment."""
    wanted = f"{_MARK}={mark}".encode()
    pids = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            if wanted in Path(f"/proc/{name}/environ").read_bytes():
                pids.append(int(name))
    return pids


def command_line(pid: int) -> str:
    """The command of a process, shortened; its number if it has ended."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        return words.replace("\0", " ")[:300]
    return str(pid)
