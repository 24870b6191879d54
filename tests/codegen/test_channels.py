"""Images that are padded with their channels fastest: kernels are compared with NumPy."""

from __future__ import annotations

import pytest

import morello


@pytest.mark.parametrize(
    "text",
    [
        "conv(f32[2,20,11,9], f32[20,1,5,5], stride=2, padding=2, groups=20)",
        "conv(f32[1,17,7,7], f32[17,1,3,3], padding=1, stride=[2,1], groups=17)",
        "conv(f32[1,16,9], f32[16,1,4], padding=[0,3], groups=16)",
    ],
)
def test_padded_channels_compute_the_same(text: str) -> None:
    rank = len(text.split("]")[0].split(","))
    layout = "{1,3,2,0}" if rank == 4 else "{1,2,0}"
    kernel = morello.compile(morello.schedule(text).pad_first("L2", layout).solve())
    assert kernel.max_error is not None
    assert kernel.max_error < 1e-5
    assert f"padded -> L2 as {layout}" in kernel.source.text
