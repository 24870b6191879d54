"""Intel Ice Lake, Tiger Lake and Rocket Lake clients: one unit of 64 bytes, and a ring."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

ICE_LAKE = Machine(
    name="Ice Lake",
    key="icelake",
    vendor="GenuineIntel",
    models={6: (0x7D, 0x7E, 0x8C, 0x8D, 0xA7)},
    features=frozenset(("avx512f", "avx512_vbmi2")),
    l1=CacheLevel(48, 12, 5),
    l2=CacheLevel(512, 8, 13),
    l3_latency=48,
    vector_bytes=64,
    multiply_adds=1,
    latency=4,
    loads=2,
    stores=1,
    l2_bytes=48,
    l3_bytes=17,
    division=10,
)
