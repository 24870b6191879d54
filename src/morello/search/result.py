"""The result of a search: the cheapest program, and statistics of the search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # statistics need none of them
    from morello.ir.spec import Spec
    from morello.rewrites import Rewrite
    from morello.targets.target import Target


@dataclass(frozen=True)
class SearchStatistics:
    """Statistics of a search. `specs` and `rewrites` count the space it expanded.

    `bounded` counts the relaxed Specs solved for the lower bound, `entries` the memoized answers
    (boxes), `tried` the rewrites checked against memory limits. `measured` is how many programs
    were timed to choose the fastest, 0 if the cost model chose. If a budget ended the search,
    `gap` is the optimality gap: the program costs at most this fraction more than the cheapest;
    infinite if no bound is known. For a program for several tunings of a target, `worst` is its
    largest loss, a fraction, against the cheapest program for any of them. `choice` is the
    program's number in the order of costs, among those of different structures. `ranked` is
    what put programs in order: their cost, or the name of another ranking.
    """

    seconds: float
    specs: int
    rewrites: int
    entries: int
    tried: int
    bounded: int
    exhaustive: bool
    measured: int = 0
    gap: float = 0.0
    worst: float | None = None
    choice: int = 1
    ranked: str = "cost"

    @property
    def proven(self) -> bool:
        """Whether the program is proven the cheapest, or the n-th cheapest if n was chosen."""
        return self.gap == 0.0

    @property
    def of_bound(self) -> float:
        """The lower bound of the cost, as a fraction of the program's: 1 if it is the cheapest."""
        return 1 / (1 + self.gap)

    def share(self, count: int) -> SearchStatistics:
        """An equal share of the work of a search that was for so many goals."""
        return replace(
            self, seconds=self.seconds / count, specs=self.specs // count,
            rewrites=self.rewrites // count, entries=self.entries // count,
            tried=self.tried // count, bounded=self.bounded // count,
        )  # fmt: skip

    @staticmethod
    def of_memoized(
        seconds: float, measured: int = 0, gap: float = 0.0, worst: float | None = None
    ) -> SearchStatistics:
        """The statistics of a program that a table had."""
        return SearchStatistics(
            seconds, specs=0, rewrites=0, entries=0, tried=0, bounded=0, exhaustive=False,
            measured=measured, gap=gap, worst=worst,
        )  # fmt: skip


@dataclass(frozen=True)
class SearchResult:
    """The cheapest program as decisions in pre-order, with its cost in cycles."""

    goal: Spec
    target: Target
    cost: float
    decisions: tuple[Rewrite, ...]
    statistics: SearchStatistics
