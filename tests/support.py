"""Helpers of several tests: an independent model of memory, searches, C compilers, hosts."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import _lru_cache_wrapper, cache, lru_cache
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from morello.base.errors import SearchError
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl, grow
from morello.ir.layout import Layout
from morello.ir.spec import Spec
from morello.memo import Table
from morello.native.build import PATIENCE_S
from morello.native.cache import default_cache, open_cache
from morello.native.compile import key_of
from morello.native.headers import precompiled_headers
from morello.native.toolchain import arch_flags, base_flags, find_compiler
from morello.native.workspace import workspace
from morello.rewrites import Parallel
from morello.search import traced_rules
from morello.search.recorded_rules import MOST_RECORDERS, RuleRecorder
from morello.search.result import SearchResult
from morello.search.saved_traces import TRACE_FILE
from morello.search.session import Session, search
from morello.search.traces import MOST_KINDS, KindTrace
from morello.targets.cpu import host_cpu
from morello.targets.target import Target

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

GUARD = np.float32(-54321.0)
"""Stands where a program must not write."""


def runs_here(target: Target) -> bool:
    """Whether this machine's CPU has what the target needs."""
    return host_cpu().has(*target.features)


def skip_unless_it_runs(target: Target) -> None:
    if not runs_here(target):
        pytest.skip(f"this CPU does not run {target.name}")


def places(shape: Sequence[int], layout: Layout) -> Ints:
    """Where in its buffer every element of a whole tensor lies, counted out one by one."""
    result = np.empty(tuple(shape), np.int64)
    for index in product(*map(range, shape)):
        digits = [(index[d], shape[d]) for d in layout.order]
        if layout.panel is not None:
            dim, width = layout.panel
            digits[layout.order.index(dim)] = (index[dim] // width, -(-shape[dim] // width))
            inside = index[dim] % width
            if layout.odd_even:
                inside = inside // 2 + inside % 2 * (width // 2)
            digits.append((inside, width))
            if layout.groups > 1:
                last, count = layout.order[-1], layout.groups
                digits[layout.rank - 1] = (index[last] // count, shape[last] // count)
                digits.append((index[last] % count, count))
        place = 0
        for digit, extent in digits:
            place = place * extent + digit
        result[index] = place
    return result


def random_values(shape: Sequence[int], seed: int) -> Floats:
    """Random values without zeros."""
    random = np.random.default_rng(seed)
    sign = random.choice([-1.0, 1.0], tuple(shape))
    return (sign * random.uniform(0.5, 1.5, tuple(shape))).astype(np.float32)


def normal(*shape: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """Normally distributed values, others for each shape."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def with_capacities(target: Target, capacities: Sequence[int]) -> Target:
    """The target with these capacities of all levels but the farthest."""
    farthest, *nearer = target.levels
    shrunk = [replace(one, capacity=n) for one, n in zip(nearer, capacities, strict=True)]
    return replace(target, levels=(farthest, *shrunk))


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """Files that the body makes lack the modes of a mask."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    """The permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


@cache
def optimum(spec: Spec, target: Target) -> SearchResult:
    """The result of a complete search, cached for all tests of a process."""
    return search(spec, target)


def searched(
    spec: Spec, target: Target, *, everything: bool = False, table: Table | None = None
) -> SearchResult | None:
    """The result of a search; None if nothing fits, without the reason, which takes far longer."""
    return solved(Session(spec, target, table), everything=everything)


def solved(session: Session, *, everything: bool = False) -> SearchResult | None:
    """`searched` by a session that may be asked for more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("morello.search.session.why_none", lambda *_: "")
        try:
            return session.solve(everything=everything)
        except SearchError:
            return None


def forget_traces(patch: pytest.MonkeyPatch) -> _lru_cache_wrapper[KindTrace]:
    """Have kinds traced anew until the patch is undone, and keep these traces from other tests.

    What changes rules needs it, as all tests of a run share their traces. Returns the new ones.
    """
    traces = lru_cache(MOST_KINDS)(KindTrace)
    patch.setattr("morello.search.traces.recorder_of", lru_cache(MOST_RECORDERS)(RuleRecorder))
    patch.setattr(traced_rules, "trace_of", traces)
    patch.setattr(TRACE_FILE, "load", lambda *_: None)
    patch.setattr(TRACE_FILE, "keep", lambda *_: None)
    return traces


def in_parallel(spec: Spec, target: Target, **sizes: int) -> Impl:
    """The cheapest program that begins with a parallel loop over tiles of these sizes."""
    impl, _ = grow(Parallel((*sizes.items(),)), replace(spec, parallel=True), target, target.limits)
    specs = [child.impl.spec for child in impl.children]
    parts = [reconstruct(each, target, search(each, target).decisions) for each in specs]
    children = zip(impl.children, parts, strict=True)
    return replace(impl, children=tuple(replace(child, impl=part) for child, part in children))


def compile_c(text: str, target: Target, directory: Path) -> ctypes.CDLL:
    """Build C for a target and load it; a warning is an error."""
    compiler = find_compiler()
    usual = [flag for flag in base_flags(compiler) if flag not in ("-w", "-O3")]
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-psabi"]
    flags = (*usual, *arch_flags(compiler, target.arch), "-O1", *warnings)
    cache, library = default_cache(), directory / "source.so"
    shared = cache / f"test-{key_of(text, compiler, flags)}.so"
    if not shared.exists():  # another process of this run may have built it
        open_cache(cache)
        source = directory / "source.c"
        source.write_text(text)
        with workspace(cache) as room:
            headers = precompiled_headers(text, compiler, flags, cache, room, PATIENCE_S)
        included = [] if headers is None else ["-include-pch", str(headers)]
        command = [*compiler.command, *flags, *included, str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:5000]
        os.replace(library, shared)
    shutil.copyfile(shared, library)  # loaded anew, with variables of its own
    return ctypes.CDLL(str(library))


def call(function: Any, *arrays: Floats) -> None:
    """Call a C function on contiguous float arrays."""
    function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))


def in_layout(array: Floats, layout: Layout) -> tuple[Floats, Ints]:
    """A buffer that holds the array in a layout, NaN in its gaps, and where each element is."""
    where = places(array.shape, layout)
    extents = layout.extents(array.shape)
    buffer = np.full(int(np.prod(extents)), np.nan, np.float32)
    buffer[where] = array
    return buffer, where


def guarded(buffer: Floats, margin: int = 64) -> tuple[Floats, Floats]:
    """A copy with guard values before and after it: all of it, and the part between."""
    edge = np.full(margin, GUARD)
    whole = np.concatenate([edge, buffer, edge])
    return whole, whole[margin : margin + len(buffer)]


def reference(spec: Spec, *inputs: Floats) -> npt.NDArray[np.float64]:
    """The result of a matmul Spec, in double precision."""
    assert spec.operation.reduced
    a, b = (array.astype(np.float64) for array in inputs)
    result: npt.NDArray[np.float64] = a @ b
    return result


def in_threads(work: Callable[[int], None], count: int) -> None:
    """Call a function with each number below `count`, each in a thread of its own."""
    threads = [Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
