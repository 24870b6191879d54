"""Mathematical functions of one register, as C that needs no library.

The text of each function is a template for every width: `$F` stands for its type of floats, `$I`
of integers (the results of comparisons), `$U` of bits, and `$K` is the suffix of names:
exp_f32x16, exp_f32. It is branch-free, but for sines of large numbers, in GNU vector extensions,
for clang and gcc and any CPU with FMA. What must be rounded once says so, as compilers need not
contract a b + c.

NaN gives NaN, with any payload, and overflow gives an infinity. At an infinity each function takes
its limit, which for `gelu`, `gelu_tanh` and `silu` of -inf is zero. Results below 2**-126 may be
anything from zero to that; for `gelu_tanh` and `silu`, results below 2**-119. `exp_low` is a
faster `exp` for numbers up to 88, and `gelu_bf16` a faster `gelu` for results that are rounded to
bf16.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Template

from morello.ir import functions
from morello.targets.helpers.logarithms import LOGARITHMS
from morello.targets.helpers.trigonometry import LARGE_SCALAR, LARGE_VECTOR, TRIGONOMETRY
from morello.targets.helpers.whole import FAR_SCALAR, FAR_VECTOR, WHOLE

WIDTHS = (16, 8, 4, 1)

ULP = functions.ULP | {"exp_low": 1.2, "max": 0.0, "min": 0.0, "remainder": 0.0}
ULP |= {f"{name}_bf16": error for name, error in functions.ULP_BF16.items()}
"""The largest error of each function, in units of the last place of the true result."""


def math_helpers(width: int) -> dict[str, str]:
    """All functions at one width, and the helpers that they call, by name."""
    if width not in WIDTHS:
        raise ValueError(f"no helpers of width {width}; there are: {WIDTHS}")
    texts = (_SCALAR if width == 1 else _VECTOR) | _FUNCTIONS | WHOLE | LOGARITHMS | TRIGONOMETRY
    texts |= LARGE_SCALAR | FAR_SCALAR if width == 1 else LARGE_VECTOR | FAR_VECTOR
    texts |= {"exp_low": _exp_low(width, 1), "exp_low_4": _exp_low(width, 4)}
    for name, avx512 in (("gauss", _GAUSS_AVX512), ("gauss_bf16", _GAUSS_BF16)):
        texts[name] = _gauss(name, width, avx512)
    if width == 16:
        texts["exp"] = _EXP_AVX512
        texts["near_reciprocal"] = _NEAR_RECIPROCAL_AVX512
    return _type_helpers(width) | expand(texts, width)


def _type_helpers(width: int) -> dict[str, str]:
    """The types of a width: floats, also at unaligned addresses; integers; bits."""
    if width == 1:
        return {}
    names = {f"f32x{width}": "float", f"i32x{width}": "int", f"u32x{width}": "unsigned"}
    length = f"vector_size({4 * width})"
    types = {
        name: f"typedef {element} {name} __attribute__(({length}));"
        for name, element in names.items()
    }
    any_ = f"f32x{width}_any"
    types[any_] = f"typedef float {any_} __attribute__(({length}, aligned(4), may_alias));"
    return types


def kind(width: int) -> str:
    """The suffix of the names of a width's helpers."""
    return "f32" if width == 1 else f"f32x{width}"


def expand(texts: dict[str, str], width: int) -> dict[str, str]:
    """Templates, by names without a suffix, as definitions at one width, by full names."""
    types = {letter: f"{letter.lower()}32x{width}" for letter in "FIU"}
    types["A"] = f"f32x{width}_any"
    if width == 1:
        types = {"F": "float", "I": "int", "U": "unsigned", "A": "float"}
    values = {**types, "K": kind(width), "W": str(width), "FMA": _FMA.get(width, "")}
    return {
        f"{name}_{kind(width)}": Template(text).substitute(values).strip()
        for name, text in texts.items()
    }


# ---- what differs between scalars and vectors

