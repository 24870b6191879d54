"""Compiling C to shared objects, cached by source, compiler and flags."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from morello.base import debug
from morello.base.errors import BuildError
from morello.native.cache import default_cache, is_whole, open_cache, publish, unwritable
from morello.native.compile import key_of, run_compiler
from morello.native.headers import precompiled_headers
from morello.native.toolchain import Compiler, base_flags, without_linking
from morello.native.workspace import Workspace, workspace

PATIENCE_S = 600.0
"""How long a compiler may take, in seconds."""


def build(
    source: str,
    *,
    compiler: Compiler,
    flags: tuple[str, ...] = (),
    cache: Path | None = None,
    patience_s: float = PATIENCE_S,
    objects: Callable[[], Sequence[Path]] = tuple,
) -> Path:
    """Compiles the C text `source` to a shared object, or takes it from the cache.

    The source stays beside it, under the same name with `.c`, and what that became, with `.o`. With
    it, `objects` of other sources are linked, of which the source has names that tell what is in
    them. A damaged object is built again.

    Safe to call from any number of processes at once. Raises `BuildError` if the compilation
    fails, or the cache cannot be written, or others may write to it, and `CompilerTimeoutError`
    if a compiler takes longer than `patience_s`.
    """
    # Absolute, as a bare file name would be looked for among the system's libraries.
    cache = (default_cache() if cache is None else cache).absolute()
    open_cache(cache)
    flags = (*base_flags(compiler), *flags)
    library = cache / f"{key_of(source, compiler, flags)}.so"
    kept, linkable = library.with_suffix(".c"), linked_from(library)
    if is_whole(library) and is_whole(linkable):
        if debug.shows("c"):
            debug.show("c", f"{kept}: built before")
        return library
    try:
        with workspace(cache) as room:
            text, compiled, linked = (room.path / f"kernel.{end}" for end in ("c", "o", "so"))
            text.write_text(source, encoding="utf-8")
            compiling = [*compiler.command, *without_linking(flags), "-c", text.name]
            compiling += ["-o", compiled.name]
            linking = [*compiler.command, *flags, compiled.name, *map(str, objects())]
            linking += ["-o", linked.name]
            with _shown(kept, compiling, linking):
                headers = precompiled_headers(source, compiler, flags, cache, room, patience_s)
                problem = _compile(compiling, compiled, headers, room, compiler, patience_s)
                problem = problem or run_compiler(linking, linked, room, compiler, patience_s)
            # The source first, so that every library in the cache has its source beside it.
            os.replace(text, kept)
            if problem is not None:
                raise BuildError(f"{compiler} could not compile {kept}:\n{problem}")
            publish(compiled, linkable)
            publish(linked, library)
    except OSError as error:
        raise unwritable(cache, error.strerror or str(error)) from error
    return library


@contextmanager
def _shown(kept: Path, *commands: Sequence[str]) -> Iterator[None]:
    """Shows the commands that the body runs for a file of C, and its time, if that is wanted."""
    began = time.perf_counter()
    yield
    if debug.shows("c"):
        seconds = time.perf_counter() - began
        debug.show("c", f"{kept}: {' && '.join(map(shlex.join, commands))}, {seconds:.2f} s")


def linked_from(library: Path) -> Path:
    """The object that a shared object in the cache was linked from."""
    return library.with_suffix(".o")


def _compile(
    command: list[str],
    output: Path,
    headers: Path | None,
    room: Workspace,
    compiler: Compiler,
    patience_s: float,
) -> str | None:
    """`run_compiler` with precompiled headers, or without them if the compiler refuses them."""
    if headers is not None:
        including = [*command, "-include-pch", str(headers)]
        if run_compiler(including, output, room, compiler, patience_s) is None:
            return None
    problem = run_compiler(command, output, room, compiler, patience_s)
    if headers is not None and problem is None:
        headers.unlink(missing_ok=True)  # they have changed since, and are to be compiled again
    return problem
