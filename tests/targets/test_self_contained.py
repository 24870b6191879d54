"""Generated C calls no library and has no warnings, with the flags that its user may use."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.sampling import some
from tests.support import runs_here

import morello
from morello.codegen import generate
from morello.native.toolchain import arch_flags, find_compiler
from morello.targets.catalog import TARGETS, native
from morello.targets.helpers.collect import used_in
from morello.targets.target import Target
from morello.targets.x86 import AVX2, AVX512, BASELINE, portable

LEVELS = (portable(BASELINE), AVX2, AVX512)
"""Each has all instructions of those before it."""

PLAIN = (*TARGETS.values(), LEVELS[0])
MACHINES = (*PLAIN, native())

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-psabi")


def link(
    text: str, target: Target, command: str, directory: Path, more: tuple[str, ...] = ()
) -> None:
    """Builds C as a user would, but with no library at all: a call of one fails to link.

    A warning is an error.
    """
    compiler = find_compiler(command)
    flags = (*arch_flags(compiler, target.arch), *more)
    if compiler.kind == "zig":
        flags += ("-fno-sanitize=undefined",)  # it would call its runtime
        if target.arch == "aarch64":
            flags += ("-target", "aarch64-linux")
    elif target.arch == "aarch64" and not runs_here(target):
        pytest.skip("this gcc is for another machine")
    source = directory / "source.c"
    source.write_text(text)
    whole = ("-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,--no-undefined")
    command_line = [*compiler.command, *whole, *WARNINGS, *flags, str(source)]
    made = str(directory / "made.so")
    done = subprocess.run([*command_line, "-o", made], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


@pytest.fixture(params=["zig", "gcc"])
def command(request: pytest.FixtureRequest) -> str:
    if request.param == "gcc" and not shutil.which("gcc"):
        pytest.skip("there is no gcc")
    return str(request.param)


@pytest.mark.parametrize("target", some(MACHINES, 4), ids=lambda target: target.name)
def test_no_helper_calls_a_library(target: Target, command: str, tmp_path: Path) -> None:
    """Tests the helpers that no target with fewer instructions has, and the helpers these call.

    The others were tested with those targets, unless their C differs with more instructions.
    """
    fewer = LEVELS[: LEVELS.index(target)] if target in LEVELS else ()
    lesser = fewer if target in PLAIN else PLAIN
    known = {text for one in lesser for text in one.helpers.values() if "#if" not in text}
    names = [name for name, text in target.helpers.items() if text not in known]
    helpers = [target.helpers[name] for name in used_in(names, target.helpers)]
    text = "\n".join(helpers)
    included = [f"#include <{name}>" for mark, name in target.headers.items() if mark in text]
    kept = text.replace("static inline", "__attribute__((used)) static inline")
    # Each is compiled by itself, and not once more in all that use it.
    source = "\n".join(["#include <stdint.h>", *included, kept])
    link(source, target, command, tmp_path, ("-fno-inline",))


def test_no_kernel_calls_a_library(command: str, tmp_path: Path) -> None:
    impl, _ = morello.implement("rsqrt(f32[3,20])", target="avx2")
    source = generate(impl)
    assert "rsqrt_f32" in source.text
    link(source.text, impl.target, command, tmp_path)