_VECTOR = {
    "bits": """
static inline $U bits_$K($F x) { return ($U)x; }
""",
    "float": """
static inline $F float_$K($U bits) { return ($F)bits; }
""",
    "pick": """
static inline $F pick_$K($I mask, $F a, $F b) {
  return ($F)((($U)a & ($U)mask) | (($U)b & ~($U)mask));
}
""",
    "sqrt": """
// gcc's own square root calls a library for negative numbers, to set errno
static inline $F sqrt_$K($F x) {
#ifdef __clang__
  return __builtin_elementwise_sqrt(x);
#else
  $F y;
#ifdef __aarch64__
  __asm__("fsqrt %0.4s, %1.4s" : "=w"(y) : "w"(x));
#elif defined(__AVX__)
  __asm__("vsqrtps %1, %0" : "=v"(y) : "v"(x));
#else
  __asm__("sqrtps %1, %0" : "=x"(y) : "x"(x));
#endif
  return y;
#endif
}
""",
    "fma": """
// a b + c, rounded once
static inline $F fma_$K($F a, $F b, $F c) {
#ifdef __clang__
  return __builtin_elementwise_fma(a, b, c);
#elif defined(__FMA__)
  return $FMA;
#else
  $F y;
  for (int i = 0; i < $W; ++i) y[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return y;
#endif
}
""",
}

# gcc might not make one instruction of a loop over a register's elements.
_FMA = {
    4: "__builtin_ia32_vfmaddps(a, b, c)",
    8: "__builtin_ia32_vfmaddps256(a, b, c)",
    16: "__builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)",
}
"""gcc's fused multiply-add of a register, by its width."""

_SCALAR = {
    "bits": """
static inline unsigned bits_f32(float x) {
  union { float f; unsigned u; } both = {.f = x};
  return both.u;
}
""",
    "float": """
static inline float float_f32(unsigned bits) {
  union { float f; unsigned u; } both = {.u = bits};
  return both.f;
}
""",
    "pick": """
static inline float pick_f32(int mask, float a, float b) { return mask ? a : b; }
""",
    "sqrt": """
static inline float sqrt_f32(float x) {
#ifdef __clang__
  return __builtin_elementwise_sqrt(x);
#else
  float y;
#ifdef __aarch64__
  __asm__("fsqrt %s0, %s1" : "=w"(y) : "w"(x));
#elif defined(__AVX__)
  __asm__("vsqrtss %1, %1, %0" : "=v"(y) : "v"(x));
#else
  __asm__("sqrtss %1, %0" : "=x"(y) : "x"(x));
#endif
  return y;
#endif
}
""",
    "fma": """
static inline float fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
""",
}

# ---- the functions
#
# exp: x = n ln(2) + r with |r| <= ln(2)/2, and exp(x) = 2**n exp(r). Adding 1.5 * 2**23 leaves
# n in the low bits of a float. ln(2) is split in two parts, of which the first times n is exact.
# The polynomial minimizes the largest error in units of the last place, which are half as
# large below 1; its first two terms are exact, and so exp(0) is 1.
#
# gelu: x Phi(x) = max(x, 0) - |x| Phi(-|x|), without cancellation. Phi(-t) is exp(-t**2 / 2)
# times a function that is smooth enough for a polynomial in 1 / (1 + 0.35 t).

