"""Peers that fail, each in its own way."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from benchmarks.peers.peer import Candidate, Options, UnavailableError, from_python
from benchmarks.work import Array, Work


class Wrong:
    """Its second way is right, its first is off by a little, and faster."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def version(self) -> str:
        return "1.0"

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        a, b = inputs
        right = a @ b
        almost = right + np.float32(1e-4)
        return [
            from_python("almost", lambda: almost),
            from_python("never written", lambda: np.empty(0)),
            from_python("right", lambda: a @ b),
        ]


class OnlyWrong(Wrong):
    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        return super().prepare(work, inputs)[:1]


class Stale(Wrong):
    """Leaves what another way wrote."""

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        a, b = inputs
        out = np.empty(work.output.shape, np.float32)
        return [
            from_python("right", lambda: np.matmul(a, b, out=out)),
            from_python("does nothing", lambda: out),
        ]


class Absent(Wrong):
    def __init__(self, options: Options) -> None:
        raise UnavailableError("it is not for this machine")


class Raises(Wrong):
    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        raise ValueError("no such luck")


class Crashes(Wrong):
    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        os.write(2, b"out of luck\n")
        os._exit(3)
