"""The warning about a program that may cost far more than the cheapest."""

from __future__ import annotations

import inspect
import warnings
from math import isfinite

from morello.base.errors import SearchWarning
from morello.ir.spec import Spec
from morello.search.budget import Budget
from morello.search.result import SearchStatistics
from morello.targets.target import Target

LARGE_GAP = 0.1
"""A larger gap is worth a warning, unless it was asked for."""


def falls_short(statistics: SearchStatistics, budget: Budget) -> bool:
    """Whether a program may cost far more than the cheapest, and more than was asked for."""
    return statistics.gap > max(LARGE_GAP, budget.gap)


def warning(target: Target, statistics: SearchStatistics | None, budget: Budget) -> str:
    """A warning about a program for a target; empty if there is no reason for one."""
    if statistics is None or not falls_short(statistics, budget):
        return ""
    return (
        f"the search for {target.name} ended with {gap_text(statistics)}; "
        "a larger budget may find a cheaper program."
    )


def gap_text(statistics: SearchStatistics) -> str:
    """The gap of a program, in words."""
    if not isfinite(statistics.gap):
        return "an unknown gap"
    return f"a gap of {statistics.gap:.1%} to the lower bound"


def warn(spec: Spec, target: Target, statistics: SearchStatistics | None, budget: Budget) -> None:
    """Warn of the program of a Spec where there is a reason to, at the line that called Morello."""
    text = warning(target, statistics, budget)
    if not text:
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("morello."):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{spec.expression:.100}: {text}", SearchWarning, stacklevel=level)
