"""From a Spec to a function on NumPy arrays: search, generate, build, load, verify."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import truediv
from pathlib import Path
from typing import Any, SupportsIndex

from numpy.typing import ArrayLike

from morello.base import debug
from morello.base.errors import (
    BuildError,
    SearchError,
    SpecError,
    TableError,
    TargetError,
    quoted,
)
from morello.codegen import Source
from morello.frontends.calls import TensorLike
from morello.frontends.calls import matmul as matmul_goal
from morello.frontends.text import parse
from morello.impl import saved
from morello.impl.costs import cost_table
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl, replay
from morello.ir.spec import Spec
from morello.learn.predict import Prediction, predict, ranked
from morello.measure.calibrate.first_use import find_calibrated
from morello.measure.choose import build_and_time, candidate_impls
from morello.measure.load import load, source_of
from morello.memo import Table
from morello.memo.programs import load_program, store_program
from morello.runtime.argument import Array, arguments
from morello.runtime.kernel import CompiledKernel
from morello.runtime.machine import check_memory, check_runs_here
from morello.runtime.packing import laid_out, lay_out, plain
from morello.runtime.threads import thread_count
from morello.runtime.toolchain import Compiler, find_compiler
from morello.runtime.verify import verify as verify_kernel
from morello.scheduling import Schedule
from morello.search.budget import SECONDS, Budget, Progress
from morello.search.prepacking import with_layouts
from morello.search.session import Session
from morello.search.solution import SearchStatistics
from morello.targets.catalog import find_target
from morello.targets.costs import on_cores
from morello.targets.target import Target

WEIGHTS = ("plain", "constant")
"""The layout of weights: as the Spec says, or prepacked in the layout that is cheapest."""
RANKS = ("cost", "learned")
"""How candidates are ranked: by the affine cost model, or by a learned performance model."""
RANKED = 50
"""How many programs a learned model ranks."""
MOST_MEASURED = 64
"""The most programs of one goal that may be built and timed."""
LEAST_S = 0.1
"""The minimum budget, in seconds, of each of several searches that share one."""


@dataclass(frozen=True)
class _Options:
    """The options of `compile` that say how a program is found."""

    table: Table | str | Path | None
    weights: str
    measure: int
    rank: str
    budget: Budget
    compiler: str | None
    progress: Progress | None

    @property
    def wants_cheapest(self) -> bool:
        """Whether the cheapest program under the cost model is wanted, whatever its time."""
        return self.measure == 1 and self.rank == "cost"

    def __post_init__(self) -> None:
        if not isinstance(self.table, Table | str | Path | None):
            raise TableError(f"a table is a Table or the path of one, not {quoted(self.table)}.")
        if not isinstance(self.weights, str) or self.weights not in WEIGHTS:
            raise SpecError(f"weights are {' or '.join(WEIGHTS)}, not {quoted(self.weights)}.")
        whole = isinstance(self.measure, SupportsIndex)
        if not whole or not 1 <= self.measure <= MOST_MEASURED:
            raise SearchError(
                f"1 to {MOST_MEASURED} programs can be measured, not {quoted(self.measure)}."
            )
        if not isinstance(self.rank, str) or self.rank not in RANKS:
            raise SearchError(
                f"programs are ranked by {' or '.join(RANKS)}, not {quoted(self.rank)}."
            )
        if not isinstance(self.compiler, str | None):
            raise BuildError(f"a compiler is a command such as 'gcc', not {quoted(self.compiler)}.")
        if self.progress is not None and not callable(self.progress):
            raise SearchError(
                f"progress is a function of two counts to call, not {quoted(self.progress)}."
            )


class Kernel(CompiledKernel):
    """A compiled Spec: call it on NumPy arrays as `kernel(*inputs, out=None)`.

    It has its `spec`, `impl` (the schedule), `source` (the C), `compiler`, the number of
    `threads` it runs on, the search's `statistics` (None if it was scheduled by hand), and
    `max_error`, the largest error found by verification, relative to the largest output (None
    if it was not verified).

    It can be pickled if `find_target` knows its target. The pickle has its schedule, which is
    compiled again, or taken from the kernel cache, where it is unpickled; it is not searched for
    or verified again. Unpickling raises `TargetError` on a machine that cannot run it.
    """

    __slots__ = ("compiler", "impl", "max_error", "source", "spec", "statistics", "threads")

    spec: Spec
    impl: Impl
    source: Source
    compiler: Compiler
    threads: int
    statistics: SearchStatistics | None
    max_error: float | None

    def pack(self, name: str, values: ArrayLike) -> Array:
        """The values of the input `name`, an array of its shape, in the kernel's layout.

        A flat array if the layout has panels; else one with the input's strides. Raises
        `SpecError` for values of another shape or dtype, or that are no array, and for a name
        that no input has; `CallError` for a masked array.
        """
        return laid_out(self.spec, self.arguments, name, values)

    @property
    def predicted(self) -> Prediction | None:
        """The learned model's prediction of the time of a call; None if there is no model."""
        return predict(self.impl)

    def __reduce__(self) -> tuple[Any, ...]:
        find_target(self.impl.target.name)  # raises for a target that cannot be unpickled
        recipe = saved.save(self.impl), self.compiler, self.statistics, self.max_error
        return _unpickled, recipe

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
    rank: str = "cost",
    budget: float = SECONDS,
    progress: Progress | None = None,
) -> Kernel:
    """The fastest program of a Spec under the cost model, compiled, verified and callable.

    `what` is an expression such as "f32[64,64] @ f32[64,64]", a Spec, or a schedule made by
    hand, which runs on the number of threads that it was made for. `threads` may be "all", the
    CPUs this process may use. The search uses the results of earlier ones in `table` (a Table or
    its path), and adds its own. With `weights="constant"`, second factors of products and
    filters may be prepacked in the cheapest layout: pack them once with `Kernel.pack`. With
    `measure`, that many different programs, including the cheapest, are built and timed, and the
    fastest is taken; a table keeps it for later calls. With `rank="learned"`, a learned model
    orders the cheapest programs by predicted time: the first is taken, or with `measure` the
    first few are timed. The search may take `budget` seconds, and half of the free memory: if it
    has not finished by then, the best program so far is taken, and `Kernel.statistics` says that
    it is not proven the cheapest. Unless `verify` is off, the kernel is compared with NumPy in
    float64 on random data. Raises `MorelloError` (see `morello.base.errors`).
    """
    options = _Options(table, weights, measure, rank, Budget(budget), compiler, progress)
    goal, machine = _plan(what, target, threads)
    spec = goal.spec if isinstance(goal, Impl) else goal
    check_runs_here(machine)
    check_memory(spec)
    arguments(spec)  # raises for a Spec whose kernel Python cannot call
    c_compiler = find_compiler(compiler)
    impl, statistics = _implement(goal, machine, options)
    kernel = _compiled(impl, c_compiler, statistics)
    if verify:
        kernel.max_error = _verified(kernel)
    return kernel


