"""How good predictions of times are: the paper's measures, and regret at equal measurements.

Predictions may be anything that increases with time (cycles, log seconds, ranks), except for
`mape`. The best known program of a Spec is the fastest of those measured. How well predictions
order programs tells `measure.correlation`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Chosen = tuple[float, float]
"""The seconds of the program that was chosen for a Spec, and of the fastest."""

LEAST_S = 5e-6
"""Kernels that are faster than this are left out of `mape`."""

LEVEL, DRAWS = 0.95, 1000
"""The level of confidence intervals, and how many samples are drawn for one."""


def chosen(predicted: Floats, seconds: Floats, count: int = 1) -> Chosen:
    """The fastest of the first `count` programs by prediction, and the fastest of all."""
    first = np.argsort(predicted, kind="stable")[:count]
    return float(seconds[first].min()), float(seconds.min())


def ape(specs: Sequence[Chosen]) -> float:
    """The paper's tile-size APE of a family: how much longer the chosen programs take, in percent.

    Computed from the sums over its Specs.
    """
    took, least = np.array(specs).sum(axis=0)
    return float(100.0 * (took - least) / least)


def regret(specs: Sequence[Chosen]) -> float:
    """How much longer the chosen program takes, in percent: the mean over Specs."""
    took, least = np.array(specs).T
    return float(100.0 * (took / least - 1.0).mean())


def mape(predicted_s: Floats, seconds: Floats) -> float:
    """The mean error of predicted seconds, in percent, of kernels of at least `LEAST_S`."""
    long = seconds >= LEAST_S
    if not long.any():
        return float("nan")
    return float(100.0 * np.abs(predicted_s[long] / seconds[long] - 1.0).mean())


def interval(count: int, statistic: Callable[[npt.NDArray[np.intp]], float]) -> tuple[float, float]:
    """The bootstrap confidence interval of a statistic, a function of the numbers of Specs.

    Draws for which it is nan are left out.
    """
    random = np.random.default_rng(0)
    drawn = [statistic(random.integers(0, count, count)) for _ in range(DRAWS)]
    values = [value for value in drawn if not np.isnan(value)]
    if not values:
        return float("nan"), float("nan")
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
