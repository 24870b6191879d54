from __future__ import annotations

import importlib.util
import platform
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from morello.base.errors import BuildError, TargetError
from morello.codegen.instructions import compiled_for
from morello.native import toolchain
from morello.native.build import build
from morello.native.toolchain import FLAGGED, Compiler, arch_flags, find_compiler
from morello.targets.catalog import native

ON_X86 = platform.machine() == "x86_64"


def usable_compilers() -> list[Compiler]:
    """Every compiler this machine has, so that each one's flags are tried."""
    found = []
    for name in ("clang", "zig", "gcc"):
        try:
            found.append(find_compiler(name))
        except BuildError:
            continue
    return found


@pytest.fixture
def bare_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory that is all of PATH."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec

    def hide(name: str, package: str | None = None) -> object:
        return None if name == "ziglang" else find_spec(name, package)

    monkeypatch.setattr("importlib.util.find_spec", hide)


def pretend(directory: Path, name: str, text: str, code: int = 0) -> Path:
    """A program that prints `text`, whatever it is asked."""
    program = directory / name
    program.write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n")
    program.chmod(0o755)
    return program


def clang(major: int, minor: int, patch: int) -> str:
    """The macros that tell a clang; like every one, it says that it is a gcc 4.2.1 as well."""
    return f"#define __clang__ 1\n{gcc(4, 2, 1)}" + "".join(
        f"#define __clang_{part}__ {number}\n"
        for part, number in (("major", major), ("minor", minor), ("patchlevel", patch))
    )


def gcc(major: int, minor: int, patch: int) -> str:
    """The macros that tell a gcc."""
    return (
        f"#define __GNUC__ {major}\n#define __GNUC_MINOR__ {minor}\n"
        f"#define __GNUC_PATCHLEVEL__ {patch}\n#define __GNUC_STDC_INLINE__ 1\n"
    )


def test_nothing_found(bare_path: Path, no_wheel: None) -> None:
    with pytest.raises(BuildError, match=r"no C compiler was found.*pip install ziglang.*CC"):
        find_compiler()


def test_requested_but_missing(no_wheel: None, bare_path: Path) -> None:
    with pytest.raises(BuildError, match="'clang-99', was not found"):
        find_compiler("clang-99")
    with pytest.raises(BuildError, match="'zig', was not found"):
        find_compiler("zig")


def test_cc_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/no/such/cc")
    with pytest.raises(BuildError, match="compiler in CC, '/no/such/cc', was not found"):
        find_compiler()


def test_cc_that_is_no_compiler(bare_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(bare_path, "broken", clang(19, 1, 0), code=1)
    pretend(bare_path, "other", "Turbo C 2.0")
    pretend(bare_path, "true", "true (GNU coreutils) 9.1\nFree Software Foundation")
    for name in ("broken", "other", "true"):
        monkeypatch.setenv("CC", name)
        with pytest.raises(BuildError, match=f"'{name}', is not a working clang"):
            find_compiler()


def test_cc_that_cannot_be_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "gcc 'oops")
    with pytest.raises(BuildError, match="cannot be parsed"):
        find_compiler()


@pytest.mark.parametrize("name", ["true", "echo", "cat", "sh", "ld", "make"])
def test_programs_that_are_no_compilers(name: str) -> None:
    if not shutil.which(name):
        pytest.skip(f"there is no {name}")
    with pytest.raises(BuildError, match=f"'{name}', is not a working clang, gcc or zig cc"):
        find_compiler(name)


@pytest.mark.parametrize("command", ["", " ", "\t\n"])
def test_an_empty_command(command: str) -> None:
    with pytest.raises(BuildError, match=r"the requested compiler, '.*', is empty\. Run `pip"):
        find_compiler(command)


@pytest.mark.parametrize("compiler", usable_compilers(), ids=lambda c: c.kind)
def test_a_compiler_found_in_another_way_is_the_same(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", shlex.join(compiler.command))
    found = find_compiler()
    assert (found.kind, found.command) == (compiler.kind, compiler.command)
    assert found.version > (3,)


def test_zig_needs_no_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    zig = next(each for each in usable_compilers() if each.kind == "zig")
    for variable in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, "/proc/none")
    monkeypatch.setenv("CC", shlex.join(zig.command))
    toolchain._macros.cache_clear()
    assert find_compiler().command == zig.command


