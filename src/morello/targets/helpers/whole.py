"""Rounding of one register to whole numbers, and remainders, as templates like those of `math`.

A remainder of f32 is a number of f32, and so is what any rounded quotient leaves of a number.
"""

from __future__ import annotations

FAR_SCALAR = {
    "long_division": """
// the remainder of numbers that are not negative, 53 digits of the quotient at a time
static inline float long_division_f32(float a, float b) {
  double rest = a, size = b;
  if (!(size > 0.0)) return __builtin_nanf("");
  while (__builtin_fabs(rest) >= size) {
    double quotient = rest / size;
    if (__builtin_fabs(quotient) < 4503599627370496.0) quotient = (double)(long long)quotient;
    rest = __builtin_fma(-quotient, size, rest);
  }
  return (float)(rest < 0.0 ? rest + size : rest);
}
""",
    "far_remainder": """
static inline void far_remainder_f32(float rest, float size, float *r) {
  if (!(rest < size * 4194304.0f)) *r = long_division_f32(rest, size);
}
""",
}
"""Remainders of numbers from 2**22 times their divisors on, of a single number."""

FAR_VECTOR = {
    "far_remainder": """
static inline void far_remainder_$K($F rest, $F size, $F *r) {
  $I near = rest < size * 4194304.0f;
  int all = -1;
  for (int i = 0; i < $W; ++i) all &= near[i];
  if (__builtin_expect(!all, 0))
    for (int i = 0; i < $W; ++i)
      if (!near[i]) (*r)[i] = long_division_f32(rest[i], size[i]);
}
""",
}
"""Remainders of numbers far larger than the divisor, in a register: there are seldom any."""

WHOLE = {
    "apart": """
// x; between conversions from f16 and to it, clang would make x86 round f16 one by one
static inline $F apart_$K($F x) {
#if defined(__clang__) && defined(__SSE2__) && \\
    ($W <= 4 || ($W == 8 && defined(__AVX__)) || defined(__AVX512F__))
  __asm__("" : "+v"(x));
#endif
  return x;
}
""",
    # gcc's own functions might call a library. Adding 2**23 rounds to a whole number, half to even.
    "round": """
static inline $F round_$K($F x) {
#ifdef __clang__
  return __builtin_elementwise_roundeven(apart_$K(x));
#else
  $F shift = with_sign_$K(fill_$K(8388608.0f), x);
  return pick_$K(abs_$K(x) < 8388608.0f, with_sign_$K((x + shift) - shift, x), x);
#endif
}
""",
    "floor": """
static inline $F floor_$K($F x) {
#ifdef __clang__
  return __builtin_elementwise_floor(apart_$K(x));
#else
  $F y = round_$K(x);
  return with_sign_$K(pick_$K(y > x, y - 1.0f, y), x);
#endif
}
""",
    "ceil": """
static inline $F ceil_$K($F x) {
#ifdef __clang__
  return __builtin_elementwise_ceil(apart_$K(x));
#else
  $F y = round_$K(x);
  return with_sign_$K(pick_$K(y < x, y + 1.0f, y), x);
#endif
}
""",
    "remainder": """
// a - b trunc(a / b), exactly, with the sign of a
static inline $F remainder_$K($F a, $F b) {
  $F size = abs_$K(b), rest = abs_$K(a);
  $F r = fma_$K(-round_$K(rest / size), size, rest);
  r = pick_$K(r < 0.0f, r + size, r);
  r = pick_$K(rest < size, rest, r);
  far_remainder_$K(rest, size, &r);
  return with_sign_$K(r, a);
}
""",
}
"""The functions by their names without a suffix."""
