"""Whatever inputs and functions are called, the C compiles and computes the same."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codegen.random_rewrites import Programs, with_cores
from tests.codegen.test_programs import one_file
from tests.codegen.test_random_goals import check_all, set_apart
from tests.goals import goal_of, mapped, matmul_goal, product, tensor
from tests.sampling import some
from tests.support import skip_unless_it_runs

import morello
from morello.base.errors import BuildError
from morello.codegen import Source, generate
from morello.codegen.names import RESERVED, Names
from morello.impl.tree import Impl
from morello.native.toolchain import arch_flags, base_flags, find_compiler
from morello.scheduling import Schedule
from morello.targets.machines import ZEN4
from morello.targets.target import Target
from morello.targets.x86 import AVX2, AVX512, avx512

LAYER = product(tensor(8, 8), tensor(8, 6))
GOALS = (
    matmul_goal(20, 4, 8, parallel=True),
    goal_of(mapped("add", tensor(4, 9), tensor(4, 9))),
    goal_of(mapped("relu", mapped("multiply", LAYER, tensor(8, 6)))),
)
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*", re.ASCII)
x86 = pytest.mark.parametrize("target", some([AVX512, AVX2], 2), ids=lambda target: target.name)
BF16_PRODUCTS = avx512(ZEN4, frozenset({"avx512_bf16"}))
ODD = ("_", "__", "__x", "_Float16", "__LINE__", "__builtin_prefetch", "_mm_add_ps", "x" * 100)
FOUND = (
    ("linux", "b_reg0"), ("unix", "asm"), ("typeof", "NULL"), ("a_reg0", "a"), ("m0", "k0"),
    ("workspace", "item"), ("region0", "run_parallel"), ("linux", "linux_"), ("a_L1_0", "a_parts0"),
    ("__x", "in_x"), ("_", "__"), ("kernel0", "kernel0_range"), ("out", "t0"), ("new", "class"),
)  # fmt: skip
"""Pairs of names that the inputs of one program may have."""
REFUSED = {"float", "parallel_t", "restrict", "run_parallel"}
TAKEN = {"a", "item", "kernel0_set_parallel", "region0", "workspace"}
"""Names in generated code that functions may not have, and others that they may."""


def identifiers(text: str) -> list[str]:
    return list(dict.fromkeys(IDENTIFIER.findall(text)))


def called(impl: Impl, names: Sequence[str]) -> Impl:
    """The program, its operands called so."""
    return replace(impl, spec=replace(impl.spec, names=tuple(names)))


def renamed(impl: Impl, names: Sequence[str]) -> Iterator[Impl]:
    """The program with all of these names, as many at a time as it has operands."""
    count = len(impl.spec.operation.operands)
    for begin in range(0, len(names), count):
        part = names[begin : begin + count]
        yield called(impl, [*part, *(f"other{i}" for i in range(count - len(part)))])


def check_syntax(text: str, target: Target, directory: Path, language: str = "c") -> None:
    """The compiler takes it without a warning."""
    compiler = find_compiler()
    (directory / "names").write_text(text)
    flags = [*arch_flags(compiler, target.arch), "-O0", "-Wall", "-Wextra", "-Werror"]
    flags += ["-Wno-unused", "-Wno-psabi", *["-std=gnu11"] * (language == "c")]
    files = ["-x", language, "-c", str(directory / "names"), "-o", str(directory / "names.o")]
    command = [*compiler.command, *flags, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


def check_sources(sources: Sequence[Source], target: Target, directory: Path) -> None:
    """All of them compile, and their headers do, as C++ too."""
    assert sources
    check_syntax(one_file([*map(set_apart, sources)], target), target, directory)
    headers = "\n".join(source.header for source in sources)
    for language in ("c", "c++"):
        check_syntax(headers, target, directory, language)


@cache
def programs_for(target: Target) -> list[Impl]:
    """Programs with buffers, registers, parallel regions and several inputs."""
    programs = Programs(target, Random(4))
    found = [programs.of(goal) for goal in GOALS]
    while not generate(found[0]).parallel:
        found[0] = programs.of(GOALS[0])
    return found


@x86
def test_inputs_called_as_generated_code_calls_something(target: Target, tmp_path: Path) -> None:
    target = with_cores(target)
    sources: list[Source] = []
    for impl in programs_for(target):
        names = some(identifiers(generate(impl, "kernel0").text), 3)
        for one in renamed(impl, names):
            sources.append(generate(one, f"kernel{len(sources)}"))
    check_sources(sources, target, tmp_path)


def predefined(target: Target) -> list[str]:
    """The macros that are defined in generated code, with all headers that it may include."""
    compiler = find_compiler()
    includes = "".join(f"#include <{h}>\n" for h in ("stdint.h", *target.headers.values()))
    flags = [*base_flags(compiler), *arch_flags(compiler, target.arch)]
    command = [*compiler.command, *flags, "-dM", "-E", "-x", "c", "-"]
    done = subprocess.run(command, input=includes, capture_output=True, text=True, check=True)
    return re.findall(r"^#define (\w+) ", done.stdout, re.MULTILINE)


@x86
def test_inputs_called_as_c_calls_something(target: Target, tmp_path: Path) -> None:
    macros = predefined(target)
    assert {"linux", "INT32_MAX", "__x86_64__"} <= {*macros}
    impl, _ = morello.implement("f32[4] + f32[4]", target=target)
    names = some([*macros, *sorted(RESERVED), *ODD], 3)
    sources = [generate(one, f"kernel{i}") for i, one in enumerate(renamed(impl, names))]
    check_sources(sources, target, tmp_path)


@x86
def test_functions_called_as_something_else(target: Target, tmp_path: Path) -> None:
    """Each name is refused, or the C compiles."""
    target = with_cores(target)
    sources, refused = [], []
    for impl in programs_for(target):
        names = identifiers(generate(impl, "kernel0").text)
        for name in dict.fromkeys([*some(names, 3), *({*names} & (REFUSED | TAKEN))]):
            try:
                sources.append(generate(impl, name))
            except BuildError as error:
                assert name in str(error)
                refused.append(name)
    assert {*refused} >= REFUSED
    different = {one.name: one for one in sources}
    assert {*different} >= TAKEN
    different.pop("kernel0", None)  # defines what another one is called
    check_sources([*different.values()], target, tmp_path)


@x86
def test_such_programs_compute_the_same(target: Target, tmp_path: Path) -> None:
    skip_unless_it_runs(target)
    target = with_cores(target)
    goals = [
        morello.parse(f"{x} = f32[6,8]; {w} = f32[8,20]; max(relu({x} @ {w}), axis=1)")
        for x, w in FOUND
    ]
    impl = Programs(target, Random(3)).of(goals[0])
    impls = [called(impl, goal.names) for goal in goals]
    for impl, names in zip(programs_for(target), cycle(FOUND)):
        impls += islice(renamed(impl, names), 1)
    check_all(impls, target, tmp_path)


def test_an_input_keeps_its_name_if_it_can() -> None:
    names = Names(["helper"])
    wanted = [
        "x",
        "x1",
        "b_reg0",
        "linux",
        "linux_",
        "helper",
        "workspace",
        "__x",
        "in_x",
        "INT8_C",
    ]
    found = ["x", "x1", "b_reg0", "linux_", "linux__", "helper_", "workspace_", "in_x", "in_x_"]
    assert [names.parameter(name) for name in wanted] == [*found, "INT8_C_"]
    assert names.fresh("b_reg") == "b_reg1"
    with names.scope():
        assert [names.fresh("b_reg"), names.lasting("region")] == ["b_reg2", "region0"]
    assert [names.fresh("b_reg"), names.lasting("region")] == ["b_reg2", "region1"]


@given(st.lists(st.sampled_from([*sorted(RESERVED)[:9], *ODD, *sum(FOUND, ())]), max_size=9))
def test_names_are_given_out_once(wanted: list[str]) -> None:
    names = Names([])
    found = [names.parameter(name) for name in wanted]
    found += [make(name) for name in wanted for make in (names.fresh, names.lasting)]
    assert len(found) == len({*found})
    assert not RESERVED & {*found}
    assert all(re.fullmatch(r"[A-Za-z]\w{0,62}", name, re.ASCII) for name in found)


def test_groups_of_one_operand_in_a_loop_and_its_remainder(tmp_path: Path) -> None:
    """The pointers to them have one name, and so a block each."""
    goal = morello.parse("bf16[6,4] @ bf16[4,16]{0,1}")
    tiled = Schedule.of(goal, BF16_PRODUCTS).move("a", "L2").move("a", "L1").tile(m=4)
    loop, remainder = (0, 0, 0), (0, 0, 1)
    packed = replace(replace(tiled, path=remainder).pack(), path=loop).pack()
    source = generate(packed.solve().impl)
    assert source.text.count("*const restrict a_groups0 =") == 2
    source_file = tmp_path / "kernel.c"
    source_file.write_text(source.text)
    compiler = find_compiler()
    flags = [*base_flags(compiler), *arch_flags(compiler, "native")]
    command = [*compiler.command, *flags, "-mavx512bf16", str(source_file)]
    subprocess.run([*command, "-o", str(tmp_path / "kernel.so")], check=True)
