"""The process of a peer: starts it, sends it commands, and stops it while others run."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.peers.peer import Options, UnavailableError

TUNING = (
    "OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "NVPL_", "OMP_", "GOMP_", "KMP_", "DNNL_", "ONEDNN_",
    "XLA_", "JAX_", "TVM_", "TORCH", "ATEN_", "LIBXSMM_", "NUMEXPR_", "NPY_", "MALLOC_", "NPROC",
)  # fmt: skip
"""Environment variables of the caller that could slow a peer down: none is passed on."""

ROOT = Path(__file__).resolve().parents[1]

START_S = 180.0
CALL_S, TRIAL_S = 600.0, 60.0
"""The time limit of an answer: for preparing, and in addition for each of TVM's trials."""


class Process:
    """One peer; raises `UnavailableError` with the reason if it cannot do something."""

    def __init__(self, name: str, where: str, options: Options, logs: Path) -> None:
        """Starts it, pinned to as many CPUs as it may use threads."""
        self.name = name
        self.limit = CALL_S + TRIAL_S * options.trials
        self.log = logs / f"{name}-{options.threads}.log"
        with self.log.open("wb") as log:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker", where, json.dumps(asdict(options))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment(os.environ, options.threads),
                preexec_fn=lambda: _pin(options.threads),
            )
        self._unread = b""
        try:
            self.version = str(self._read(START_S)["version"])
        except UnavailableError:
            self.end()
            raise
        self._stop()

    def ask(self, **order: Any) -> dict[str, Any]:
        """Send a command and return the answer; the process runs only meanwhile."""
        assert self.child.stdin is not None
        self.child.send_signal(signal.SIGCONT)
        try:
            self.child.stdin.write(json.dumps(order).encode() + b"\n")
            self.child.stdin.flush()
        except OSError:
            raise UnavailableError(self._epitaph()) from None
        answer = self._read(self.limit)
        self._stop()
        return answer

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.child.poll() is None

    def end(self) -> None:
        """Kill the process and close its pipes."""
        with contextlib.suppress(OSError):
            self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def _read(self, limit: float) -> dict[str, Any]:
        assert self.child.stdout is not None
        stream = self.child.stdout.fileno()
        end = time.monotonic() + limit
        while b"\n" not in self._unread:
            if not select.select([stream], [], [], max(0.0, end - time.monotonic()))[0]:
                self.end()
                raise UnavailableError(f"still busy after {limit:.0f} s, and ended")
            chunk = os.read(stream, 1 << 16)
            if not chunk:
                raise UnavailableError(self._epitaph())
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "unavailable" in answer:
            if self.alive:
                self._stop()
            raise UnavailableError(str(answer["unavailable"]))
        return answer

    def _stop(self) -> None:
        """Stop the process: threads that wait by spinning, as OpenMP's do, would slow others."""
        with contextlib.suppress(OSError):
            self.child.send_signal(signal.SIGSTOP)

    def _epitaph(self) -> str:
        """How the process ended, and the last line that it wrote."""
        self.end()
        code = self.child.returncode
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        written = self.log.read_text(errors="replace").strip().splitlines()
        return f"its process {how}" + (f": {written[-1][:300]}" if written else "")


def environment(given: Mapping[str, str], threads: int) -> dict[str, str]:
    """The caller's environment without settings of libraries, and with their numbers of threads."""
    kept = {name: value for name, value in given.items() if not name.startswith(TUNING)}
    count = str(threads)
    paths = [str(ROOT), *filter(None, [given.get("PYTHONPATH")])]
    return kept | {
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": count,
        "OMP_WAIT_POLICY": "ACTIVE",  # a process alone on its CPUs loses nothing by it
        "OPENBLAS_NUM_THREADS": count,
        "BLIS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "MKL_DYNAMIC": "FALSE",
        "MKL_THREADING_LAYER": "SEQUENTIAL" if threads == 1 else "INTEL",
        "TVM_NUM_THREADS": count,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}",
    }


def _pin(threads: int) -> None:
    """Pin to the last CPUs, because interrupts tend to go to the first."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[-threads:]))
