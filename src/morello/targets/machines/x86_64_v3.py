"""Any CPU of the level x86-64-v3: the least that most of them have."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

X86_64_V3 = Machine(
    name="x86-64-v3",
    key="x86-64-v3",
    vendor="",
    models={},
    features=frozenset(("avx2", "fma")),
    l1=CacheLevel(32, 8, 4),
    l2=CacheLevel(256, 8, 14),
    l3_latency=48,
    vector_bytes=32,
    multiply_adds=2,
    latency=4,
    loads=2,
    stores=1,
    l2_bytes=32,
    l3_bytes=25.6,
    division=5,
)
