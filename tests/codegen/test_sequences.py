"""One function that calls several kernels: its arrays, the memory between them, and its threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.codegen.test_regions import TWO, parallel
from tests.support import call, compile_c, skip_unless_it_runs

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