def test_order(bare_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(bare_path, "gcc", gcc(12, 2, 0))
    zig = find_compiler()
    assert zig.kind == "zig"
    assert Path(zig.command[0]).name.startswith("zig")
    pretend(bare_path, "clang", clang(16, 0, 6))
    assert find_compiler() == zig
    pretend(bare_path, "clang-18", clang(18, 1, 3))
    assert find_compiler() == Compiler("clang 18.1.3", "clang", ("clang-18",), (18, 1, 3))
    pretend(bare_path, "clang-20", clang(20, 1, 0))
    assert find_compiler().version == (20, 1, 0)
    monkeypatch.setenv("CC", "gcc -m64")
    assert find_compiler() == Compiler("gcc 12.2.0", "gcc", ("gcc", "-m64"), (12, 2, 0))
    assert find_compiler("clang").version == (16, 0, 6)


def test_gcc_when_there_is_nothing_better(bare_path: Path, no_wheel: None) -> None:
    pretend(bare_path, "cc", gcc(14, 1, 0))
    assert find_compiler() == Compiler("gcc 14.1.0", "gcc", ("cc",), (14, 1, 0))


def test_the_wheel_is_found_without_running_it(
    bare_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("ran something"))
    assert find_compiler().kind == "zig"


def test_unknown_architecture() -> None:
    with pytest.raises(TargetError, match=r"unknown architecture 'z80'; the known are: .*native"):
        arch_flags(find_compiler(), "z80")


@pytest.mark.skipif(not ON_X86, reason="the flags are for x86-64")
@pytest.mark.parametrize("compiler", usable_compilers(), ids=lambda c: c.kind)
def test_architectures_mean_what_they_say(compiler: Compiler) -> None:
    has = {"baseline": "", "x86-64-v3": "AVX2 FMA", "x86-64-v4": "AVX2 FMA AVX512F AVX512VL"}
    for arch, features in has.items():
        lines = [f"#ifndef __{name}__\n#error no {name}\n#endif" for name in features.split()]
        if "AVX512F" not in features:
            lines.append("#ifdef __AVX512F__\n#error it has AVX-512\n#endif")
        build("\n".join(lines), compiler=compiler, flags=arch_flags(compiler, arch))


@pytest.mark.skipif(not ON_X86 or not shutil.which("objdump"), reason="reads x86-64 code")
@pytest.mark.parametrize("compiler", usable_compilers(), ids=lambda c: c.kind)
def test_flags_of_this_machine_say_what_attributes_would(
    compiler: Compiler, tmp_path: Path
) -> None:
    machine = native()
    function = (
        "void kernel(const float *a, float *b) { for (int i = 0; i < 99; ++i) b[i] += a[i]; }"
    )
    text = "\n".join(compiled_for(machine, [function]))
    flags = arch_flags(compiler, "native")
    codes = []
    for some in (flags, tuple(flag for flag in flags if flag != f"-D{FLAGGED}")):
        path = build(text, compiler=compiler, flags=some, cache=tmp_path)
        code = subprocess.run(["objdump", "-d", path.name], cwd=tmp_path, stdout=subprocess.PIPE)
        codes.append(code.stdout.replace(path.name.encode(), b""))
    assert codes[0] == codes[1]
    assert b"mm" in codes[0]


@pytest.mark.skipif(not ON_X86 or not shutil.which("objdump"), reason="reads x86-64 code")
@pytest.mark.parametrize("compiler", usable_compilers(), ids=lambda c: c.kind)
def test_wide_vectors_are_not_split(compiler: Compiler) -> None:
    source = """
    typedef float wide __attribute__((vector_size(64)));
    void kernel(const wide *a, const wide *b, wide *c) { *c += *a * *b; }
    """
    path = build(source, compiler=compiler, flags=arch_flags(compiler, "x86-64-v4"))
    code = subprocess.run(["objdump", "-d", path], capture_output=True, text=True).stdout
    assert "zmm" in code
    assert "vfmadd" in code
    assert "ymm" not in code
