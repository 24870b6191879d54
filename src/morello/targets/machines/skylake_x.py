"""Intel Skylake-X, Cascade Lake and Cooper Lake: servers, on a mesh."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

SKYLAKE_X = Machine(
    name="Skylake-X",
    key="skylake-x",
    vendor="GenuineIntel",
    models={6: (0x55,)},
    features=frozenset(("avx512f",)),
    l1=CacheLevel(32, 8, 4),
    l2=CacheLevel(1024, 16, 14),
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
