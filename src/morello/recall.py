"""Kernels that were compiled before, loaded again without the programs that they were made of.

Beside programs, a table has what it takes to load their kernels: shared objects and arguments, by
a hash of all that determined them. That needs neither Specs nor rewrites, let alone a search.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from morello.base import debug
from morello.base.errors import MorelloError
from morello.base.files import config_folder
from morello.ir.dtype import DTYPES
from morello.kernel import Kernel
from morello.runtime.argument import Argument
from morello.runtime.cache import default_cache, hash_of, is_whole
from morello.runtime.toolchain import Compiler
from morello.search.result import SearchStatistics
from morello.tables import OFF, opened
from morello.tables import VARIABLE as TABLE
from morello.targets.cpu import host_cpu

if TYPE_CHECKING:
    from morello.codegen import Source
    from morello.impl.tree import Impl
    from morello.memo.program_table import ProgramTable

KERNELS = "kernels"
"""The space of a table where kernels are."""

VARIABLES = ("MORELLO_CALIBRATION", "CC", "PATH")
"""What a kernel depends on in the environment."""


def question(what: object, options: Mapping[str, Any]) -> str | None:
    """A hash of all that determines the kernel of an expression: options, machine, and code.

    None if the kernel is not to be remembered: one that is measured or ranked, or of anything but
    an expression for the name of a target, or with a table of its own.
    """
    asked = {name: value for name, value in options.items() if name not in ("table", "progress")}
    plain = all(isinstance(value, str | int | float | None) for value in (what, *asked.values()))
    usual = options.get("measure", 1) == 1 and options.get("rank", "cost") == "cost"
    if not (isinstance(what, str) and plain and usual) or options.get("table") is not None:
        return None
    if os.environ.get(TABLE) == OFF or os.environ.get(debug.VARIABLE):
        return None
    try:
        parts = [json.dumps([what, asked], sort_keys=True), *_machine(), *_toolchain(), _code()]
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return None
    return blake2b("\n".join(parts).encode(errors="replace"), digest_size=16).hexdigest()


def recall(what: object, options: Mapping[str, Any], *, verify: bool) -> Kernel | None:
    """The kernel that was compiled for the same question before; None if it does not hold.

    It does not if its shared object is not as it was, the table has another program by now, or it
    is to be verified and was not.
    """
    began = time.perf_counter()
    asked = question(what, options)
    if asked is None:
        return None
    with suppress(MorelloError), opened(None) as table:
        text = None if table is None else table.program(KERNELS, asked)
        if table is None or text is None:
            return None
        record = json.loads(text)
        programs = _programs(table, record["places"])
        library = default_cache().absolute() / record["object"]
        if (
            [*map(_digest, programs)] == record["programs"]
            and is_whole(library)
            and hash_of(library).hex() == record["hash"]
            and (record["max_error"] is not None or not verify)
        ):
            kernel = _loaded(library, record)
            kernel.program = cache(partial(_program, _first(programs)))
            kernel.max_error = record["max_error"] if verify else None
            seconds = time.perf_counter() - began
            kernel.statistics = SearchStatistics.of_memoized(seconds, *record["search"])
            return kernel
    return None


def remember(
    asked: str, kernel: Kernel, table: ProgramTable, places: Sequence[tuple[str, str]]
) -> None:
    """Keep what it takes to load a kernel whose program the table has in one of these places."""
    programs = _programs(table, places)
    search = kernel.statistics
    if not any(programs) or search is None:
        return
    decisions = [rewrite.data() for rewrite in kernel.impl.decisions()]
    if json.loads(_first(programs))["rewrites"] != decisions:  # it was replaced meanwhile
        return
    record = {
        "places": places,
        "programs": [*map(_digest, programs)],
        "object": kernel.library.path.name,
        "hash": hash_of(kernel.library.path).hex(),
        "symbol": kernel.symbol,
        "arguments": [
            (a.name, a.dtype.name, a.shape, a.strides, a.output) for a in kernel.arguments
        ],
        "compiler": asdict(kernel.compiler),
        "releases_gil": kernel.releases_gil,
        "threads": kernel.threads,
        "max_error": kernel.max_error,
        "search": (search.measured, search.gap, search.worst),
    }
    table.keep_program(KERNELS, asked, json.dumps(record))


def _loaded(library: Path, record: Mapping[str, Any]) -> Kernel:
    """The kernel of a record; raises `BuildError`."""
    made_by = record["compiler"]
    compiler = Compiler(
        made_by["name"], made_by["kind"], tuple(made_by["command"]), tuple(made_by["version"])
    )
    arguments = tuple(
        Argument(name, DTYPES[dtype], tuple(shape), tuple(strides), output)
        for name, dtype, shape, strides, output in record["arguments"]
    )
    symbol, threads = record["symbol"], record["threads"]
    kernel = Kernel(
        library, symbol, arguments, compiler=compiler, release_gil=record["releases_gil"]
    )
    kernel.compiler, kernel.threads = compiler, threads
    if threads > 1:
        from morello.runtime.threads import attach  # few kernels need it

        attach(kernel.library, symbol, threads, compiler=compiler)
    return kernel


def _program(text: str) -> tuple[Impl, Source]:
    """The program that a table has as text, and its C."""
    from morello.impl.saved import load
    from morello.measure.load import source_of

    impl = load(json.loads(text))
    return impl, source_of(impl)


def _programs(table: ProgramTable, places: Sequence[tuple[str, str]]) -> list[str | None]:
    return [table.program(space, name) for space, name in places]


def _first(programs: Sequence[str | None]) -> str:
    """The program that a table gives for a goal."""
    return next(text for text in programs if text is not None)


def _digest(text: str | None) -> str | None:
    return None if text is None else blake2b(text.encode(), digest_size=16).hexdigest()


# ---- what a kernel depends on


def _machine() -> Iterator[str]:
    """This CPU, and the files of what was measured on it."""
    cpu = host_cpu()
    yield repr(replace(cpu, features=frozenset()))
    yield from sorted(cpu.features)
    named = os.environ.get("MORELLO_CALIBRATION", OFF)
    yield from _stamps([named] if named != OFF else [])
    with suppress(FileNotFoundError):
        yield from _files(config_folder())


def _toolchain() -> Iterator[str]:
    """What a compiler is found by: folders change when one is installed or replaced."""
    yield from (f"{name}={os.environ.get(name)}" for name in VARIABLES)
    yield from _stamps([*os.environ.get("PATH", "").split(os.pathsep), *sys.path[1:]])


@cache
def _code() -> str:
    """This package: the times and sizes of its files."""
    return "\n".join(_files(Path(__file__).parent))


def _files(folder: Path) -> Iterator[str]:
    """The stamps of the files in a folder, however deep."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not entry.is_dir():
            yield from _stamps([entry.path])
        elif entry.name != "__pycache__":
            yield from _files(Path(entry.path))


def _stamps(paths: Sequence[str]) -> Iterator[str]:
    """The name, time and size of each file or folder that exists."""
    for path in paths:
        with suppress(OSError):
            status = os.stat(path)
            yield f"{path} {status.st_mtime_ns} {status.st_size}"
