"""One function that calls several kernels: its arrays, the memory between them, and its threads."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.codegen.test_regions import TWO, parallel
from tests.support import call, compile_c, skip_unless_it_runs

import morello
from morello.codegen.sequence import ArrayType, ImplCall, generate_sequence


def test_kernels_with_parallel_loops_take_the_pool_of_the_call(tmp_path: Path) -> None:
    skip_unless_it_runs(TWO)
    product, total = parallel("f32[4,4] @ f32[4,4]", TWO), parallel("f32[4,4] + f32[4,4]", TWO)
    calls = [
        ImplCall(product, (("double", 0), ("workspace", 0), (None, 64))),
        ImplCall(product, ((None, 64), ("workspace", 0), (None, 0))),
        ImplCall(total, ((None, 0), ("double", 16), ("out", 0))),
    ]
    of_input, of_output = ArrayType("const float", "f32[5,4]"), ArrayType("float", "f32[4,4]")
    types = {"double": of_input, "workspace": of_input, "out": of_output}
    source = generate_sequence("three calls", calls, types, 128, "kernel")
    assert source.parallel and "parallel_t run, void *pool" in source.header
    assert "double_: f32[5,4], workspace_: f32[5,4]" in source.header  # as C has both already
    library = compile_c(source.text, TWO, tmp_path)
    random = np.random.default_rng(0)
    a, b = random.random((5, 4), np.float32), random.random((4, 4), np.float32)
    out = np.empty((4, 4), np.float32)
    call(library.kernel, a, b, out)
    np.testing.assert_allclose(out, a[:4] @ b @ b + a[1:], 1e-5)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_kernels_may_see_the_same_memory_as_other_types(compiler: str) -> None:
    """The first one copies floats as integers, which compilers may not leave out."""
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    text = "x = f32[2,1]; maximum(tile(x, counts=[1,2]), f32[2,2]{0,1})"
    program = morello.compile(text, compiler=compiler, table="off")
    assert "uint32_t" in program.source.text
    x, y = np.array([[-1], [-1]], np.float32), np.array([[1, 4], [-2, 4]], np.float32)
    np.testing.assert_array_equal(program(x, np.asfortranarray(y)), np.maximum(x, y))
