"""From an Impl to a kernel in memory: generate, build, load."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from morello.codegen import Source, generate
from morello.rewrites.impl import Impl
from morello.rewrites.render import tree
from morello.runtime.argument import arguments
from morello.runtime.kernel import CompiledKernel
from morello.runtime.threads import attach, available_threads
from morello.runtime.toolchain import Compiler

GIL_CYCLES = 50_000
"""Kernels longer than this let other Python threads run meanwhile."""

K = TypeVar("K", bound=CompiledKernel)


def source_of(impl: Impl) -> Source:
    """The C of an Impl, with its schedule above it."""
    return generate(impl, schedule=tree(impl))


def load(kind: type[K], impl: Impl, source: Source, compiler: Compiler) -> K:
    """The kernel of an Impl whose C this is, on as many threads as it is for.

    Raises `BuildError`, and `SpecError` for operands that no NumPy array can be.
    """
    machine = impl.target
    kernel = kind.of_source(
        # whoever loads the same file shares its threads
        source.text + f"/* on {machine.cores} threads */\n" * source.parallel,
        source.name,
        arguments(impl.spec),
        arch=machine.arch,
        compiler=compiler,
        release_gil=impl.cost > GIL_CYCLES,
    )
    if source.parallel:
        attach(kernel.library, source.name, machine.cores, compiler=compiler)
    return kernel


def load_all(impls: Sequence[Impl], compiler: Compiler) -> list[CompiledKernel]:
    """The kernels of Impls, built several at a time."""

    def build(impl: Impl) -> CompiledKernel:
        return load(CompiledKernel, impl, source_of(impl), compiler)

    with ThreadPoolExecutor(available_threads()) as workers:
        return list(workers.map(build, impls))
