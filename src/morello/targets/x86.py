"""x86-64 with AVX2 and FMA, or with AVX-512."""

from __future__ import annotations

from dataclasses import replace

from morello.ir.dtype import F32
from morello.targets.kernels import standard_kernels
from morello.targets.target import Level, Target

_MEMORY_LINES = 1 << 40
_REGISTERS = 3  # the index of the register file: memory, L2, L1, registers


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
    kind, bits = f"f32x{width}", width * 32
    prefix = "_mm512" if bits == 512 else "_mm256" if bits == 256 else "_mm"
    mask = "__mmask16" if width == 16 else "__mmask8"
    return {
        f"load_part_{kind}": f"static inline {kind} load_part_{kind}(const float *p, int n) "
        f"{{ return ({kind}){prefix}_maskz_loadu_ps(({mask})((1u << n) - 1), p); }}",
        f"store_part_{kind}": f"static inline void store_part_{kind}(float *p, {kind} v, int n) "
        f"{{ {prefix}_mask_storeu_ps(p, ({mask})((1u << n) - 1), v); }}",
    }


def _levels(l2: int, l1: int, ways: int, registers: int) -> tuple[Level, ...]:
    """Memory, L2 and L1 (lines) and the register file; costs as measured on Zen 5."""
    return (
        Level("memory", _MEMORY_LINES, per_line=4.0, per_run=6.0),
        Level("L2", l2, per_line=1.2, per_run=1.5),
        Level("L1", l1, ways=ways),
        Level("registers", registers),
    )


AVX2 = Target(
    "avx2",
    "x86-64 with AVX2 and FMA: 16 registers of 8 floats, 32 KiB L1, 256 KiB L2",
    "x86-64-v3",
    _levels(l2=3584, l1=448, ways=8, registers=16),
    widths=(8, 4, 1),
    kernels=standard_kernels(F32, (8, 4, 1), _REGISTERS, masks=False),
    helpers=_vector_helpers(8) | _vector_helpers(4),
    masks=False,
)

AVX512 = Target(
    "avx512",
    "x86-64 with AVX-512: 32 registers of 16 floats, masks, 32 KiB L1, 1 MiB L2",
    "x86-64-v4",
    _levels(l2=14336, l1=448, ways=8, registers=32),
    widths=(16, 8, 4, 1),
    kernels=standard_kernels(F32, (16, 8, 4, 1), _REGISTERS, masks=True),
    helpers=_vector_helpers(16)
    | _vector_helpers(8)
    | _vector_helpers(4)
    | _mask_helpers(16)
    | _mask_helpers(8)
    | _mask_helpers(4),
    masks=True,
    headers=("immintrin.h",),
)


def fitted(target: Target, l1_bytes: int, l1_ways: int, l2_bytes: int) -> Target:
    """The target with this machine's cache sizes, an eighth of each left to all else."""
    _, l2, l1, _ = target.levels
    lines = l1.line_bytes
    levels = (
        target.levels[0],
        replace(l2, capacity=l2_bytes // lines * 7 // 8),
        replace(l1, capacity=l1_bytes // lines * 15 // 16, ways=l1_ways),
        target.levels[3],
    )
    return replace(target, name="native", arch="native", levels=levels)
