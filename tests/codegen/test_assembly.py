"""Registers are really in registers: the inner loops of chosen programs do not spill."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.codegen.saved import saved_programs
from tests.sampling import some

import morello
from morello.codegen import generate
from morello.codegen.instructions import aligned_stack, compiled_for
from morello.impl.tree import Impl
from morello.native.assembly import assembly
from morello.native.toolchain import arch_flags, base_flags, find_compiler
from morello.targets.catalog import find_target

LABEL = re.compile(r"^(\.L\w+):")
JUMP = re.compile(r"^\s+j\w+\s+(\.L\w+)")


def inner_loops(assembly: str) -> list[list[str]]:
    """The instructions of every loop without another loop in it."""
    lines = [x for x in assembly.splitlines() if not re.match(r"^\.L(tmp|func)|^\s+[.#]", x)]
    starts = {match[1]: i for i, line in enumerate(lines) if (match := LABEL.match(line))}
    loops = []
    for i, line in enumerate(lines):
        match = JUMP.match(line)
        if match and starts.get(match[1], i) < i:
            body = lines[starts[match[1]] + 1 : i + 1]
            if not any(LABEL.match(one) for one in body):
                loops.append(body)
    return loops


SAVED = tuple(f"f32[{size},{size}] @ f32[{size},{size}]" for size in (64, 256))
SEARCHED = (
    ("avx2", "f32[128,768] @ f32[768,768]"),  # 4x24: all 16 registers are in use
    ("avx512", "f32[2048,2048] @ f32[2048,2048]"),
    ("avx512", "f32[128,96] @ f32[96,48]"),
    ("avx512", "f32[4,64] @ f32[64,108]"),  # 28 sums, of which a loop inside adds to 24
)


@pytest.mark.parametrize("target", ["avx2", "avx512"])
@pytest.mark.parametrize("goal", SAVED)
def test_the_saved_micro_kernel_does_not_spill(target: str, goal: str, tmp_path: Path) -> None:
    check_that_nothing_spills(saved_programs(target)[goal], tmp_path)


@pytest.mark.parametrize(("target", "goal"), some(SEARCHED, 2))
def test_the_chosen_micro_kernel_does_not_spill(target: str, goal: str, tmp_path: Path) -> None:
    check_that_nothing_spills(morello.implement(goal, target=target)[0], tmp_path)


MANY = """
typedef float whole __attribute__((vector_size(64)));
typedef float part __attribute__((vector_size(64), aligned(4)));
%s
void many(const float *x, float *y) {
  whole v[40];
#pragma GCC unroll 40
  for (int i = 0; i < 40; ++i) v[i] = *(const part *)(x + 16 * i) * *x;
  __asm__ volatile("" : : : "memory");
#pragma GCC unroll 40
  for (int i = 0; i < 40; ++i) *(part *)(y + 16 * i) = v[i] + *y;
}
"""
"""More vectors than there are registers."""


def test_vectors_that_are_spilled_are_aligned() -> None:
    target = find_target("avx512")
    text = "\n".join(compiled_for(target, [MANY % "\n".join(aligned_stack(target))]))
    compiler = find_compiler()
    code = [
        text
        for text, _ in assembly(text, compiler=compiler, flags=arch_flags(compiler, "x86-64-v4"))
    ]
    spilled = [text for text in code if re.match(r"vmov\w+ %zmm\d+, -?\d*\(%r[sb]p\)", text)]
    assert spilled and all(text.startswith(("vmovaps", "vmovdqa")) for text in spilled)


def test_scalars_are_loaded_again_where_all_registers_hold_sums(tmp_path: Path) -> None:
    """28 sums, and two halves of a row of b, each with all of the seven scalars of a."""
    tile = morello.schedule("f32[7,64] @ f32[64,64]", target="avx512").to_accumulate()
    for operand in "abc":
        tile = tile.move(operand, "L2").move(operand, "L1")
    tile = tile.move("c", "registers", vector=16).split(k=1).tile(n=32)
    tile = tile.move("b", "registers", vector=16).tile(m=1)
    check_that_nothing_spills(tile.solve().impl, tmp_path)


def test_loads_of_several_steps_wait_for_the_sums_before_them(tmp_path: Path) -> None:
    """24 sums, and two registers of each of three rows of b."""
    tile = morello.schedule("f32[12,48] @ f32[48,64]", target="avx512").to_accumulate()
    for operand in "abc":
        tile = tile.move(operand, "L2").move(operand, "L1")
    tile = tile.tile(n=32).move("c", "registers", vector=16).split(k=3)
    tile = tile.move("b", "registers", vector=16).tile(m=1)
    check_that_nothing_spills(tile.solve().impl, tmp_path)


@pytest.mark.parametrize("limit", ["minimum(f32[64], 6)", "maximum(f32[64], 2)"])
def test_limits_that_are_constants_take_one_instruction(limit: str, tmp_path: Path) -> None:
    """A constant is not NaN, so no comparison has to find out."""
    code = assembly_of(morello.implement(limit, target="avx512")[0], tmp_path)
    instructions = re.findall(r"^\s+(v\w+)", code, re.MULTILINE)
    assert any(name in ("vminps", "vmaxps") for name in instructions)
    assert not [name for name in instructions if re.match("vcmp|vblend|vpternlog", name)]


def test_loops_over_single_elements_are_no_gathers(tmp_path: Path) -> None:
    """Rows of ten elements, two at a time, are too far apart to be loaded by shuffles."""
    sums = morello.schedule("sum(f32[400,10])", target="avx512")
    for operand in ("x", "out"):
        sums = sums.move(operand, "L2").move(operand, "L1")
    sums = sums.tile(i=2).move("x", "registers", vector=1).move("out", "registers", vector=1)
    code = assembly_of(sums.tile(i=1).solve().impl, tmp_path)
    assert "vadd" in code and "gather" not in code


def test_short_rows_are_no_masked_expansions_of_memory(tmp_path: Path) -> None:
    code = assembly_of(morello.implement("softmax(f32[64,5])", target="avx512")[0], tmp_path)
    assert re.search(r"\(%\w+.*%zmm\d+ \{%k", code), "no masked load"
    assert not re.search(r"vp?expand\w+\s+[^%]", code)


def test_constants_of_exponentials_take_no_registers_from_sums(tmp_path: Path) -> None:
    """They are loaded before all loops, if the compiler may keep them."""
    impl, _ = morello.implement("softmax(f32[140,32] @ f32[32,512])", target="avx512")
    check_that_nothing_spills(impl, tmp_path)


def check_that_nothing_spills(impl: Impl, directory: Path) -> None:
    """The inner loop of most multiply-adds has all that it needs in registers."""
    loops = inner_loops(assembly_of(impl, directory))
    hot = max(loops, key=lambda body: sum("vfmadd" in line for line in body))
    multiply_adds = [line for line in hot if "vfmadd" in line]
    assert len(multiply_adds) >= 8, "no inner loop of multiply-adds was found"
    assert not [line for line in hot if "(%rsp" in line], "it spills"
    wide = "%zmm" if impl.target.name == "avx512" else "%ymm"
    assert all(wide in line for line in multiply_adds)


def assembly_of(impl: Impl, directory: Path) -> str:
    """The assembly of a program that is compiled for its target."""
    source, result = directory / "kernel.c", directory / "kernel.s"
    source.write_text(generate(impl).text)
    compiler = find_compiler()
    flags = [*base_flags(compiler), *arch_flags(compiler, impl.target.arch)]
    flags = [flag for flag in flags if flag != "-shared"]
    subprocess.run([*compiler.command, *flags, "-S", source, "-o", result], check=True)
    return result.read_text()
