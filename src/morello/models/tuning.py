"""The kernels of a program to be tuned, and how long each is."""

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
    """A kernel that a program calls so many times, to be tuned for so many `seconds`.

    Its program `impl` may have other layouts of weights than what was asked for, the `goal`; if
    these were constant, it is `prepacked`.
    """

    goal: Spec
    impl: Impl
    prepacked: bool
    calls: int
    seconds: float = 0.0

    @property
    def cost(self) -> float:
        """The cost in cycles of all its calls."""
        return self.calls * self.impl.cost


def kernels_to_tune(compiled: CompiledGraph, seconds: float) -> list[TunedKernel]:
    """The different kernels of a program for one thread; so many seconds are divided among them.

    Tuning gains about the same part of any kernel's time, so that each has a share of the seconds
    as its calls have of the cost, and those come first that cost most. Kernels whose share would
    be less than `LEAST_S` are left out, except for the first.
    """
    counted: dict[tuple[Spec, Spec], TunedKernel] = {}
    kernels = [kernel for segment in compiled.segments for kernel in segment.kernels]
    for call, kernel in zip(calls_of(compiled.staged()), kernels, strict=True):
        goal, impl = call.spec, kernel.impl
        if goal.parallel:
            continue
        new = TunedKernel(goal, impl, prepacked(call), 0)
        known = counted.get((goal, impl.spec), new)
        counted[goal, impl.spec] = replace(known, calls=known.calls + 1)
    return _shared(sorted(counted.values(), key=lambda kernel: -kernel.cost), seconds)


def _shared(kernels: Sequence[TunedKernel], seconds: float) -> list[TunedKernel]:
    """The kernels that are tuned, with their seconds."""
    chosen = list(kernels)
    while len(chosen) > 1 and _share(chosen[-1], chosen, seconds) < LEAST_S:
        chosen.pop()
    return [replace(each, seconds=_share(each, chosen, seconds)) for each in chosen]


def _share(kernel: TunedKernel, chosen: Sequence[TunedKernel], seconds: float) -> float:
    return seconds * kernel.cost / sum(each.cost for each in chosen)