_FUNCTIONS = {
    "fill": """
static inline $F fill_$K(float value) { return value - ($F){0}; }
""",
    "fused": """
// a b + c, rounded once on any CPU; what uses `fma` is exact enough without
static inline $F fused_$K($F a, $F b, $F c) { return fma_$K(a, b, c); }
""",
    "affine": """
// a x + c
static inline $F affine_$K($F x, float a, float c) { return fma_$K(x, fill_$K(a), fill_$K(c)); }
""",
    "add_scaled": """
// y + a x
static inline $F add_scaled_$K($F y, $F x, float a) { return fma_$K(x, fill_$K(a), y); }
""",
    "horner": """
// p x + c
static inline $F horner_$K($F p, $F x, float c) { return fma_$K(p, x, fill_$K(c)); }
""",
    "abs": """
static inline $F abs_$K($F x) { return float_$K(bits_$K(x) & 0x7fffffffu); }
""",
    "neg": """
static inline $F neg_$K($F x) { return -x; }
""",
    "with_sign": """
static inline $F with_sign_$K($F x, $F sign) {
  return float_$K((bits_$K(x) & 0x7fffffffu) | (bits_$K(sign) & 0x80000000u));
}
""",
    # The next four are one instruction of x86 each, which returns its second operand if either is
    # NaN. So an operand that may be NaN comes last.
    "at_least": """
static inline $F at_least_$K(float least, $F x) {
  return pick_$K(fill_$K(least) > x, fill_$K(least), x);
}
""",
    "at_most": """
static inline $F at_most_$K(float most, $F x) {
  return pick_$K(fill_$K(most) < x, fill_$K(most), x);
}
""",
    "larger": """
static inline $F larger_$K($F a, $F b) { return pick_$K(a > b, a, b); }
""",
    "smaller": """
static inline $F smaller_$K($F a, $F b) { return pick_$K(a < b, a, b); }
""",
    "max": """
static inline $F max_$K($F a, $F b) { return pick_$K(a != a, a, larger_$K(a, b)); }
""",
    "min": """
static inline $F min_$K($F a, $F b) { return pick_$K(a != a, a, smaller_$K(a, b)); }
""",
    "relu": """
static inline $F relu_$K($F x) { return at_least_$K(0.0f, x); }
""",
    "truth": """
// 1 where a comparison holds, 0 where not
static inline $F truth_$K($I mask) { return pick_$K(mask, fill_$K(1.0f), fill_$K(0.0f)); }
""",
    "where": """
static inline $F where_$K($F condition, $F a, $F b) { return pick_$K(condition != 0.0f, a, b); }
""",
    "sign": """
static inline $F sign_$K($F x) {
  return pick_$K(abs_$K(x) > 0.0f, with_sign_$K(fill_$K(1.0f), x), x);
}
""",
    "leaky_relu": """
static inline $F leaky_relu_$K($F x, $F slope) { return pick_$K(x > 0.0f, x, x * slope); }
""",
    "reciprocal": """
static inline $F reciprocal_$K($F x) { return 1.0f / x; }
""",
    "rsqrt": """
static inline $F rsqrt_$K($F x) { return 1.0f / sqrt_$K(x); }
""",
    "exp_series": """
// (exp(r) - 1 - r) / r**2, for |r| <= ln(2)/2
static inline $F exp_series_$K($F r) {
  $F q = affine_$K(r, 0.00137887208f, 0.00836868584f);
  q = horner_$K(q, r, 0.0416688994f);
  q = horner_$K(q, r, 0.166665211f);
  return horner_$K(q, r, 0.499999911f);
}
""",
    "exp": """
static inline $F exp_$K($F x) {
  $F z = affine_$K(x, 1.44269504f, 12582912.0f);
  $F n = z - 12582912.0f;
  $F r = add_scaled_$K(x, n, -0.693359375f);
  r = add_scaled_$K(r, n, 0.000212194440f);
  $F y = horner_$K(horner_$K(exp_series_$K(r), r, 1.0f), r, 1.0f);
  y = float_$K(bits_$K(y) + (bits_$K(z) << 23));
  y = pick_$K(x < -87.3365447f, fill_$K(0.0f), y);  // it would be subnormal
  return pick_$K(x <= 88.7228317f, y, x + __builtin_inff());  // NaN as well stays NaN
}
""",
    "exp2": """
static inline $F exp2_$K($F x) {
  $F z = x + 12582912.0f;
  $F r = (x - (z - 12582912.0f)) * 0.693147181f;
  $F y = horner_$K(horner_$K(exp_series_$K(r), r, 1.0f), r, 1.0f);
  y = float_$K(bits_$K(y) + (bits_$K(z) << 23));
  y = pick_$K(x < -126.0f, fill_$K(0.0f), y);  // it would be subnormal
  return pick_$K(x < 128.0f, y, x + __builtin_inff());  // NaN as well stays NaN
}
""",
    "expm1": """
// twice what it is for half the power of 2, which does not overflow
static inline $F expm1_$K($F x) {
  $F t = at_most_$K(89.0f, at_least_$K(-30.0f, x));
  $F z = affine_$K(t, 1.44269504f, 12582912.0f);
  $F n = z - 12582912.0f;
  $F r = add_scaled_$K(t, n, -0.693359375f);
  r = add_scaled_$K(r, n, 0.000212194440f);
  $F half = float_$K((bits_$K(z) << 23) + 0x3f000000u);
  return fma_$K(fma_$K(exp_series_$K(r), r * r, r), half, half - 0.5f) * 2.0f;
}
""",
    "tanh": """
// e / (e + 2), where e = exp(2 |x|) - 1 comes without cancellation
static inline $F tanh_$K($F x) {
  $F t = at_most_$K(10.0f, abs_$K(x)) * 2.0f;
  $F z = affine_$K(t, 1.44269504f, 12582912.0f);
  $F n = z - 12582912.0f;
  $F r = add_scaled_$K(t, n, -0.693359375f);
  r = add_scaled_$K(r, n, 0.000212194440f);
  $F scale = float_$K((bits_$K(z) << 23) + 0x3f800000u);
  $F e = fma_$K(fma_$K(exp_series_$K(r), r * r, r), scale, scale - 1.0f);
  return with_sign_$K(e / (e + 2.0f), x);
}
""",
    "logistic": """
// y / (1 + exp(-x)), from the exponential that is at most 1
static inline $F logistic_$K($F x, $F y) {
  $F e = exp_low_$K(with_sign_$K(x, fill_$K(-1.0f)));
  return pick_$K(x < 0.0f, y * e, y) / (e + 1.0f);
}
""",
    "sigmoid": """
static inline $F sigmoid_$K($F x) { return logistic_$K(x, fill_$K(1.0f)); }
""",
    "silu": """
static inline $F silu_$K($F x) { return logistic_$K(x, at_least_$K(-1000.0f, x)); }
""",
    "erf": """
// x + x P(x**2) up to 1, and beyond 1 - exp(-Q(|x|))
static inline $F erf_$K($F x) {
  $F t = abs_$K(x), s = x * x;
  $F p = affine_$K(s, 7.80690389e-05f, -0.00079978531f);
  p = horner_$K(p, s, 0.0051871622f);
  p = horner_$K(p, s, -0.0268533472f);
  p = horner_$K(p, s, 0.112835787f);
  p = horner_$K(p, s, -0.37612626f);
  p = horner_$K(p, s, 0.128379166f);
  $F u = at_most_$K(4.0f, t);
  $F q = affine_$K(u, -0.000186783989f, 0.00295192446f);
  q = horner_$K(q, u, -0.0218564365f);
  q = horner_$K(q, u, 0.103148125f);
  q = horner_$K(q, u, 0.638093472f);
  q = horner_$K(q, u, 1.12712252f);
  q = horner_$K(q, u, 0.000332688564f);
  return pick_$K(t < 1.0f, fma_$K(p, x, x), with_sign_$K(1.0f - exp_low_$K(-q), x));
}
""",
    "erfc": """
// exp(-t**2) times a polynomial in 1 / (1 + 0.4 t), for t = |x|
static inline $F erfc_$K($F x) {
  $F t = at_most_$K(9.3f, abs_$K(x));
  $F v = 1.0f / affine_$K(t, 0.4f, 1.0f);
  $F p = affine_$K(v, -0.0308023021f, 0.204608336f);
  p = horner_$K(p, v, -0.514412344f);
  p = horner_$K(p, v, 0.568380654f);
  p = horner_$K(p, v, -0.301919878f);
  p = horner_$K(p, v, 0.2815696f);
  p = horner_$K(p, v, 0.12636216f);
  p = horner_$K(p, v, 0.215637848f);
  p = horner_$K(p, v, 0.224864453f);
  p = horner_$K(p, v, 0.22571148f);
  $F z = affine_$K(t * t, -1.44269504f, 12582912.0f);
  $F n = z - 12582912.0f;
  $F r = fused_$K(t, t, n * 0.693359375f);  // the error of t**2 would be large after exp
  r = add_scaled_$K(r, n, -0.000212194440f);
  $F y = horner_$K(horner_$K(exp_series_$K(-r), -r, 1.0f), -r, 1.0f);
  y = v * p * float_$K(bits_$K(y) + (bits_$K(z) << 23));
  y = pick_$K(t >= 9.3f, fill_$K(0.0f), y);
  return pick_$K(x < 0.0f, 2.0f - y, y);
}
""",
    "gelu": """
static inline $F gelu_$K($F x) {
  $F t = at_most_$K(13.2687f, abs_$K(x));
  $F v = 1.0f / affine_$K(t, 0.35f, 1.0f);
  $F p = affine_$K(v, -0.0291257706f, 0.143871725f);
  p = horner_$K(p, v, -0.255503356f);
  p = horner_$K(p, v, 0.158927739f);
  p = horner_$K(p, v, -0.0229359809f);
  p = horner_$K(p, v, 0.105432428f);
  p = horner_$K(p, v, 0.119852565f);
  p = horner_$K(p, v, 0.139859065f);
  p = horner_$K(p, v, 0.139621571f);
  return fma_$K(-(t * v * p), gauss_$K(t), relu_$K(x));
}
""",
    "near_reciprocal": """
static inline $F near_reciprocal_$K($F x) { return 1.0f / x; }
""",
    "gelu_bf16": """
static inline $F gelu_bf16_$K($F x) {
  $F t = at_most_$K(13.2687f, abs_$K(x));
  $F v = near_reciprocal_$K(affine_$K(t, 0.25f, 1.0f));
  $F p = affine_$K(v, 0.241632715f, -0.103966266f);
  p = horner_$K(p, v, 0.180472001f);
  p = horner_$K(p, v, 0.0804893300f);
  p = horner_$K(p, v, 0.101352438f);
  return fma_$K(-(t * v * p), gauss_bf16_$K(t), relu_$K(x));
}
""",
    "gelu_tanh": """
// (1 + tanh(u)) / 2 is the sigmoid of 2 u
static inline $F gelu_tanh_$K($F x) {
  x = at_least_$K(-1000.0f, x);
  return logistic_$K(x * affine_$K(x * x, 0.0713548139f, 1.59576917f), x);
}
""",
}

