"""Products of signed bytes, by an instruction for unsigned and signed ones where there is one."""

from __future__ import annotations

import numpy as np

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
