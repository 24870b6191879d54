"""Names of kernels' functions: only identifiers get into the C."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.goals import goal_of, mapped, matmul_goal, tensor
from tests.support import compile_c

from morello.base.errors import BuildError
from morello.cli.parser import main
from morello.codegen import generate
from morello.codegen.names import RESERVED, check_function_name
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.ir.dtype import F16
from morello.ir.spec import Spec
from morello.native.toolchain import find_compiler
from morello.search.session import search
from morello.targets.x86 import AVX2

PASTED = 'kernel(void) {}\n#include "/etc/passwd"\nvoid other'


@cache
def program(goal: Spec | None = None) -> Impl:
    goal = goal or matmul_goal(2, 8, 8)
    return reconstruct(goal, AVX2, search(goal, AVX2).decisions)


@pytest.mark.parametrize(
    "name",
    [
        "", " ", "1st", "a b", "a-b", "a\n", "é", "π", "_own", "__own", "\uff4b", PASTED,
        "int", "class", "and", "typeof", "asm", "linux", "unix", "NULL", "uint8_t", "INT8_MAX",
        "main", "memcpy", "expf", "abs", "parallel", "group_t", "run_parallel",
        "MORELLO_RESTRICT", "a" * 1000,
    ],
)  # fmt: skip
def test_names_that_no_function_can_have(name: str) -> None:
    with pytest.raises(BuildError, match=r"cannot be called .*such as my_kernel\."):
        generate(program(), name)


def test_names_of_helpers() -> None:
    helper = next(name for name in AVX2.helpers if name in generate(program()).text)
    with pytest.raises(BuildError, match="something else in the generated code"):
        generate(program(), helper)


@given(st.text(max_size=8) | st.sampled_from(sorted(RESERVED)))
def test_only_identifiers_get_through(name: str) -> None:
    try:
        source = generate(program(), name)
    except BuildError as error:
        assert len(str(error)) < 400
    else:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and name not in RESERVED
        assert f"void {name}(" in source.text and f"void {name}(" in source.header


@pytest.mark.parametrize("name", ["a", "out", "K", "kernel_2", "item", "workspace", "f32", "x__y"])
def test_other_names_compile(name: str, tmp_path: Path) -> None:
    """Names of operands and variables are among them."""
    source = generate(program(), name)
    compile_c(source.text, AVX2, tmp_path)
    check_header(source.header, tmp_path)


def check_header(header: str, folder: Path) -> None:
    """Compile a header as C++ without a warning."""
    (folder / "it.h").write_text(header)
    (folder / "it.cpp").write_text('#include "it.h"\n')
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = [*find_compiler().command, *flags, "-c", "-o", "it.o", "it.cpp"]
    subprocess.run(command, cwd=folder, check=True)


def test_halves_are_bits_in_headers(tmp_path: Path) -> None:
    """C++ often has no type of them."""
    header = generate(program(goal_of(mapped("relu", tensor(4, 16, dtype=F16)))), "halves").header
    assert "void halves(const uint16_t *MORELLO_RESTRICT" in header
    check_header(header, tmp_path)


def test_all_macros_of_the_headers_are_known(tmp_path: Path) -> None:
    source = tmp_path / "it.c"
    headers = ("stdint.h", *AVX2.headers.values())
    source.write_text("".join(f"#include <{header}>\n" for header in headers))
    command = [*find_compiler().command, "-dM", "-E", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = re.findall(r"^#define ([A-Za-z]\w*)", done.stdout, re.MULTILINE)
    assert "INT8_MAX" in names
    for name in names:
        with pytest.raises(BuildError):
            check_function_name(name)


def test_the_schedule_stays_in_its_comment() -> None:
    text = generate(program(), schedule="/* it */ int x;").text
    assert text.index("int x") < text.index("*/")


def test_the_command_says_so_before_it_searches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("there is no need to search")

    monkeypatch.setattr("morello.search.session.Session.solve", never)
    assert main(["synth", "f32[8,8] @ f32[8,8]", "--name", PASTED]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "cannot be called 'kernel(void)" in captured.err