def _compiled(impl: Impl, compiler: Compiler, statistics: SearchStatistics | None) -> Kernel:
    source = source_of(impl)
    kernel = load(Kernel, impl, source, compiler)
    kernel.spec, kernel.impl, kernel.source = impl.spec, impl, source
    kernel.compiler, kernel.statistics = compiler, statistics
    kernel.threads = impl.target.cores if source.parallel else 1
    kernel.max_error = None
    return kernel


def _unpickled(
    schedule: dict[str, Any],
    compiler: Compiler,
    statistics: SearchStatistics | None,
    max_error: float | None,
) -> Kernel:
    """Restores the kernel from what `Kernel.__reduce__` returned."""
    impl = saved.load(schedule)
    check_runs_here(impl.target)
    kernel = _compiled(impl, compiler, statistics)
    kernel.max_error = max_error
    return kernel


def _verified(kernel: Kernel) -> float:
    """The largest error of a kernel on random values, laid out as it takes them."""

    def laying_out(*inputs: Array, out: Array) -> object:
        return kernel(*lay_out(kernel.spec, inputs), out=out)

    return verify_kernel(laying_out, plain(kernel.spec))


def matmul(a: TensorLike, b: TensorLike, **options: object) -> Kernel:
    """Compile `a @ b` for operands given as types ("f32[64,64]"), tensor specs or arrays.

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
    rank: str = "cost",
    budget: float = SECONDS,
    compiler: str | None = None,
    progress: Progress | None = None,
) -> tuple[Impl, SearchStatistics | None]:
    """The Impl of a Spec, found by search or scheduled by hand, and the search's statistics.

    The options are those of `compile`; the compiler is for programs that are measured.
    """
    options = _Options(table, weights, measure, rank, Budget(budget), compiler, progress)
    return _implement(*_plan(what, target, threads), options)


def schedule(
    what: str | Spec, *, target: str | Target = "native", threads: int | str = 1
) -> Schedule:
    """Start scheduling a Spec by hand; see `Schedule`."""
    goal, machine = _plan(what, target, threads)
    if isinstance(goal, Impl):
        raise SpecError("it is scheduled already; give an expression or a Spec.")
    return Schedule.of(goal, machine)


def _plan(
    what: str | Spec | Impl | Schedule, target: str | Target, threads: int | str
) -> tuple[Spec | Impl, Target]:
    """The goal and the machine, both for the requested number of threads."""
    count = thread_count(threads)
    goal = what if isinstance(what, Spec | Impl | Schedule) else parse(what)
    if isinstance(goal, Schedule):
        goal = goal.impl
    if not isinstance(target, str | Target):
        raise TargetError(
            f"a target is the name of one, such as 'native', or a Target, not {quoted(target)}."
        )
    if isinstance(goal, Impl):
        made_for = goal.target.cores if goal.spec.parallel else 1
        if count not in (1, made_for):
            raise TargetError(
                f"the schedule is for {made_for} threads, not {count}; make it for as many, "
                "or leave out how many."
            )
        return goal, goal.target
    machine = find_calibrated(target) if isinstance(target, str) else target
    return on_cores(goal, machine, count)


def _implement(
    goal: Spec | Impl, machine: Target, options: _Options
) -> tuple[Impl, SearchStatistics | None]:
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
    find = _search_tunings if machine.tunings else _search_layouts
    impl, statistics = find(goal, machine, options)
    if debug.shows("cost"):
        debug.show("cost", cost_table(impl))
    return impl, statistics


def _search_layouts(
    goal: Spec, machine: Target, options: _Options
) -> tuple[Impl, SearchStatistics]:
    """The best program, with the layouts of weights that the options allow."""
    if options.weights == "plain":
        return _searched(_session(goal, machine, options), options)
    sessions = [_session(variant, machine, options) for variant in with_layouts(goal, machine)]
    best = _best_layout(sessions, replace(options, measure=1, rank="cost"))
    if options.wants_cheapest:
        return best
    (session,) = (session for session in sessions if session.goal == best[0].spec)
    return _searched(session, options)


def _session(goal: Spec, machine: Target, options: _Options) -> Session:
    """The search for a goal, with the options' table, which is open."""
    assert not isinstance(options.table, str | Path)
    return Session(goal, machine, options.table)


