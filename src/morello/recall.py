"""Kernels that were compiled before, loaded again without the programs that they were made of.

What it takes to load one are its shared object and its arguments: neither Specs nor rewrites, let
alone a search.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from morello.base.errors import MorelloError
from morello.ir.dtype import DTYPES
from morello.kernel import Kernel
from morello.native.cache import default_cache, hash_of, is_whole
from morello.native.toolchain import Compiler
from morello.questions import Places, keep, kept
from morello.runtime.argument import Argument
from morello.search.result import SearchStatistics
from morello.tables import opened, texts

if TYPE_CHECKING:
    from morello.codegen import Source
    from morello.impl.tree import Impl
    from morello.ir.spec import Spec
    from morello.memo.program_table import ProgramTable


def recall(asked: str | None, *, verify: bool) -> Kernel | None:
    """The kernel that was compiled for a question before; None if it does not hold.

    It does not if its shared object is not as it was, the table has another program by now, or it
    is to be verified and was not.
    """
    return recall_all([asked], verify=verify).get(asked or "")


def recall_all(asked: Iterable[str | None], *, verify: bool) -> dict[str, Kernel]:
    """The kernels that were compiled for questions before, by these; see `recall`."""
    kernels: dict[str, Kernel] = {}
    questions = [each for each in dict.fromkeys(asked) if each is not None]
    if not questions:
        return kernels
    with suppress(MorelloError), opened(None) as table, texts() as known:
        if table is None or known is None:
            return kernels
        for each in questions:
            with suppress(MorelloError):
                kernel = _recalled(each, table, known, verify)
                kernels |= {each: kernel} if kernel else {}
    return kernels


def _recalled(asked: str, table: ProgramTable, known: ProgramTable, verify: bool) -> Kernel | None:
    began = time.perf_counter()
    answer = kept(asked, table, known)
    if answer is None:
        return None
    program, record = answer
    library = default_cache().absolute() / record["object"]
    whole = is_whole(library) and hash_of(library).hex() == record["hash"]
    if not whole or (verify and record["max_error"] is None):
        return None
    kernel = _loaded(library, record)
    kernel.program = _Remembered(json.loads(program) | {"names": record["names"]})
    kernel.max_error = record["max_error"] if verify else None
    seconds = time.perf_counter() - began
    kernel.statistics = SearchStatistics.of_memoized(seconds, *record["search"])
    return kernel


def remember(asked: str, kernel: Kernel, table: ProgramTable, places: Places) -> None:
    """Keep what it takes to load a kernel whose program the table has in one of these places."""
    search = kernel.statistics
    if search is None:
        return
    content = {
        "object": kernel.library.path.name,
        "hash": hash_of(kernel.library.path).hex(),
        "symbol": kernel.symbol,
        "names": kernel.spec.names,
        "arguments": [
            (a.name, a.dtype.name, a.shape, a.strides, a.output, a.updated, a.in_panels)
            for a in kernel.arguments
        ],
        "compiler": asdict(kernel.compiler),
        "releases_gil": kernel.releases_gil,
        "threads": kernel.threads,
        "workspace": kernel.workspace,
        "max_error": kernel.max_error,
        "search": (search.measured, search.gap, search.worst),
    }
    decisions = [rewrite.data() for rewrite in kernel.impl.decisions()]
    keep(asked, content, table, places, decisions)


def _loaded(library: Path, record: Mapping[str, Any]) -> Kernel:
    """The kernel of a record; raises `BuildError`."""
    by = record["compiler"]
    compiler = Compiler(by["name"], by["kind"], tuple(by["command"]), tuple(by["version"]))
    arguments = tuple(
        Argument(name, DTYPES[dtype], tuple(shape), tuple(strides), *roles)
        for name, dtype, shape, strides, *roles in record["arguments"]
    )
    symbol, threads = record["symbol"], record["threads"]
    kernel = Kernel(
        library, symbol, arguments, compiler=compiler, release_gil=record["releases_gil"]
    )
    kernel.compiler, kernel.threads, kernel.workspace = compiler, threads, record["workspace"]
    if threads > 1:
        from morello.runtime.threads import attach  # few kernels need it

        attach(kernel.library, symbol, threads, compiler=compiler)
    return kernel


class _Remembered:
    """A program that a table has as data, and its C, worked out when they are asked for.

    A table has one for all Specs that differ in the names of operands; the data have those of the
    kernel, as inputs of one name are one argument.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    @cached_property
    def spec(self) -> Spec:
        from morello.impl.saved import load_spec

        return load_spec(self._data)[0]

    @property
    def cost(self) -> float:
        return float(self._data["cost"])

    @cached_property
    def impl(self) -> Impl:
        from morello.impl.saved import load

        return load(self._data)

    @cached_property
    def source(self) -> Source:
        from morello.measure.load import source_of

        return source_of(self.impl)
