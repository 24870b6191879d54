"""x86-64 with AVX2 and FMA, or with AVX-512."""

from __future__ import annotations

from morello.ir.dtype import BF16, BF16X2, F32, I8, I8X4, I16, I32, U8, U8X4
from morello.targets.helpers.collect import helpers_for
from morello.targets.kernels import CASTS, standard_kernels
from morello.targets.target import Level, Packing, Target

_MEMORY_LINES = 1 << 40

BF16_PACKING = Packing((BF16, BF16), F32, (BF16X2, BF16X2))
BYTE_PACKINGS = tuple(Packing((U8, I8), sums, (U8X4, I8X4)) for sums in (I32, I16))

_PRODUCTS = {"avx512_bf16": "bf16_products", "avx512_vnni": "byte_products"}
"""What Linux calls the instructions for sums of products, and what kernels do."""


def _levels(l2: int, l1: int, l1_ways: int, registers: int) -> tuple[Level, ...]:
    """Memory, L2 and L1 (lines) and the register file; costs as measured on Zen 5.

    Runs a power of two apart share a set of L1, and of L2 every eighth one does; a third
    of the ways is left to all else. Memory, the L3 in front of it included, is shared.
    """
    return (
        Level(
            "memory", _MEMORY_LINES,
            per_line=2.5, per_run=8.0, per_alias=8.0, per_write=1.0, saturation=1.4,
        ),
        Level(
            "L2", l2,
            per_line=0.1, per_run=1.0, per_alias=5.0, per_write=1.2, conflict_runs=256,
        ),
        Level("L1", l1, conflict_runs=l1_ways * 2 // 3),
        Level("registers", registers),
    )  # fmt: skip


AVX2 = Target(
    "avx2",
    "x86-64 with AVX2 and FMA: 16 registers of 32 bytes, 32 KiB L1, 256 KiB L2",
    "x86-64-v3",
    _levels(l2=3072, l1=448, l1_ways=8, registers=16),
    vector_bytes=(32, 16),
    kernels=standard_kernels(
        (32, 16), False, {(4, 8): 20.0, (4, 4): 8.0, (2, 8): 14.0, (1, 16): 40.0}, frozenset()
    ),
    helpers=helpers_for("avx2", (32, 16), frozenset()),
    masks=False,
    features=("avx2", "fma", "f16c"),
    casts=frozenset(CASTS),
    headers={"_mm": "immintrin.h"},
)


def _avx512(products: frozenset[str]) -> Target:
    """AVX-512 with these instructions beyond it."""
    kinds = frozenset(_PRODUCTS[p] for p in products)
    packs = (BF16_PACKING,) * ("bf16_products" in kinds)
    packs += BYTE_PACKINGS * ("byte_products" in kinds)
    return Target(
        "avx512",
        "x86-64 with AVX-512: 32 registers of 64 bytes, masks, 32 KiB L1, 1 MiB L2",
        "x86-64-v4",
        _levels(l2=12288, l1=448, l1_ways=8, registers=32),
        vector_bytes=(64,),  # a masked register does what a narrower one would
        kernels=standard_kernels(
            (64,), True, {(4, 16): 50.0, (4, 4): 8.0, (2, 8): 14.0, (1, 16): 40.0}, kinds
        ),
        helpers=helpers_for("avx512", (64,), products),
        masks=True,
        features=("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", *sorted(products)),
        casts=frozenset(CASTS),
        packs=packs,
        headers={"_mm": "immintrin.h"},
    )


AVX512 = _avx512(frozenset())


def with_products(target: Target, features: frozenset[str]) -> Target:
    """The target with the sums of products that these features of a CPU are instructions for."""
    products = features & frozenset(_PRODUCTS)
    return _avx512(products) if target is AVX512 and products else target
