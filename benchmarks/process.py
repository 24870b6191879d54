"""Processes that are raced: each works while the others are stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import worker
from benchmarks.peers.peer import Options, UnavailableError
from morello.base.workers import CrashError, PausedWorker
from morello.measure.timing import pinned

T = TypeVar("T")

TUNING = (
    "OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "NVPL_", "OMP_", "GOMP_", "KMP_", "DNNL_", "ONEDNN_",
    "XLA_", "JAX_", "TVM_", "TORCH", "ATEN_", "LIBXSMM_", "NUMEXPR_", "NPY_", "MALLOC_", "NPROC",
)  # fmt: skip
"""Environment variables of the caller that could slow a peer down: none is passed on."""

ROOT = Path(__file__).resolve().parents[1]

BEGIN_S = 180.0
CALL_S, TRIAL_S = 600.0, 60.0
"""The time limit of an answer: for preparing, and in addition for each of TVM's trials."""


class Process:
    """One peer; raises `UnavailableError` with the reason if it cannot do something."""

    def __init__(self, name: str, where: str, options: Options, logs: Path) -> None:
        """Starts it, pinned to as many CPUs as it may use threads."""
        self.name = name
        self.limit = CALL_S + TRIAL_S * options.trials
        self._worker = PausedWorker(
            environment=environment(os.environ, options.threads),
            log=logs / f"{name}-{options.threads}.log",
        )
        with pinned(options.threads):
            self._worker.start()
        try:
            self.version = self._answer(worker.begin, where, options, seconds=BEGIN_S)
        except UnavailableError:
            self.end()
            raise

    def ask(self, function: Callable[..., T], *arguments: Any) -> T:
        """The result of a function of `benchmarks.worker`; the process runs only meanwhile."""
        if not self.alive:
            raise UnavailableError("its process has ended")
        return self._answer(function, *arguments, seconds=self.limit)

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._worker.alive

    def end(self) -> None:
        """End the process."""
        self._worker.end()

    def _answer(self, function: Callable[..., T], *arguments: Any, seconds: float) -> T:
        try:
            return self._worker.run(function, *arguments, seconds=seconds)
        except CrashError as error:
            raise UnavailableError(str(error).removesuffix(".")) from None


def environment(given: Mapping[str, str], threads: int) -> dict[str, str]:
    """The caller's environment without settings of libraries, and with their numbers of threads."""
    kept = {name: value for name, value in given.items() if not name.startswith(TUNING)}
    count = str(threads)
    paths = [str(ROOT), *filter(None, [given.get("PYTHONPATH")])]
    return kept | {
        "PYTHONPATH": os.pathsep.join(paths),
        "MORELLO_TABLE": "off",  # searches are timed, too
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
