"""Compiling C to shared objects, cached by source, compiler and flags."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from morello import debug
from morello.errors import BuildError, CompilerTimeoutError
from morello.runtime.cache import default_cache, is_whole, open_cache, publish, unwritable
from morello.runtime.toolchain import Compiler, base_flags
from morello.runtime.workspace import Workspace, workspace
from morello.targets.cpu import host_cpu

PATIENCE_S = 600.0
"""How long a compiler may take, in seconds."""

ERROR_LINES = 6


def build(
    source: str,
    *,
    compiler: Compiler,
    flags: tuple[str, ...] = (),
    cache: Path | None = None,
    patience_s: float = PATIENCE_S,
) -> Path:
    """Compiles the C text `source` to a shared object, or takes it from the cache.

    The source stays beside it, under the same name with `.c`. A damaged object is built
    again. Safe to call from any number of processes at once. Raises `BuildError` if the
    compilation fails, or the cache cannot be written, or others may write to it, and
    `CompilerTimeoutError` if it takes longer than `patience_s`.
    """
    # Absolute, as a bare file name would be looked for among the system's libraries.
    cache = (default_cache() if cache is None else cache).absolute()
    open_cache(cache)
    library = cache / f"{_key(source, compiler, flags)}.so"
    kept = library.with_suffix(".c")
    if is_whole(library):
        if debug.shows("c"):
            debug.show("c", f"{kept}: built before")
        return library
    try:
        with workspace(cache) as room:
            text, compiled = room.path / "kernel.c", room.path / "kernel.so"
            text.write_text(source, encoding="utf-8")
            command = _command(text, compiled, compiler, flags)
            began = time.perf_counter()
            problem = _compile(command, compiled, room, compiler, patience_s)
            if debug.shows("c"):
                seconds = time.perf_counter() - began
                debug.show("c", f"{kept}: {shlex.join(command)}, {seconds:.2f} s")
            # The source first, so that every library in the cache has its source beside it.
            os.replace(text, kept)
            if problem is not None:
                raise BuildError(f"{compiler} could not compile {kept}:\n{problem}")
            publish(compiled, library)
    except OSError as error:
        raise unwritable(cache, error.strerror or str(error)) from error
    return library


def _key(source: str, compiler: Compiler, flags: tuple[str, ...]) -> str:
    """A hash of everything that determines the object's contents."""
    parts = [source, *base_flags(compiler), *flags, compiler.name, *compiler.command]
    parts += [sys.platform, platform.machine()]
    if any("native" in flag for flag in flags):
        # A home directory may be shared by machines whose CPUs differ.
        cpu = host_cpu()
        parts += [cpu.vendor, cpu.model, *sorted(cpu.features)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _command(source: Path, library: Path, compiler: Compiler, flags: tuple[str, ...]) -> list[str]:
    """The compiler's command, to be run in the folder of both files."""
    return [*compiler.command, *base_flags(compiler), *flags, source.name, "-o", library.name]


def _compile(
    command: list[str], library: Path, room: Workspace, compiler: Compiler, patience_s: float
) -> str | None:
    """Runs the compiler; returns None, or the first lines of its errors.

    Raises `BuildError` if it cannot be run, `OSError` if the disk is full.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    if compiler.kind == "zig":
        # Zig has a cache of its own, and hangs if it cannot write it. Nothing in it is of use
        # to the next kernel, so it is put into the workspace and removed with it.
        for variable in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
            environment[variable] = str(room.path / "zig")
    try:
        done = _run(command, room, environment, patience_s)
    except subprocess.TimeoutExpired:
        raise CompilerTimeoutError(
            f"{compiler} was still running after {patience_s:g} s and was stopped."
        ) from None
    except OSError as error:
        raise BuildError(f"{compiler.command[0]} cannot be run: {error.strerror}.") from error
    if done.returncode == 0 and library.is_file():
        return None
    output = done.stderr + done.stdout
    if os.strerror(errno.ENOSPC) in output or "NoSpaceLeft" in output:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return _first_errors(output) or f"it left with code {done.returncode} and made nothing."


def _run(
    command: list[str], room: Workspace, environment: dict[str, str], patience_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a command; kill it and all processes that it started if it takes too long."""
    with subprocess.Popen(
        command,
        cwd=room.path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
        pass_fds=(room.lock,),
    ) as process:
        try:
            output, problems = process.communicate(timeout=patience_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, problems)


def _first_errors(output: str) -> str:
    """The first error and the lines after it, `ERROR_LINES` in all."""
    lines = [line for line in output.splitlines() if line.strip()]
    start = next((i for i, line in enumerate(lines) if "error" in line.lower()), 0)
    return "\n".join(lines[start : start + ERROR_LINES])
