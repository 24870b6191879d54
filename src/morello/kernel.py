"""A compiled Spec, as users call it.

What only its program needs is imported where it is asked for: most callers never do.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from morello.native.build import linked_from
from morello.native.cache import is_whole
from morello.runtime.kernel import CompiledKernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from morello.codegen import Source
    from morello.impl.tree import Impl
    from morello.ir.spec import Spec
    from morello.learn.predictors import Prediction
    from morello.native.toolchain import Compiler
    from morello.runtime.argument import Array
    from morello.runtime.packing import Inputs
    from morello.search.result import SearchStatistics


class CompiledProgram(Protocol):
    """The program that a kernel was compiled from; it may be worked out when it is asked for."""

    @property
    def spec(self) -> Spec: ...

    @property
    def cost(self) -> float: ...

    @property
    def impl(self) -> Impl: ...

    @property
    def source(self) -> Source: ...


@dataclass(frozen=True)
class Written:
    """A program at hand: the schedule and its C."""

    impl: Impl
    source: Source

    @property
    def spec(self) -> Spec:
        return self.impl.spec

    @property
    def cost(self) -> float:
        return self.impl.cost


class Kernel(CompiledKernel):
    """A compiled Spec: call it on NumPy arrays as `kernel(*inputs, out=None)`.

    It has its `spec`, `impl` (the schedule), `cost`, `source` (the C), `compiler`, the number of
    `threads` it runs on, the search's `statistics` (None if it was scheduled by hand), and
    `max_error`, the largest error found by verification, relative to the largest output (None
    if it was not verified).

    It can be pickled if `find_target` knows its target. The pickle has its schedule and its C,
    which is compiled again, or taken from the kernel cache, where it is unpickled; it is not
    searched for or verified again. Unpickling raises `TargetError` on a machine that cannot run it.
    """

    __slots__ = ("compiler", "max_error", "program", "statistics", "threads", "workspace")

    program: CompiledProgram
    compiler: Compiler
    threads: int
    statistics: SearchStatistics | None
    max_error: float | None
    workspace: int
    """The bytes that it may share with other kernels of a library (see `codegen.linking`)."""

    @property
    def spec(self) -> Spec:
        """The Spec that it computes."""
        return self.program.spec

    @property
    def cost(self) -> float:
        """The cost of its program under the cost model, in cycles."""
        return self.program.cost

    @property
    def impl(self) -> Impl:
        """The schedule of its program."""
        return self.program.impl

    @property
    def source(self) -> Source:
        """The C of its program."""
        return self.program.source

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels that run, one after the other: itself, if it is no program of several."""
        return (self,)

    def random_inputs(self) -> Inputs:
        """Random values for its inputs, to time it on; see `runtime.packing`."""
        from morello.runtime.packing import random_inputs

        return random_inputs(self.spec)

    def pack(self, name: str, values: ArrayLike) -> Array:
        """The values of the input `name`, an array of its shape, in the kernel's layout.

        A flat array if the layout has panels; else one with the input's strides. Raises
        `SpecError` for values of another shape or dtype, or that are no array, and for a name
        that no input has; `CallError` for a masked array.
        """
        from morello.runtime.packing import laid_out

        return laid_out(self.spec, self.arguments, name, values)

    @property
    def linkable(self) -> Path:
        """Its object in the cache, to be linked to a library with others; see `codegen.linking`.

        It is compiled anew if it is damaged; raises `BuildError`.
        """
        compiled = linked_from(self.library.path)
        if is_whole(compiled):
            return compiled
        from morello.measure.load import load

        again = load(CompiledKernel, self.impl, self.source, self.compiler)
        return linked_from(again.library.path)

    @property
    def predicted(self) -> Prediction | None:
        """The learned model's prediction of the time of a call; None if there is no model."""
        from morello.learn.predictors import predict

        return predict(self.impl)

    def __reduce__(self) -> tuple[Any, ...]:
        from morello.impl import saved
        from morello.targets.catalog import find_target

        find_target(self.impl.target.name)  # raises for a target that cannot be unpickled
        schedule = saved.save(self.impl)
        return _unpickled, (
            schedule, self.source, self.compiler, self.statistics, self.max_error,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<morello.Kernel {self.spec.expression} for {self.impl.target.name}>"


def compiled(impl: Impl, statistics: SearchStatistics | None, compiler: Compiler) -> Kernel:
    """The kernel of a program, not verified; raises `BuildError` and `SpecError`."""
    from morello.measure.load import source_of

    return _loaded(Written(impl, source_of(impl)), statistics, compiler)


def _loaded(program: Written, statistics: SearchStatistics | None, compiler: Compiler) -> Kernel:
    from morello.measure.load import load

    impl, source = program.impl, program.source
    kernel = load(Kernel, impl, source, compiler)
    kernel.program = program
    kernel.compiler, kernel.statistics = compiler, statistics
    kernel.threads = impl.target.cores if source.parallel else 1
    kernel.max_error, kernel.workspace = None, source.borrowed
    return kernel


def _unpickled(
    schedule: dict[str, Any],
    source: Source,
    compiler: Compiler,
    statistics: SearchStatistics | None,
    max_error: float | None,
) -> Kernel:
    """Restores the kernel from what `Kernel.__reduce__` returned."""
    from morello.impl import saved
    from morello.runtime.machine import check_runs_here

    impl = saved.load(schedule)
    check_runs_here(impl.target)
    kernel = _loaded(Written(impl, source), statistics, compiler)
    kernel.max_error = max_error
    return kernel