_EXP_AVX512 = """
static inline f32x16 exp_f32x16(f32x16 x) {
#ifdef __AVX512F__
  x = at_most_f32x16(89.0f, at_least_f32x16(-104.0f, x));  // beyond, it is 0 or infinite
#endif
  f32x16 z = affine_f32x16(x, 1.44269504f, 12582912.0f);
  f32x16 n = z - 12582912.0f;
  f32x16 r = add_scaled_f32x16(x, n, -0.693359375f);
  r = add_scaled_f32x16(r, n, 0.000212194440f);
  f32x16 y = horner_f32x16(horner_f32x16(exp_series_f32x16(r), r, 1.0f), r, 1.0f);
#ifdef __AVX512F__
  return (f32x16)_mm512_scalef_ps((__m512)y, (__m512)n);
#else
  y = float_f32x16(bits_f32x16(y) + (bits_f32x16(z) << 23));
  y = pick_f32x16(x < -87.3365447f, fill_f32x16(0.0f), y);
  return pick_f32x16(x <= 88.7228317f, y, x + __builtin_inff());
#endif
}
"""

_NEAR_RECIPROCAL_AVX512 = """
// within 2**-14 of 1 / x
static inline f32x16 near_reciprocal_f32x16(f32x16 x) {
#ifdef __AVX512F__
  return (f32x16)_mm512_rcp14_ps((__m512)x);
#else
  return 1.0f / x;
#endif
}
"""

