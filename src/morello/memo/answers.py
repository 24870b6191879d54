"""Answers for Specs as columns: those that a memo table has, and those that are added to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from morello.engine.limits import Limits
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MemoizedAnswers:
    """The answers that a memo table has for a batch of `count` Specs, as boxes of memory limits.

    Each row of the columns is one box: under every limit from `peak` to `limit`, the cheapest
    program of the Spec numbered `spec` costs `cost` and begins with the rewrite numbered `rule`.
    Limits are packed.
    """

    count: int
    spec: Ints
    cost: Floats
    peak: Ints
    limit: Ints
    rule: Ints

    @staticmethod
    def nothing(count: int) -> MemoizedAnswers:
        """No answers, for a batch of `count` Specs."""
        none = np.zeros(0, np.int64)
        return MemoizedAnswers(count, none, np.zeros(0), none, none, none)

    @staticmethod
    def concatenate(parts: Sequence[MemoizedAnswers]) -> MemoizedAnswers:
        """The answers of all parts, whose Specs are numbered one part after the other."""
        first = np.cumsum([0, *(part.count for part in parts)])
        return MemoizedAnswers(
            int(first[-1]),
            np.concatenate([part.spec + n for part, n in zip(parts, first[:-1], strict=True)]),
            np.concatenate([part.cost for part in parts]),
            np.concatenate([part.peak for part in parts]),
            np.concatenate([part.limit for part in parts]),
            np.concatenate([part.rule for part in parts]),
        )

    def within(self, limit: Ints | int, limits: Limits) -> Bools:
        """Which boxes have an answer under `limit`; this may also be one limit per box."""
        return np.asarray(limits.fits(self.peak, limit) & limits.fits(limit, self.limit))

    def of(self, boxes: Bools | Ints) -> MemoizedAnswers:
        """The selected boxes."""
        return MemoizedAnswers(
            self.count, self.spec[boxes], self.cost[boxes], self.peak[boxes], self.limit[boxes],
            self.rule[boxes],
        )  # fmt: skip


@dataclass(frozen=True)
class ExactAnswers:
    """Answers for Specs of one kind, one per row, each valid for limits from `peak` to `limit`.

    An answer is a list of decisions, best first. `rule` and `cost` have a column for each: the
    number of the rule (-1 if there is none), and the cost. Limits are packed.
    """

    batch: Batch
    peak: Ints
    limit: Ints
    rule: Ints
    cost: Floats
