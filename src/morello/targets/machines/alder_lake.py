"""Intel Alder Lake and Raptor Lake: performance cores, without AVX-512."""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel, Machine

ALDER_LAKE = Machine(
    name="Alder Lake",
    key="alderlake",
    vendor="GenuineIntel",
    models={6: (0x97, 0x9A, 0xB7, 0xBA, 0xBF, 0xBE)},
    features=frozenset(("avx2", "fma", "avx_vnni")),
    l1=CacheLevel(48, 12, 5),
    l2=CacheLevel(1280, 10, 15),
    l3_latency=66,
    vector_bytes=32,
    multiply_adds=2,
    latency=4,
    loads=3,
    stores=2,
    l2_bytes=48,
    l3_bytes=20,
    division=5,
)