# ---- a faster exponential function, for numbers not much above 0
#
# Here 2**n needs no special cases, and is simply multiplied. x86 looks up 2**(i/16), or with AVX2
# 2**(i/8), in a register; so r is smaller, and the polynomial shorter. The bits of the table's
# entries lack the i that the shift of z adds. The rounding error of ln(2) is negligible for q, so
# r is corrected after it.

Steps = tuple[tuple[str, str], ...]

_POWER_AVX2: Steps = (
    ("$F s", "__builtin_ia32_permvarsf256(table, (i32x8)z)"),
    ("s", "float_$K(bits_$K(s) + (bits_$K(z) << 20))"),
)

_POWER_AVX512: Steps = (
    ("$F s", "($F)_mm512_permutexvar_ps((__m512i)z, (__m512)table)"),
    ("s", "float_$K(bits_$K(s) + (bits_$K(z) << 19))"),
)

_EXP_LOW = (
    ("x", "at_least_$K(-88.0296919f, x)"),  # -127 ln(2), where s becomes 0
    ("$F z", "affine_$K(x, 1.44269504f, 12583039.0f)"),  # 1.5 * 2**23 + 127, the bias of exponents
    ("$F n", "z - 12583039.0f"),
    ("$F r", "add_scaled_$K(x, n, -0.693359375f)"),
    ("r", "add_scaled_$K(r, n, 0.000212194440f)"),
    ("$F q", "horner_$K(exp_series_$K(r), r, 1.0f)"),
    ("$F s", "float_$K(bits_$K(z) << 23)"),
    ("x", "fma_$K(s, r * q, s)"),
)

