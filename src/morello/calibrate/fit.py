"""Coefficients whose costs agree with what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, log

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TRUST = 0.6
"""How much a coefficient's own value before counts, against one program that it dominates."""

LEAST = 0.1
"""No coefficient falls below this part of what it was: what is free is used without end."""

ROUNDS = 20
DECIDED = 1.05
"""Times that differ by less are as good as equal."""


@dataclass(frozen=True)
class Sample:
    """A program of a goal: how often it pays each coefficient, and the cycles it takes."""

    goal: object
    paid: Mapping[str, float]
    cycles: float

    def predicted(self, coefficients: Mapping[str, float]) -> float:
        """Its cost, in cycles."""
        return sum(coefficients[name] * times for name, times in self.paid.items())


@dataclass(frozen=True)
class Quality:
    """How well coefficients predict samples.

    `error` is by how much they are off as a rule, as a factor (1 is exact); `order` the part
    of those pairs of programs of one goal that differ which they put in the right order, and
    `regret` how much slower than the fastest the programs are that they choose, as a factor.
    """

    error: float
    order: float
    regret: float


def quality(samples: Sequence[Sample], coefficients: Mapping[str, float]) -> Quality:
    """How well coefficients predict these samples, of which there must be one."""
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
    return Quality(exp(_mean(off)), order, exp(_mean(regrets)))


def cross_validated(samples: Sequence[Sample], before: Mapping[str, float]) -> tuple[float, float]:
    """The regret of coefficients, and of those fitted to them: each goal judged by all others."""
    goals = dict.fromkeys(sample.goal for sample in samples)
    logs: list[tuple[float, float]] = []
    for goal in goals:
        mine = [sample for sample in samples if sample.goal == goal]
        after = fit([sample for sample in samples if sample.goal != goal], before)
        logs.append((log(quality(mine, before).regret), log(quality(mine, after).regret)))
    regret, fitted = zip(*logs, strict=True)
    return exp(_mean(regret)), exp(_mean(fitted))


def fit(samples: Sequence[Sample], before: Mapping[str, float]) -> dict[str, float]:
    """The coefficients that predict the samples best, as far as these say anything about them.

    Non-negative least squares of relative errors, with a pull towards what was `before`;
    samples that nothing explains count less.
    """
    names = sorted({name for sample in samples for name in sample.paid})
    start = np.array([before[name] for name in names])
    paid = np.array([[sample.paid.get(name, 0.0) for name in names] for sample in samples])
    cycles = np.array([sample.cycles for sample in samples])
    factors = np.ones(len(names))
    for _ in range(ROUNDS):
        predicted = paid @ (start * factors)
        # near the solution, the logarithm of the ratio
        scale = 1.0 / np.sqrt(predicted * cycles)
        off = np.abs(np.log(predicted / cycles))
        scale *= np.sqrt(1.0 / np.maximum(1.0, off / max(float(np.median(off)), 0.01)))
        rows = paid * start * scale[:, None]
        pull = TRUST * np.eye(len(names))
        matrix = np.vstack([rows, pull])
        wanted = np.concatenate([cycles * scale, np.full(len(names), TRUST)])
        above = nonnegative(matrix, wanted - LEAST * matrix.sum(axis=1))
        factors = LEAST + above
    return dict(before) | dict(zip(names, (start * factors).tolist(), strict=True))


def nonnegative(matrix: Floats, wanted: Floats, sweeps: int = 2000) -> Floats:
    """The x >= 0 that brings matrix @ x nearest to what is wanted, one coordinate at a time.

    The matrix must have full column rank.
    """
    square, right = matrix.T @ matrix, matrix.T @ wanted
    x = np.zeros(len(right))
    for _ in range(sweeps):
        old = x.copy()
        for i in range(len(x)):
            x[i] = max(0.0, x[i] + (right[i] - square[i] @ x) / square[i, i])
        if np.abs(x - old).max(initial=0.0) < 1e-10:
            break
    return x


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0
