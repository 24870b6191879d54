"""AMD Zen 3."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

ZEN3 = Machine(
    name="Zen 3",
    key="zen3",
    vendor="AuthenticAMD",
    models={0x19: (*range(0x10), *range(0x20, 0x60))},
    features=frozenset(("avx2", "fma")),
    l1=CacheLevel(32, 8, 4),
    l2=CacheLevel(512, 8, 12),
    l3_latency=46,
    vector_bytes=32,
    multiply_adds=2,
    latency=4,
    loads=2,
    stores=1,
    l2_bytes=32,
    l3_bytes=20,
    division=3.5,
    source="measured",
    # prefetching pays for rows that start in L3, not for rows in memory
    measured={"kernels.row_sums_ahead": 0.7},
    streaming={"kernels.row_sums_ahead": 1 / 0.7},
)
