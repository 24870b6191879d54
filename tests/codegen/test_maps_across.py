"""Maps of transposed inputs: kernels are compared with NumPy."""

from __future__ import annotations

import pytest

import morello


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_blocks_and_their_ends_compute_the_same(dtype: str) -> None:
    kernel = morello.compile(f"{dtype}[2,20,35] * transpose({dtype}[2,35,20], order=[0,2,1])")
    assert kernel.max_error is not None
    assert kernel.max_error < (1e-6 if dtype == "f32" else 1e-2)
    assert "transpose_" in kernel.source.text
