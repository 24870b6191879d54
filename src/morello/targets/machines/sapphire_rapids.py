"""Intel Sapphire Rapids, Emerald Rapids and Granite Rapids: servers, on a mesh."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

SAPPHIRE_RAPIDS = Machine(
    name="Sapphire Rapids",
    key="sapphirerapids",
    vendor="GenuineIntel",
    models={6: (0x8F, 0xCF, 0xAD, 0xAE)},
    features=frozenset(("avx512f", "amx_tile")),
    l1=CacheLevel(48, 12, 5),
    l2=CacheLevel(2048, 16, 15),
    l3_latency=120,
    vector_bytes=64,
    multiply_adds=2,
    latency=4,
    loads=2,
    stores=1,
    l2_bytes=48,
    l3_bytes=8.5,
    division=10,
)