def _search_tunings(
    goal: Spec, machine: Target, options: _Options
) -> tuple[Impl, SearchStatistics]:
    """Of the best programs for each tuning, the one with the smallest worst-case loss."""
    if options.measure > 1 or options.rank != "cost":
        raise SearchError(
            f"{machine.name} is many machines, and times of one tell nothing of the others; "
            "leave out how many programs to measure, and how to rank them."
        )
    tunings = [on_cores(goal, tuning, machine.cores)[1] for tuning in machine.tunings]
    results = [
        _search_layouts(goal, tuning, share)
        for tuning, share in zip(tunings, _shares(options, len(tunings)), strict=True)
    ]
    costs = [
        [replay(impl.spec, tuning, impl.decisions()).cost for tuning in tunings]
        for impl, _ in results
    ]
    least = [min(column) for column in zip(*costs, strict=True)]
    losses = [max(map(truediv, row, least)) for row in costs]
    impl, _ = results[losses.index(min(losses))]
    parts = [statistics for _, statistics in results]
    totals = {
        name: sum(getattr(part, name) for part in parts)
        for name in ("seconds", "specs", "rewrites", "entries", "tried", "bounded")
    }
    statistics = replace(
        parts[0], **totals, gap=max(part.gap for part in parts), worst=min(losses) - 1
    )
    return replay(impl.spec, machine, impl.decisions()), statistics


