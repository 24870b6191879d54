"""AMD Zen 5 with units of 64 bytes."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

ZEN5 = Machine(
    name="Zen 5",
    key="zen5",
    vendor="AuthenticAMD",
    models={0x1A: (*range(0x20), *range(0x30, 0x60), *range(0x70, 0x100))},
    features=frozenset(("avx512f",)),
    l1=CacheLevel(48, 12, 4),
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
    source="measured",
    # prefetching pays for rows that start in L3, not for rows in memory
    measured={"kernels.row_sums_ahead": 0.6, "kernels.shuffles": 0.42},
    streaming={"kernels.row_sums_ahead": 1 / 0.6},
)
