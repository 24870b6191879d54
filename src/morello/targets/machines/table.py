"""The microarchitectures: a row of published numbers for each, and costs measured on some.

The numbers are those of vendors' optimization manuals and of instruction tables; the columns are
the fields of `Machine`. Where `source` is "measured", what follows a row was timed on such a CPU.
"""

from __future__ import annotations

from morello.targets.machines.machine import CacheLevel as Cache
from morello.targets.machines.machine import Machine
from morello.targets.tlb import TLB

INTEL, AMD = "GenuineIntel", "AuthenticAMD"
V3, V4 = frozenset(("avx2", "fma")), frozenset(("avx512f",))

# fmt: off

# name, key, vendor, models, features
#   l1 (KiB, ways, latency)
#                       l2                   l3_latency
#                                                  vector_bytes
#                                                      multiply_adds, latency
#                                                            loads, stores
#                                                                  l2_bytes, l3_bytes
#                                                                            division

X86_64_V3 = Machine(
    "x86-64-v3", "x86-64-v3", "", {}, V3,
    Cache(32,  8, 4), Cache( 256,  8, 14),  48,   32,  2, 4,  2, 1,  32, 25.6,   5,
)
"""Any CPU of the level x86-64-v3: what nearly all of them have."""

X86_64_V4 = Machine(
    "x86-64-v4", "x86-64-v4", "", {}, V4,
    Cache(32,  8, 4), Cache(1024, 16, 14),  48,   64,  2, 4,  2, 1,  64, 25.6,   7,
)
"""Any CPU of the level x86-64-v4."""

HASWELL = Machine(
    "Haswell", "haswell", INTEL, {6: (0x3C, 0x3F, 0x45, 0x46, 0x3D, 0x47, 0x4F, 0x56)}, V3,
    Cache(32,  8, 4), Cache( 256,  8, 12),  40,   32,  2, 5,  2, 1,  32, 16,    14,
)
"""Haswell and Broadwell, clients and servers."""

SKYLAKE = Machine(
    "Skylake", "skylake", INTEL, {6: (0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6)}, V3,
    Cache(32,  8, 4), Cache( 256,  4, 12),  42,   32,  2, 4,  2, 1,  48, 18,     5,
)
"""Skylake clients and their successors up to Comet Lake."""

ALDER_LAKE = Machine(
    "Alder Lake", "alderlake", INTEL, {6: (0x97, 0x9A, 0xB7, 0xBA, 0xBF, 0xBE)},
    V3 | {"avx_vnni"},
    Cache(48, 12, 5), Cache(1280, 10, 15),  66,   32,  2, 4,  3, 2,  48, 20,     5,
    tlb=TLB(96),
)
"""Alder Lake and Raptor Lake: performance cores, without AVX-512."""

SKYLAKE_X = Machine(
    "Skylake-X", "skylake-x", INTEL, {6: (0x55,)}, V4,
    Cache(32,  8, 4), Cache(1024, 16, 14),  72,   64,  2, 4,  2, 1,  48, 10.24, 10,
)
"""Skylake-X, Cascade Lake and Cooper Lake: servers, on a mesh."""

ICE_LAKE = Machine(
    "Ice Lake", "icelake", INTEL, {6: (0x7D, 0x7E, 0x8C, 0x8D, 0xA7)}, V4 | {"avx512_vbmi2"},
    Cache(48, 12, 5), Cache( 512,  8, 13),  48,   64,  1, 4,  2, 1,  48, 17,    10,
)
"""Ice Lake, Tiger Lake and Rocket Lake clients: one unit of 64 bytes, and a ring."""

ICE_LAKE_SP = Machine(
    "Ice Lake-SP", "icelake-sp", INTEL, {6: (0x6A, 0x6C)}, V4 | {"avx512_vbmi2"},
    Cache(48, 12, 5), Cache(1280, 20, 14),  72,   64,  2, 4,  2, 1,  48, 10.24, 10,
)
"""Ice Lake servers, on a mesh."""

SAPPHIRE_RAPIDS = Machine(
    "Sapphire Rapids", "sapphirerapids", INTEL, {6: (0x8F, 0xCF, 0xAD, 0xAE)},
    V4 | {"avx512_vbmi2", "amx_tile"},
    Cache(48, 12, 5), Cache(2048, 16, 15), 120,   64,  2, 4,  2, 1,  48,  8.5,  10,
    bf16_product=4.0, tlb=TLB(96),
    # a tile of sums in L1 takes 4.4 cycles a register more than its products, 1.1 of them for
    # loads and stores; products hide nearly all of a transfer of panels from L2
    measured={"start": 3.3, "L2.per_line": 0.04},
)
"""Sapphire Rapids, Emerald Rapids and Granite Rapids: servers, on a mesh."""

