"""The cheapest program by trying them all: one Spec at a time, plain dictionaries, no bounds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from math import inf

from morello.base.errors import RewriteError
from morello.ir.batch import Batch
from morello.ir.joining import joining_of
from morello.ir.placements import Placements
from morello.ir.spec import Spec
from morello.rewrites import Rewrite, apply
from morello.rewrites.rewrite import Step
from morello.search.structure import Structure, traits
from morello.space.guards import Rules
from morello.space.kind import Kind
from morello.space.rules import rules
from morello.space.space import goal_sizes
from morello.space.traits import RuleTraits
from morello.targets.kernels import CASTS, standard_kernels
from morello.targets.target import Level, Target

Amounts = tuple[int, ...]


def small_target(masks: bool, cores: int = 1) -> Target:
    """One cache, and registers of 4 floats or of 1: a space small enough to try it all."""
    return Target(
        name="small" + "-masks" * masks + "-cores" * (cores > 1),
        description="for tests",
        arch="baseline",
        features=(),
        levels=(
            Level("memory", 1 << 40, per_line=4.0, per_run=6.0, per_alias=3.0, saturation=1.4),
            Level("L1", 64, conflict_runs=4),
            Level("registers", 8),
        ),
        vector_bytes=(16,),
        kernels=standard_kernels((16,), masks, {}, frozenset()),
        helpers={},
        masks=masks,
        casts=frozenset(CASTS),
        cores=cores,
        fork=40.0,
    )


@dataclass(frozen=True)
class _Way:
    """A step from a Spec: its own cost, what it holds of each level, and the Specs it leaves."""

    rewrite: Rewrite
    cost: float
    held: Amounts
    holes: tuple[tuple[int, int], ...]
    """How often each runs, and its number."""


class Brute:
    """Remembers the steps from every Spec, and the least cost under every limit."""

    def __init__(self, goal: Spec, target: Target) -> None:
        self.goal, self.target, self.sizes = goal, target, goal_sizes([(goal,)], target)
        self.specs: list[Spec] = []
        self._numbers: dict[Spec, int] = {}  # by which all else is kept, as Specs hash slowly
        self._rules: dict[Kind, list[Rules]] = {}
        self._placements = Placements()
        self._ways: dict[int, list[_Way]] = {}
        self._costs: dict[tuple[int, Amounts], float] = {}
        self._structures: dict[tuple[int, Amounts], dict[Structure, float]] = {}

    def cheapest(self, capacities: Amounts) -> float:
        """The cost of the cheapest program that holds no more than this; inf if none does."""
        return self._cost(self._number(self.goal), capacities)

    def optima(self, capacities: Amounts) -> dict[Spec, float]:
        """The lowest cost of every Spec within reach, in the memory that is left there."""
        todo = [(self._number(self.goal), capacities)]
        seen = set(todo)
        least: dict[int, float] = {}
        while todo:
            number, limits = todo.pop()
            least[number] = min(least.get(number, inf), self._cost(number, limits))
            for way in self._ways_of(number):
                left = _left(limits, way)
                inner = {(hole, left) for _, hole in way.holes if min(left) >= 0} - seen
                seen |= inner
                todo += inner
        return {self.specs[number]: cost for number, cost in least.items()}

    def structures(self, capacities: Amounts) -> dict[Structure, float]:
        """The cost of the cheapest program of every structure."""
        return self._by_structure(self._number(self.goal), capacities)

    def _by_structure(self, number: int, limits: Amounts) -> dict[Structure, float]:
        key = number, limits
        if key not in self._structures:
            least: dict[Structure, float] = {}
            spec = self.specs[number]
            for way in self._ways_of(number):
                left = _left(limits, way)
                if min(left) < 0:
                    continue
                parts = [self._by_structure(hole, left).items() for _, hole in way.holes]
                for chosen in product(*parts):
                    costs = [n * c for (n, _), (_, c) in zip(way.holes, chosen, strict=True)]
                    found = Structure()
                    if self.goal.operation.copies or not spec.operation.copies:
                        inner = [s for (n, _), (s, _) in zip(way.holes, chosen, strict=True) if n]
                        found = traits(way.rewrite, spec).union(*inner)
                    least[found] = min(least.get(found, inf), way.cost + sum(costs))
            self._structures[key] = least
        return self._structures[key]

    def _cost(self, number: int, limits: Amounts) -> float:
        key = number, limits
        if key not in self._costs:
            ways = self._ways_of(number)
            self._costs[key] = min((self._through(way, limits) for way in ways), default=inf)
        return self._costs[key]

    def _through(self, way: _Way, limits: Amounts) -> float:
        left = _left(limits, way)
        if min(left) < 0:
            return inf
        parts = [(times, self._cost(hole, left)) for times, hole in way.holes]
        if any(cost == inf for _, cost in parts):  # even one that takes no time of its own
            return inf
        return way.cost + sum(times * cost for times, cost in parts)

    def _number(self, spec: Spec) -> int:
        number = self._numbers.setdefault(spec, len(self.specs))
        if number == len(self.specs):
            self.specs.append(spec)
        return number

    def _ways_of(self, number: int) -> list[_Way]:
        if number not in self._ways:
            self._ways[number] = [self._way(*one) for one in self._steps(self.specs[number])]
        return self._ways[number]

    def _way(self, rewrite: Rewrite, step: Step) -> _Way:
        levels = range(1, len(self.target.levels))
        held = tuple(step.allocation.get(level, 0) for level in levels)
        holes = tuple((hole.times, self._number(hole.spec)) for hole in step.holes)
        return _Way(rewrite, step.cost, held, holes)

    def _steps(self, spec: Spec) -> Iterator[tuple[Rewrite, Step]]:
        batch = Batch.of([spec], self._placements)
        if spec == self.goal:
            batch = replace(batch, joining=joining_of(spec))
        kind = Kind.of(batch)
        if kind not in self._rules:
            traits = RuleTraits.of(self.target, self.goal)
            self._rules[kind] = rules(kind, self.target, self.sizes, traits)
        for group in self._rules[kind]:
            if not group.guard(batch)[0]:
                continue
            for rewrite in group.rewrites:
                if not all(c.holds[0] for c in rewrite.conditions(batch, self.target)):
                    continue
                with suppress(RewriteError):
                    concrete = rewrite.concrete(spec)
                    yield concrete, apply(concrete, spec, self.target)


def _left(limits: Amounts, way: _Way) -> Amounts:
    return tuple(n - held for n, held in zip(limits, way.held, strict=True))
