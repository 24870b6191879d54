"""Kernels whose objects are linked to one library."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

import morello
from morello.codegen.linking import SHARED_WORKSPACE, linkable, shared_workspace
from morello.codegen.source import STACK_BYTES, Source
from morello.measure.load import source_of
from morello.native.build import build

SMALL = "f32[8] + f32[8]"
LARGE = "conv(f32[1,4,62,62], f32[4,4,3,3], padding=1)"


def source(expression: str, threads: int = 1) -> Source:
    found = morello.implement(expression, target="avx512", table="off", budget=1.0, threads=threads)
    return source_of(found[0])


def test_kernels_borrow_what_does_not_fit_on_the_stack() -> None:
    large, small = source(LARGE), source(SMALL)
    assert large.borrowed == large.workspace > STACK_BYTES
    assert small.borrowed == 0
    text = linkable(large).text
    assert f"workspace = {SHARED_WORKSPACE};" in text
    assert shared_workspace(large.borrowed) in text
    assert "static _Thread_local" in large.text
    assert "static _Thread_local" not in text
    assert SHARED_WORKSPACE not in linkable(small).text


def test_names_tell_what_is_compiled() -> None:
    small = source(SMALL)
    names = {linkable(each).symbol for each in (small, source("f32[9] + f32[9]"))}
    assert len(names) == 2
    assert linkable(small, 1) == linkable(small, 2)
    parallel = source("relu(f32[2048,2048])", threads=2)
    assert parallel.parallel
    assert linkable(parallel, 2).symbol != linkable(parallel, 3).symbol


def test_a_library_of_kernels(tmp_path: Path) -> None:
    kernels = [
        morello.compile(text, table="off", gap=1.0, budget=1.0) for text in (SMALL, LARGE, LARGE)
    ]
    assert kernels[1].workspace > 0
    calls = "".join(f"void {each.symbol}();\n" for each in kernels)
    run = "".join(f"{each.symbol}({', '.join('abc')});" for each in kernels[:2])
    text = f"{calls}void run(void *a, void *b, void *c) {{ {run} }}"
    images = np.random.default_rng(0).standard_normal((1, 4, 62, 62)).astype(np.float32)
    filters = np.random.default_rng(1).standard_normal((4, 4, 3, 3)).astype(np.float32)
    expected = kernels[1](images, filters)
    path = build(
        text + shared_workspace(kernels[1].workspace), compiler=kernels[0].compiler,
        cache=tmp_path, objects=lambda: [each.linkable for each in kernels[:2]],
    )  # fmt: skip
    result = np.empty_like(expected)
    addresses = [ctypes.c_void_p(x.ctypes.data) for x in (images, filters, result)]
    ctypes.CDLL(str(path)).run(*addresses)
    np.testing.assert_array_equal(result, expected)


def test_a_damaged_object_of_a_kernel_is_compiled_again() -> None:
    kernel = morello.compile("f32[11] + f32[11]", table="off", gap=1.0)
    path = kernel.linkable
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert kernel.linkable == path
    assert len(path.read_bytes()) == len(content)
