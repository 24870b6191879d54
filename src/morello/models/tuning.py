"""The kernels of a program to be tuned, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.models.compiling import CompiledGraph
from morello.models.kernels import prepacked
from morello.models.schedule import calls_of

LEAST_S = 10.0
"""A kernel is tuned for at least so many seconds, or not at all."""


@dataclass(frozen=True)
class TunedKernel:
    """A kernel that a program calls so many times.

    Its program `impl` may have other layouts of weights than what was asked for, the `goal`; if
    these were constant, it is `prepacked`.
    """

    goal: Spec
    impl: Impl
    prepacked: bool
    calls: int

    @property
    def cost(self) -> float:
        """The cost in cycles of all its calls."""
        return self.calls * self.impl.cost


def kernels_to_tune(compiled: CompiledGraph) -> list[TunedKernel]:
    """The different kernels of a program for one thread; those come first that cost most."""
    counted: dict[tuple[Spec, Spec], TunedKernel] = {}
    kernels = [kernel for segment in compiled.segments for kernel in segment.kernels]
    for call, kernel in zip(calls_of(compiled.plan.stages()), kernels, strict=True):
        goal, impl = call.spec, kernel.impl
        if goal.parallel:
            continue
        new = TunedKernel(goal, impl, prepacked(call), 0)
        known = counted.get((goal, impl.spec), new)
        counted[goal, impl.spec] = replace(known, calls=known.calls + 1)
    return sorted(counted.values(), key=lambda kernel: -kernel.cost)


def first_share(costs: Sequence[float], seconds: float) -> float:
    """The share of so many seconds that the first of some kernels has, the most expensive first.

    Tuning gains about the same part of any kernel's time, so that each has a share as it has of
    the cost. Kernels whose share would be less than `LEAST_S` are left out, except for the first.
    """
    chosen = list(costs)
    while len(chosen) > 1 and seconds * chosen[-1] < LEAST_S * sum(chosen):
        chosen.pop()
    return seconds * chosen[0] / sum(chosen)
