"""The other rewrites that each step of a program might have been, and why they lost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from morello.base.errors import SearchError
from morello.engine import INFINITE
from morello.impl.listing import listing
from morello.impl.reconstruct import before_merging, reconstruct
from morello.impl.tree import Impl, replay
from morello.rewrites import Rewrite, in_words
from morello.search.budget import Budget, Progress
from morello.search.rejected import Rejected
from morello.search.runners_up import Choice, Decision, own_choices
from morello.search.runners_up import choices as choices_of
from morello.search.session import Session
from morello.targets.target import Target

SLACK = 1.05
"""Rewrites have exact costs if a program with them costs at most so many times as much."""

MOST_RUNNERS_UP, MOST_REJECTED = 6, 12
"""The most other rewrites of a step that are described: those with exact costs, and the rest."""

LITTLE = 1e-9
"""Costs that differ by less than this, relatively, are the same."""


@dataclass(frozen=True)
class Line:
    """A line of another program: its indentation, its words, and the cycles of one run."""

    depth: int
    words: str
    cycles: float


@dataclass(frozen=True)
class OtherRewrite:
    """A rewrite that a step might have been, in words.

    The cheapest program of the step's Spec that begins with it costs `cycles`, and is listed, if
    these are `exact`. Otherwise, all such programs cost at least so much; None if there are none,
    or none that fits. `reason` says why it lost.
    """

    words: str
    cycles: float | None
    exact: bool
    reason: str
    program: tuple[Line, ...] = ()


@dataclass(frozen=True)
class DescribedChoice:
    """A decision of the search: the rewrite that was taken, and others, the cheapest first.

    Of each level but the farthest, `limits` is the memory that is left for the step. `more` is
    how many more there are.
    """

    words: str
    cycles: float
    limits: tuple[int, ...]
    others: tuple[OtherRewrite, ...]
    more: int


@dataclass(frozen=True)
class Explored:
    """A program, and a lower bound on the costs of all programs of its Spec.

    `choices` has what the search decided at each step, by the step's number in pre-order: nothing,
    if the budget ended the search for others, and several decisions for merged loops.
    """

    impl: Impl
    lower: float
    choices: dict[int, list[DescribedChoice]] = field(default_factory=dict)

    @property
    def proven(self) -> bool:
        """Whether no program is cheaper."""
        return self.impl.cost <= self.lower * (1 + LITTLE)


def explored(impl: Impl, budget: Budget, progress: Progress | None = None) -> Explored:
    """A program and what its steps might have been, as a search within the budget finds it.

    If the budget ends it, there may be lower bounds only, or no other rewrites at all. Raises
    `SearchError` if the machine has no program of the Spec.
    """
    session, watch = Session(impl.spec, impl.target), budget.start(progress)
    result = session.solve(budget, progress)
    lower = result.cost / (1 + result.statistics.gap)
    decisions: Sequence[Rewrite] = impl.decisions()
    if abs(result.cost - impl.cost) <= LITTLE * impl.cost:
        decisions = result.decisions
        impl = reconstruct(impl.spec, impl.target, decisions)
    unmerged, program = replay(impl.spec, impl.target, decisions), Explored(impl, lower)
    choices = own_choices(unmerged)
    with suppress(SearchError, MemoryError):
        graph = session.graph(impl.cost * SLACK, watch)
        choices = choices_of(graph, decisions, MOST_RUNNERS_UP, watch) or choices
    describer = _Describer(session, impl, program.proven, watch)
    try:
        described = [describer.describe(choice) for choice in choices]
    except (SearchError, MemoryError):
        return program
    numbers = before_merging(unmerged, impl)
    return replace(program, choices={n: [described[i] for i in own] for n, own in numbers.items()})


class _Describer:
    """Describes choices in words, each once."""

    def __init__(self, session: Session, impl: Impl, proven: bool, watch: Progress) -> None:
        self._session, self._impl, self._proven, self._watch = session, impl, proven, watch
        self._known: dict[Choice, DescribedChoice] = {}

    def describe(self, choice: Choice) -> DescribedChoice:
        known = self._known.get(choice)
        if known is None:
            known = self._known[choice] = self._describe(choice)
        return known

    def _describe(self, choice: Choice) -> DescribedChoice:
        rejected = self._session.rejected(choice, self._watch)
        others = [self._runner_up(choice, each) for each in choice.runners_up]
        others += [self._rejected(choice, each) for each in rejected[:MOST_REJECTED]]
        return DescribedChoice(
            self._words(choice, choice.taken.rewrite), choice.taken.cost, choice.limits,
            tuple(others), max(0, len(rejected) - MOST_REJECTED),
        )  # fmt: skip

    def _runner_up(self, choice: Choice, decision: Decision) -> OtherRewrite:
        program = reconstruct(choice.spec, self._target, decision.decisions)
        lines = tuple(Line(entry.depth, entry.words, entry.impl.cost) for entry in listing(program))
        words = self._words(choice, decision.rewrite)
        return OtherRewrite(words, decision.cost, True, _above(decision.cost, choice), lines)

    def _rejected(self, choice: Choice, rejected: Rejected) -> OtherRewrite:
        words = self._words(choice, rejected.rewrite)
        possible = rejected.bound < INFINITE and not rejected.lacking
        reason = self._reason(choice, rejected)
        return OtherRewrite(words, rejected.bound if possible else None, False, reason)

    def _reason(self, choice: Choice, rejected: Rejected) -> str:
        if rejected.lacking:
            level, lacking = next(iter(rejected.lacking.items()))
            lines = f"lines of {self._target.levels[level].name}"
            unit = "registers" if level == self._target.registers else lines
            return f"does not fit: {lacking} {unit} too many"
        if rejected.bound >= INFINITE:
            return "leads to no program"
        if rejected.bound > choice.taken.cost * (1 + LITTLE):
            return f"pruned: at least {_above(rejected.bound, choice)}"
        if self._proven:
            return "costs at least as much under these limits"
        return f"not searched: at least {_above(rejected.bound, choice)}"

    def _words(self, choice: Choice, rewrite: Rewrite) -> str:
        return in_words(rewrite, choice.spec, self._impl.spec, self._target)

    @property
    def _target(self) -> Target:
        return self._impl.target


def _above(cycles: float, choice: Choice) -> str:
    """How much more a rewrite costs than what was taken."""
    ratio = cycles / choice.taken.cost if choice.taken.cost else 1.0
    if abs(ratio - 1) <= LITTLE:
        return "as much"
    return f"{ratio - 1:+.1%}" if ratio < 2 else f"{ratio:.1f} times as much"
