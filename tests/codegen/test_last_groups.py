"""Products of narrow numbers whose last group along k is filled up with zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import morello
from morello.ir.primitives import is_ragged
from morello.targets.catalog import native

PRODUCTS = {
    "bf16[33,301] @ bf16[301,64]": np.dtype(bfloat16),
    "bf16[17,131] @ bf16[131,48]{0,1}": np.dtype(bfloat16),
    "u8[32,101] @ i8[101,50]": np.dtype(np.uint8),
    "u8[20,7] @ i8[7,33]": np.dtype(np.uint8),
    "i8[40,398] @ i8[398,48] -> i32[40,48]": np.dtype(np.int8),
}


@pytest.mark.parametrize("text", PRODUCTS)
def test_last_groups_are_filled_up(text: str) -> None:
    kernel = morello.compile(text, table="off", gap=0.1)
    random = np.random.default_rng(0)
    a, b = (_values(one.dtype.np, one.shape, random) for one in kernel.arguments[:2])
    if "{0,1}" in text:
        b = np.asfortranarray(b)
    exact = np.float64 if a.dtype == bfloat16 else np.int64
    np.testing.assert_allclose(
        np.asarray(kernel(a, b), exact), a.astype(exact) @ b.astype(exact), rtol=1e-5, atol=1e-4
    )


def test_groups_are_used_for_any_size_that_is_summed() -> None:
    if not native().packs:
        pytest.skip("no instruction for groups here")
    for pack in native().packs:
        a, b = pack.inputs
        impl, _ = morello.implement(f"{a}[64,203] @ {b}[203,96] -> {pack.output}[64,96]")
        assert any(is_ragged(node.spec.operation) for node in impl.walk()), pack


def _values(
    dtype: np.dtype[Any], shape: tuple[int, ...], random: np.random.Generator
) -> np.ndarray[Any, np.dtype[Any]]:
    if dtype == bfloat16:
        return random.standard_normal(shape).astype(bfloat16)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
