"""From a Spec to a function on NumPy arrays: search, generate, build, load, verify."""

from __future__ import annotations

import math
import os

from morello.codegen import Source, generate
from morello.errors import SpecError, TargetError
from morello.frontends.calls import TensorLike
from morello.frontends.calls import matmul as matmul_goal
from morello.frontends.text import parse
from morello.ir.semantics import reference
from morello.ir.spec import Spec
from morello.rewrites.impl import Impl
from morello.rewrites.render import tree
from morello.runtime.argument import Argument
from morello.runtime.build import build
from morello.runtime.kernel import CompiledKernel
from morello.runtime.toolchain import Compiler, arch_flags, find_compiler
from morello.runtime.verify import verify as verify_kernel
from morello.scheduling import Schedule
from morello.search.graph import Progress
from morello.search.reconstruct import reconstruct
from morello.search.solve import Statistics, search
from morello.targets.catalog import find_target, runs_here
from morello.targets.target import Target

GIL_CYCLES = 50_000
"""Kernels longer than this let other Python threads run meanwhile."""


class Kernel(CompiledKernel):
    """A compiled Spec: call it on NumPy arrays as `kernel(*inputs, out=None)`.

    Knows where it comes from: its `spec`, `impl` (the schedule), `source` (the C), `compiler`,
    the search's `statistics` (None if it was scheduled by hand), and `max_error`, the greatest
    error found when it was verified (None if it was not).
    """

    __slots__ = ("compiler", "impl", "max_error", "source", "spec", "statistics")

    spec: Spec
    impl: Impl
    source: Source
    compiler: Compiler
    statistics: Statistics | None
    max_error: float | None

    def __repr__(self) -> str:
        return f"<morello.Kernel {self.spec.expression} for {self.impl.target.name}>"


def compile(
    what: str | Spec | Impl | Schedule,
    *,
    target: str | Target = "native",
    threads: int = 1,
    verify: bool = True,
    compiler: str | None = None,
    progress: Progress | None = None,
) -> Kernel:
    """The fastest program of a Spec under the cost model, compiled, checked and callable.

    `what` is an expression such as "f32[64,64] @ f32[64,64]", a Spec, or a schedule made by
    hand. Unless `verify` is off, the kernel is compared with NumPy in float64 on random data
    before it is handed out. Raises `MorelloError` (see `morello.errors`).
    """
    check_threads(threads)
    goal = _goal(what)
    machine = goal.target if isinstance(goal, Impl) else _machine(target)
    check_runs_here(machine)
    check_memory(goal.spec if isinstance(goal, Impl) else goal)
    impl, statistics = implement(goal, target=machine, progress=progress)
    source = generate(impl, schedule=tree(impl))
    found = find_compiler(compiler)
    flags = arch_flags(found, impl.target.arch)
    path = build(source.text, compiler=found, flags=flags)
    kernel = Kernel(
        path,
        source.name,
        arguments(impl.spec),
        compiler=found,
        release_gil=impl.cost > GIL_CYCLES,
    )
    kernel.spec, kernel.impl, kernel.source = impl.spec, impl, source
    kernel.compiler, kernel.statistics = found, statistics
    kernel.max_error = check(kernel) if verify else None
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
    progress: Progress | None = None,
) -> tuple[Impl, Statistics | None]:
    """The Impl of a Spec, by search (or as it was scheduled), and what the search did."""
    goal = _goal(what)
    if isinstance(goal, Impl):
        if not goal.complete:
            raise SpecError("the schedule has Specs left to do; solve() fills them by search.")
        return goal, None
    machine = _machine(target)
    solution = search(goal, machine, progress=progress)
    return reconstruct(goal, machine, solution.decisions), solution.statistics


def schedule(what: str | Spec, *, target: str | Target = "native") -> Schedule:
    """Start scheduling a Spec by hand; see `Schedule`."""
    return Schedule.of(parse(what) if isinstance(what, str) else what, _machine(target))


def _goal(what: str | Spec | Impl | Schedule) -> Spec | Impl:
    if isinstance(what, str):
        return parse(what)
    return what.impl if isinstance(what, Schedule) else what


def _machine(target: str | Target) -> Target:
    return find_target(target) if isinstance(target, str) else target


def arguments(spec: Spec) -> tuple[Argument, ...]:
    """The arrays that a kernel of the Spec takes: names, shapes, and strides in bytes."""
    found = []
    for operand, tensor in zip(spec.operation.operands, spec.tensors, strict=True):
        layout = tensor.form.layout
        if layout.panel is not None:
            raise SpecError(
                f"{operand.name} is {tensor.type}: a NumPy array cannot lie in panels; "
                "generate the C with `morello synth`, or give a plain layout such as {1,0}."
            )
        strides = dict(zip(layout.order, layout.strides(tensor.shape), strict=True))
        found.append(
            Argument(
                operand.name,
                tensor.dtype,
                tensor.shape,
                tuple(strides[d] * tensor.dtype.bytes for d in range(layout.rank)),
                operand.written,
            )
        )
    return tuple(found)


def check(kernel: Kernel) -> float:
    """Compare a kernel with NumPy in float64 on random data; raises `VerificationError`."""
    spec = kernel.spec
    length = math.prod(spec.size(d) for d in spec.operation.reduced)
    return verify_kernel(
        kernel, kernel.arguments, reference(spec.operation), reduction_length=length
    )


def check_threads(threads: int) -> None:
    if threads != 1:
        raise TargetError(f"{threads} threads: kernels run on one thread; use --threads 1.")


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