_EXP_LOW_AVX2 = (
    ("x", "at_least_$K(-88.0296919f, x)"),
    ("$F z", "affine_$K(x, 1.44269504f, 1572864.0f)"),  # 1.5 * 2**20: the last bit counts eighths
    ("$F n", "z - 1572864.0f"),
    ("$F r", "add_scaled_$K(x, n, -0.693147182f)"),
    ("$F q", "affine_$K(r, 0.166681945f, 0.50006479f)"),
    ("q", "horner_$K(q, r, 1.0f)"),
    ("r", "add_scaled_$K(r, n, 1.90465421e-9f)"),
    *_POWER_AVX2,
    ("x", "fma_$K(s, r * q, s)"),
)

_EXP_LOW_AVX512 = (
    ("$F z", "affine_$K(x, 1.44269504f, 786432.0f)"),  # 1.5 * 2**19: the last bit counts sixteenths
    ("$F n", "z - 786432.0f"),
    ("$F r", "add_scaled_$K(x, n, -0.693147182f)"),
    ("$F q", "affine_$K(r, 0.166670099f, 0.500016212f)"),
    ("q", "horner_$K(q, r, 1.0f)"),
    ("r", "add_scaled_$K(r, n, 1.90465421e-9f)"),
    *_POWER_AVX512,
    ("x", "pick_$K(x < -87.3365447f, fill_$K(0.0f), fma_$K(s, r * q, s))"),
)

# exp(-t**2 / 2) works the same way. The rounding error of a large square matters, so r, here -2
# times the r above, is computed from the exact square. From t = 13.2687 on, s is 0.

_GAUSS = (
    ("$F z", "affine_$K(t * t, -0.721347520f, 12583039.0f)"),
    ("$F n", "z - 12583039.0f"),
    ("$F r", "fused_$K(t, t, n * 1.38671875f)"),
    ("r", "add_scaled_$K(r, n, -0.000424388880f) * -0.5f"),
    ("$F q", "horner_$K(exp_series_$K(r), r, 1.0f)"),
    ("$F s", "float_$K(bits_$K(z) << 23)"),
    ("t", "fma_$K(s, r * q, s)"),
)

_GAUSS_AVX2 = (
    ("$F z", "affine_$K(t * t, -0.721347520f, 1572864.0f)"),
    ("$F n", "z - 1572864.0f"),
    ("$F r", "fused_$K(t, t, n * 1.38671875f)"),
    ("r", "add_scaled_$K(r, n, -0.000424388880f)"),
    ("$F q", "affine_$K(r, -0.0208352431f, 0.125016198f)"),
    ("q", "horner_$K(q, r, -0.5f)"),
    *_POWER_AVX2,
    ("t", "fma_$K(s, r * q, s)"),
)

