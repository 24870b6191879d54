"""The systematic errors of a predictor: of all programs, or by their structure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from morello.search.structure import Structure

RIDGE = 1.0
"""The penalty of a squared weight, against the squared error of one program."""


class TraitErrors:
    """Errors of predicted logarithms of seconds, by ridge regression on traits of structure.

    A trait is a kernel, or what is copied and in which layout (see `search.structure`).
    """

    def __init__(self, structures: Sequence[Structure], errors: Sequence[float]) -> None:
        """Fits the errors to the structures and log errors (measured - predicted) of programs."""
        self._mean = float(np.mean(errors)) if errors else 0.0
        traits = sorted(frozenset().union(*structures))
        has = np.array(
            [[trait in structure for trait in traits] for structure in structures], np.float64
        )
        has = has.reshape(len(structures), len(traits))
        square = has.T @ has + RIDGE * np.eye(len(traits))
        weights = np.linalg.solve(square, has.T @ (np.asarray(errors, np.float64) - self._mean))
        self._weights: dict[str, float] = dict(zip(traits, weights.tolist(), strict=True))

    def of(self, structure: Structure) -> float:
        """The term to add to predicted log seconds of programs of this structure."""
        return self._mean + sum(self._weights.get(trait, 0.0) for trait in structure)
