"""Finding a C compiler, and its command-line flags."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from morello.base.errors import BuildError, TargetError

Kind = Literal["clang", "gcc", "zig"]

OLDEST_CLANG = 17
NEWEST_CLANG = 23

_CLANGS = ("clang", *(f"clang-{major}" for major in range(NEWEST_CLANG, OLDEST_CLANG - 1, -1)))
_GCCS = ("gcc", "cc")

COMMANDS = (*_CLANGS, *_GCCS)
"""The names of compilers that are looked for, unless one is asked for."""

REMEDY = "Run `pip install ziglang`, install clang 17 or newer or gcc, or set CC to a C compiler."

# What every kernel is built with. Contraction and the two `no-` maths flags let the compiler
# use FMA and masked vectors; none of them lets it reassociate a sum.
_COMMON_FLAGS = (
    "-O3",
    "-std=gnu11",
    "-fPIC",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-stack-protector",
    "-fomit-frame-pointer",
    "-fdata-sections",
    "-g0",
    "-w",
)

_LINKING = ("-shared", "-Wl,--gc-sections")
"""Flags of linking: what nothing refers to is left out, as memory that another object has."""

_DARWIN = ("-shared", "-Wl,-dead_strip", "-undefined", "dynamic_lookup")
"""Flags of linking on macOS, where symbols of the process need not be known."""

# Zig spells architecture levels its own way, and without `-mcpu` it takes the host's.
_ZIG_CPUS = {
    "baseline": "baseline",
    "x86-64-v3": "x86_64_v3",
    "x86-64-v4": "x86_64_v4",
    "aarch64": "generic",
    "native": "native",
}
_MARCH = {
    "baseline": None,
    "x86-64-v3": "x86-64-v3",
    "x86-64-v4": "x86-64-v4",
    "aarch64": "armv8-a",
    "native": "native",
}


@dataclass(frozen=True)
class Compiler:
    """An installed C compiler: its name, and the command that runs it."""

    name: str
    kind: Kind
    command: tuple[str, ...]
    version: tuple[int, ...]

    @property
    def cpp_command(self) -> tuple[str, ...]:
        """The command of the C++ compiler that belongs to it."""
        *before, last = self.command
        names = {"cc": "c++", "gcc": "g++", "clang": "clang++"}
        return *before, names.get(last, "c++")

    def __str__(self) -> str:
        return self.name


FLAGGED = "MORELLO_NATIVE"
"""The macro that is defined if flags say that code may use all instructions of this machine."""


def find_compiler(requested: str | None = None) -> Compiler:
    """The best C compiler here: `requested`, else `$CC`, clang >= 17, the zig wheel, gcc.

    `requested` is a command such as "gcc", "clang-19" or "ccache gcc"; "zig" takes the
    `ziglang` wheel if it is installed. Raises `BuildError` if there is none, or if the one
    asked for cannot be used.
    """
    if requested is not None:
        return _demand(requested, "the requested compiler")
    if from_environment := os.environ.get("CC", "").strip():
        return _demand(from_environment, "the compiler in CC")
    return _path_clang() or _zig_wheel() or _path_gcc() or _no_compiler()


def base_flags(compiler: Compiler) -> tuple[str, ...]:
    """The flags every shared object is built with, whatever its architecture."""
    more: tuple[str, ...] = _LINKING
    if sys.platform == "darwin":
        more = _DARWIN
    elif compiler.kind == "zig":
        # Zig would build its own libc, once per CPU at 3 s each. What a kernel or the
        # trampoline needs of libc is already in the process that loads it.
        more += ("-nostdlib",)
    if compiler.kind == "zig":
        more += ("-fno-sanitize=undefined",)
    return _COMMON_FLAGS + more


def without_linking(flags: Sequence[str]) -> list[str]:
    """The flags of a shared object without those that say how it is linked."""
    return [flag for flag in flags if flag not in (*_LINKING, *_DARWIN)]


def arch_flags(compiler: Compiler, arch: str) -> tuple[str, ...]:
    """The flags that make `compiler` generate code for `arch`.

    `arch` is "native" (exactly this host), "x86-64-v3" (AVX2, FMA), "x86-64-v4" (AVX-512 F,
    BW, CD, DQ, VL), "aarch64", or "baseline" (any CPU of the host's family). Raises
    `TargetError` for any other.
    """
    if arch not in _MARCH:
        raise TargetError(f"unknown architecture {arch!r}; the known are: {', '.join(_MARCH)}.")
    x86_host = platform.machine().lower() in ("x86_64", "amd64")
    # Left to itself, clang splits 64-byte vectors in two for x86-64-v4 and Intel servers.
    wide = arch == "x86-64-v4" or (arch == "native" and x86_host)
    width = ("-mprefer-vector-width=512",) if wide else ()
    more = (*width, f"-D{FLAGGED}") if arch == "native" else width
    if compiler.kind == "zig":
        return (f"-mcpu={_ZIG_CPUS[arch]}", *more)
    march = _MARCH[arch]
    if march is None:
        return ()
    # `-march=native` came to clang on Apple silicon late, `-mcpu=native` was always there.
    spelling = "-mcpu" if arch == "native" and not x86_host else "-march"
    return (f"{spelling}={march}", *more)


def _demand(command: str, source: str) -> Compiler:
    """The compiler run by `command`; raises `BuildError`, naming `source`, if it is unusable."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise BuildError(f"{source}, {command!r}, cannot be parsed: {error}.") from None
    if not words:
        raise BuildError(f"{source}, {command!r}, is empty. {REMEDY}")
    if words in (("zig",), ("ziglang",), ("zig", "cc")) and (wheel := _zig_wheel()):
        return wheel
    if Path(words[0]).stem == "zig" and len(words) == 1:
        words += ("cc",)
    if shutil.which(words[0]) is None:
        raise BuildError(f"{source}, {command!r}, was not found. {REMEDY}")
    if compiler := _identify(words):
        return compiler
    raise BuildError(f"{source}, {command!r}, is not a working clang, gcc or zig cc. {REMEDY}")


def _path_clang() -> Compiler | None:
    for name in _CLANGS:
        compiler = _identify((name,)) if shutil.which(name) else None
        if compiler and compiler.kind == "clang" and compiler.version >= (OLDEST_CLANG,):
            return compiler
    return None


def _path_gcc() -> Compiler | None:
    for name in _GCCS:
        if shutil.which(name) and (compiler := _identify((name,))):
            return compiler
    return None


def _zig_wheel() -> Compiler | None:
    """The compiler in the `ziglang` wheel, found without running or importing anything."""
    try:
        spec = importlib.util.find_spec("ziglang")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    binary = shutil.which("zig", path=str(Path(spec.origin).parent))
    if binary is None:
        return None
    from importlib import metadata  # slow to import, and not needed for other compilers

    try:
        version = metadata.version("ziglang")
    except metadata.PackageNotFoundError:
        version = "0"
    return Compiler(f"zig cc {version}", "zig", (binary, "cc"), _numbers(version))


def _no_compiler() -> Compiler:
    raise BuildError(f"no C compiler was found. {REMEDY}")


def _identify(words: tuple[str, ...]) -> Compiler | None:
    """The compiler that `words` runs, by its predefined macros; None if it is unknown."""
    macros = _macros(words, os.environ.get("PATH", ""))
    if "__clang__" in macros:
        version = _version(macros, "__clang_major__", "__clang_minor__", "__clang_patchlevel__")
        if _is_zig(words):
            return _named("zig cc", "zig", words, version)
        return _named("clang", "clang", words, version)
    if "__GNUC__" in macros:
        version = _version(macros, "__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
        return _named("gcc", "gcc", words, version)
    return None


def _is_zig(words: tuple[str, ...]) -> bool:
    return Path(words[0]).stem == "zig"


def _named(label: str, kind: Kind, words: tuple[str, ...], version: tuple[int, ...]) -> Compiler:
    return Compiler(f"{label} {'.'.join(map(str, version))}", kind, words, version)


@functools.cache
def _macros(words: tuple[str, ...], path: str) -> Mapping[str, str]:
    """The macros that a C compiler defines by itself, none if `words` runs no C compiler.

    They identify the compiler, as other programs have a `--version`, too. `path` is the PATH,
    part of the cache key.
    """
    del path
    try:
        if _is_zig(words):
            with tempfile.TemporaryDirectory() as folder:
                done = _preprocessed(words, zig_caches(Path(folder)))
        else:
            done = _preprocessed(words, {})
    except (OSError, subprocess.TimeoutExpired):
        return {}
    if done.returncode != 0:
        return {}
    return dict(re.findall(r"^#define (\w+) (.*)$", done.stdout, re.MULTILINE))


def _preprocessed(
    words: tuple[str, ...], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """The run of a compiler that prints its macros, with more in its environment."""
    return subprocess.run(
        [*words, "-dM", "-E", "-x", "c", os.devnull],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )


def zig_caches(folder: Path) -> dict[str, str]:
    """The environment in which Zig keeps its caches in a folder.

    It hangs if it cannot write those in the home directory.
    """
    return dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(folder))


def _version(macros: Mapping[str, str], *names: str) -> tuple[int, ...]:
    """The numbers that these macros are defined as; 0 for those without one."""
    return tuple(int(value) if (value := macros.get(name, "")).isdecimal() else 0 for name in names)


def _numbers(text: str) -> tuple[int, ...]:
    """The first dotted number in `text`; (0,) if there is none."""
    match = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else (0,)