_GAUSS_AVX512 = (
    ("$F z", "affine_$K(t * t, -0.721347520f, 786432.0f)"),
    ("$F n", "z - 786432.0f"),
    ("$F r", "fused_$K(t, t, n * 1.38671875f)"),
    ("r", "add_scaled_$K(r, n, -0.000424388880f)"),
    ("$F q", "affine_$K(r, -0.0208337624f, 0.125004053f)"),
    ("q", "horner_$K(q, r, -0.5f)"),
    *_POWER_AVX512,
    ("t", "fma_$K(s, r * q, s)"),
)

_GAUSS_BF16 = (
    ("$F s", "t * t"),
    ("$F z", "affine_$K(s, -0.721347520f, 786432.0f)"),
    ("$F r", "fma_$K(s, fill_$K(-0.721347520f), 786432.0f - z)"),
    ("$F q", "affine_$K(r, 0.693120062f, 1.00011730f)"),  # 2**r
    ("s", "($F)_mm512_permutexvar_ps((__m512i)z, (__m512)table)"),
    ("s", "float_$K(bits_$K(s) + (bits_$K(z) << 19))"),
    ("t", "s * q"),
)

_FEATURES = {8: "__AVX2__", 16: "__AVX512F__"}
"""The macro of the instruction set that can look up a table in a register of so many floats."""


def _exp_low(width: int, count: int) -> str:
    """exp(x) for x up to 88. Several registers are interleaved step by step, to hide latency.

    Out-of-order execution does not look far enough ahead to overlap them by itself.
    """
    body = _body(width, count, _EXP_LOW, {8: _EXP_LOW_AVX2, 16: _EXP_LOW_AVX512})
    if count == 1:
        return f"static inline $F exp_low_$K($F x) {{\n{body}\n  return x;\n}}"
    return f"static inline void exp_low_{count}_$K($F *x) {{\n{body}\n}}"


def _gauss(name: str, width: int, avx512: Steps) -> str:
    """exp(-t**2 / 2) for t from 0 to 13.2687, on AVX-512 by these steps."""
    body = _body(width, 1, _GAUSS, {8: _GAUSS_AVX2, 16: avx512})
    return f"static inline $F {name}_$K($F t) {{\n{body}\n  return t;\n}}"


def _body(width: int, count: int, plain: Steps, looked_up: Mapping[int, Steps]) -> str:
    """The plain steps or, under an `#ifdef`, those that look up a table, if this width has one."""
    body = _steps(plain, count)
    if width not in looked_up:
        return body
    steps = f"{_table(width)}\n{_steps(looked_up[width], count)}"
    return f"#ifdef {_FEATURES[width]}\n{steps}\n#else\n{body}\n#endif"


def _table(size: int) -> str:
    bits = [
        f"0x{round(2 ** (i / size) * 2**23) + (126 << 23) - (i << 23) // size:08x}u"
        for i in range(size)
    ]
    lines = [f"    {', '.join(bits[i : i + 4])}," for i in range(0, size, 4)]
    return "\n".join([f"  const $F table = ($F)($U){{  // 2**(i/{size})", *lines, "  };"])


def _steps(steps: Steps, count: int) -> str:
    if count == 1:
        return "\n".join(f"  {left} = {right};" for left, right in steps)
    declared = ", ".join(f"{left[3:]}[{count}]" for left, _ in steps if left.startswith("$F "))
    loops = (
        f"  for (int j = 0; j < {count}; ++j) {_each(left.removeprefix('$F '))} = {_each(right)};"
        for left, right in steps
    )
    return "\n".join([f"  $F {declared};", *loops])


def _each(text: str) -> str:
    """The text with every one-letter variable turned into element j of an array."""
    return re.sub(r"(?<!\$)\b[a-z]\b", lambda match: f"{match.group()}[j]", text)
