"""x86-64 with AVX2 and FMA, or with AVX-512."""

from __future__ import annotations

from dataclasses import replace

from morello.ir.batch import LINE_BYTES
from morello.ir.dtype import F32
from morello.targets.kernels import standard_kernels
from morello.targets.target import Level, Target

_MEMORY_LINES = 1 << 40


def _vector_helpers(width: int) -> dict[str, str]:
    """Loads and stores of whole registers, in GNU vector extensions, for f32."""
    kind = f"f32x{width}"
    bytes_ = width * 4
    return {
        kind: f"typedef float {kind} __attribute__((vector_size({bytes_})));\n"
        f"typedef float {kind}_any __attribute__((vector_size({bytes_}), aligned(4), may_alias));",
        f"load_{kind}": f"static inline {kind} load_{kind}(const float *p) "
        f"{{ return *(const {kind}_any *)p; }}",
        f"store_{kind}": f"static inline void store_{kind}(float *p, {kind} v) "
        f"{{ *({kind}_any *)p = v; }}",
        f"dot_{kind}": _dot(kind, width),
    }


def _dot(kind: str, width: int) -> str:
    lanes = " + ".join(f"s[{i}]" for i in range(width))
    return f"""\
static inline float dot_{kind}(const float *a, const float *b, int k) {{
  {kind} s = {{0}}, s1 = {{0}}, s2 = {{0}}, s3 = {{0}};
  int i = 0;
  for (; i + {4 * width} <= k; i += {4 * width}) {{
    s += *(const {kind}_any *)(a + i) * *(const {kind}_any *)(b + i);
    s1 += *(const {kind}_any *)(a + i + {width}) * *(const {kind}_any *)(b + i + {width});
    s2 += *(const {kind}_any *)(a + i + {2 * width}) * *(const {kind}_any *)(b + i + {2 * width});
    s3 += *(const {kind}_any *)(a + i + {3 * width}) * *(const {kind}_any *)(b + i + {3 * width});
  }}
  for (; i + {width} <= k; i += {width})
    s += *(const {kind}_any *)(a + i) * *(const {kind}_any *)(b + i);
  s += s1 + s2 + s3;
  float sum = {lanes};
  for (; i < k; ++i) sum += a[i] * b[i];
  return sum;
}}"""


def _mask_helpers(width: int) -> dict[str, str]:
    """Loads and stores of the first n elements of a register, by AVX-512 masks."""
    kind = f"f32x{width}"
    return {
        f"load_part_{kind}": f"static inline {kind} load_part_{kind}(const float *p, int n) "
        f"{{ return ({kind})_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p); }}",
        f"store_part_{kind}": f"static inline void store_part_{kind}(float *p, {kind} v, int n) "
        f"{{ _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), v); }}",
    }


def _levels(l2: int, l1: int, l1_ways: int, registers: int) -> tuple[Level, ...]:
    """Memory, L2 and L1 (lines) and the register file; costs as measured on Zen 5.

    Runs a power of two apart share a set of L1, and of L2 every eighth one does; a third
    of the ways is left to all else.
    """
    return (
        Level("memory", _MEMORY_LINES, per_line=2.5, per_run=8.0, per_alias=8.0),
        Level("L2", l2, per_line=0.35, per_run=1.0, per_alias=5.0, conflict_runs=256),
        Level("L1", l1, conflict_runs=l1_ways * 2 // 3),
        Level("registers", registers),
    )


AVX2 = Target(
    "avx2",
    "x86-64 with AVX2 and FMA: 16 registers of 8 floats, 32 KiB L1, 256 KiB L2",
    "x86-64-v3",
    _levels(l2=3584, l1=448, l1_ways=8, registers=16),
    widths=(8, 4, 1),
    kernels=standard_kernels(F32, (8, 4, 1), masks=False),
    helpers=_vector_helpers(8) | _vector_helpers(4),
    masks=False,
    features=("avx2", "fma"),
)

AVX512 = Target(
    "avx512",
    "x86-64 with AVX-512: 32 registers of 16 floats, masks, 32 KiB L1, 1 MiB L2",
    "x86-64-v4",
    _levels(l2=14336, l1=448, l1_ways=8, registers=32),
    widths=(16, 1),  # a masked register does what a narrower one would
    kernels=standard_kernels(F32, (16, 1), masks=True),
    helpers=_vector_helpers(16) | _mask_helpers(16),
    masks=True,
    features=("avx512f", "avx512bw", "avx512dq", "avx512vl"),
    headers=("immintrin.h",),
)


def fitted(target: Target, l1_bytes: int, l1_ways: int, l2_bytes: int) -> Target:
    """The target with this machine's cache sizes, an eighth of each left to all else."""
    _, l2, l1, _ = target.levels
    levels = (
        target.levels[0],
        replace(l2, capacity=l2_bytes // LINE_BYTES * 7 // 8),
        replace(l1, capacity=l1_bytes // LINE_BYTES * 15 // 16, conflict_runs=l1_ways * 2 // 3),
        target.levels[3],
    )
    return replace(target, name="native", arch="native", levels=levels)
