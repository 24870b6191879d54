"""One file for several levels of x86-64: each level's kernel is right, and the best one runs."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.codegen.saved import saved_programs
from tests.sampling import some

import morello
from morello.base.errors import BuildError
from morello.codegen import generate
from morello.codegen.levels import LEVELS, generate_levels
from morello.impl.tree import Impl
from morello.native.toolchain import find_compiler
from morello.runtime.argument import Array
from morello.runtime.verify import verify
from morello.targets.catalog import native, runs_here
from morello.targets.x86 import AVX2, AVX512, portable

BASELINE = portable("x86-64")
GENERIC = {"x86-64-v4": AVX512, "x86-64-v3": AVX2, "x86-64": BASELINE}
EXPRESSIONS = (
    "f32[5,8] @ f32[8,20]",
    "bf16[1,64] @ bf16[64,512]",
    "bf16[3,32] @ bf16[32,16]",
    "u8[2,16] @ i8[16,16]",
    "softmax(f32[4,32])",
    "sum(f32[3,48], axis=1)",
    "cast(f16[7,33], f32)",
    "cumsum(f32[3,40], axis=1)",
    "floor(f32[3,50])",
    "gelu(f32[3,50])",
)
WARNINGS = ("-Wall", "-Wextra", "-Werror")
COMPILERS = ["", *(["gcc"] if shutil.which("gcc") else [])]

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are x86-64's")


@cache
def impls(text: str) -> list[Impl]:
    named = [replace(target, name=name) for name, target in GENERIC.items()]
    return [morello.implement(text, target=target)[0] for target in named]


@cache
def native_impl(text: str) -> Impl:
    return morello.implement(text, target=native())[0]


def built(text: str, compiler: str, folder: Path) -> ctypes.CDLL:
    """C that any x86-64 could run, as a library; a warning is an error."""
    command = [compiler] if compiler else find_compiler().command
    generic = ["-mcpu=baseline"] if "zig" in str(find_compiler()) and not compiler else []
    source, library = folder / "kernel.c", folder / "kernel.so"
    source.write_text(text)
    flags = ["-O2", "-std=gnu11", "-shared", "-fPIC", *WARNINGS, *generic]
    subprocess.run([*command, *flags, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def calling(address: int | None) -> Callable[..., None]:
    """A kernel at an address, as a function of arrays."""

    def call(*inputs: Array, out: Array) -> None:
        pointers = [array.ctypes.data for array in (*inputs, out)]
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(address or 0)(*pointers)

    return call


@pytest.mark.parametrize(("number", "text"), some(enumerate(EXPRESSIONS), 5))
def test_the_kernel_of_every_level_is_right(number: int, text: str, tmp_path: Path) -> None:
    """Each level is compiled by the compilers in turn."""
    found, compiler = impls(text), COMPILERS[number % len(COMPILERS)]
    source = generate_levels(found)
    names = [f"kernel_{name.replace('-', '_')}" for name in LEVELS]
    listed = f"""
void *levels[] = {{{", ".join(names)}, kernel}};
void *chosen(void) {{ return kernel_choose(); }}
"""
    library = built(source.text + listed, compiler, tmp_path)
    levels = list((ctypes.c_void_p * 4).in_dll(library, "levels"))
    here = [runs_here(target) for target in GENERIC.values()]
    for address, runs in zip(levels, [*here, True], strict=True):
        if runs:
            verify(calling(address), found[0].spec)
    library.chosen.restype = ctypes.c_void_p
    assert library.chosen() == levels[here.index(True)], "the best level that runs here"


@pytest.mark.parametrize(
    ("number", "text"), some(enumerate(["f16[2,16] @ f16[16,8] -> f16[2,8]", *EXPRESSIONS]), 5)
)
def test_a_file_for_one_target_needs_no_flags(number: int, text: str, tmp_path: Path) -> None:
    """The better levels by the compilers that do not build them above, and so on in turn."""
    *levels, _ = impls(text)
    for turn, impl in enumerate((*levels, native_impl(text)), number + 1):
        source = generate(impl)
        library = built(source.text, COMPILERS[turn % len(COMPILERS)], tmp_path)
        if runs_here(impl.target):
            verify(calling(ctypes.cast(library.kernel, ctypes.c_void_p).value), impl.spec)
        assert "with any flags" in source.text.partition("*/")[0]
        assert "with any flags" in source.header.partition("*/")[0]


def test_another_cpu_or_compiler_is_refused(tmp_path: Path) -> None:
    source = generate(morello.implement(EXPRESSIONS[0], target="neon")[0])
    path = tmp_path / "kernel.c"
    path.write_text(source.text)
    command = [*find_compiler().command, "-c", str(path), "-o", str(tmp_path / "kernel.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "this file is for gcc or clang, for AArch64; it needs no further flags" in done.stderr


def test_a_level_has_its_own_names() -> None:
    found = impls(EXPRESSIONS[0])
    text, header = generate_levels(found, "mm").text, generate_levels(found, "mm").header
    assert header == generate(found[0], "mm").header
    assert text.count("static void mm_x86_64") == 3 and text.count("\nvoid mm(") == 1
    assert "load_f32x8_x86_64_v3(" in text and "load_f32x8(" not in text


def test_halves_are_converted_on_any_cpu() -> None:
    """All of them, and the numbers between two of them, as NumPy rounds them."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    widened = morello.compile("cast(f16[65536], f32)", target=BASELINE, gap=1.0)(every)
    np.testing.assert_array_equal(widened, every.astype(np.float32))
    assert np.array_equal(np.signbit(widened), np.signbit(every))
    exact = every.astype(np.float32).view(np.uint32)
    for between in 0, 1, 0x0FFF, 0x1000, 0x1001:
        x = (exact + between).view(np.float32)
        narrowed = morello.compile("cast(f32[65536], f16)", target=BASELINE, gap=1.0)(x)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(narrowed, x.astype(np.float16))
        assert np.array_equal(np.signbit(narrowed), np.signbit(x))
    odd = morello.compile("relu(f16[3,5])", target=BASELINE, gap=1.0)
    few = np.linspace(-2, 2, 15, dtype=np.float16).reshape(3, 5)
    assert np.array_equal(odd(few), np.maximum(few, 0))


def test_what_cannot_share_a_file() -> None:
    avx2 = saved_programs("avx2")["f32[16,16] @ f32[16,16]"]
    with pytest.raises(BuildError, match="for x86-64-v4, x86-64-v3, x86-64"):
        generate_levels([avx2])
    parallel, _ = morello.implement("relu(f32[1024,1024])", target=BASELINE, threads=2)
    with pytest.raises(BuildError, match="one thread"):
        generate_levels([parallel])
