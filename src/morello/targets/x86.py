"""x86-64 with AVX2 and FMA, or with AVX-512."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import product

from morello.base.lazy import maker
from morello.ir.dtype import BF16, BF16X2, F32, I8, I8X4, I16, I32, U8, U8X4, U16
from morello.targets.caches import levels
from morello.targets.costs import with_coefficients
from morello.targets.cpu import TILES
from morello.targets.helpers.collect import helpers_for
from morello.targets.kernels import CASTS, Rates, standard_kernels
from morello.targets.machines import MACHINES, X86_64_V3, X86_64_V4, Machine
from morello.targets.roofline import in_flight, passes, published, streaming_bytes
from morello.targets.target import Packing, Target

BROADCAST_APART = 0.2
"""Cycles of a broadcast that is a separate instruction, for each multiply-add."""

FILTERS = {(4, 8): 20.0, (4, 4): 8.0, (2, 8): 14.0}
"""The cycles of a kernel that transposes blocks of filters and channels, for each pixel, by the
bytes of an element and the sides of the blocks."""

NARROW_FILTERS = {(4, 16): 50.0, (4, 8): 20.0, (4, 4): 8.0}
"""`FILTERS` of AVX-512 on units that take two passes; blocks of 16 were not timed on wider ones.

Filters of 16-bit floats are packed in groups there, which is faster, though it costs more.
"""

BF16_PACKING = Packing((BF16, BF16), F32, (BF16X2, BF16X2))
BYTE_PACKINGS = (
    *(Packing((U8, I8), sums, (U8X4, I8X4)) for sums in (I32, I16, U16)),
    Packing((I8, I8), I32, (U8X4, I8X4), biased=True),
)
BYTE_TILE_PACKINGS = tuple(
    Packing((a, b), I32, (groups_a, groups_b))
    for (a, groups_a), (b, groups_b) in product(((U8, U8X4), (I8, I8X4)), repeat=2)
)

BASELINE, V3, V4 = "x86-64", "x86-64-v3", "x86-64-v4"
PORTABLE = (BASELINE, V3, V4)
"""Portable targets, named after the x86-64 microarchitecture levels of the psABI."""

AVX2_FEATURES = "avx2", "fma", "f16c"
AVX512_FEATURES = "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"
"""The features of a CPU that the targets need, by their names in Linux."""

_AVX2 = ",".join([*AVX2_FEATURES, "bmi", "bmi2"])
_AVX512 = ",".join([*AVX512_FEATURES, _AVX2])
"""The instruction sets of the levels x86-64-v3 and x86-64-v4, by their names in compilers."""

_PRODUCTS = {
    "avx512_bf16": ("bf16_products", "avx512bf16"),
    "avx512_vnni": ("byte_products", "avx512vnni"),
    "amx_bf16": ("bf16_tiles", "amx-tile,amx-bf16"),
    "amx_int8": ("byte_tiles", "amx-tile,amx-int8"),
}
"""Instructions for sums of products: by their names in Linux, those in `standard_kernels`, and in
compilers."""

PRODUCTS = frozenset(_PRODUCTS) - TILES
"""Features of a CPU beyond AVX-512 that there are kernels for, and that any process may use."""


# SSE has no fused multiply-add: double holds the product exactly
_FUSED = """\
static inline float fused_f32(float a, float b, float c) {
  return (float)((double)a * b + c);
}"""
_FUSED_X4 = """\
// a b + c, almost always as if rounded once
static inline f32x4 fused_f32x4(f32x4 a, f32x4 b, f32x4 c) {
  f32x4 y;
  for (int i = 0; i < 4; ++i) y[i] = fused_f32(a[i], b[i], c[i]);
  return y;
}"""
# Compilers convert halves without F16C by calls of their own library, which may not be there
_FROM_HALF = """\
static inline float cast_f32_f16(_Float16 x) {
  uint32_t half = (union { _Float16 value; uint16_t bits; }){x}.bits;
  uint32_t sign = (half & 0x8000) << 16, bits = ((half & 0x7fff) << 13) + 0x38000000;
  if ((half & 0x7c00) == 0) { // zero and subnormal numbers
    float value = (float)(half & 0x3ff) * 0x1p-24f;
    return sign ? -value : value;
  }
  bits += ((half & 0x7c00) == 0x7c00) * 0x38000000; // infinity and NaN
  return (union { uint32_t bits; float value; }){sign | bits}.value;
}"""
_TO_HALF = """\
static inline _Float16 cast_f16_f32(float x) {
  uint32_t bits = (union { float value; uint32_t bits; }){x}.bits, half;
  uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) half = 0x7e00 | (bits >> 13 & 0x3ff);
  else if (bits >= 0x47800000) half = 0x7c00; // 2^16 or more
  else if (bits < 0x38800000) { // subnormal: rounded by a sum whose last place is 2^-24
    float sum = (union { uint32_t bits; float value; }){bits}.value + 0.5f;
    half = (union { float value; uint32_t bits; }){sum}.bits - 0x3f000000;
  }
  else half = (bits + 0xc8000fff + (bits >> 13 & 1)) >> 13;
  return (union { uint16_t bits; _Float16 value; }){(uint16_t)(sign | half)}.value;
}"""
_FROM_HALF_X4 = """\
static inline f32x4 load_f32x4_f16(const _Float16 *p) {
  f32x4 y;
  for (int i = 0; i < 4; ++i) y[i] = cast_f32_f16(p[i]);
  return y;
}"""
_TO_HALF_X4 = """\
static inline void store_f16_f32x4(_Float16 *p, f32x4 v) {
  for (int i = 0; i < 4; ++i) p[i] = cast_f16_f32(v[i]);
}"""
_NOT_FUSED = "static inline {0} fma_{1}({0} a, {0} b, {0} c) {{ return a * b + c; }}"


@cache
def avx2(machine: Machine) -> Target:
    """AVX2 with FMA, with the costs of a microarchitecture."""
    kernels = standard_kernels(
        (32, 16), False, {(4, 8): 20.0, (4, 4): 8.0, (2, 8): 14.0, (1, 16): 40.0}, frozenset(),
        filters=FILTERS, rates=_rates(machine, 32, BROADCAST_APART), in_order=True,
    )  # fmt: skip
    target = Target(
        "avx2",
        "x86-64 with AVX2 and FMA: 16 registers of 32 bytes, 32 KiB L1, 256 KiB L2",
        V3,
        levels(l2=3072, l1=448, l1_ways=8, registers=16),
        vector_bytes=(32, 16),
        kernels=kernels,
        helpers=helpers_for("avx2", (32, 16), frozenset()),
        masks=False,
        rows=6,
        features=AVX2_FEATURES,
        instructions=_AVX2,
        casts=frozenset(CASTS),
        headers={"_mm": "immintrin.h"},
    )
    return _with_costs(target, machine)


@cache
def avx512(machine: Machine, products: frozenset[str]) -> Target:
    """AVX-512 with these of `PRODUCTS` and `TILES`, with the costs of a microarchitecture."""
    kinds = frozenset(_PRODUCTS[p][0] for p in products)
    named = [name for p in sorted(products) for name in _PRODUCTS[p][1].split(",")]
    packs = (BF16_PACKING,) * ("bf16_products" in kinds)
    packs += BYTE_TILE_PACKINGS * ("byte_tiles" in kinds)  # before others of signed bytes
    packs += BYTE_PACKINGS * ("byte_products" in kinds)
    wide = passes(machine, 64) == 1
    blocks_of_8 = 20.0 if wide else 4 * 8.0  # no better there than four of 4
    transposes = {
        (4, 16): 50.0, (4, 8): blocks_of_8, (4, 4): 8.0, (2, 8): 14.0, (1, 16): 40.0,
    }  # fmt: skip
    kernels = standard_kernels(
        (64,), True, transposes, kinds,
        filters=FILTERS if wide else NARROW_FILTERS, rates=_rates(machine, 64), in_order=True,
    )  # fmt: skip
    target = Target(
        "avx512",
        "x86-64 with AVX-512: 32 registers of 64 bytes, masks, 32 KiB L1, 1 MiB L2",
        V4,
        levels(l2=12288, l1=448, l1_ways=8, registers=32),
        vector_bytes=(64,),  # masked registers replace narrower ones
        kernels=kernels,
        helpers=helpers_for("avx512", (64,), products),
        masks=True,
        rows=14,
        features=(*AVX512_FEATURES, *sorted(products)),
        instructions=",".join(dict.fromkeys([_AVX512, *named])),
        casts=frozenset(CASTS),
        packs=packs,
        headers={"_mm": "immintrin.h", "_tile_": "immintrin.h"},
    )
    return _with_costs(target, machine)


def _rates(machine: Machine, register_bytes: int, broadcast: float = 0.0) -> Rates:
    """The speed of a core with registers of this size."""
    from_l2 = streaming_bytes(machine, register_bytes) * passes(machine, register_bytes)
    return Rates(from_l2, machine.l3_bytes, broadcast, machine.bf16_product, machine.weights_l2)


def _with_costs(target: Target, machine: Machine) -> Target:
    """The target with the costs of a machine: published ones where none were measured.

    Measured ones only hold for the target that makes the most of the machine.
    """
    widest = target.vector_bytes[0]
    costs = published(machine, widest)
    own = replace(
        target, machine=machine.name, in_flight=in_flight(machine, widest), tlb=machine.tlb
    )
    if machine.target == target.name:
        costs |= machine.measured
        own = replace(
            own, streaming=machine.streaming, l2_line=machine.l2_line, bypassed=machine.bypassed
        )
    return with_coefficients(own, costs)


GENERIC = {"AVX2": partial(avx2, X86_64_V3), "AVX512": partial(avx512, X86_64_V4, frozenset())}
"""Makers of the targets for CPUs like most. These are names of this module, made when first used,
as that takes a while."""

__getattr__ = maker(__name__, GENERIC)


@cache
def portable(name: str) -> Target:
    """The target of `PORTABLE` with this name: code for every CPU that has the level.

    Built on demand, as each of its tunings has all kernels.
    """
    if name == BASELINE:
        return _baseline()
    wide = name == V4
    generic = GENERIC["AVX512" if wide else "AVX2"]()
    machines = [m for m in MACHINES if m.vendor and m.target == generic.name]
    tunings = [avx512(m, frozenset()) if wide else avx2(m) for m in machines]
    shared = set.intersection(*({k.name for k in each.kernels} for each in (generic, *tunings)))

    def named(target: Target) -> Target:
        """The target with the kernels that all tunings have: each prices programs of the others."""
        kernels = tuple(kernel for kernel in target.kernels if kernel.name in shared)
        description = f"{generic.description}, for all of them"
        return replace(target, name=name, description=description, kernels=kernels)

    return replace(named(generic), tunings=tuple(map(named, tunings)))


def _baseline() -> Target:
    return Target(
        BASELINE,
        "any x86-64: 16 registers of 16 bytes, 32 KiB L1, 256 KiB L2",
        "baseline",
        levels(l2=3072, l1=448, l1_ways=8, registers=16),
        vector_bytes=(16,),
        kernels=standard_kernels(
            (16,), False, {(4, 4): 8.0, (2, 8): 14.0, (1, 16): 40.0}, frozenset()
        ),
        helpers={
            **helpers_for("neon", (16,), frozenset()),  # all in GNU vector extensions
            "fused_f32": _FUSED,
            "fused_f32x4": _FUSED_X4,
            "fma_f32": _NOT_FUSED.format("float", "f32"),
            "fma_f32x4": _NOT_FUSED.format("f32x4", "f32x4"),
            "cast_f32_f16": _FROM_HALF,
            "cast_f16_f32": _TO_HALF,
            "load_f32x4_f16": _FROM_HALF_X4,
            "store_f16_f32x4": _TO_HALF_X4,
        },
        masks=False,
        features=("sse2",),
        instructions="sse2",
        casts=frozenset(CASTS),
    )
