"""The C of random programs of random goals, of the whole language, computes what they say."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.codegen.random_goals import PRIMITIVES, random_goals
from tests.codegen.random_rewrites import CORES, FEW, Programs, few_programs, with_cores
from tests.codegen.test_programs import one_file
from tests.rewrites.rewritten import SEARCH_ONLY, kinds
from tests.sampling import rare, some
from tests.support import compile_c, skip_unless_it_runs

from morello.codegen import Source, generate
from morello.impl.tree import Impl
from morello.native.toolchain import find_compiler
from morello.rewrites import SCHEMES, Decompose, Select
from morello.runtime.threads import pool
from morello.runtime.verify import verify
from morello.targets import find_target
from morello.targets.neon import NEON
from morello.targets.target import Target
from morello.targets.x86 import AVX2, AVX512

MOST_ATTEMPTS = 40

Array = np.ndarray[Any, np.dtype[Any]]
Kernel = Callable[..., None]

KINDS = (
    "Bufferize", "Crop", "Join", "Move", "MoveAll", "Overlap", "PadFirst", "Parallel",
    "ParallelSplit", "Peel", "Pointwise", "Serial", "SpatialSplit", "Split", "Tile", "ToAccumulate",
    "Ungroup",
)  # fmt: skip
"""All rewrites that programs are made of, but for those that are looked at more closely."""

# Groups of narrow numbers lie anywhere, which the masked loads that take them do not mind.
UNALIGNED = """\
#ifdef __clang__
#pragma clang diagnostic ignored "-Walign-mismatch"
#endif
"""

BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long, ctypes.c_long)
RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, BODY, ctypes.c_void_p, ctypes.c_long)


def set_apart(source: Source) -> Source:
    """The source with names of its own for what stands beside its function."""
    shared = r"\b(region\d|parts\d|run_parallel\b|parallel\b|parallel_pool\b)"
    return replace(source, text=re.sub(shared, rf"{source.name}_\1", source.text))


def closed(impls: Sequence[Impl]) -> set[str]:
    """The operations whose Specs kernels close in them."""
    return {
        impl.spec.operation.name
        for one in impls
        for impl in one.walk()
        if isinstance(impl.rewrite, Select)
    }


def pieces(random: Random, count: int) -> list[tuple[int, int]]:
    """All items, cut anywhere, in any order."""
    cuts = random.sample(range(1, count), random.randint(0, count - 1))
    ends = [0, *sorted(cuts), count]
    found = list(pairwise(ends))
    random.shuffle(found)
    return found


class Loaded:
    """The C function of a program, as a function of arrays."""

    def __init__(self, library: ctypes.CDLL, source: Source, random: Random) -> None:
        self.library, self.source, self.random = library, source, random

    def __call__(self, *inputs: Array, out: Array) -> None:
        self._call(self.source.name, *inputs, out)

    def in_all_orders(self, *inputs: Array, out: Array) -> None:
        """The program runs whole, in pieces in odd orders, and on threads, with the same result."""
        self(*inputs, out=out)
        first = out.copy()
        ways: list[Callable[[], None]] = []
        if self.source.parallel:
            ways += [lambda: self._in_pieces(*inputs, out), lambda: self._on_threads(*inputs, out)]
        if self.source.items:
            ways.append(lambda: self._by_ranges(*inputs, out))
        for run in ways:
            out[...] = 77
            run()
            assert alike(out, first), "another order, another result"

    def _in_pieces(self, *arrays: Array) -> None:
        """Every parallel loop in pieces that are run in another order."""

        def run(_: int, body: Callable[..., None], environment: int, count: int) -> None:
            for begin, end in pieces(self.random, count):
                body(environment, begin, end)

        wrapped = RUN(run)  # which must outlive the call
        self._set_parallel(wrapped, None)
        self._call(self.source.name, *arrays)
        self._set_parallel(None, None)

    def _on_threads(self, *arrays: Array) -> None:
        """Every parallel loop on two threads."""
        threads = pool(2)
        self._set_parallel(ctypes.c_void_p(threads.address), ctypes.c_void_p(threads.handle))
        self._call(self.source.name, *arrays)
        self._set_parallel(None, None)

    def _by_ranges(self, *arrays: Array) -> None:
        """The items of the one loop that the program is, by the function for some of them."""
        for begin, end in pieces(self.random, self.source.items):
            ends = ctypes.c_long(begin), ctypes.c_long(end)
            self._call(f"{self.source.name}_range", *arrays, more=ends)

    def _call(self, name: str, *arrays: Array, more: Sequence[Any] = ()) -> None:
        addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        self.library[name](*addresses, *more)

    def _set_parallel(self, run: Any, threads: Any) -> None:
        self.library[f"{self.source.name}_set_parallel"](run, threads)


def alike(found: Array, wanted: Array) -> bool:
    """Equal, but for how compilers round sums of products in one function and in another."""
    if found.dtype.kind in "iu":
        return np.array_equal(found, wanted)
    one, other = found.astype(np.float64), wanted.astype(np.float64)
    largest = np.max(np.abs(other), initial=0.0, where=np.isfinite(other))
    return np.allclose(one, other, rtol=1e-2, atol=1e-5 * largest, equal_nan=True)


def check_all(impls: Sequence[Impl], target: Target, directory: Path) -> list[Source]:
    """Every program computes its goal, writes nothing else, and reads nothing else."""
    sources = [generate(impl, f"kernel{i}") for i, impl in enumerate(impls)]
    text = one_file([set_apart(source) for source in sources], target)
    library = compile_c(UNALIGNED + text, target, directory)
    for source, impl in zip(sources, impls, strict=True):
        kernel = Loaded(library, source, Random(source.name))
        try:
            verify(kernel.in_all_orders, impl.spec)
        except Exception as error:
            error.add_note("\n".join([impl.spec.expression, *map(str, impl.decisions())]))
            raise
    return sources


def used(impl: Impl) -> set[str]:
    """The kinds of rewrites in a program, and the schemes of decompositions."""
    found = set()
    for one in impl.decisions():
        found.add(one.scheme if isinstance(one, Decompose) else type(one).__name__)
    return found


def missing(impls: Sequence[Impl], target: Target) -> set[str]:
    """The kinds of rewrites that are in no program."""
    wanted = {*KINDS, *SCHEMES} | ({"Pack"} if target.packs else set())
    return wanted - set().union(*map(used, impls))


@pytest.mark.parametrize("target", some([AVX512, AVX2, NEON], 2), ids=lambda target: target.name)
def test_random_goals(target: Target, tmp_path: Path) -> None:
    """Goals of all kinds, rewritten in all ways, and closed by kernels of all operations."""
    skip_unless_it_runs(target)
    target = with_cores(target)
    impls, random = [*few_programs(target)], Random(2)
    programs = Programs(target, random)
    known = {kernel.operation for kernel in target.kernels}
    for _ in range(MOST_ATTEMPTS):  # some rewrites and operations are rare
        rare, unmet = missing(impls, target), known - closed(impls)
        if not rare and len(unmet) < len(known) / 3:
            break
        goals = random_goals(random, len(PRIMITIVES))
        more = [programs.of(goal) for goal in goals if rare or goal.operation.name in unmet]
        impls += [one for one in more if used(one) & rare or closed([one]) - closed(impls)]
    assert not missing(impls, target)
    assert len(known - closed(impls)) < len(known) / 3, known - closed(impls)
    sources = check_all(impls, target, tmp_path)
    assert sum(source.parallel for source in sources) > FEW / 20
    assert sum(source.items > 0 for source in sources) > FEW / 40


def test_these_are_all_rewrites() -> None:
    assert (
        kinds() == {*KINDS, "Decompose", "GroupRows", "LastGroup", "Pack", "Select"} | SEARCH_ONLY
    )


@rare
def test_random_goals_compile_for_neon(tmp_path: Path) -> None:
    neon = replace(find_target("neon"), cores=CORES)
    impls = few_programs(neon)
    sources = [set_apart(generate(impl, f"kernel{i}")) for i, impl in enumerate(impls)]
    (tmp_path / "all.c").write_text(one_file(sources, neon))
    command = [*find_compiler("zig").command, "-target", "aarch64-linux-gnu", "-mcpu=generic"]
    command += ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-c", "all.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:5000]
