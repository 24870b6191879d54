"""Programs on hardware: built several to a file, and timed in a process of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from math import inf
from operator import attrgetter
from pathlib import Path
from time import monotonic

from morello.base.errors import BuildError
from morello.base.workers import CrashError, Worker
from morello.impl.tree import Impl
from morello.learn.label import SLOW, BuiltPrograms, Labels, label, source
from morello.native.build import build
from morello.native.toolchain import Compiler, arch_flags
from morello.runtime.threads import available_threads

TOGETHER = 12
"""The most programs in one C file."""

COMPILER_S = 240.0
"""How long the compiler may take for a file, in seconds."""


@dataclass(frozen=True)
class Compiled:
    """A program in a shared object, as the function of this name."""

    impl: Impl
    path: Path
    name: str


Patience = Callable[[Sequence[Compiled]], float]
"""Gives the seconds that timing these programs may take."""


def compiled(impls: Sequence[Impl], compiler: Compiler, patience_s: float) -> list[Compiled]:
    """Compile programs of one target in one file. Raises `BuildError`."""
    names = [f"program_{n}" for n in range(len(impls))]
    flags = arch_flags(compiler, impls[0].target.arch)
    path = build(source(impls, names), compiler=compiler, flags=flags, patience_s=patience_s)
    return [Compiled(impl, path, name) for impl, name in zip(impls, names, strict=True)]


def compiled_apart(
    impls: Sequence[Impl], compiler: Compiler, together: int = TOGETHER, ends: float = inf
) -> list[Compiled | None]:
    """Compile programs in parallel, `together` to a file; None where the compiler fails.

    If a file does not compile, each of its programs is compiled alone. The compiler is ended at
    `ends`, of `time.monotonic`.
    """

    def compile_file(members: Sequence[Impl]) -> list[Compiled | None]:
        patience = max(0.0, min(COMPILER_S, ends - monotonic()))
        try:
            return [*compiled(members, compiler, patience)]
        except BuildError:
            if len(members) == 1:
                return [None]
            return [program for impl in members for program in compile_file([impl])]

    files = [impls[start : start + together] for start in range(0, len(impls), together)]
    with ThreadPoolExecutor(available_threads()) as threads:
        return [program for members in threads.map(compile_file, files) for program in members]


@dataclass(frozen=True)
class Hardware:
    """Times programs in the process of a worker.

    If it is `cold`, also calls that find no operand in a cache. Programs that take `slow` times
    the fastest are repeated less often.
    """

    worker: Worker
    compiler: Compiler
    cold: bool
    slow: float = SLOW

    def labels(
        self,
        programs: Sequence[Compiled],
        patience: Patience,
        reference: Sequence[Compiled] = (),
    ) -> Labels:
        """Time programs of a Spec in turns with a reference: that given, or the first of them.

        If they crash, or take longer than their `patience`, each is timed alone, and those that
        fail again have no times; nor have those for which there is no patience left.
        """
        seconds = patience(programs)
        if seconds <= 0:
            return Labels.joined([Labels.none(self.cold)] * len(programs))
        every = [*reference, *programs]
        by_file = groupby(every, key=attrgetter("path"))
        impl = every[0].impl
        built = BuiltPrograms(
            impl.spec.expression,
            [(path, [program.name for program in members]) for path, members in by_file],
            impl.threads,
        )
        try:
            labels = self.worker.run(
                label, built, self.compiler, self.cold, self.slow, seconds=seconds
            )
            return labels.rows(slice(len(reference), None))
        except CrashError:
            if len(programs) == 1:
                return Labels.none(self.cold)
        return Labels.joined([self.labels([each], patience, reference) for each in programs])
