"""Programs chosen for smooth sizes on Zen 4 and Zen 5, where they were measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conftest import GOLDEN
from tests.hosts import SAPPHIRE_RAPIDS, ZEN4, ZEN5
from tests.sampling import some

import morello
from morello.impl.tree import Impl
from morello.targets import catalog

GOALS = (
    *(f"f32[{n},{n}] @ f32[{n},{n}]" for n in (16, 32, 64, 128, 256, 512)),
    "f32[64,1024] @ f32[1024,64]",
    "f32[1024,64] @ f32[64,1024]",
    "f32[8,4096] @ f32[4096,4096]",
    "f32[1,512] @ f32[512,512]",
    "f32[1,2048] @ f32[2048,1024]",
    "f32[1,4096] @ f32[4096,4096]",
    "f32[4096,512] @ f32[512,1]",
    "bf16[1,2048] @ bf16[2048,16384]",
    "bf16[128,128] @ bf16[128,128]",
    "f16[64,256] @ f16[256,64]",
    "u8[256,256] @ i8[256,256]",
    "u32[64,64] @ u32[64,64]",
    "i16[64,64] @ i16[64,64]",
    "softmax(f32[8,512])",
    "softmax(f32[32,4096])",
    "softmax(f32[256,64] @ f32[64,256])",
    "attention(f32[64,32], f32[64,32], f32[64,32])",
    "rms_norm(f32[16,512], f32[512])",
    "gelu(f32[128,256] @ f32[256,512] + f32[512])",
    "f32[64,128] @ f32[128,64] + f32[64,64]",
    "f32[128,128] @ f32[128,128] @ f32[128,64]",
    "relu(f32[64,256] @ f32[256,64]) @ f32[64,256]",
    "conv(f32[1,64,56,56], f32[64,64,3,3])",
    "conv(f32[1,16,33,33], f32[32,16,3,3], stride=2)",
    "max(f32[256,1024], axis=1)",
    "max(f32[256,1024], axis=0)",
    "sum(f32[512,4096], axis=0)",
    "sum(f32[512,4096], axis=1)",
    "gelu(f32[128,1024])",
    "tanh(f32[64,512])",
    "exp(f32[64,512])",
    "f32[256,1024] + f32[256,1024]",
    "f32[256,1024] * f32[1024]",
    "f32[512,512] / expand_dims(f32[512], axis=1)",
    "cast(f32[256,1024], bf16)",
    "cast(bf16[256,1024], f32)",
    "transpose(f32[128,128])",
    "transpose(f32[1024,768])",
    "transpose(bf16[512,512])",
    "maximum(u8[64,1024], u8[64,1024])",
)  # fmt: skip

HOSTS = {"zen4": (ZEN4, GOALS[::2]), "zen5": (ZEN5, GOALS[1::2])}
"""Half of the goals suffice to notice a change of a machine's costs; the space is the same."""


def written(impl: Impl) -> str:
    """A program on a line."""
    return " · ".join(str(rewrite) for rewrite in impl.decisions())


@pytest.mark.parametrize("host", HOSTS)
def test_choices(
    host: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu, goals = HOSTS[host]
    monkeypatch.setattr(catalog, "host_cpu", lambda: cpu)
    target = catalog.uncalibrated()
    name = f"choices-{host}.txt"
    lines = (GOLDEN / name).read_text().splitlines()
    chosen = dict(zip(lines[::2], lines[1::2], strict=True))
    for text in some(goals, 8):
        impl, _ = morello.implement(text, target=target)
        chosen[text] = f"    {written(impl)}"
    golden(name, "".join(f"{text}\n{chosen[text]}\n" for text in goals))


@pytest.mark.parametrize(
    ("text", "weights", "kernel"),
    some(
        [
            ("bf16[32,64] @ bf16[64,32] -> f32[32,32]", "plain", "multiply_tiles_bf16"),
            ("bf16[128,128] @ bf16[128,128] -> f32[128,128]", "constant", "multiply_tiles_bf16"),
            ("u8[64,128] @ i8[128,64]", "plain", "multiply_tiles_u8_i8"),
            ("i8[64,128] @ i8[128,64]", "constant", "multiply_tiles_i8"),
        ],
        4,
    ),
)
def test_tiles_are_chosen_for_products(
    text: str, weights: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "host_cpu", lambda: SAPPHIRE_RAPIDS)
    impl, _ = morello.implement(text, target=catalog.uncalibrated(), weights=weights)
    assert f"select({kernel})" in written(impl)
