"""Fitting the coefficients of the cost model to measured times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, log

import numpy as np
import numpy.typing as npt

from morello.targets.costs import keep_ratios

Floats = npt.NDArray[np.float64]

TRUST = 0.6
"""The weight of a coefficient's previous value, relative to one program that it dominates."""

MIN_FACTOR = 0.1
"""The least ratio of a coefficient to its previous value: search overuses what costs nothing."""

ROUNDS = 20
"""How often a fit is repeated, each from the last one."""

MOST_SWEEPS = 2000
"""The most passes of coordinate descent over all coefficients."""

DECIDED = 1.05
"""Times that differ by less than this factor count as equal."""


@dataclass(frozen=True)
class Sample:
    """A program of a goal: the multiplicity of each coefficient in its cost, and its cycles."""

    goal: object
    paid: Mapping[str, float]
    cycles: float

    def predicted(self, coefficients: Mapping[str, float]) -> float:
        """Its cost, in cycles."""
        return sum(coefficients[name] * times for name, times in self.paid.items())


@dataclass(frozen=True)
class FitQuality:
    """How well coefficients predict samples.

    `error` is the factor by which predictions are off (1 is exact), and `regret` the factor by
    which the cheapest programs are slower than the fastest; both are geometric means. `order`
    is the fraction of pairs ranked correctly, among programs of one goal whose times differ.
    """

    error: float
    order: float
    regret: float


def quality(samples: Sequence[Sample], coefficients: Mapping[str, float]) -> FitQuality:
    """How well coefficients predict these samples."""
    costs = [sample.predicted(coefficients) for sample in samples]
    off = [abs(log(cost / s.cycles)) for cost, s in zip(costs, samples, strict=True)]
    of_goal: dict[object, list[tuple[float, float]]] = {}
    for cost, sample in zip(costs, samples, strict=True):
        of_goal.setdefault(sample.goal, []).append((cost, sample.cycles))
    right = [
        (a[0] < b[0]) == (a[1] < b[1])
        for group in of_goal.values()
        for a, b in combinations(group, 2)
        if max(a[1], b[1]) > DECIDED * min(a[1], b[1])
    ]
    regrets = [log(min(group)[1] / min(c for _, c in group)) for group in of_goal.values()]
    order = sum(right) / len(right) if right else 1.0
    return FitQuality(exp(_mean(off)), order, exp(_mean(regrets)))


def cross_validated(samples: Sequence[Sample], before: Mapping[str, float]) -> tuple[float, float]:
    """The regrets of `before` and of new fits, where each goal is judged by a fit to all others."""
    goals = dict.fromkeys(sample.goal for sample in samples)
    logs: list[tuple[float, float]] = []
    for goal in goals:
        mine = [sample for sample in samples if sample.goal == goal]
        others = [sample for sample in samples if sample.goal != goal]
        after = keep_ratios(fit(others, before), before)
        logs.append((log(quality(mine, before).regret), log(quality(mine, after).regret)))
    regret, fitted = zip(*logs, strict=True)
    return exp(_mean(regret)), exp(_mean(fitted))


def fit(samples: Sequence[Sample], before: Mapping[str, float]) -> dict[str, float]:
    """The coefficients that predict the samples best; those that no sample pays stay as `before`.

    Non-negative least squares on relative errors, regularized towards `before`. It is iterated,
    and outliers are weighted down.
    """
    names = sorted({name for sample in samples for name in sample.paid})
    start = np.array([before[name] for name in names])
    paid = np.array([[sample.paid.get(name, 0.0) for name in names] for sample in samples])
    cycles = np.array([sample.cycles for sample in samples])
    factors = np.ones(len(names))
    for _ in range(ROUNDS):
        predicted = paid @ (start * factors)
        # (predicted - cycles) * scale is about log(predicted / cycles), near the solution
        scale = 1.0 / np.sqrt(predicted * cycles)
        off = np.abs(np.log(predicted / cycles))
        scale *= np.sqrt(1.0 / np.maximum(1.0, off / max(float(np.median(off)), 0.01)))
        rows = paid * start * scale[:, None]
        pull = TRUST * np.eye(len(names))
        matrix = np.vstack([rows, pull])
        wanted = np.concatenate([cycles * scale, np.full(len(names), TRUST)])
        above = nonnegative(matrix, wanted - MIN_FACTOR * matrix.sum(axis=1))
        factors = MIN_FACTOR + above
    return dict(before) | dict(zip(names, (start * factors).tolist(), strict=True))


def nonnegative(matrix: Floats, wanted: Floats) -> Floats:
    """The x >= 0 that minimizes |matrix @ x - wanted|, found by coordinate descent.

    The matrix must have full column rank.
    """
    square, right = matrix.T @ matrix, matrix.T @ wanted
    x = np.zeros(len(right))
    for _ in range(MOST_SWEEPS):
        old = x.copy()
        for i in range(len(x)):
            x[i] = max(0.0, x[i] + (right[i] - square[i] @ x) / square[i, i])
        if np.abs(x - old).max(initial=0.0) < 1e-10:
            break
    return x


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0
