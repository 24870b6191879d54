"""Programs on hardware: built several to a file, and timed in a process that they may crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from math import inf
from operator import attrgetter
from pathlib import Path
from time import monotonic

from morello.errors import BuildError
from morello.impl.tree import Impl
from morello.learn.label import Built, Labels, label, source
from morello.learn.worker import CrashError, Worker
from morello.runtime.build import build
from morello.runtime.threads import available_threads
from morello.runtime.toolchain import Compiler, arch_flags

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


def compiled(impls: Sequence[Impl], compiler: Compiler, patience_s: float) -> list[Compiled]:
    """Programs of one target in one file. Raises `BuildError`."""
    names = [f"program_{n}" for n in range(len(impls))]
    flags = arch_flags(compiler, impls[0].target.arch)
    path = build(source(impls, names), compiler=compiler, flags=flags, patience_s=patience_s)
    return [Compiled(impl, path, name) for impl, name in zip(impls, names, strict=True)]


def compiled_apart(
    impls: Sequence[Impl], compiler: Compiler, together: int = TOGETHER, ends: float = inf
) -> list[Compiled | None]:
    """Programs in files of so many, compiled at the same time; None where the compiler fails.

    It has until `ends`, of `time.monotonic`, and is asked for each program of a file alone if it
    does not take the file.
    """

    def made(some: Sequence[Impl]) -> list[Compiled | None]:
        patience = max(0.0, min(COMPILER_S, ends - monotonic()))
        try:
            return [*compiled(some, compiler, patience)]
        except BuildError:
            if len(some) == 1:
                return [None]
            return [one for impl in some for one in made([impl])]

    files = [impls[start : start + together] for start in range(0, len(impls), together)]
    with ThreadPoolExecutor(available_threads()) as threads:
        return [one for some in threads.map(made, files) for one in some]


def timed(
    worker: Worker,
    expression: str,
    programs: Sequence[Compiled],
    compiler: Compiler,
    cold: bool,
    patience: Callable[[Sequence[Compiled]], float],
    reference: Sequence[Compiled] = (),
) -> Labels:
    """Labels of programs of a Spec, in turns with a reference: that given, or the first of them.

    If they crash, or take longer than their `patience` in seconds, each is timed alone, and
    those to blame have no times.
    """
    by_file = groupby([*reference, *programs], key=attrgetter("path"))
    built = Built(expression, [(path, [one.name for one in some]) for path, some in by_file])
    try:
        labels = worker.run(label, built, compiler, cold, seconds=patience(programs))
        return labels.rows(slice(len(reference), None))
    except CrashError:
        if len(programs) == 1:
            return Labels.none(cold)
    return Labels.joined(
        [timed(worker, expression, [one], compiler, cold, patience, reference) for one in programs]
    )
