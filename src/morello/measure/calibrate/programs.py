"""The programs to time: the cheapest of every goal, and others that are almost as cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from time import perf_counter

import numpy as np

from morello.codegen import generate
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl, replay
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES
from morello.measure.calibrate.goals import L2, MEMORY, ProbeGoal
from morello.measure.calibrate.multiplicities import Multiplicities
from morello.measure.stopwatch import Candidate
from morello.native.build import build
from morello.native.toolchain import Compiler, arch_flags
from morello.runtime.argument import Array, arguments
from morello.runtime.load import Library
from morello.runtime.threads import available_threads
from morello.search.session import search
from morello.targets.costs import coefficients, with_coefficients
from morello.targets.target import Target

SPREAD = 3.0
"""The largest factor by which costs are scaled up or down to find programs that may be better."""

BEYOND_L2 = 8
"""Arrays in memory, with their copies, take so many times the part of L2 that programs fill.

Calls that rotate through these find nothing in L2, of which programs may fill half or more.
"""


@dataclass(frozen=True)
class ProbeProgram:
    """A program of a goal, and the multiplicity of each coefficient in its cost."""

    goal: ProbeGoal
    impl: Impl
    paid: dict[str, float]


def find_programs(
    goals: Sequence[ProbeGoal], target: Target, seconds: float, progress: Callable[[int], None]
) -> list[ProbeProgram]:
    """Programs of goals: the cheapest for the target, then the cheapest under perturbed costs.

    When costs are uncertain, any of these may be the fastest. Perturbed costs are tried until
    `seconds` have passed.
    """
    multiplicities = Multiplicities(target)
    end = perf_counter() + seconds
    programs: dict[tuple[ProbeGoal, str], ProbeProgram] = {}
    for done, (goal, machine) in enumerate(_searches(goals, target)):
        if done >= len(goals) and perf_counter() > end:
            break
        spec = goal.spec()
        decisions = cheapest(goal, machine).decisions()
        key = goal, repr(decisions)
        if key not in programs:
            impl = replay(spec, target, decisions)
            programs[key] = ProbeProgram(goal, impl, multiplicities.of(impl))
        progress(len(programs))
    return list(programs.values())


def cheapest(goal: ProbeGoal, target: Target) -> Impl:
    """The cheapest program of a goal under the target's costs."""
    spec = goal.spec()
    return reconstruct(spec, target, search(spec, target).decisions)


def _searches(goals: Sequence[ProbeGoal], target: Target) -> Iterator[tuple[ProbeGoal, Target]]:
    """Every goal with the target itself and then, without end, with perturbed targets."""
    yield from ((goal, target) for goal in goals)
    perturbed = uncertain(target)
    while goals:
        yield from ((goal, next(perturbed)) for goal in goals)


def uncertain(target: Target) -> Iterator[Target]:
    """Endless variants of the target, each cost multiplied or divided by up to `SPREAD`."""
    random = np.random.default_rng(0)
    own = coefficients(target)
    while True:
        factors = SPREAD ** random.uniform(-1.0, 1.0, len(own))
        values = {n: v * f for (n, v), f in zip(own.items(), factors.tolist(), strict=True)}
        yield with_coefficients(target, values)


def compiled(
    programs: Sequence[ProbeProgram], compiler: Compiler, progress: Callable[[int], None]
) -> list[Candidate]:
    """The programs, compiled and ready to be called. Raises `BuildError`.

    Each call finds its operands where the goal says that they are.
    """
    arrays: dict[ProbeGoal, tuple[Array, ...]] = {}
    turns: dict[ProbeGoal, Iterator[tuple[Array, ...]]] = {}
    for program in programs:
        goal = program.goal
        if goal not in arrays:
            arrays[goal] = _arrays(program.impl.spec)
            if goal.level == MEMORY:
                turns[goal] = cycle([arrays[goal], *_copies(program.impl, arrays[goal])])

    def compile_program(program: ProbeProgram) -> Candidate:
        source = generate(program.impl)
        flags = arch_flags(compiler, program.impl.target.arch)
        library = Library(build(source.text, compiler=compiler, flags=flags))
        return Candidate(library, source.name, arrays[program.goal], turns.get(program.goal))

    candidates = []
    with ThreadPoolExecutor(available_threads()) as threads:
        for candidate in threads.map(compile_program, programs):
            candidates.append(candidate)
            progress(len(candidates))
    return candidates


def _copies(impl: Impl, arrays: tuple[Array, ...]) -> Iterator[tuple[Array, ...]]:
    """Copies of a program's arrays, as many as `BEYOND_L2` says."""
    room = BEYOND_L2 * impl.target.levels[L2].capacity * LINE_BYTES
    for _ in range(room // impl.spec.bytes):
        copies = tuple(argument.empty() for argument in arguments(impl.spec))
        for copy, array in zip(copies, arrays, strict=True):
            copy[...] = array
        yield copies


def _arrays(spec: Spec) -> tuple[Array, ...]:
    """Arrays for a Spec's arguments, of positive numbers: no function is slower on these."""
    random = np.random.default_rng(0)
    arrays = []
    for argument in arguments(spec):
        array = argument.empty()
        array[...] = random.uniform(0.5, 1.5, array.shape)
        arrays.append(array)
    return tuple(arrays)
