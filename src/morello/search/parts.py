"""Programs that are found soon, whatever the goal: of few sizes, and part by part.

A composition is cut into pieces, with a buffer in main memory between one and the next. Each
distinct piece is searched alone, and dynamic programming over the cuts chooses among the splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from morello.ir.compose import inputs_of, producer
from morello.ir.layout import row_major
from morello.ir.operation import Operation
from morello.ir.spec import Spec
from morello.rewrites import Bufferize, Rewrite
from morello.rewrites.rewrite import Step, apply
from morello.search.best_first import BestFirst
from morello.search.budget import BudgetError, Watch
from morello.search.incumbent import Incumbent
from morello.search.pruned_space import PrunedSpace
from morello.space.space import coarse_sizes, goal_sizes
from morello.space.steps import cut_points
from morello.targets.target import Target

FUSED = 2
"""The most cuts of a piece: it is searched as a whole, too."""

COARSEST, COARSE = 16, 4
"""The ratios of sizes: by the first, there is a program soonest, by the second a better one."""

Program = tuple[float, tuple[Rewrite, ...]]
"""A program as its cost and its decisions in pre-order."""

_NONE: Program = inf, ()


@dataclass(frozen=True)
class _Cut:
    """A way to cut a composition in two, after a component: the rewrite, and what it leaves.

    `at_product` says whether it is before or after a sum of products.
    """

    rewrite: Rewrite
    component: int
    step: Step
    at_product: bool


class Parts:
    """The pieces of a goal, and the cheapest program of each that is found so far.

    `cuts` has the ways to cut every Spec that they leave; what cannot be cut has none.
    """

    def __init__(self, goal: Spec, target: Target) -> None:
        self.goal, self.target = goal, target
        self.cuts: dict[Spec, list[_Cut]] = {}
        self.found: dict[Spec, Program] = {}
        self._lower = 0.0
        self._searched: list[Incumbent] = []
        self._cut(goal)

    def plain(self, watch: Watch) -> Incumbent:
        """Sums of products, and what is between them, one after the other.

        The first programs of these, whatever the time.
        """
        for spec in dict.fromkeys(self._plain(self.goal)):
            self._search(spec, COARSEST, watch, first=watch.untimed())
        return self._best()

    def best(self, watch: Watch) -> Incumbent:
        """As `plain`, and then of all pieces and of ever more sizes, as there is time."""
        plain = set(self._plain(self.goal))
        self.plain(watch)
        pieces = sorted(filter(_is_piece, self.cuts), key=_cut_count)
        todo = [(spec, ratio) for ratio in (COARSEST, COARSE, None) for spec in pieces]
        todo = [(spec, ratio) for spec, ratio in todo if ratio != COARSEST or spec not in plain]
        for number, (spec, ratio) in enumerate(todo):
            with suppress(BudgetError, MemoryError):
                self._search(spec, ratio, watch.part(1 / (len(todo) - number)))
        return self._best()

    def _plain(self, spec: Spec) -> Iterator[Spec]:
        """The pieces of a Spec that is cut before and after sums of products only."""
        cuts = [cut for cut in self.cuts[spec] if cut.at_product]
        if not cuts and not _is_piece(spec):
            cuts = self.cuts[spec][-1:]
        if not cuts:
            yield spec
        for hole in cuts[0].step.holes if cuts else ():
            yield from self._plain(hole.spec)

    def _cut(self, spec: Spec) -> None:
        """Find the ways to cut a Spec, and what they leave.

        Of what is no piece, only pieces are cut off, in the order of the components if possible.
        """
        if spec in self.cuts:
            return
        cuts = list(_cuts(spec, self.target))
        if not _is_piece(spec):
            small = [cut for cut in cuts if _is_piece(cut.step.holes[0].spec)] or cuts
            first = [cut for cut in small if _begins(spec.operation, cut.component)]
            cuts = first or small
        self.cuts[spec] = cuts
        for cut in cuts:
            for hole in cut.step.holes:
                self._cut(hole.spec)

    def _search(
        self, spec: Spec, ratio: int | None, watch: Watch, first: Watch | None = None
    ) -> None:
        """Search a piece, of all sizes or those of a ratio; `first` watches up to a program.

        Raises `BudgetError` or `MemoryError` if there is no bound by then.
        """
        sizes = (
            goal_sizes([(spec,)], self.target)
            if ratio is None
            else coarse_sizes(spec, self.target, ratio)
        )
        pruned = PrunedSpace([(spec,)], self.target, sizes=sizes)
        bound = pruned.bound(first or watch)
        (incumbent,) = BestFirst(pruned.space, bound, watch, first).run()
        self._searched.append(incumbent)
        if ratio is None and spec == self.goal:
            self._lower = incumbent.lower
        program = incumbent.cost, incumbent.decisions
        self.found[spec] = min(self.found.get(spec, _NONE), program, key=_cost)

    def _best(self) -> Incumbent:
        """The cheapest program of the goal that consists of what was found."""
        best: dict[Spec, Program] = {}

        def solve(spec: Spec) -> Program:
            if spec not in best:
                ways = [self.found.get(spec, _NONE)]
                for cut in self.cuts[spec]:
                    total, decisions = cut.step.cost, [cut.rewrite]
                    for hole in cut.step.holes:
                        cost, below = solve(hole.spec)
                        total += hole.times * cost
                        decisions += below
                    ways.append((total, tuple(decisions)))
                best[spec] = min(ways, key=_cost)
            return best[spec]

        cost, decisions = solve(self.goal)
        return Incumbent(
            cost, decisions, self._lower,
            specs=sum(each.specs for each in self._searched),
            rewrites=sum(each.rewrites for each in self._searched),
            entries=sum(each.entries for each in self._searched),
            tried=sum(each.tried for each in self._searched),
            bounded=sum(each.bounded for each in self._searched),
        )  # fmt: skip


def _cuts(spec: Spec, target: Target) -> Iterator[_Cut]:
    """The ways to cut a Spec with a buffer in main memory."""
    operation, memory = spec.operation, target.levels[0].name
    for tensor in cut_points(operation):
        source = producer(operation, tensor)
        users = [component for component in operation.components if tensor in component.inputs]
        component = tensor - inputs_of(operation)
        rewrite = Bufferize(component, memory, row_major(len(source.result_dims)))
        at_product = any(component.operation.is_product for component in (source, *users))
        yield _Cut(rewrite, component, apply(rewrite, spec, target), at_product)


def _begins(operation: Operation, component: int) -> bool:
    """Whether a component needs the first one, or is it."""
    inputs = inputs_of(operation)
    sources = (tensor - inputs for tensor in operation.components[component].inputs)
    return component == 0 or any(_begins(operation, n) for n in sources if n >= 0)


def _is_piece(spec: Spec) -> bool:
    return _cut_count(spec) <= FUSED


def _cut_count(spec: Spec) -> int:
    return len(cut_points(spec.operation))


def _cost(program: Program) -> float:
    return program[0]
