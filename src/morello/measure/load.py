"""From an Impl to a kernel in memory: generate, build, load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from morello.base.errors import CompilerTimeoutError
from morello.codegen import Source, generate
from morello.codegen.linking import linkable
from morello.impl.printing import tree
from morello.impl.tree import Impl
from morello.native.build import PATIENCE_S, build
from morello.native.toolchain import Compiler, arch_flags
from morello.runtime.argument import arguments
from morello.runtime.kernel import CompiledKernel
from morello.runtime.threads import attach, available_threads

GIL_CYCLES = 50_000
"""Kernels that should take more cycles than this release the GIL."""

K = TypeVar("K", bound=CompiledKernel)


def source_of(impl: Impl) -> Source:
    """The C of an Impl, with its schedule in a comment at the top."""
    return generate(impl, schedule=tree(impl))


def load(
    kind: type[K],
    impl: Impl,
    source: Source,
    compiler: Compiler,
    patience_s: float = PATIENCE_S,
) -> K:
    """Builds and loads the kernel of an Impl from its C; if parallel, with its thread pool.

    Raises `BuildError`, and `SpecError` for operands that cannot be NumPy arrays.
    """
    machine = impl.target
    written = linkable(source, machine.cores)
    flags = arch_flags(compiler, machine.arch)
    path = build(written.text, compiler=compiler, flags=flags, patience_s=patience_s)
    kernel = kind(
        path, written.symbol, arguments(impl.spec),
        compiler=compiler, release_gil=impl.cost > GIL_CYCLES,
    )  # fmt: skip
    if source.parallel:
        attach(kernel.library, written.symbol, machine.cores, compiler=compiler)
    return kernel


def load_all(
    impls: Sequence[Impl], compiler: Compiler, patience_s: float
) -> list[CompiledKernel | None]:
    """The kernels of Impls, built in parallel.

    None for those that the compiler took longer than `patience_s` for, except the first, which
    may take `PATIENCE_S`.
    """

    def build(impl: Impl) -> CompiledKernel | None:
        patience = PATIENCE_S if impl is impls[0] else patience_s
        try:
            return load(CompiledKernel, impl, source_of(impl), compiler, patience)
        except CompilerTimeoutError:
            if impl is impls[0]:
                raise
            return None

    from concurrent.futures import ThreadPoolExecutor  # slow to import, and rarely needed

    with ThreadPoolExecutor(available_threads()) as workers:
        return list(workers.map(build, impls))
