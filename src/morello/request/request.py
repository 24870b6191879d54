"""A request: the goal, the machine, and how a program is to be found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, SupportsIndex

from morello.base.choices import WEIGHTS
from morello.base.errors import BuildError, MorelloError, SearchError, SpecError, quoted
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.memo.program_table import ProgramTable
from morello.request.goal import Goal
from morello.search.budget import Budget, Progress
from morello.search.result import SearchStatistics
from morello.targets.target import Target

if TYPE_CHECKING:
    from morello.search.session import Session

MOST_MEASURED = 64
"""The most programs of one goal that may be built and timed."""

MOST_CHOICES = 1000
"""The most programs of one goal that are put in order of cost."""

Answer = tuple[Impl, SearchStatistics]
"""A program, and the statistics of the search for it."""

Program = tuple[Impl, SearchStatistics | None]
"""An `Answer`, or a program that was scheduled by hand, without statistics."""


@dataclass(frozen=True)
class Ranking:
    """An order of a goal's programs other than that of their costs, and its `name`.

    Up to `count` programs are put in order, which cost at most `slack` times as much as the
    cheapest. `refusal` gives the error for a goal and a target whose programs cannot be.
    """

    name: str
    count: int
    slack: float
    order: Callable[[Sequence[Impl]], list[Impl]]
    refusal: Callable[[Spec, Target], MorelloError | None]


@dataclass(frozen=True)
class Request:
    """A program that is wanted.

    The goal and the target are for the same number of threads (see `goal_and_target`). The `table`
    has programs of earlier searches, and gets that of this one; a `Table` also has their results
    for other Specs. If `measure` is more than one, that many programs are built with the `compiler`
    and timed. Without a `ranking` the cheapest program is taken, or the cheapest few are measured.
    The `choice` is 1 for the cheapest program, 2 for the next one in the order of costs that
    differs from it (see `alternatives`), and so on. A search for the first gives itself to
    `searched` once it has ended.

    Raises `MorelloError` for values that cannot be.
    """

    goal: Goal
    target: Target
    table: ProgramTable | None = None
    weights: str = "plain"
    measure: int = 1
    ranking: Ranking | None = None
    choice: int = 1
    budget: Budget = field(default_factory=Budget)
    compiler: str | None = None
    progress: Progress | None = None
    searched: Callable[[Session], object] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.weights, str) or self.weights not in WEIGHTS:
            raise SpecError(f"weights are {' or '.join(WEIGHTS)}, not {quoted(self.weights)}.")
        whole = isinstance(self.measure, SupportsIndex)
        if not whole or not 1 <= self.measure <= MOST_MEASURED:
            raise SearchError(
                f"1 to {MOST_MEASURED} programs can be measured, not {quoted(self.measure)}."
            )
        if not isinstance(self.choice, SupportsIndex) or not 1 <= self.choice <= MOST_CHOICES:
            raise SearchError(
                f"programs in order of cost are numbered 1 to {MOST_CHOICES}, "
                f"not {quoted(self.choice)}."
            )
        if self.choice > 1 and (self.measure > 1 or self.ranking is not None):
            raise SearchError(
                "a choice among programs in order of cost excludes measuring and ranking them; "
                "leave out one."
            )
        if not isinstance(self.compiler, str | None):
            raise BuildError(f"a compiler is a command such as 'gcc', not {quoted(self.compiler)}.")
        if self.progress is not None and not callable(self.progress):
            raise SearchError(
                "progress is True or a function of two counts to call, "
                f"not {quoted(self.progress)}."
            )
        if isinstance(self.goal, Impl):
            self._check_schedule(self.goal)
        elif self.target.tunings and self.choice > 1:
            raise SearchError(
                f"{self.target.name} is many machines, each with an order of programs of its own; "
                "name one machine, or leave out the choice among programs."
            )
        elif self.target.tunings and not self.wants_cheapest:
            raise SearchError(
                f"{self.target.name} is many machines, and times of one tell nothing of the "
                "others; leave out how many programs to measure, and how to rank them."
            )
        elif self.ranking is not None and (refusal := self.ranking.refusal(self.goal, self.target)):
            raise refusal

    @property
    def wants_cheapest(self) -> bool:
        """Whether the cheapest program under the cost model is wanted, whatever its time."""
        return self.measure == 1 and self.ranking is None and self.choice == 1

    def _check_schedule(self, impl: Impl) -> None:
        if not impl.complete:
            raise SpecError("the schedule has Specs left to do; solve() fills them by search.")
        if self.measure > 1:
            raise SearchError(
                f"a schedule is one program, and {self.measure} are to be measured; leave out one."
            )
        if self.choice > 1:
            raise SearchError(
                "a schedule is one program; leave it out, or the choice among programs."
            )
