"""From a Spec to a function on NumPy arrays: search, generate, build, load, verify."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from morello.building import load, source_of
from morello.codegen import Source
from morello.errors import SearchError, SpecError, TargetError, quoted
from morello.frontends.calls import TensorLike
from morello.frontends.calls import matmul as matmul_goal
from morello.frontends.text import parse
from morello.ir.layout import row_major
from morello.ir.spec import Spec
from morello.ir.tensor import gapless
from morello.measuring import rivals, time_all
from morello.rewrites.impl import Impl
from morello.runtime.argument import Array, arguments
from morello.runtime.kernel import CompiledKernel
from morello.runtime.packing import laid_out
from morello.runtime.threads import thread_count
from morello.runtime.toolchain import Compiler, find_compiler
from morello.runtime.verify import verify as verify_kernel
from morello.scheduling import Schedule
from morello.search.graph import Progress
from morello.search.programs import keep, recall
from morello.search.reconstruct import reconstruct
from morello.search.solve import Statistics, search
from morello.table import Table
from morello.targets.catalog import find_target, runs_here
from morello.targets.costs import streamed
from morello.targets.target import Target
from morello.weights import with_layouts

WEIGHTS = ("plain", "constant")
"""What there is to say of weights: they lie as the Spec says, or as the kernel likes best."""
MOST_MEASURED = 64
"""Programs of one goal that may be built and timed."""


@dataclass(frozen=True)
class _Options:
    """How a program is to be found; see `compile`."""

    table: Table | str | Path | None
    weights: str
    measure: int
    compiler: str | None
    progress: Progress | None


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

    def pack(self, name: str, values: Array) -> Array:
        """The values of the input of this name, an array of its shape, as the kernel wants them.

        A flat array if it lies in panels; else one with its strides. Raises `SpecError` for
        values of another shape or dtype, and for a name that no input has.
        """
        return laid_out(self.spec, self.arguments, name, values)

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
    weights: str = "plain",
    measure: int = 1,
    progress: Progress | None = None,
) -> Kernel:
    """The fastest program of a Spec under the cost model, compiled, checked and callable.

    `what` is an expression such as "f32[64,64] @ f32[64,64]", a Spec, or a schedule made by
    hand, which runs on the threads that it is for. `threads` may be "all" that this process
    may use. A `table`, or the path of one, has what earlier searches found, and is given what
    this one finds. With `weights="constant"`, second factors of products and filters may lie as
    the kernel likes best: give it what `Kernel.pack` makes of them, once. With `measure`, so
    many different programs are built and timed, the cheapest among them, and the fastest is
    taken; a table has it for all later calls. Unless `verify` is off, the kernel is compared
    with NumPy in float64 on random data before it is handed out. Raises `MorelloError` (see
    `morello.errors`).
    """
    goal, machine = _plan(what, target, threads)
    spec = goal.spec if isinstance(goal, Impl) else goal
    check_runs_here(machine)
    check_memory(spec)
    arguments(spec)  # says at once what Python cannot call
    found = find_compiler(compiler)
    options = _Options(table, weights, measure, compiler, progress)
    impl, statistics = _implement(goal, machine, options)
    source = source_of(impl)
    kernel = load(Kernel, impl, source, found)
    kernel.spec, kernel.impl, kernel.source = impl.spec, impl, source
    kernel.compiler, kernel.statistics = found, statistics
    kernel.threads = machine.cores if source.parallel else 1
    kernel.max_error = _verified(kernel) if verify else None
    return kernel


def _verified(kernel: Kernel) -> float:
    """The greatest error of a kernel that is given its inputs as NumPy has them."""
    spec = kernel.spec
    plain = [
        gapless(row_major(form.layout.rank)) if form.layout.panel is not None else form
        for form in spec.forms
    ]
    names = {name for name, i in spec.arrays.items() if plain[i] is not spec.forms[i]}
    if not names:
        return verify_kernel(kernel, spec)
    taken = [argument.name for argument in kernel.arguments[:-1]]

    def packing(*inputs: Array, out: Array) -> object:
        laid_out = (
            kernel.pack(name, one) if name in names else one
            for name, one in zip(taken, inputs, strict=True)
        )
        return kernel(*laid_out, out=out)

    return verify_kernel(packing, replace(spec, forms=tuple(plain)))


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
    weights: str = "plain",
    measure: int = 1,
    compiler: str | None = None,
    progress: Progress | None = None,
) -> tuple[Impl, Statistics | None]:
    """The Impl of a Spec, by search (or as it was scheduled), and what the search did.

    The options are those of `compile`; the compiler is for what is measured.
    """
    options = _Options(table, weights, measure, compiler, progress)
    return _implement(*_plan(what, target, threads), options)


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
    goal = what if isinstance(what, Spec | Impl | Schedule) else parse(what)
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
    return replace(goal, parallel=count > 1), streamed(machine, goal)


def _implement(
    goal: Spec | Impl, machine: Target, options: _Options
) -> tuple[Impl, Statistics | None]:
    if options.weights not in WEIGHTS:
        raise SpecError(f"weights are {' or '.join(WEIGHTS)}, not {quoted(options.weights)}.")
    if not 1 <= options.measure <= MOST_MEASURED:
        raise SearchError(f"1 to {MOST_MEASURED} programs can be measured, not {options.measure}.")
    if isinstance(goal, Impl):
        if not goal.complete:
            raise SpecError("the schedule has Specs left to do; solve() fills them by search.")
        if options.measure > 1:
            raise SearchError(
                f"a schedule is one program, and {options.measure} are to be measured; "
                "leave out one."
            )
        return goal, None
    if isinstance(options.table, str | Path):
        with Table(options.table) as opened:
            return _implement(goal, machine, replace(options, table=opened))
    if options.weights == "plain":
        return _searched(goal, machine, options)
    quick = replace(options, measure=1)
    found = [_searched(one, machine, quick) for one in with_layouts(goal, machine)]
    best = min(found, key=lambda one: one[0].cost)
    return best if options.measure == 1 else _searched(best[0].spec, machine, options)


def _searched(goal: Spec, machine: Target, options: _Options) -> tuple[Impl, Statistics]:
    table = options.table
    assert not isinstance(table, str | Path)
    began = time.perf_counter()
    kept = None if table is None else recall(goal, machine, table)
    if kept is not None and (kept.measured or options.measure == 1):
        return kept.impl, Statistics.of_recall(time.perf_counter() - began, kept.measured)
    solution = search(goal, machine, table=table, progress=options.progress)
    impl, statistics = reconstruct(goal, machine, solution.decisions), solution.statistics
    if options.measure > 1:
        impl, measured = _fastest(impl, options)
        statistics = replace(statistics, measured=measured)
    if table is not None:
        keep(impl, table, statistics.measured)
    return impl, statistics


def _fastest(best: Impl, options: _Options) -> tuple[Impl, int]:
    """The fastest of programs of a goal whose cheapest is given, and of how many it is."""
    check_runs_here(best.target)
    check_memory(best.spec)
    arguments(best.spec)
    programs = rivals(best, options.measure, options.progress)
    found = time_all(programs, find_compiler(options.compiler))
    return found[0].impl, len(found)


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
