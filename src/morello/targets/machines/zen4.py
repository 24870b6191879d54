"""AMD Zen 4: registers of 64 bytes take two passes."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

ZEN4 = Machine(
    name="Zen 4",
    key="zen4",
    vendor="AuthenticAMD",
    models={0x19: (*range(0x10, 0x20), *range(0x60, 0x100))},
    features=frozenset(("avx512f",)),
    l1=CacheLevel(32, 8, 4),
    l2=CacheLevel(1024, 8, 14),
    l3_latency=48,
    vector_bytes=32,
    multiply_adds=2,
    latency=4,
    loads=2,
    stores=1,
    l2_bytes=32,
    l3_bytes=25.6,
    division=3.5,
    source="measured",
    measured={
        # choices were timed without these costs
        "memory.per_alias_written": 0.0,
        "L2.per_alias_written": 0.0,
        # sums of products hide most of an L2 transfer; copies hide nothing
        "L2.per_line": 0.03,
        "kernels.copies": 4.0,
        "kernels.divisions": 2.0,
        "kernels.row_sums_ahead": 2.7,
        "kernels.block_sums_ahead": 4.0,
        "kernels.block_sums_l2": 1.95,
    },
    streaming={"kernels.dots_l2": 0.75, "kernels.row_sums_l2": 0.65},
)
