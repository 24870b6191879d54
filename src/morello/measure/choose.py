"""Building and timing several candidate programs of a goal, to find the fastest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from morello.base.status import tell
from morello.codegen.distinct import Distinct
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.measure.load import load_all
from morello.measure.timing import Timing, measure
from morello.native.toolchain import Compiler
from morello.runtime.kernel import CompiledKernel
from morello.runtime.packing import random_inputs, random_outputs
from morello.search.budget import Watch
from morello.search.candidates import SLACKS
from morello.search.session import Session

SECONDS = 0.5
"""The seconds that each program is timed for; more if `REPEATS` samples take longer."""

REPEATS = 3

COMPILER_S = 30.0
"""How long the compiler may take for a program that is not the cheapest, in seconds."""


@dataclass(frozen=True)
class TimedImpl:
    """An Impl and how long its kernel takes."""

    impl: Impl
    timing: Timing


def candidate_impls(
    best: Impl, session: Session, count: int, watch: Watch, slacks: Sequence[float] = SLACKS
) -> list[Impl]:
    """Up to `count` Impls of a goal: `best`, the cheapest, and others that may be faster.

    The others cost at most the last of the `slacks` times as much as the cheapest. Fewer if the
    watch ends the search for them.
    """
    goal, target, others = session.goal, session.target, session.candidates(watch, slacks)
    impls = chain([best], (reconstruct(goal, target, decisions) for decisions in others))
    with watch:
        return list(islice(filter(Distinct(), impls), count))


def build_and_time(impls: Iterable[Impl], compiler: Compiler) -> list[TimedImpl]:
    """Build Impls of one goal and time them in turns, on the goal's threads; fastest first.

    Those that the compiler takes longer than `COMPILER_S` for are left out, except the first.
    """
    impls = list(impls)
    tell(phase="build", note=f"{len(impls)} programs")
    loaded = zip(impls, load_all(impls, compiler, COMPILER_S), strict=True)
    built = [(impl, kernel) for impl, kernel in loaded if kernel is not None]
    calls = {str(n): ready(kernel, impl.spec) for n, (impl, kernel) in enumerate(built)}
    timings = measure(calls, seconds=SECONDS, repeats=REPEATS, pin=not impls[0].spec.parallel)
    programs = [TimedImpl(impl, timings[str(n)]) for n, (impl, _) in enumerate(built)]
    return sorted(programs, key=lambda program: program.timing.min_s)


def ready(kernel: CompiledKernel, spec: Spec) -> Callable[[], object]:
    """A function that calls the kernel of a Spec on its own random data."""
    return partial(kernel.fast, *random_inputs(spec).taken, *random_outputs(kernel.arguments))
