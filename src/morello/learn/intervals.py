"""Intervals of a model's errors, by family of Specs.

Errors of a Spec's programs are much alike, so that what counts is how many Specs there are: each
has the same weight, however many of its programs were measured. The interval of a family is of its
Specs and `ALL` average ones of all families, which decide where it has few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]

INSIDE = 0.9
"""The fraction of programs whose time is in the predicted interval."""

ALL = 3.0
"""The weight of the Specs of all families in the interval of one; a Spec of its own counts 1."""


@dataclass(frozen=True)
class Intervals:
    """Between the ends are nine of ten measured minus predicted logarithms of seconds.

    Those of Specs of all families are between the ends of `every` (0 if not evaluated).
    """

    every: Interval = (0.0, 0.0)
    families: Mapping[str, Interval] = field(default_factory=dict)

    def of(self, family: str) -> Interval:
        """The interval of a family; that of all for one which has none."""
        return self.families.get(family, self.every)


def intervals_of(errors: Sequence[tuple[str, Floats]]) -> Intervals:
    """The intervals of these errors: of each Spec, its family and the errors of its programs."""
    if not errors:
        return Intervals()
    every = [of_spec for _, of_spec in errors]
    families = {}
    for family in sorted({family for family, _ in errors}):
        own = [of_spec for other, of_spec in errors if other == family]
        weights = [1.0] * len(own) + [ALL / len(every)] * len(every)
        families[family] = _interval([*own, *every], weights)
    return Intervals(_interval(every, [1.0] * len(every)), families)


def _interval(specs: Sequence[Floats], weights: Sequence[float]) -> Interval:
    """The interval that has `INSIDE` of the errors of Specs with these weights."""
    each = [
        np.full(len(errors), weight / len(errors))
        for errors, weight in zip(specs, weights, strict=True)
    ]
    ends = (1 - INSIDE) / 2, (1 + INSIDE) / 2
    low, high = np.quantile(
        np.concatenate(specs), ends, weights=np.concatenate(each), method="inverted_cdf"
    )
    return float(low), float(high)
