"""The baselines that use only the affine cost: as shipped, and refitted to a training set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from morello.learn.groups import ProgramGroup
from morello.measure.calibrate.fit import nonnegative

Floats = npt.NDArray[np.float64]


class Estimator(Protocol):
    """Predicts a program's log seconds, or if not `absolute`, anything that increases with it."""

    absolute: bool

    def fit(self, groups: Sequence[ProgramGroup], seed: int) -> None:
        """Learn from the programs of some Specs."""
        ...

    def predict(self, group: ProgramGroup) -> Floats:
        """A prediction for each program of a Spec."""
        ...


class Affine:
    """The affine cost as shipped, at the machine's clock. Nothing is learned."""

    absolute = True

    def fit(self, groups: Sequence[ProgramGroup], seed: int) -> None:
        pass

    def predict(self, group: ProgramGroup) -> Floats:
        seconds: Floats = np.log(group.cost / group.hertz)
        return seconds


class Refitted:
    """The affine cost with coefficients from the training set.

    Non-negative least squares of relative errors, in which all Specs have the same weight,
    regularized towards the shipped coefficients.
    """

    absolute = True
    PULL = 0.3
    ROUNDS = 10

    def __init__(self) -> None:
        self.factors: Floats = np.ones(0)

    def fit(self, groups: Sequence[ProgramGroup], seed: int) -> None:
        terms = np.concatenate([group.terms / group.hertz for group in groups])
        seconds = np.concatenate([group.seconds for group in groups])
        counts = np.concatenate([np.full(len(g.seconds), len(g.seconds)) for g in groups])
        self.factors = np.ones(terms.shape[1])
        for _ in range(self.ROUNDS):
            # near the solution, the error relative to the geometric mean is the logarithm's
            scale = 1.0 / np.sqrt((terms @ self.factors) * seconds * counts)
            rows = np.vstack([terms * scale[:, None], self.PULL * np.eye(terms.shape[1])])
            wanted = np.concatenate([seconds * scale, np.full(terms.shape[1], self.PULL)])
            self.factors = nonnegative(rows, wanted)

    def predict(self, group: ProgramGroup) -> Floats:
        cycles = np.maximum(group.terms @ self.factors, 1e-9)
        seconds: Floats = np.log(cycles / group.hertz)
        return seconds
