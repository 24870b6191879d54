"""Estimated seconds of a Spec's kernel: those of the best program that the search finds."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Unpack

from morello.base.errors import SearchError
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.predictors import Predictor
from morello.options import Options, requested
from morello.request import answer

CALL_S = 10e-9
"""The overhead of a kernel's call in a segment, in seconds."""


@dataclass(frozen=True)
class PricedImpl:
    """The best program found for a Spec, its predicted seconds per call, and whether the search
    finished in time."""

    impl: Impl
    seconds: float
    finished: bool


class Prices:
    """The best programs of Specs and their estimated seconds, memoized by Spec.

    A kernel's operands are in main memory: the transfer of a tensor that one kernel writes and
    the next one reads is paid for in both, although some of it may still be in L2 then.
    """

    def __init__(self, predictor: Predictor, **options: Unpack[Options]) -> None:
        """The options are those of `morello.compile`."""
        self._predictor, self._options = predictor, options
        self._priced: dict[Spec, PricedImpl | SearchError] = {}

    def of(self, spec: Spec) -> PricedImpl:
        """The best program; raises `SearchError` if there is none."""
        if spec not in self._priced:
            self._priced[spec] = self._search(spec)
        priced = self._priced[spec]
        if isinstance(priced, SearchError):
            raise priced
        return priced

    def __call__(self, spec: Spec) -> float:
        """Predicted seconds per call of the best program found; infinite if there is none."""
        try:
            return self.of(spec).seconds
        except SearchError:
            return inf

    def finished(self, spec: Spec) -> bool:
        """Whether the search finished in time, or the Spec is of one operation.

        If not, a search for a larger group would take even longer.
        """
        return self.of(spec).finished or not spec.operation.components

    def _search(self, spec: Spec) -> PricedImpl | SearchError:
        try:
            with requested(spec, **self._options) as request:
                impl, statistics = answer(request)
        except SearchError as error:
            return error
        assert statistics is not None  # it was not scheduled by hand
        (seconds,) = self._predictor.seconds([impl])
        finished = statistics.proven or statistics.gap <= self._options.get("gap", 0.0)
        return PricedImpl(impl, float(seconds) + CALL_S, finished)
