"""A framework in a process of its own, with threads and settings of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from morello.base.errors import SeveralKernelsError
from morello.base.workers import PausedWorker
from morello.frontends.text import call_sequence, parse
from morello.measure.timing import runner
from morello.rivals.racing import check_installed, prepared
from morello.rivals.rival import RacedExpression, Rival
from morello.runtime.argument import Argument, Array, arguments
from morello.runtime.packing import plain

BEGIN_S, SAMPLE_S = 300.0, 600.0
"""The time limits of a process: to be ready, and for a sample of calls."""


class RivalProcess:
    """Computes an expression on these inputs, and is stopped while others run."""

    def __init__(
        self, name: str, expression: str, inputs: Sequence[Array], threads: int, log: Path
    ) -> None:
        """Raises `MorelloError` if the framework is not installed, or does not compute it."""
        check_installed(name)
        self._worker = PausedWorker(environment=_environment(threads), log=log)
        try:
            self.version, self.result = self._worker.run(
                _begin, name, expression, inputs, threads, seconds=BEGIN_S
            )
        except BaseException:
            self.end()
            raise

    def sample(self, calls: int) -> int:
        """The nanoseconds that so many calls take."""
        return self._worker.run(_sample, calls, seconds=SAMPLE_S)

    def end(self) -> None:
        """End the process."""
        self._worker.end()


def _environment(threads: int) -> dict[str, str]:
    """The environment, in which frameworks take so many threads, and JAX the CPU."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
    eigen = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
    flags = f"{os.environ.get('XLA_FLAGS', '')} {eigen}".strip()
    counts = dict.fromkeys(names, str(threads))
    return {**os.environ, **counts, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}


# ---- in the process

_ready: list[Rival] = []
"""The framework, once it is ready."""


def _begin(name: str, expression: str, inputs: Sequence[Array], threads: int) -> tuple[str, Array]:
    """The version of the framework, and its result for the inputs."""
    sequence = call_sequence(expression)  # first: it refuses what updates a result, or has several
    *taken, output = _arguments(expression)
    held = []
    for argument, values in zip(taken, inputs, strict=True):
        held.append(argument.empty())  # aligned, and in the layout of the expression
        held[-1][...] = values
    raced = RacedExpression(sequence, held, output.empty(), threads)
    rival = prepared(name, raced)
    _ready[:] = [rival]
    return rival.version, rival.array(rival.call())


def _arguments(expression: str) -> tuple[Argument, ...]:
    """The arrays of an expression, those in panels as plain ones."""
    try:
        return arguments(plain(parse(expression)))
    except SeveralKernelsError:
        from morello.program import arguments_of  # slow to import

        return arguments_of(expression)


def _sample(calls: int) -> int:
    (rival,) = _ready
    return runner(rival.call)(calls)
