"""From a Spec to a function on NumPy arrays: search, generate, build, load, verify."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from morello.codegen import Source, generate
from morello.errors import SpecError, TargetError
from morello.frontends.calls import TensorLike
from morello.frontends.calls import matmul as matmul_goal
from morello.frontends.text import parse
from morello.ir.spec import Spec
from morello.rewrites.impl import Impl
from morello.rewrites.render import tree
from morello.runtime.argument import arguments
from morello.runtime.kernel import CompiledKernel
from morello.runtime.threads import attach, thread_count
from morello.runtime.toolchain import Compiler, find_compiler
from morello.runtime.verify import verify as verify_kernel
from morello.scheduling import Schedule
from morello.search.graph import Progress
from morello.search.programs import keep, recall
from morello.search.reconstruct import reconstruct
from morello.search.solve import Statistics, search
from morello.table import Table
from morello.targets.catalog import find_target, runs_here
from morello.targets.target import Target

GIL_CYCLES = 50_000
"""Kernels longer than this let other Python threads run meanwhile."""


class Kernel(CompiledKernel):
    """A compiled Spec: call it on NumPy arrays as `kernel(*inputs, out=None)`.

    Knows where it comes from: its `spec`, `impl` (the schedule), `source` (the C), `compiler`,
    how many `threads` it runs on, the search's `statistics` (None if it was scheduled by hand),
    and `max_error`, the greatest error found when it was verified, as a part of the greatest
    output (None if it was not).
    """

    __slots__ = ("compiler", "impl", "max_error", "source", "spec", "statistics", "threads")

    spec: Spec
    impl: Impl
    source: Source
    compiler: Compiler
    threads: int
    statistics: Statistics | None
    max_error: float | None

    def __repr__(self) -> str:
        return f"<morello.Kernel {self.spec.expression} for {self.impl.target.name}>"


def compile(
    what: str | Spec | Impl | Schedule,
    *,
    target: str | Target = "native",
    threads: int | str = 1,
    verify: bool = True,
    compiler: str | None = None,
    table: Table | str | Path | None = None,
    progress: Progress | None = None,
) -> Kernel:
    """The fastest program of a Spec under the cost model, compiled, checked and callable.

    `what` is an expression such as "f32[64,64] @ f32[64,64]", a Spec, or a schedule made by
    hand, which runs on the threads that it is for. `threads` may be "all" that this process
    may use. A `table`, or the path of one, has what earlier searches found, and is given what
    this one finds. Unless `verify` is off, the kernel is compared with NumPy in float64 on random
    data before it is handed out. Raises `MorelloError` (see `morello.errors`).
    """
    goal, machine = _plan(what, target, threads)
    spec = goal.spec if isinstance(goal, Impl) else goal
    check_runs_here(machine)
    check_memory(spec)
    taken = arguments(spec)
    impl, statistics = _implement(goal, machine, table, progress)
    source = generate(impl, schedule=tree(impl))
    found = find_compiler(compiler)
    kernel = Kernel.of_source(
        # whoever loads the same file shares its threads
        source.text + f"/* on {machine.cores} threads */\n" * source.parallel,
        source.name,
        taken,
        arch=machine.arch,
        compiler=found,
        release_gil=impl.cost > GIL_CYCLES,
    )
    kernel.spec, kernel.impl, kernel.source = impl.spec, impl, source
    kernel.compiler, kernel.statistics = found, statistics
    kernel.threads = machine.cores if source.parallel else 1
    if source.parallel:
        attach(kernel.library, source.name, machine.cores, compiler=found)
    kernel.max_error = verify_kernel(kernel, spec) if verify else None
    return kernel


def matmul(a: TensorLike, b: TensorLike, **options: object) -> Kernel:
    """Compile `a @ b` for operands like these: types ("f32[64,64]"), tensor specs or arrays.

    Takes the options of `compile`.
    """
    return compile(matmul_goal(a, b), **options)  # type: ignore[arg-type]


def implement(
    what: str | Spec | Impl | Schedule,
    *,
    target: str | Target = "native",
    threads: int | str = 1,
    table: Table | str | Path | None = None,
    progress: Progress | None = None,
) -> tuple[Impl, Statistics | None]:
    """The Impl of a Spec, by search (or as it was scheduled), and what the search did."""
    return _implement(*_plan(what, target, threads), table, progress)


def schedule(
    what: str | Spec, *, target: str | Target = "native", threads: int | str = 1
) -> Schedule:
    """Start scheduling a Spec by hand; see `Schedule`."""
    goal, machine = _plan(what, target, threads)
    assert not isinstance(goal, Impl)
    return Schedule.of(goal, machine)


def _plan(
    what: str | Spec | Impl | Schedule, target: str | Target, threads: int | str
) -> tuple[Spec | Impl, Target]:
    """The goal and the machine, both as many threads as wanted."""
    count = thread_count(threads)
    goal = parse(what) if isinstance(what, str) else what
    if isinstance(goal, Schedule):
        goal = goal.impl
    if isinstance(goal, Impl):
        made_for = goal.target.cores if goal.spec.parallel else 1
        if count not in (1, made_for):
            raise TargetError(
                f"the schedule is for {made_for} threads, not {count}; make it for as many, "
                "or leave out how many."
            )
        return goal, goal.target
    machine = find_target(target) if isinstance(target, str) else target
    if machine.cores != count:
        machine = replace(machine, cores=count)
    return replace(goal, parallel=count > 1), machine


def _implement(
    goal: Spec | Impl,
    machine: Target,
    table: Table | str | Path | None,
    progress: Progress | None,
) -> tuple[Impl, Statistics | None]:
    if isinstance(goal, Impl):
        if not goal.complete:
            raise SpecError("the schedule has Specs left to do; solve() fills them by search.")
        return goal, None
    if isinstance(table, str | Path):
        with Table(table) as opened:
            return _implement(goal, machine, opened, progress)
    began = time.perf_counter()
    if table is not None and (impl := recall(goal, machine, table)) is not None:
        return impl, Statistics.of_recall(time.perf_counter() - began)
    solution = search(goal, machine, table=table, progress=progress)
    impl = reconstruct(goal, machine, solution.decisions)
    if table is not None:
        keep(impl, table)
    return impl, solution.statistics


def check_runs_here(target: Target) -> None:
    """Raise `TargetError` if this machine lacks the target's instructions."""
    if not runs_here(target):
        raise TargetError(
            f"this machine cannot run kernels for {target.name}; "
            "use --target native, or generate the C alone with `morello synth`."
        )


def check_memory(spec: Spec) -> None:
    """Raise `SpecError` if the operands do not fit this machine's memory."""
    needed = sum(tensor.bytes for tensor in spec.tensors)
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > have:
        raise SpecError(
            f"{spec.expression}: the operands take {needed / 2**30:.1f} GiB, and this machine "
            f"has {have / 2**30:.1f} GiB; make the sizes smaller."
        )
