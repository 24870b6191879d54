"""The programs that are timed: of every goal the cheapest, and ones that almost are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from morello.calibrate.goals import Goal
from morello.calibrate.multiplicities import Multiplicities
from morello.calibrate.stopwatch import Candidate
from morello.codegen import generate
from morello.ir.spec import Spec
from morello.rewrites.impl import Impl, replay
from morello.runtime.argument import Array, arguments
from morello.runtime.build import build
from morello.runtime.load import Library
from morello.runtime.threads import available_threads
from morello.runtime.toolchain import Compiler, arch_flags
from morello.search.reconstruct import reconstruct
from morello.search.solve import search
from morello.targets.costs import coefficients, with_coefficients
from morello.targets.target import Target

SPREAD = 3.0
"""By how much costs may be off in either direction in a machine that programs are found for."""


@dataclass(frozen=True)
class Program:
    """A program of a goal, and how often it pays each coefficient."""

    goal: Goal
    impl: Impl
    paid: dict[str, float]


def found(
    goals: Sequence[Goal], target: Target, seconds: float, progress: Callable[[int], None]
) -> list[Program]:
    """Programs of goals: the cheapest for the target, then those for targets whose costs differ.

    These are what a choice is between when costs are uncertain. They are looked for as long
    as there are `seconds` left.
    """
    multiplicities = Multiplicities(target)
    end = perf_counter() + seconds
    programs: dict[tuple[Goal, str], Program] = {}
    for done, (goal, machine) in enumerate(_searches(goals, target)):
        if done >= len(goals) and perf_counter() > end:
            break
        spec = goal.spec()
        decisions = cheapest(goal, machine).decisions()
        key = goal, repr(decisions)
        if key not in programs:
            impl = replay(spec, target, decisions)
            programs[key] = Program(goal, impl, multiplicities.of(impl))
        progress(len(programs))
    return list(programs.values())


def cheapest(goal: Goal, target: Target) -> Impl:
    """The program that the target's costs choose."""
    spec = goal.spec()
    return reconstruct(spec, target, search(spec, target).decisions)


def _searches(goals: Sequence[Goal], target: Target) -> Iterator[tuple[Goal, Target]]:
    """Every goal for the target itself, and then, without end, for others."""
    yield from ((goal, target) for goal in goals)
    others = uncertain(target)
    while goals:
        yield from ((goal, next(others)) for goal in goals)


def uncertain(target: Target) -> Iterator[Target]:
    """The target with other costs, each up to `SPREAD` times more or less, without end."""
    random = np.random.default_rng(0)
    own = coefficients(target)
    while True:
        factors = SPREAD ** random.uniform(-1.0, 1.0, len(own))
        values = {n: v * f for (n, v), f in zip(own.items(), factors.tolist(), strict=True)}
        yield with_coefficients(target, values)


def compiled(
    programs: Sequence[Program], compiler: Compiler, progress: Callable[[int], None]
) -> list[Candidate]:
    """The programs, ready to be called. Raises `BuildError`."""
    arrays: dict[Goal, tuple[Array, ...]] = {}
    for program in programs:
        if program.goal not in arrays:
            arrays[program.goal] = _arrays(program.impl.spec)

    def candidate(program: Program) -> Candidate:
        source = generate(program.impl)
        flags = arch_flags(compiler, program.impl.target.arch)
        library = Library(build(source.text, compiler=compiler, flags=flags))
        return Candidate(library, source.name, arrays[program.goal])

    made = []
    with ThreadPoolExecutor(available_threads()) as threads:
        for one in threads.map(candidate, programs):
            made.append(one)
            progress(len(made))
    return made


def _arrays(spec: Spec) -> tuple[Array, ...]:
    """Positive numbers, which every function takes as fast as any."""
    random = np.random.default_rng(0)
    made = []
    for argument in arguments(spec):
        array = argument.empty()
        array[...] = random.uniform(0.5, 1.5, array.shape)
        made.append(array)
    return tuple(made)
