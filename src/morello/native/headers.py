"""Precompiled headers: a compiler reads the intrinsics once, and not for every kernel.

The header of the x86 intrinsics takes far longer to compile than a kernel that uses them (Zen 4,
clang 22: 0.25 of 0.31 s).
"""

from __future__ import annotations

import os
from pathlib import Path

from morello.native.cache import is_whole, publish
from morello.native.compile import key_of, run_compiler
from morello.native.toolchain import Compiler, without_linking
from morello.native.workspace import Workspace

INTRINSICS = "#include <immintrin.h>\n"


def precompiled_headers(
    source: str,
    compiler: Compiler,
    flags: tuple[str, ...],
    cache: Path,
    room: Workspace,
    patience_s: float,
) -> Path | None:
    """The slow headers of a source, compiled with these flags; None if there are none.

    The file is for clang's `-include-pch`, and is made if it is not in the cache. It does not fit
    if a header has changed since: clang then refuses it, and the source has to be compiled
    without. Raises `BuildError` and `OSError` as `run_compiler` does.
    """
    if compiler.kind == "gcc" or INTRINSICS not in source:
        return None
    header = cache / f"{key_of(INTRINSICS, compiler, flags)}.h"
    compiled = header.with_suffix(".pch")
    if not is_whole(compiled):  # clang does not mind the seal, which follows what it reads
        _write_once(header, INTRINSICS, room)
        new = room.path / compiled.name
        command = [*compiler.command, *without_linking(flags), "-x", "c-header", str(header)]
        if run_compiler([*command, "-o", new.name], new, room, compiler, patience_s):
            return None
        publish(new, compiled)
    return compiled


def _write_once(path: Path, text: str, room: Workspace) -> None:
    """Make a file unless it exists, whose time must not change after it has been compiled."""
    new = room.path / path.name
    new.write_text(text, encoding="utf-8")
    try:
        os.link(new, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links: if two processes do this at once, clang
        os.replace(new, path)  # refuses what one of them compiles, and it is compiled again
