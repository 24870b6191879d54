"""The kernels of a program to be tuned, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.families import family_of
from morello.learn.predictors import learned
from morello.models.compiling import CompiledGraph
from morello.models.kernels import prepacked
from morello.models.profiling import timed
from morello.models.schedule import calls_of

LEAST_S = 10.0
"""A kernel is tuned for at least so many seconds, or not at all."""


@dataclass(frozen=True)
class TunedKernel:
    """A kernel that a program calls so many times.

    Its program `impl` may have other layouts of weights than what was asked for, the `goal`; if
    these were constant, it is `prepacked`. All calls together took so many `seconds`.
    """

    goal: Spec
    impl: Impl
    prepacked: bool
    calls: int
    seconds: float

    @property
    def gain(self) -> float:
        """The gain that is expected of tuning, up to a factor that is the same for all kernels."""
        return self.seconds * _doubt(self.impl)


def _doubt(impl: Impl) -> float:
    """How wide the interval of a predicted time is, in logarithms: 1 if none is known.

    Where predictions are least sure, costs are too, and the fastest program is furthest from the
    first choice: widths of 0.6 (products) to 2 (pools) go with gains of 2 to 14 % in corpora.
    """
    model = learned(impl.target)
    if model is None:
        return 1.0
    low, high = model.errors.of(family_of(impl.spec))
    return high - low or 1.0


def kernels_to_tune(compiled: CompiledGraph) -> list[TunedKernel]:
    """The different kernels of a program for one thread, timed; those of most `gain` come first."""
    counted: dict[tuple[Spec, Spec], TunedKernel] = {}
    kernels = [kernel for segment in compiled.segments for kernel in segment.kernels]
    calls, times = calls_of(compiled.plan.stages()), timed(compiled).kernels
    for call, kernel, seconds in zip(calls, kernels, times, strict=True):
        goal, impl = call.spec, kernel.impl
        if goal.parallel:
            continue
        new = TunedKernel(goal, impl, prepacked(call), 0, 0.0)
        known = counted.get((goal, impl.spec), new)
        counted[goal, impl.spec] = replace(
            known, calls=known.calls + 1, seconds=known.seconds + seconds
        )
    return sorted(counted.values(), key=lambda kernel: -kernel.gain)


def first_share(gains: Sequence[float], seconds: float) -> float:
    """The share of so many seconds that the first of some kernels has, that of most gain first.

    Each has a share as it has of the gain that is expected of all. Kernels whose share would be
    less than `LEAST_S` are left out, except for the first.
    """
    chosen = list(gains)
    while len(chosen) > 1 and seconds * chosen[-1] < LEAST_S * sum(chosen):
        chosen.pop()
    return seconds * chosen[0] / sum(chosen)
