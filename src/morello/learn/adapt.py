"""Adapts a model of one machine to another one, with a few hundred measured programs.

Its predictions are corrected by a linear function of the features of whole programs, fitted to
the measurements by ridge regression. The penalty is chosen by cross-validation on held-out Specs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from morello.learn.groups import ProgramGroup
from morello.learn.model import Model

Floats = npt.NDArray[np.float64]

PENALTIES = (3.0, 10.0, 30.0, 100.0, 300.0, inf)
"""The ridge penalties that are tried. With an infinite one, only the offset is fitted."""

WEIGHT = 100.0
"""The sum of the weights of all programs in the fit; each Spec has an equal share of it."""


@dataclass(frozen=True)
class Correction:
    """A term to add to predicted log seconds: `slope` times normalized features, and `offset`."""

    slope: Floats
    offset: float

    def of(self, features: npt.NDArray[np.floating]) -> Floats:
        """The correction of each program, whose features are normalized (n, features)."""
        correction: Floats = features @ self.slope + self.offset
        return correction


def corrected(model: Model, groups: Sequence[ProgramGroup]) -> tuple[Correction, float]:
    """The correction that fits a model's predictions to measured programs.

    And the mean absolute error of log seconds on held-out Specs.
    """
    residuals = [np.log(group.seconds * group.hertz) - model.log_cycles(group) for group in groups]
    features = [model.configs(group.configs).astype(np.float64) for group in groups]
    return fitted(features, residuals)


def fitted(features: Sequence[Floats], residuals: Sequence[Floats]) -> tuple[Correction, float]:
    """The correction that fits measured minus predicted logarithms of each Spec's programs.

    And the mean absolute error that it leaves on held-out Specs.
    """
    errors = {penalty: _held_out(features, residuals, penalty) for penalty in PENALTIES}
    best = min(PENALTIES, key=lambda penalty: errors[penalty])
    return _fit(features, residuals, best), errors[best]


def error_of_costs(groups: Sequence[ProgramGroup]) -> float:
    """The mean absolute error of log costs, up to one factor for all."""
    residuals = [np.log(group.seconds / group.cost) for group in groups]
    middle = np.mean([errors.mean() for errors in residuals])
    return float(np.mean([np.abs(errors - middle).mean() for errors in residuals]))


def _held_out(features: Sequence[Floats], residuals: Sequence[Floats], penalty: float) -> float:
    """The mean absolute error on held-out Specs, each held out once."""
    errors = []
    for number in range(len(residuals)):
        others = [n for n in range(len(residuals)) if n != number] or [number]
        fitted = _fit([features[n] for n in others], [residuals[n] for n in others], penalty)
        errors.append(np.abs(residuals[number] - fitted.of(features[number])).mean())
    return float(np.mean(errors))


def _fit(features: Sequence[Floats], residuals: Sequence[Floats], penalty: float) -> Correction:
    """Ridge regression in which all Specs have the same weight."""
    rows, targets = np.concatenate(features), np.concatenate(residuals)
    weights = np.concatenate(
        [np.full(len(errors), WEIGHT / len(errors) / len(residuals)) for errors in residuals]
    )
    mean = (rows * weights[:, None]).sum(axis=0) / weights.sum()
    offset = float((targets * weights).sum() / weights.sum())
    slope = np.zeros(rows.shape[1])
    if penalty < inf:
        centred = (rows - mean) * weights[:, None]
        square = centred.T @ (rows - mean) + penalty * np.eye(rows.shape[1])
        slope = np.linalg.solve(square, centred.T @ (targets - offset))
    return Correction(slope, offset - float(mean @ slope))
