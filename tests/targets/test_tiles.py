"""Where products of tiles (AMX) apply, and where a process may use them."""

from __future__ import annotations

import pytest

import morello
from morello.targets import cpu
from morello.targets.cpu import TILES, HostCPU
from morello.targets.machines import X86_64_V4
from morello.targets.x86 import PRODUCTS, avx512


@pytest.mark.parametrize("granted", [True, False])
def test_a_cpu_has_no_products_of_tiles_that_are_denied(
    granted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "_may_use_tiles", lambda: granted)
    host = HostCPU("x86_64", "", "", TILES | {"amx_tile", "avx2"}, (), 1)
    assert cpu._with_permission(host).has(*TILES) == granted
    assert cpu._with_permission(host).has("amx_tile", "avx2")


@pytest.mark.parametrize("text", ["bf16[32,32] @ bf16[32]", "i8[64] @ i8[64,32]"])
def test_a_product_by_a_vector_has_a_program(text: str) -> None:
    target = avx512(X86_64_V4, PRODUCTS | TILES)
    impl, _ = morello.implement(text, target=target)
    assert not any("tiles" in str(decision) for decision in impl.decisions())