def _best_layout(sessions: Sequence[Session], options: _Options) -> tuple[Impl, SearchStatistics]:
    """The cheapest program over all layouts of the weights; their searches share the budget."""
    shares = _shares(options, len(sessions))
    results = [_searched(session, share) for session, share in zip(sessions, shares, strict=True)]
    lower = min(impl.cost / (1 + statistics.gap) for impl, statistics in results)
    impl, statistics = min(results, key=lambda result: result[0].cost)
    gap = impl.cost / lower - 1 if lower else inf
    return impl, replace(statistics, gap=gap)


def _shares(options: _Options, count: int) -> Iterator[_Options]:
    """The options of several searches in turn: each gets an equal share of the time left."""
    ends = time.monotonic() + options.budget.seconds
    for number in range(count):
        left = max(ends - time.monotonic(), 0.0) / (count - number)
        yield replace(options, budget=replace(options.budget, seconds=max(left, LEAST_S)))


def _searched(session: Session, options: _Options) -> tuple[Impl, SearchStatistics]:
    """The program of a goal that the options ask for, from the table or by search."""
    goal, machine, table = session.goal, session.target, options.table
    assert not isinstance(table, str | Path)
    began = time.perf_counter()
    kept = None if table is None else load_program(goal, machine, table)
    if kept is not None and kept.serves(options.wants_cheapest, options.budget.seconds):
        seconds = time.perf_counter() - began
        return kept.impl, SearchStatistics.of_recall(seconds, kept.measured, kept.gap)
    solution = session.solve(options.budget, options.progress)
    impl, statistics = reconstruct(goal, machine, solution.decisions), solution.statistics
    if options.measure > 1:
        impl, measured = _fastest(impl, session, options)
        statistics = replace(statistics, measured=measured)
    elif options.rank == "learned":
        # a table keeps the cheapest, which this may not be
        return _proposed(impl, session, options)[0], statistics
    if table is not None:
        gap, seconds = statistics.gap, options.budget.seconds
        store_program(impl, table, statistics.measured, gap, inf if statistics.proven else seconds)
    return impl, statistics


def _fastest(best: Impl, session: Session, options: _Options) -> tuple[Impl, int]:
    """The fastest of several programs for a goal, the cheapest included; and their number."""
    check_runs_here(best.target)
    check_memory(best.spec)
    arguments(best.spec)
    proposed = [impl for impl in _proposed(best, session, options) if impl is not best]
    programs = [best, *proposed[: options.measure - 1]]
    measured = build_and_time(programs, find_compiler(options.compiler))
    return measured[0].impl, len(measured)


def _proposed(best: Impl, session: Session, options: _Options) -> list[Impl]:
    """Programs for a goal, of which `best` is the cheapest, ranked as the options say."""
    watch = options.budget.start(options.progress)
    if options.rank == "cost":
        return candidate_impls(best, session, options.measure, watch)
    if best.spec.parallel:
        raise SearchError(
            "a learned model knows programs for one thread; leave out the threads or the ranking."
        )
    return ranked(candidate_impls(best, session, max(RANKED, options.measure), watch))
