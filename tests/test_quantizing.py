"""Weights in fewer bits, from arrays to a kernel."""

from __future__ import annotations

import ml_dtypes
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


@pytest.mark.parametrize("bits", [4, 8])
def test_weights_in_groups_are_an_operand(bits: int) -> None:
    random = np.random.default_rng(3)
    x, w, b = (random.standard_normal(s, np.float32) for s in ((2, 128), (128, 21), (21,)))
    kept = morello.quantize(w, bits=bits, group=64)
    text = f"relu(f32[2,128] @ i{bits}g64[128,21] * 0.5 + f32[21])"
    spec = morello.parse(text)
    assert spec == morello.parse("relu(x @ w * 0.5 + b)", x=x, w=kept, b=b)
    rows = dequantized(kept.weights, kept.scales.astype(np.float64), 128)
    wanted = np.maximum(x @ rows.T * 0.5 + b, 0)
    result = morello.compile(spec)(x, *kept, b)
    np.testing.assert_allclose(result, wanted, atol=1e-4 * wanted.max())


def test_blocks_of_gguf() -> None:
    random = np.random.default_rng(3)
    scales = random.standard_normal((3, 2, 1)).astype(np.float16)
    numbers = random.integers(-8, 8, (3, 2, 32), np.int8)
    halves = (numbers + 8).astype(np.uint8)
    for kind, bits in (
        ("Q8_0", numbers.view(np.uint8)),
        ("Q4_0", halves[..., :16] | halves[..., 16:] << 4),
    ):
        rows = np.concatenate([scales.view(np.uint8).reshape(3, 2, 2), bits], -1).reshape(3, -1)
        kept = morello.from_gguf(rows, kind)
        wanted = (numbers * scales).reshape(3, 64)
        np.testing.assert_array_equal(dequantized(*kept, 64), wanted)
        with pytest.raises(SpecError, match="give rows of u8 with blocks"):
            morello.from_gguf(rows[:, 1:], kind)
    with pytest.raises(SpecError, match="Q4_0 and Q8_0 are known"):
        morello.from_gguf(rows, "Q5_K")


def test_what_cannot_be_quantized_gets_a_sentence() -> None:
    for shape, options, said in (
        ((64,), {}, "give a matrix of floats"),
        ((64, 4), {"bits": 3}, "weights of 3 bits"),
        ((96, 4), {"group": 32.0}, "groups of 32.0 in 96 rows"),
        ((0, 4), {}, "give a matrix of floats"),
        ((96, 4), {"group": 64}, "groups of 64 in 96 rows"),
    ):
        with pytest.raises(SpecError, match=said):
            morello.quantize(np.ones(shape, np.float32), **options)
    for value in (np.nan, np.inf, 1e30):
        with pytest.raises(SpecError, match="not finite, or too large"):
            morello.quantize(np.full((32, 2), value, np.float32))
    with pytest.raises(SpecError, match="weights of type list"):
        morello.quantize([[1.0]])  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="weights of type bytes"):
        morello.from_gguf(bytes(18), "Q4_0")  # type: ignore[arg-type]


@pytest.mark.parametrize(("bits", "group"), [(4, 32), (8, 64)])
def test_many_rows_are_multiplied_slice_by_slice(bits: int, group: int) -> None:
    random = np.random.default_rng(3)
    x, w = random.standard_normal((18, 2240), np.float32), random.standard_normal((2240, 32))
    kept = morello.quantize(w, bits=bits, group=group)
    wanted = x @ dequantized(kept.weights, kept.scales.astype(np.float64), 2240).T
    kernel = morello.compile(f"f32[18,2240] @ i{bits}g{group}[2240,32]")
    np.testing.assert_allclose(kernel(x, *kept), wanted, atol=1e-4 * np.abs(wanted).max())
    x[11, 2100] = np.nan
    assert np.isnan(kernel(x, *kept)).any(1).nonzero()[0].tolist() == [11]


@pytest.mark.parametrize("bits", [4, 8])
def test_columns_of_a_single_group_are_quantized_into_rows(bits: int) -> None:
    kept = morello.quantize(np.ones((32, 3), np.float32), bits=bits)
    assert all(array.flags.c_contiguous for array in kept)


def test_weights_of_bfloat16_are_quantized_as_those_of_f32() -> None:
    w = np.random.default_rng(0).standard_normal((64, 3)).astype(ml_dtypes.bfloat16)
    for one, other in zip(morello.quantize(w), morello.quantize(w.astype(np.float32)), strict=True):
        np.testing.assert_array_equal(one, other)
