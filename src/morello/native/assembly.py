"""The instructions that a compiler makes of C, with the numbers of their lines."""

from __future__ import annotations

import re

from morello.base.errors import BuildError
from morello.native.build import PATIENCE_S
from morello.native.cache import default_cache, open_cache, unwritable
from morello.native.compile import run_compiler
from morello.native.toolchain import Compiler, base_flags, without_linking
from morello.native.workspace import workspace

_FILE = re.compile(r'\.file\s+(\d+)\s.*"([^"\n]+)"')
_LINE = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_LABEL = re.compile(r"([.\w$]+):")


def assembly(source: str, *, compiler: Compiler, flags: tuple[str, ...]) -> list[tuple[str, int]]:
    """The instructions and labels of the C text `source`, as `build` compiles it.

    Each has the number of its line of C, counted from 1: of the last one of this file that the
    compiler's line table names, 0 before the first. Labels that nothing jumps to are left out.
    Raises `BuildError` if the compilation fails.
    """
    cache = default_cache().absolute()
    open_cache(cache)
    kept = [flag for flag in without_linking(base_flags(compiler)) if flag != "-g0"]
    try:
        with workspace(cache) as room:
            text, output = room.path / "kernel.c", room.path / "kernel.s"
            text.write_text(source, encoding="utf-8")
            command = [*compiler.command, *kept, *flags, "-S", "-g1", text.name, "-o", output.name]
            problem = run_compiler(command, output, room, compiler, PATIENCE_S)
            if problem is not None:
                raise BuildError(f"{compiler} could not compile the program:\n{problem}")
            return _instructions(output.read_text(encoding="utf-8"), text.name)
    except OSError as error:
        raise unwritable(cache, error.strerror or str(error)) from error


def _instructions(text: str, name: str) -> list[tuple[str, int]]:
    """The instructions and labels of an assembly file that was made of the C file of this name."""
    lines = [line.strip() for line in text.splitlines()]
    files = dict(_FILE.findall(text))
    targets = {word for line in lines if line[:1] == "j" for word in line.split()[1:]}
    result: list[tuple[str, int]] = []
    current, code = 0, False
    for line in lines:
        if line.startswith((".section", ".text")):
            code = line.startswith(".text") or ".text" in line.partition(" ")[2]
        elif at := _LINE.match(line):
            if files.get(at[1], "").endswith(name):
                current = int(at[2])
        elif label := _LABEL.match(line):
            if code and (label[1] in targets or label[1][0] not in ".L"):
                result.append((f"{label[1]}:", current))
        elif code and line and line[0] not in ".#;":
            result.append((re.sub(r"\s+", " ", line.partition("#")[0]).strip(), current))
    return result
