"""`native` on a CPU that has AVX2 and no AVX-512, whatever this one has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.hosts import ZEN3
from tests.sampling import some
from tests.support import skip_unless_it_runs

import morello
from morello.targets import catalog
from morello.targets.x86 import AVX2


@pytest.fixture(autouse=True)
def avx2_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    skip_unless_it_runs(AVX2)
    catalog.native.cache_clear()
    monkeypatch.setattr(catalog, "host_cpu", lambda: ZEN3)
    yield
    catalog.native.cache_clear()


def test_native_is_that_machine() -> None:
    target = catalog.find_target("native")
    assert target.vector_bytes == AVX2.vector_bytes
    assert target.kernels != AVX2.kernels, "its own costs"
    assert target.limits == (6144, 480, 16)


@pytest.mark.parametrize(
    "expression",
    some(
        [
            "f32[9,8] @ f32[8,20]",
            "bf16[4,16] @ bf16[16,16]",
            "u8[3,16] @ i8[16,8]",
            "softmax(f32[8,48])",
            "relu(f32[4,8] @ f32[8,24] + f32[24])",
            "conv(f32[1,2,4,4], f32[8,2,3,3], padding=1)",
            "conv(relu(conv(f32[1,2,5,5], f32[2,2,2,2])), f32[2,2,2,2])",
            "transpose(f32[20,24])",
        ],
        3,
    ),
)
def test_kernels_are_right(expression: str) -> None:
    kernel = morello.compile(expression)
    assert kernel.max_error is not None
    assert kernel.impl.target.features == AVX2.features


@pytest.mark.parametrize("block", [6, 8, 16, 32])
def test_odd_even_blocks_have_programs(block: int) -> None:
    layout = f"{{1,0:E({block})}}"
    for expression in (f"relu(f32[4,64]{layout})", f"cast(bf16[4,64]{layout}, f32)"):
        impl, _ = morello.implement(expression)
        assert impl.complete


def test_weights_are_laid_out() -> None:
    kernel = morello.compile("f32[4,16] @ f32[16,16]", weights="constant")
    assert kernel.max_error is not None
