"""Intel Haswell and Broadwell, clients and servers."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

HASWELL = Machine(
    name="Haswell",
    key="haswell",
    vendor="GenuineIntel",
    models={6: (0x3C, 0x3F, 0x45, 0x46, 0x3D, 0x47, 0x4F, 0x56)},
    features=frozenset(("avx2", "fma")),
    l1=CacheLevel(32, 8, 4),
    l2=CacheLevel(256, 8, 12),
    l3_latency=40,
    vector_bytes=32,
    multiply_adds=2,
    latency=5,
    loads=2,
    stores=1,
    l2_bytes=32,
    l3_bytes=16,
    division=14,
)
