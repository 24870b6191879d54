"""Generated C under the address and undefined-behaviour sanitizers, on exactly sized buffers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.codegen.saved import saved_programs
from tests.codegen.test_programs import one_file
from tests.sampling import some
from tests.support import skip_unless_it_runs

import morello
from morello.codegen import generate
from morello.impl.reconstruct import reconstruct
from morello.ir.spec import Spec
from morello.search.session import search
from morello.targets import find_target

SAVED = (
    "f32[7,13] @ f32[13,11]",
    "u8[16,32] @ i8[32,16] -> i32[16,16]",
    "softmax(f32[8,100])",
    "gelu(f32[8,16] @ f32[16,32])",
    "relu(f32[16,32] @ f32[32,48] + f32[48])",
    "layer_norm(f32[8,64], f32[64], f32[64])",
)
"""Programs of the golden files."""

GOALS = (
    "bf16[3,7] @ bf16[7,12]",
    "u8[3,6] @ i8[6,12] -> i16[3,12]",
    "i16[13,15] @ i16[15,18]",
    "i32[5,9] @ i32[9,8]",
    "u16[3,5] @ u16[5,3]",
    "i8[3,64] @ i8[64,3]",
    "sum(square(i16[9,20]), axis=1)",
    "abs(i8[40] - i8[40]) + i8[40]",
    "u16[19] * u16[19]",
    "conv(f32[1,2,3,4], f32[5,2,3,3], padding=1)",
    "f32[3,50] - expand_dims(mean(f32[3,50]), axis=1)",
    "move(f32[21,35]) -> f32[21,35]{0,1}",
)
"""Of odd sizes, and of what no saved program computes."""

TARGET = find_target("avx2")
FLAGS = ["-O0", "-g", "-w", "-std=gnu11", "-march=x86-64-v3"]
LIBRARIES = ["-lm"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def sanitized(directory: Path, *sources: str) -> subprocess.CompletedProcess[str]:
    """Build the C files with gcc and its sanitizers, and run what they make."""
    files = []
    for number, text in enumerate(sources):
        files.append(directory / f"source{number}.c")
        files[-1].write_text(text)
    program = directory / "program"
    command = ["gcc", *FLAGS, *SANITIZERS, *map(str, files), "-o", str(program), *LIBRARIES]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:3000]
    return subprocess.run([program], capture_output=True, text=True, check=False)


def call(spec: Spec, name: str) -> str:
    """C that calls a kernel on buffers from malloc, of numbers that are all set.

    Integers are of their dtype's whole range, so that sums and products overflow.
    """
    lines, arguments = [], []
    for index, (tensor, operand) in enumerate(
        zip(spec.tensors, spec.operation.operands, strict=True)
    ):
        c, count = tensor.dtype.c, tensor.bytes // tensor.dtype.bytes
        value = "i % 5" if tensor.dtype.is_float else "i * 2654435761u"
        if tensor.dtype.name == "bf16":
            value = "0x3f80"
        lines.append(f"{c} *p{index} = malloc({tensor.bytes});")
        if not operand.written:
            lines.append(f"for (long i = 0; i < {count}; ++i) p{index}[i] = {value};")
        arguments.append(f"p{index}")
    frees = "".join(f" free(p{i});" for i in range(len(arguments)))
    pointers = ", ".join(["void *"] * len(arguments))
    declaration = f"void {name}({pointers});"
    return f"{{ {declaration} {' '.join(lines)} {name}({', '.join(arguments)});{frees} }}"


@pytest.fixture(autouse=True)
def needs_gcc(tmp_path: Path) -> None:
    skip_unless_it_runs(TARGET)
    probe = "int main(void) { return 0; }"
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    try:
        sanitized(tmp_path, probe)
    except AssertionError:
        pytest.skip("this gcc has no sanitizers")


def test_generated_code_is_clean(tmp_path: Path) -> None:
    saved = saved_programs(TARGET.name)
    impls = [saved[text] for text in SAVED]
    for spec in map(morello.parse, some(GOALS, 2)):
        impls.append(reconstruct(spec, TARGET, search(spec, TARGET).decisions))
    text = one_file([generate(impl, f"kernel{i}") for i, impl in enumerate(impls)], TARGET)
    calls = "\n".join(call(impl.spec, f"kernel{i}") for i, impl in enumerate(impls))
    main = f"#include <stdint.h>\n#include <stdlib.h>\nint main(void) {{\n{calls}\nreturn 0; }}\n"
    done = sanitized(tmp_path, main, text)
    assert done.returncode == 0, done.stderr[:3000]


def test_the_sanitizers_see_what_they_should(tmp_path: Path) -> None:
    spec = morello.parse(SAVED[0])
    bad = "void kernel0(float *a, float *b, float *c) { c[7 * 11] = a[0] * b[0]; }"
    main = (
        "#include <stdint.h>\n#include <stdlib.h>\n"
        f"int main(void) {{ {call(spec, 'kernel0')} return 0; }}"
    )
    done = sanitized(tmp_path, main, bad)
    assert done.returncode != 0 and "heap-buffer-overflow" in done.stderr
