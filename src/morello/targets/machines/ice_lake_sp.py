"""Intel Ice Lake servers, on a mesh."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

ICE_LAKE_SP = Machine(
    name="Ice Lake-SP",
    key="icelake-sp",
    vendor="GenuineIntel",
    models={6: (0x6A, 0x6C)},
    features=frozenset(("avx512f", "avx512_vbmi2")),
    l1=CacheLevel(48, 12, 5),
    l2=CacheLevel(1280, 20, 14),
    l3_latency=72,
    vector_bytes=64,
    multiply_adds=2,
    latency=4,
    loads=2,
    stores=1,
    l2_bytes=48,
    l3_bytes=10.24,
    division=10,
)
