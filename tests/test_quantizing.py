"""Weights in fewer bits, from arrays to a kernel."""

from __future__ import annotations

import numpy as np
import pytest

import morello
from morello.base.errors import SpecError
from morello.ir.primitives.quantized import dequantized


@pytest.mark.parametrize(("bits", "kind", "off"), [(4, "u8[9,80]", 0.126), (8, "i8[9,160]", 0.005)])
def test_a_product_with_quantized_weights(bits: int, kind: str, off: float) -> None:
    random = np.random.default_rng(3)
    x, w = random.standard_normal((3, 160), np.float32), random.standard_normal((160, 9))
    w[32:64, 2] = 0
    weights, scales = morello.quantize(w, bits=bits)
    rows = dequantized(weights, scales.astype(np.float64), 160)
    largest = np.abs(w.T).reshape(9, 5, 32).max(-1).repeat(32, 1)
    assert (np.abs(rows - w.T) <= off * largest).all()
    assert not rows[2, 32:64].any()
    kernel = morello.compile(f"quantized_matmul(f32[3,160], {kind}, f16[9,5])")
    wanted = x.astype(np.float64) @ rows.T
    np.testing.assert_allclose(kernel(x, weights, scales), wanted, atol=1e-4 * np.abs(wanted).max())
    x[1, 40] = np.inf
    assert np.isnan(kernel(x, weights, scales)[1]).all()


def test_what_cannot_be_quantized_gets_a_sentence() -> None:
    for shape, options, said in (
        ((64,), {}, "give a matrix of floats"),
        ((64, 4), {"bits": 3}, "weights of 3 bits"),
        ((96, 4), {"group": 64}, "groups of 64 in 96 rows"),
    ):
        with pytest.raises(SpecError, match=said):
            morello.quantize(np.ones(shape, np.float32), **options)
