"""Estimated seconds of a Spec's kernel: of the best program that the search finds."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from morello.api import implement
from morello.errors import SearchError
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.predict import Predictor
from morello.memo import Table
from morello.targets.target import Target

SECONDS = 10.0
"""How long the search for a kernel may take if nobody says otherwise."""

CALL_S = 0.5e-6
"""What it takes `program.Program` to call one more kernel, in seconds."""


@dataclass(frozen=True)
class Found:
    """The best program that was found for a Spec, its predicted seconds a call, and whether the
    search came to its end in time."""

    impl: Impl
    seconds: float
    proven: bool


class Prices:
    """The best programs of Specs and their estimated seconds, each Spec searched once.

    A kernel's operands lie in main memory: what one kernel writes and the next one reads is
    paid for in both, although some of it may still be in L2 then.
    """

    def __init__(
        self,
        predictor: Predictor,
        seconds: float = SECONDS,
        target: str | Target = "native",
        table: Table | None = None,
    ) -> None:
        """A search may take so many seconds; a table has what earlier ones found."""
        self._predictor, self._seconds, self._target = predictor, seconds, target
        self._table = table
        self._known: dict[Spec, Found | SearchError] = {}

    def found(self, spec: Spec) -> Found:
        """The best program; raises `SearchError` if there is none."""
        if spec not in self._known:
            self._known[spec] = self._search(spec)
        known = self._known[spec]
        if isinstance(known, SearchError):
            raise known
        return known

    def __call__(self, spec: Spec) -> float:
        """Predicted seconds of a call of the best program found; infinite if there is none."""
        try:
            return self.found(spec).seconds
        except SearchError:
            return inf

    def proven(self, spec: Spec) -> bool:
        """Whether the search came to its end: one for more operations would take even longer."""
        return self.found(spec).proven or not spec.operation.components

    def _search(self, spec: Spec) -> Found | SearchError:
        try:
            impl, statistics = implement(
                spec, target=self._target, budget=self._seconds, table=self._table
            )
        except SearchError as error:
            return error
        assert statistics is not None  # it was not scheduled by hand
        (seconds,) = self._predictor.seconds([impl])
        return Found(impl, float(seconds) + CALL_S, statistics.proven)
