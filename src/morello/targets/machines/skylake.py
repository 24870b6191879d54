"""Intel Skylake clients and their successors up to Comet Lake."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

SKYLAKE = Machine(
    name="Skylake",
    key="skylake",
    vendor="GenuineIntel",
    models={6: (0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6)},
    features=frozenset(("avx2", "fma")),
    l1=CacheLevel(32, 8, 4),
    l2=CacheLevel(256, 4, 12),
    l3_latency=42,
    vector_bytes=32,
    multiply_adds=2,
    latency=4,
    loads=2,
    stores=1,
    l2_bytes=48,
    l3_bytes=18,
    division=5,
)
