"""Programs for Neon: compiled for AArch64 everywhere, and run where it can be or is emulated."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.codegen.saved import saved_programs
from tests.sampling import some

from morello.codegen import generate
from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.native.toolchain import find_compiler
from morello.runtime.argument import Argument, Array, arguments
from morello.runtime.verify import verify
from morello.search.session import search
from morello.targets import find_target

NEON = find_target("neon")

EXPRESSIONS = (
    "f32[1,1] @ f32[1,1]",
    "f32[2,64] @ f32[64,3]{0,1}",
    "bf16[1,37] @ bf16[37,2]{0,1}",
    "f32[8,8] @ f32[8,8] -> bf16[8,8]",
    "u32[8,16] @ u32[16,12]",
    "i16[4,32] @ i16[32,4]",
    "i8[1,37] @ i8[37,2]{0,1}",
    "u8[2,32] @ i8[32,8] -> i16[2,8]",
    "relu(f32[17,33])",
    "gelu(f32[9,65])",
    "tanh(f32[9,13]) / f32[9,13]",
    "f32[17,33] + f32[33]",
    "f32[5,7] * 2.5",
    "bf16[8,12] + bf16[8,12]",
    "i32[37] * i32[37]",
    "maximum(u8[37], u8[37])",
    "abs(i16[37])",
    "relu(i8[37])",
    "cast(f32[21], bf16)",
    "cast(f16[21], f32)",
    "cast(u8[21], i32)",
    "sum(f32[17,33], axis=1)",
    "sum(i32[5,37], axis=1)",
    "max(f32[17,33], axis=0)",
    "max(u8[5,37], axis=0)",
    "softmax(f32[3,8], axis=0)",
    "transpose(bf16[16,40])",
    "transpose(u8[32,48])",
    "fill_lowest(i16[37])",
    "broadcast(f32[5,9], axis=1, size=3)",
    "one_prefix(f32[5,9])",
)
"""Expressions whose functions, or sizes, no saved program has."""

OPTIMIZED = ("-std=gnu11", "-O3", "-ffp-contract=fast", "-fno-math-errno")
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-psabi")

# Every operand ends where no more may be read, or written.
DRIVER = """
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *place(long bytes) {
  long page = sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
  char *start = mmap(0, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  mprotect(start + pages * page, page, PROT_NONE);
  return start + pages * page - bytes;
}

static void transfer(ssize_t (*by)(int, void *, size_t), int file, char *p, long bytes) {
  for (long n; bytes > 0; p += n, bytes -= n)
    if ((n = by(file, p, bytes)) <= 0) exit(1);
}

static void run(int number, void **p);

int main(int argc, char **argv) {
  int operands = argc - 2;
  void *p[8];
  for (int i = 0; i < operands; ++i) {
    p[i] = place(atol(argv[i + 2]));
    transfer(read, 0, p[i], atol(argv[i + 2]));
  }
  run(atoi(argv[1]), p);
  transfer((void *)write, 1, p[operands - 1], atol(argv[operands + 1]));
}
"""


@dataclass(frozen=True)
class Program:
    number: int
    spec: Spec
    text: str

    @property
    def call(self) -> str:
        """A case of the driver's: the declaration and a call."""
        pointers = [f"p[{i}]" for i in range(len(self.spec.placements))]
        name = f"kernel{self.number}"
        return f"case {self.number}: {{ void {name}(); {name}({', '.join(pointers)}); return; }}"


def searched(expression: str) -> Impl:
    """The best program of an expression."""
    spec = parse(expression)
    return reconstruct(spec, NEON, search(spec, NEON).decisions)


def program(number: int, impl: Impl) -> Program:
    return Program(number, impl.spec, generate(impl, f"kernel{number}").text)


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    """The saved ones and those that are searched."""
    impls = [*saved_programs("neon").values(), *map(searched, some(EXPRESSIONS, 4))]
    return [program(number, impl) for number, impl in enumerate(impls)]


def write(programs: Sequence[Program], directory: Path) -> list[str]:
    """The files of these programs."""
    names = []
    for program in programs:
        names.append(f"kernel{program.number}.c")
        (directory / names[-1]).write_text(program.text)
    return names


def run(command: Sequence[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:5000]


def zig(libc: str) -> list[str]:
    target = ["-target", f"aarch64-linux-{libc}", "-mcpu=generic", "-fno-sanitize=undefined"]
    return [*find_compiler("zig").command, *target]


def test_every_program_compiles(programs: list[Program], tmp_path: Path) -> None:
    names = write(programs, tmp_path)
    library = ["-shared", "-fPIC", "-nostdlib", "-o", "all.so"]
    run([*zig("gnu"), "-std=gnu11", "-O1", *WARNINGS, *library, *names], tmp_path)


@pytest.fixture(scope="module")
def gcc() -> str:
    found = shutil.which("aarch64-linux-gnu-gcc") or shutil.which("aarch64-linux-gnu-gcc-12")
    return found or pytest.skip("there is no gcc for AArch64")


def test_every_program_compiles_with_gcc(gcc: str, programs: list[Program], tmp_path: Path) -> None:
    names = write(programs, tmp_path)
    run([gcc, "-march=armv8-a", "-std=gnu11", "-O1", *WARNINGS, "-c", *names], tmp_path)


def test_programs_use_neon(tmp_path: Path) -> None:
    """A scalar times a register is added to another one by one instruction."""
    (name,) = write([program(0, saved_programs("neon")["f32[16,16] @ f32[16,16]"])], tmp_path)
    run([*zig("gnu"), *OPTIMIZED, "-S", name, "-o", "kernel.s"], tmp_path)
    assert "fmla\tv" in (tmp_path / "kernel.s").read_text()


@pytest.fixture(scope="module")
def emulator() -> list[str]:
    """The command that runs a program for AArch64: an emulator, or nothing on such a CPU."""
    if platform.machine() == "aarch64" and platform.system() == "Linux":
        return []
    found = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    return [found or pytest.skip("this machine neither is an AArch64 nor has qemu-aarch64")]


def test_every_program_computes_its_spec(
    emulator: list[str], programs: list[Program], tmp_path: Path
) -> None:
    names = write(programs, tmp_path)
    cases = "\n".join(program.call for program in programs)
    switch = f"static void run(int number, void **p) {{\nswitch (number) {{\n{cases}\n}}\n}}\n"
    (tmp_path / "driver.c").write_text(DRIVER + switch)
    run([*zig("musl"), *OPTIMIZED, "-static", "-w", *names, "driver.c", "-o", "all"], tmp_path)
    command = [*emulator, str(tmp_path / "all")]
    for program in programs:
        verify(partial(call, command, program), program.spec)


def call(command: list[str], program: Program, *inputs: Array, out: Array) -> None:
    """Run a program in another process."""
    taken = arguments(program.spec)
    sizes = [str(argument.extent) for argument in taken]
    data = b"".join(packed(one, x) for one, x in zip(taken, (*inputs, out), strict=True))
    done = subprocess.run(
        [*command, str(program.number), *sizes], input=data, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr[:1000]
    out[...] = taken[-1].view(np.frombuffer(done.stdout, np.uint8))


def packed(argument: Argument, values: Array) -> bytes:
    """An array as it lies in memory, from its first element to its last."""
    memory = np.zeros(argument.extent, np.uint8)
    argument.view(memory)[...] = values
    return memory.tobytes()
