"""Products of signed bytes, by an instruction for unsigned and signed ones where there is one."""

from __future__ import annotations

import numpy as np
import pytest

import morello
from morello.rewrites import Select


def test_products_of_signed_bytes_are_exact() -> None:
    kernel = morello.compile("i8[29,64] @ i8[64,48] -> i32[29,48]", table="off", gap=0.1)
    if any(p.inputs[0].name == "i8" for p in kernel.impl.target.packs):
        used = [n.rewrite.kernel for n in kernel.impl.walk() if isinstance(n.rewrite, Select)]
        assert any("dpbusd" in one or "tiles" in one for one in used), used
    random = np.random.default_rng(0)
    a, b = (random.integers(-128, 127, shape, np.int8, True) for shape in ((29, 64), (64, 48)))
    a[3], b[:, 5] = -128, -128
    np.testing.assert_array_equal(kernel(a, b), a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("factors", ["u8", "i8"])
def test_one_row_of_bytes_is_not_packed(factors: str) -> None:
    kernel = morello.compile(f"{factors}[1,250] @ i8[250,300]", table="off", gap=0.1)
    packs = kernel.impl.target.packs
    if any((p.inputs[0].name, p.output.name) == ("u8", "i16") for p in packs):  # not of tiles
        used = [n.rewrite.kernel for n in kernel.impl.walk() if isinstance(n.rewrite, Select)]
        assert f"byte_rows_{factors}_i8" in used
    random = np.random.default_rng(1)
    limits = np.iinfo({"u8": np.uint8, "i8": np.int8}[factors])
    a = random.integers(limits.min, limits.max, (1, 250), limits.dtype, True)
    b = random.integers(-128, 127, (250, 300), np.int8, True)
    np.testing.assert_array_equal(kernel(a, b), a.astype(np.int32) @ b.astype(np.int32))
