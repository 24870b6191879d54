"""The cheapest program by trying them all: one Spec at a time, plain dictionaries, no bounds."""

from __future__ import annotations

from math import inf

from morello.errors import RewriteError
from morello.ir.batch import Batch
from morello.ir.forms import Forms
from morello.ir.spec import Spec
from morello.rewrites import apply
from morello.rewrites.rewrite import Step
from morello.search.family import Kind
from morello.search.graph import GoalSizes
from morello.search.rules import rules
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


class Brute:
    """Remembers the steps from every Spec, and the least cost under every limit."""

    def __init__(self, goal: Spec, target: Target) -> None:
        self.goal, self.target, self.sizes = goal, target, GoalSizes.of(goal, target).open
        self._steps: dict[Spec, list[Step]] = {}
        self._costs: dict[tuple[Spec, Amounts], float] = {}

    def cheapest(self, capacities: Amounts) -> float:
        """The cost of the cheapest program that holds no more than this; inf if none does."""
        return self._cost(self.goal, capacities)

    def _cost(self, spec: Spec, limits: Amounts) -> float:
        key = spec, limits
        if key not in self._costs:
            self._costs[key] = min(
                (self._through(s, limits) for s in self.steps(spec)), default=inf
            )
        return self._costs[key]

    def _through(self, step: Step, limits: Amounts) -> float:
        left = tuple(n - step.allocation.get(i + 1, 0) for i, n in enumerate(limits))
        if min(left) < 0:
            return inf
        return step.cost + sum(hole.times * self._cost(hole.spec, left) for hole in step.holes)

    def steps(self, spec: Spec) -> list[Step]:
        if spec not in self._steps:
            batch = Batch.of([spec], Forms())
            self._steps[spec] = []
            for group in rules(Kind.of(batch), self.target, self.sizes):
                if not group.guard(batch)[0]:
                    continue
                for rewrite in group.rewrites:
                    try:
                        step = apply(rewrite.concrete(spec), spec, self.target)
                    except RewriteError:
                        continue
                    self._steps[spec].append(step)
        return self._steps[spec]
