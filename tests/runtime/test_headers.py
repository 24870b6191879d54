"""Precompiled headers: made once, used by every kernel, and never in its way."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

import pytest
from tests.support import skip_unless_it_runs

from morello.native.build import build
from morello.native.cache import is_whole
from morello.native.toolchain import Compiler, arch_flags, find_compiler
from morello.targets.x86 import AVX2

ADDS = """#include <immintrin.h>
void f(float *x) { _mm256_storeu_ps(x, _mm256_add_ps(_mm256_loadu_ps(x), _mm256_set1_ps(%d))); }
"""


@pytest.fixture
def compiler() -> Compiler:
    skip_unless_it_runs(AVX2)
    found = find_compiler()
    if found.kind == "gcc":
        pytest.skip("gcc's precompiled headers are not used")
    return found


def check_adds(number: int, compiler: Compiler, cache: Path) -> bytes:
    """Build and run a kernel; returns its object."""
    flags = arch_flags(compiler, AVX2.arch)
    library = build(ADDS % number, compiler=compiler, flags=flags, cache=cache)
    x = (ctypes.c_float * 8)()
    ctypes.CDLL(str(library)).f(x)
    assert list(x) == [number] * 8
    return library.read_bytes()


def test_kernels_share_them(compiler: Compiler, tmp_path: Path) -> None:
    check_adds(1, compiler, tmp_path)
    (headers,) = tmp_path.glob("*.pch")
    made = headers.stat().st_mtime_ns
    check_adds(2, compiler, tmp_path)
    assert headers.stat().st_mtime_ns == made


def test_the_object_is_the_same_without(
    compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    having = check_adds(1, compiler, tmp_path / "having")
    monkeypatch.setattr("morello.native.build.precompiled_headers", lambda *_: None)
    assert check_adds(1, compiler, tmp_path / "lacking") == having
    assert not list((tmp_path / "lacking").glob("*.pch"))


def test_damaged_ones_are_made_again(compiler: Compiler, tmp_path: Path) -> None:
    check_adds(1, compiler, tmp_path)
    (headers,) = tmp_path.glob("*.pch")
    whole = headers.read_bytes()
    headers.write_bytes(whole[:1000] + b"?" + whole[1001:])
    check_adds(2, compiler, tmp_path)
    assert is_whole(headers)


def test_those_that_the_compiler_refuses_are_made_again(compiler: Compiler, tmp_path: Path) -> None:
    check_adds(1, compiler, tmp_path)
    (headers,) = tmp_path.glob("*.pch")
    headers.with_suffix(".h").write_text("// changed\n")
    check_adds(2, compiler, tmp_path)
    assert not headers.exists()
    check_adds(3, compiler, tmp_path)
    assert is_whole(headers)


def test_a_cache_without_hard_links_has_them(
    compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("os.link", refused)
    check_adds(1, compiler, tmp_path)
    check_adds(2, compiler, tmp_path)
    (headers,) = tmp_path.glob("*.pch")
    assert is_whole(headers)


def test_a_kernel_without_intrinsics_has_none(compiler: Compiler, tmp_path: Path) -> None:
    build("int answer(void) { return 42; }", compiler=compiler, cache=tmp_path)
    assert not list(tmp_path.glob("*.pch"))
