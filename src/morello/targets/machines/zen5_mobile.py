"""Mobile AMD Zen 5: registers of 64 bytes take two passes."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

ZEN5_MOBILE = Machine(
    name="Zen 5 with 256-bit units",
    key="zen5-mobile",
    vendor="AuthenticAMD",
    models={0x1A: (*range(0x20, 0x30), *range(0x60, 0x70))},
    features=frozenset(("avx512f",)),
    l1=CacheLevel(48, 12, 4),
    l2=CacheLevel(1024, 16, 14),
    l3_latency=48,
    vector_bytes=32,
    multiply_adds=2,
    latency=4,
    loads=2,
    stores=1,
    l2_bytes=32,
    l3_bytes=25.6,
    division=3.5,
)
