"""Answers that are known before a search begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from morello.ir.forms import Bools, Ints
from morello.search.limits import Limits

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """What is known of `count` Specs: boxes, by the number of their Spec.

    The cheapest program under every limit from `peak` to `limit` costs `cost`, and begins with
    the rewrite of number `rule`. Limits are packed.
    """

    count: int
    spec: Ints
    cost: Floats
    peak: Ints
    limit: Ints
    rule: Ints

    @staticmethod
    def nothing(count: int) -> Known:
        """Nothing of so many Specs."""
        none = np.zeros(0, np.int64)
        return Known(count, none, np.zeros(0), none, none, none)

    def within(self, limit: Ints | int, limits: Limits) -> Bools:
        """The boxes that have an answer under this limit, or these, one a box."""
        return np.asarray(limits.fits(self.peak, limit) & limits.fits(limit, self.limit))

    def of(self, boxes: Bools | Ints, spec: Ints | None = None) -> Known:
        """Some of the boxes, with other numbers for their Specs if these are given."""
        spec = self.spec if spec is None else spec
        return Known(
            self.count, spec[boxes], self.cost[boxes], self.peak[boxes], self.limit[boxes],
            self.rule[boxes],
        )  # fmt: skip


def joined(parts: Sequence[Known]) -> Known:
    """What is known of the Specs of all parts, one after the other."""
    first = np.cumsum([0, *(part.count for part in parts)])
    return Known(
        int(first[-1]),
        np.concatenate([part.spec + n for part, n in zip(parts, first[:-1], strict=True)]),
        np.concatenate([part.cost for part in parts]),
        np.concatenate([part.peak for part in parts]),
        np.concatenate([part.limit for part in parts]),
        np.concatenate([part.rule for part in parts]),
    )
