"""AMD Zen 2."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

ZEN2 = Machine(
    name="Zen 2",
    key="zen2",
    vendor="AuthenticAMD",
    models={0x17: (*range(0x30, 0x50), *range(0x60, 0x100))},
    features=frozenset(("avx2", "fma")),
    l1=CacheLevel(32, 8, 4),
    l2=CacheLevel(512, 8, 12),
    l3_latency=39,
    vector_bytes=32,
    multiply_adds=2,
    latency=5,
    loads=2,
    stores=1,
    l2_bytes=32,
    l3_bytes=20,
    division=3.5,
)
