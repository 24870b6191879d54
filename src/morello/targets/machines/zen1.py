"""AMD Zen and Zen+: registers of 32 bytes take two passes."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

ZEN1 = Machine(
    name="Zen 1",
    key="zen1",
    vendor="AuthenticAMD",
    models={0x17: (*range(0x30), *range(0x50, 0x60)), 0x18: range(0x100)},
    features=frozenset(("avx2", "fma")),
    l1=CacheLevel(32, 8, 4),
    l2=CacheLevel(512, 8, 17),
    l3_latency=40,
    vector_bytes=16,
    multiply_adds=2,
    latency=5,
    loads=2,
    stores=1,
    l2_bytes=32,
    l3_bytes=16,
    division=3,
)
