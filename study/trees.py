"""Gradient-boosted trees on flat features: the baseline that the graph network has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import lightgbm
import numpy as np
import numpy.typing as npt

from morello.learn.features import NODE_FEATURES
from morello.learn.groups import ProgramGroup

Floats = npt.NDArray[np.float64]
Objective = Literal["rank", "residual"]

ROUNDS = 400
GRADES = 30
"""Grades of relevance for LambdaRank; programs of each are `GRADE` slower than of the last."""

GRADE = 0.04

_COMMON = {
    "learning_rate": 0.05,
    "num_leaves": 31,
    "min_child_samples": 20,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.4,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,  # each fit has a CPU; threads that wait for others on a busy one take minutes
    "verbose": -1,
}
_OBJECTIVES: dict[Objective, dict[str, Any]] = {
    "rank": {
        "objective": "lambdarank",
        "lambdarank_truncation_level": 100,
        "label_gain": list(range(GRADES + 1)),
    },
    "residual": {"objective": "huber", "alpha": 0.1},
}


class Trees:
    """Ranks programs (LambdaRank), or predicts the error of the affine cost."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.absolute = objective == "residual"

    def fit(self, groups: Sequence[ProgramGroup], seed: int) -> None:
        """Learn from the programs of some Specs."""
        features = np.concatenate([flat(group) for group in groups])
        wanted = self._graded if self.objective == "rank" else _residual
        data = lightgbm.Dataset(
            features,
            np.concatenate([wanted(group) for group in groups]),
            group=[len(group.seconds) for group in groups],
        )
        parameters = _COMMON | _OBJECTIVES[self.objective] | {"seed": seed}
        self._trees = lightgbm.train(parameters, data, ROUNDS)

    @staticmethod
    def _graded(group: ProgramGroup) -> Floats:
        """Relevances: the fastest program has the most."""
        slower = np.log(group.seconds / group.seconds.min())
        grades: Floats = np.clip(GRADES - np.floor(slower / GRADE), 0, GRADES)
        return grades

    def predict(self, group: ProgramGroup) -> Floats:
        """The logarithm of seconds of each program, or what grows with it."""
        predicted = np.asarray(self._trees.predict(flat(group)), np.float64)
        if self.objective == "rank":
            return -predicted
        return predicted + np.log(group.cost / group.hertz)


def _residual(group: ProgramGroup) -> Floats:
    difference: Floats = np.log(group.seconds * group.hertz / group.cost)
    return difference


def flat(group: ProgramGroup) -> Floats:
    """Features of programs without their graphs: of the whole, and means and maxima of nodes.

    Means are weighted by the nodes' shares of the cost.
    """
    share = group.nodes[:, [NODE_FEATURES.index("share")]]
    starts = group.node_splits[:-1]
    mean = np.add.reduceat(group.nodes * share, starts)
    most = np.maximum.reduceat(group.nodes, starts)
    features: Floats = np.hstack([group.configs, mean, most])
    return features
