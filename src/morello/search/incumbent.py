"""The cheapest program that a search has found so far."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from morello import engine
from morello.base.status import tell
from morello.memo.space_memo import SpaceMemo
from morello.rewrites import Rewrite
from morello.search.graph import SearchGraph
from morello.search.result import SearchStatistics
from morello.search.solved_graph import SolvedGraph


@dataclass(frozen=True)
class Incumbent:
    """The cheapest program found so far, as decisions in pre-order, and the size of the search.

    No program costs less than `lower`. `specs` and `rewrites` count the space that was expanded,
    `entries` the boxes, `tried` the rewrites that the engine tried, and `bounded` the relaxed
    Specs. `graph` is the one in which the program is proven the cheapest, unless parts of that
    came from the memo.
    """

    cost: float
    decisions: tuple[Rewrite, ...]
    lower: float
    specs: int
    rewrites: int
    entries: int
    tried: int
    bounded: int = 0
    graph: SearchGraph | None = None

    @staticmethod
    def of(solved: SolvedGraph, lower: float, memo: SpaceMemo | None = None) -> Incumbent:
        """The cheapest program of a solved graph.

        Raises `LookupError` if the memo no longer has an answer that the solver used.
        """
        graph, solvable = solved.graph, solved.cost < engine.INFINITE
        return Incumbent(
            solved.cost if solvable else inf, tuple(solved.decisions(memo)) if solvable else (),
            lower, graph.node_count, graph.edge_count, solved.count, solved.tried,
        )  # fmt: skip

    def statistics(self, seconds: float, *, exhaustive: bool = False) -> SearchStatistics:
        """The statistics of the search, which took so many seconds."""
        return SearchStatistics(
            seconds, self.specs, self.rewrites, self.entries, self.tried, self.bounded,
            exhaustive, gap=self.gap,
        )  # fmt: skip

    @property
    def found(self) -> bool:
        """Whether there is a program."""
        return self.cost < inf

    @property
    def undecided(self) -> bool:
        """Whether there is no program so far, though there may be some."""
        return not self.found and self.lower < engine.INFINITE

    @property
    def gap(self) -> float:
        """The relative optimality gap: how much more than the optimum the program may cost."""
        return gap_to(self.lower, self.cost)


def tell_best(cost: float, lower: float) -> None:
    """Tell what the best program so far costs, and no program less than."""
    tell(cost=cost, gap=gap_to(lower, cost))


def gap_to(lower: float, cost: float) -> float:
    """How much more than `lower`, a bound on all programs, a program costs, as a fraction."""
    return max(0.0, cost / lower - 1) if lower > 0 else inf
