"""Any CPU of the level x86-64-v4."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

X86_64_V4 = Machine(
    name="x86-64-v4",
    key="x86-64-v4",
    vendor="",
    models={},
    features=frozenset(("avx512f",)),
    l1=CacheLevel(32, 8, 4),
    l2=CacheLevel(1024, 16, 14),
    l3_latency=48,
    vector_bytes=64,
    multiply_adds=2,
    latency=4,
    loads=2,
    stores=1,
    l2_bytes=64,
    l3_bytes=25.6,
    division=7,
)