ZEN1 = Machine(
    "Zen 1", "zen1", AMD, {0x17: (*range(0x30), *range(0x50, 0x60)), 0x18: range(0x100)}, V3,
    Cache(32,  8, 4), Cache( 512,  8, 17),  40,   16,  2, 5,  2, 1,  32, 16,     3,
)
"""Zen and Zen+: registers of 32 bytes take two passes."""

ZEN2 = Machine(
    "Zen 2", "zen2", AMD, {0x17: (*range(0x30, 0x50), *range(0x60, 0x100))}, V3,
    Cache(32,  8, 4), Cache( 512,  8, 12),  39,   32,  2, 5,  2, 1,  32, 20,     3.5,
)

ZEN3 = Machine(
    "Zen 3", "zen3", AMD, {0x19: (*range(0x10), *range(0x20, 0x60))}, V3,
    Cache(32,  8, 4), Cache( 512,  8, 12),  46,   32,  2, 4,  2, 1,  32, 20,     3.5,
    source="measured",
    # prefetching pays for rows that start in L3, not for rows in memory
    measured={"kernels.row_sums_ahead": 0.7},
    streaming={"kernels.row_sums_ahead": 1 / 0.7, "memory.per_line": 2.1, "overlap": 0.1},
)

ZEN5_MOBILE = Machine(
    "Zen 5 with 256-bit units", "zen5-mobile", AMD,
    {0x1A: (*range(0x20, 0x30), *range(0x60, 0x70))}, V4,
    Cache(48, 12, 4), Cache(1024, 16, 14),  48,   32,  2, 4,  2, 1,  32, 25.6,   3.5,
    tlb=TLB(96),
)
"""Mobile Zen 5: registers of 64 bytes take two passes."""

ZEN4 = Machine(
    "Zen 4", "zen4", AMD, {0x19: (*range(0x10, 0x20), *range(0x60, 0x100))}, V4,
    Cache(32,  8, 4), Cache(1024,  8, 14),  48,   32,  2, 4,  2, 1,  32, 25.6,   3.5,
    tlb=TLB(72, hidden=0.0, output_pages=0.3, output_steps=24, returning=0.75, interleaved=5.0),
    source="measured",
    measured={
        # sums of products hide most of an L2 transfer; nothing else does (see `l2_line`)
        "L2.per_line": 0.03,
        "kernels.copies": 4.0,
        "kernels.row_sums_ahead": 2.7,
        "kernels.block_sums_ahead": 4.0,
        "kernels.block_sums_l2": 1.75,
    },
    streaming={
        "kernels.dots_l2": 0.75, "kernels.row_sums_l2": 0.48, "kernels.block_sums_l2": 0.7,
        "memory.per_run": 4.0, "memory.per_line": 2.8, "overlap": 0.1,
    },
    bypassed=0.5, l2_line=1.0, weights_l2=0.97,
)
"""Zen 4: registers of 64 bytes take two passes."""

ZEN5 = Machine(
    "Zen 5", "zen5", AMD, {0x1A: (*range(0x20), *range(0x30, 0x60), *range(0x70, 0x100))}, V4,
    Cache(48, 12, 4), Cache(1024, 16, 14),  48,   64,  2, 4,  2, 1,  64, 25.6,   7,
    tlb=TLB(96, returning=0.0), source="measured",
    # prefetching pays for rows that start in L3, not for rows in memory
    measured={"kernels.row_sums_ahead": 0.6, "kernels.shuffles": 0.42},
    streaming={"kernels.row_sums_ahead": 1 / 0.6, "memory.per_line": 3.0, "overlap": 0.1},
)
"""Zen 5 with units of 64 bytes."""

# fmt: on

MACHINES = (
    X86_64_V3, X86_64_V4, HASWELL, SKYLAKE, ALDER_LAKE, SKYLAKE_X, ICE_LAKE, ICE_LAKE_SP,
    SAPPHIRE_RAPIDS, ZEN1, ZEN2, ZEN3, ZEN5_MOBILE, ZEN4, ZEN5,
)  # fmt: skip
"""Generic ones first, then by vendor, the most capable last."""
