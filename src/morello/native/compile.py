"""Running a C compiler in a workspace."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

from morello.base.errors import BuildError, CompilerTimeoutError
from morello.native.toolchain import Compiler, zig_caches
from morello.native.workspace import Workspace
from morello.targets.cpu import host_cpu

ERROR_LINES = 6


def key_of(source: str, compiler: Compiler, flags: tuple[str, ...]) -> str:
    """A hash of everything that determines what a compiler makes of a source."""
    parts = [source, *flags, compiler.name, *compiler.command]
    parts += [sys.platform, platform.machine()]
    if any("native" in flag for flag in flags):
        # A home directory may be shared by machines whose CPUs differ.
        cpu = host_cpu()
        parts += [cpu.vendor, cpu.model, *sorted(cpu.features)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def run_compiler(
    command: list[str], output: Path, room: Workspace, compiler: Compiler, patience_s: float
) -> str | None:
    """Run a compiler in the workspace; returns None if it made `output`, or its first errors.

    Raises `BuildError` if it cannot be run, `CompilerTimeoutError` if it takes longer than
    `patience_s`, and `OSError` if the disk is full.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    if compiler.kind == "zig":
        environment |= zig_caches(room.path / "zig")  # of no use to the next kernel
    try:
        done = _run(command, room, environment, patience_s)
    except subprocess.TimeoutExpired:
        raise CompilerTimeoutError(
            f"{compiler} was still running after {patience_s:g} s and was stopped."
        ) from None
    except OSError as error:
        raise BuildError(f"{compiler.command[0]} cannot be run: {error.strerror}.") from error
    if done.returncode == 0 and output.is_file():
        return None
    said = done.stderr + done.stdout
    if os.strerror(errno.ENOSPC) in said or "NoSpaceLeft" in said:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return _first_errors(said) or f"it left with code {done.returncode} and made nothing."


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
