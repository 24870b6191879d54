"""Registers are really in registers: the inner loops of chosen programs do not spill."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import morello
from morello.codegen import generate
from morello.runtime.toolchain import arch_flags, base_flags, find_compiler

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


@pytest.mark.parametrize("target", ["avx2", "avx512"])
@pytest.mark.parametrize(
    "goal",
    [
        *(f"f32[{size},{size}] @ f32[{size},{size}]" for size in (64, 2048)),
        "f32[128,768] @ f32[768,768]",  # 4x24: with AVX2, all 16 registers are in use
        "f32[128,96] @ f32[96,48]",
    ],
)
def test_the_chosen_micro_kernel_does_not_spill(target: str, goal: str, tmp_path: Path) -> None:
    impl, _ = morello.implement(goal, target=target)
    source, assembly = tmp_path / "kernel.c", tmp_path / "kernel.s"
    source.write_text(generate(impl).text)
    compiler = find_compiler()
    flags = [*base_flags(compiler), *arch_flags(compiler, impl.target.arch)]
    flags = [flag for flag in flags if flag != "-shared"]
    subprocess.run([*compiler.command, *flags, "-S", source, "-o", assembly], check=True)

    loops = inner_loops(assembly.read_text())
    hot = max(loops, key=lambda body: sum("vfmadd" in line for line in body))
    multiply_adds = [line for line in hot if "vfmadd" in line]
    assert len(multiply_adds) >= 8, "no inner loop of multiply-adds was found"
    assert not [line for line in hot if "(%rsp" in line], "it spills"
    wide = "%zmm" if target == "avx512" else "%ymm"
    assert all(wide in line for line in multiply_adds)
