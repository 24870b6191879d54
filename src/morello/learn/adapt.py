"""A model of one machine on another, after a few hundred measured programs.

What it predicts is corrected by a linear function of the features of whole programs, fitted by
ridge regression to what was measured. How strong the penalty is, Specs decide that are held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from morello.learn.groups import Group
from morello.learn.model import Model

Floats = npt.NDArray[np.float64]

PENALTIES = (3.0, 10.0, 30.0, 100.0, 300.0, inf)
"""Of squared coefficients of normalized features, where all Specs together have weight 100."""

WEIGHT = 100.0


@dataclass(frozen=True)
class Correction:
    """What is added to the predicted logarithm of seconds: of normalized features, and always."""

    slope: Floats
    offset: float

    def of(self, features: npt.NDArray[np.floating]) -> Floats:
        """The correction of each program, whose features are normalized (n, features)."""
        found: Floats = features @ self.slope + self.offset
        return found


def corrected(model: Model, groups: Sequence[Group]) -> Correction:
    """The correction that makes a model's predictions those of measured programs."""
    return corrected_and_error(model, groups)[0]


def corrected_and_error(model: Model, groups: Sequence[Group]) -> tuple[Correction, float]:
    """That correction, and how far off logarithms of Specs are that took no part in one."""
    off = [np.log(group.seconds * model.hertz) - model.log_cycles(group) for group in groups]
    features = [model.configs(group.configs).astype(np.float64) for group in groups]
    errors = {penalty: _held_out(features, off, penalty) for penalty in PENALTIES}
    best = min(PENALTIES, key=lambda penalty: errors[penalty])
    return _fit(features, off, best), errors[best]


def error_of_costs(groups: Sequence[Group]) -> float:
    """How far off the logarithms of costs are, up to one factor for all."""
    off = [np.log(group.seconds / group.cost) for group in groups]
    middle = np.mean([one.mean() for one in off])
    return float(np.mean([np.abs(one - middle).mean() for one in off]))


def _held_out(features: Sequence[Floats], off: Sequence[Floats], penalty: float) -> float:
    """The mean error of Specs that took no part in the fit, each held out once."""
    errors = []
    for number in range(len(off)):
        others = [n for n in range(len(off)) if n != number] or [number]
        found = _fit([features[n] for n in others], [off[n] for n in others], penalty)
        errors.append(np.abs(off[number] - found.of(features[number])).mean())
    return float(np.mean(errors))


def _fit(features: Sequence[Floats], off: Sequence[Floats], penalty: float) -> Correction:
    """Ridge regression, in which every Spec counts alike."""
    rows, wanted = np.concatenate(features), np.concatenate(off)
    weights = np.concatenate([np.full(len(one), WEIGHT / len(one) / len(off)) for one in off])
    mean = (rows * weights[:, None]).sum(axis=0) / weights.sum()
    offset = float((wanted * weights).sum() / weights.sum())
    slope = np.zeros(rows.shape[1])
    if penalty < inf:
        centred = (rows - mean) * weights[:, None]
        square = centred.T @ (rows - mean) + penalty * np.eye(rows.shape[1])
        slope = np.linalg.solve(square, centred.T @ (wanted - offset))
    return Correction(slope, offset - float(mean @ slope))
