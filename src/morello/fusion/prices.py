"""Estimated seconds of a Spec's kernel: those of the best program that the search finds."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from morello.base.errors import SearchError
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.predictors import Predictor
from morello.memo import Table
from morello.request import Request, answer
from morello.request.goal import goal_and_target
from morello.search.budget import Budget
from morello.targets.target import Target

SECONDS = 10.0
"""The default time limit of the search for a kernel."""

CALL_S = 0.5e-6
"""The overhead of a kernel's call in a `FusedProgram`, in seconds."""


@dataclass(frozen=True)
class PricedImpl:
    """The best program found for a Spec, its predicted seconds per call, and whether the search
    finished in time."""

    impl: Impl
    seconds: float
    proven: bool


class Prices:
    """The best programs of Specs and their estimated seconds, memoized by Spec.

    A kernel's operands are in main memory: the transfer of a tensor that one kernel writes and
    the next one reads is paid for in both, although some of it may still be in L2 then.
    """

    def __init__(
        self,
        predictor: Predictor,
        seconds: float = SECONDS,
        target: str | Target = "native",
        table: Table | None = None,
    ) -> None:
        """Each search may take `seconds`; a table has the results of earlier searches."""
        self._predictor, self._seconds, self._target = predictor, seconds, target
        self._table = table
        self._priced: dict[Spec, PricedImpl | SearchError] = {}

    def found(self, spec: Spec) -> PricedImpl:
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
            return self.found(spec).seconds
        except SearchError:
            return inf

    def proven(self, spec: Spec) -> bool:
        """Whether the search finished in time, or the Spec is of one operation.

        If not, a search for a larger group would take even longer.
        """
        return self.found(spec).proven or not spec.operation.components

    def _search(self, spec: Spec) -> PricedImpl | SearchError:
        try:
            goal, target = goal_and_target(spec, self._target)
            request = Request(goal, target, table=self._table, budget=Budget(self._seconds))
            impl, statistics = answer(request)
        except SearchError as error:
            return error
        assert statistics is not None  # it was not scheduled by hand
        (seconds,) = self._predictor.seconds([impl])
        return PricedImpl(impl, float(seconds) + CALL_S, statistics.proven)
