"""The functions that users call: from a Spec to a compiled, verified function on NumPy arrays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from numpy.typing import ArrayLike

from morello.base.errors import SpecError
from morello.codegen import Source
from morello.frontends.calls import TensorLike
from morello.frontends.calls import matmul as matmul_goal
from morello.impl import saved
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.measure.load import load, source_of
from morello.memo.program_table import ProgramTable
from morello.options import Options, requested
from morello.request import Request, answer, recalled
from morello.request.goal import check_callable, goal_and_target, spec_of
from morello.runtime.argument import Array
from morello.runtime.kernel import CompiledKernel
from morello.runtime.machine import check_runs_here
from morello.runtime.packing import laid_out, lay_out, plain
from morello.runtime.toolchain import Compiler, find_compiler
from morello.runtime.verified import mark_verified, verified_error
from morello.scheduling import Schedule
from morello.search.budget import SECONDS, Progress
from morello.search.result import SearchStatistics
from morello.targets.catalog import find_target
from morello.targets.target import Target

if TYPE_CHECKING:
    from morello.learn.predictors import Prediction


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
        from morello.learn.predictors import predict  # models are slow to import

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
    table: ProgramTable | str | Path | None = None,
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
    float64 on random data. Raises `MorelloError` (see `morello.errors`).
    """
    with requested(
        what, target=target, threads=threads, compiler=compiler, table=table, weights=weights,
        measure=measure, rank=rank, budget=budget, progress=progress,
    ) as request:  # fmt: skip
        return build(request, verify=verify)


def build(request: Request, *, verify: bool = True) -> Kernel:
    """The kernel of a program that is requested, compiled, verified and callable.

    Raises `MorelloError`.
    """
    check_callable(request.goal, request.target)
    compiler = find_compiler(request.compiler)
    known = recalled(request)
    if known is None and verify:
        _check_verifiable(spec_of(request.goal))  # before the search, which takes longer
    kernel = _compiled(*(known or answer(request)), compiler)
    if verify:
        kernel.max_error = _verified(kernel)
    return kernel


def _compiled(impl: Impl, statistics: SearchStatistics | None, compiler: Compiler) -> Kernel:
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
    kernel = _compiled(impl, statistics, compiler)
    kernel.max_error = max_error
    return kernel


def _verified(kernel: Kernel) -> float:
    """The largest error of a kernel on random values, laid out as it takes them.

    What was verified before is not verified again.
    """
    library, spec = (
        kernel.library.path,
        json.dumps(saved.spec_data(kernel.spec, kernel.impl.target)),
    )
    error = verified_error(library, spec)
    if error is None:
        from morello.runtime.verify import verify  # slow to import, and needed once

        _check_verifiable(kernel.spec)

        def laying_out(*inputs: Array, out: Array) -> object:
            return kernel(*lay_out(kernel.spec, inputs), out=out)

        error = verify(laying_out, plain(kernel.spec))
        mark_verified(library, spec, error)
    return error


def _check_verifiable(spec: Spec) -> None:
    from morello.runtime.verify import check_verifiable  # slow to import, and needed once

    check_verifiable(spec)


def matmul(a: TensorLike, b: TensorLike, **options: Any) -> Kernel:
    """Compile `a @ b` for operands given as types ("f32[64,64]"), tensor specs or arrays.

    Takes the options of `compile`.
    """
    return compile(matmul_goal(a, b), **options)


def implement(
    what: str | Spec | Impl | Schedule, **options: Unpack[Options]
) -> tuple[Impl, SearchStatistics | None]:
    """The Impl of a Spec, found by search or scheduled by hand, and the search's statistics.

    The options are those of `compile`; the compiler is for programs that are measured.
    """
    with requested(what, **options) as request:
        return answer(request)


def schedule(
    what: str | Spec, *, target: str | Target = "native", threads: int | str = 1
) -> Schedule:
    """Start scheduling a Spec by hand; see `Schedule`."""
    if isinstance(what, Impl | Schedule):
        raise SpecError("it is scheduled already; give an expression or a Spec.")
    return Schedule.of(*goal_and_target(what, target, threads))
