"""CPUs that a test may stand in for this machine's."""

from __future__ import annotations

from morello.targets.cpu import TILES, Cache, HostCPU
from morello.targets.x86 import AVX2, AVX512

_PRODUCTS = ("avx512_bf16", "avx512_vnni")


def _amd(
    name: str, family: int, number: int, features: tuple[str, ...], l1: tuple[int, int],
    l2: tuple[int, int],
) -> HostCPU:  # fmt: skip
    """A CPU with two cores; caches are given as KiB and ways, and L3 is the same for all."""
    caches = (
        Cache(1, "data", l1[0] << 10, l1[1], 64),
        Cache(2, "unified", l2[0] << 10, l2[1], 64),
        Cache(3, "unified", 32 << 20, 16, 64),
    )
    return HostCPU(
        "x86_64", "AuthenticAMD", name, frozenset(features), caches, 2, family, number
    )  # fmt: skip


SAPPHIRE_RAPIDS = HostCPU(
    "x86_64", "GenuineIntel", "Sapphire Rapids",
    frozenset((*AVX512.features, *_PRODUCTS, "avx512_vbmi2", "amx_tile", *TILES)),
    (
        Cache(1, "data", 48 << 10, 12, 64),
        Cache(2, "unified", 2048 << 10, 16, 64),
        Cache(3, "unified", 105 << 20, 15, 64),
    ),
    2, 6, 0x8F,
)  # fmt: skip

ZEN2 = _amd("Zen 2", 23, 49, AVX2.features, (32, 8), (512, 8))
ZEN3 = _amd("Zen 3", 25, 1, AVX2.features, (32, 8), (512, 8))
ZEN4 = _amd("Zen 4", 25, 17, (*AVX512.features, *_PRODUCTS), (32, 8), (1024, 8))
ZEN5 = _amd("Zen 5", 26, 2, (*AVX512.features, *_PRODUCTS), (48, 12), (1024, 16))
