"""Predicted times of programs: what ranks, explains, tunes and fuses them asks here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from morello.rewrites.impl import Impl

Floats = npt.NDArray[np.float64]


class Predictor(Protocol):
    """Predicts how long calls of programs take."""

    def seconds(self, impls: Sequence[Impl]) -> Floats:
        """Seconds of a call of each of these complete programs (n,)."""
        ...


class ByCost:
    """The affine cost at a clock of so many cycles a second."""

    def __init__(self, hertz: float) -> None:
        self.hertz = hertz

    def seconds(self, impls: Sequence[Impl]) -> Floats:
        """Seconds of a call of each of these complete programs (n,)."""
        return np.array([impl.cost for impl in impls]) / self.hertz
