"""Sine and cosine of one register, as templates like those of `math`.

x = n pi/2 + r with |r| <= pi/4, so that x is n quarters of a turn and a rest. Up to 2**17, pi/2 in
three parts suffices: the first times n is exactly subtracted from x, and the others are rounded
once each. For larger numbers, the bits of 2/pi from the place on where they matter, times the
24 bits of x, give n modulo 4 and the rest (M. Payne and R. Hanek, 1983).
"""

from __future__ import annotations

LARGE_SCALAR = {
    "quarters": """
// the rest of a large number, and the quarters of a turn that it is apart from it, plus 1.5 * 2**23
static inline void quarters_f32(float x, float *rest, float *turned) {
  static const unsigned bits_of_2_by_pi[] = {
    0, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
  unsigned bits = bits_f32(x), exponent = bits >> 23 & 255;
  if (exponent == 255) {
    *rest = x - x;
    return;
  }
  unsigned place = exponent - 150 - 2 + 32, shift = place % 32;
  const unsigned *p = bits_of_2_by_pi + place / 32;
  unsigned __int128 part = (unsigned __int128)p[0] << 96 | (unsigned __int128)p[1] << 64;
  part |= (unsigned __int128)p[2] << 32 | p[3];
  part = part << shift >> 32;
  part *= (bits & 0x7fffff) | 0x800000;  // in quarters of a turn, times 2**94
  unsigned long long turns = (unsigned long long)(part >> 32);
  unsigned whole = (unsigned)((turns + (1ull << 61)) >> 62);
  float r = (float)((double)(long long)(turns << 2) * 8.515303950216386e-20);
  *rest = bits >> 31 ? -r : r;
  *turned = 12582912.0f + (float)(bits >> 31 ? 4 - whole : whole);
}
""",
    "reduce_large": """
static inline void reduce_large_f32(float x, float *rest, float *turned) {
  if (abs_f32(x) >= 131072.0f) quarters_f32(x, rest, turned);
}
""",
}
"""For numbers from 2**17 on, of a single number."""

LARGE_VECTOR = {
    "reduce_large": """
static inline void reduce_large_$K($F x, $F *rest, $F *turned) {
  $I large = abs_$K(x) >= 131072.0f;
  int any = 0;
  for (int i = 0; i < $W; ++i) any |= large[i];
  if (__builtin_expect(any, 0))
    for (int i = 0; i < $W; ++i)
      if (large[i]) {
        float r = 0.0f, n = 0.0f;
        quarters_f32(x[i], &r, &n);
        (*rest)[i] = r;
        (*turned)[i] = n;
      }
}
""",
}
"""The same for a register, in which there are seldom any."""

TRIGONOMETRY = {
    "turned": """
// sin(x + before pi/2)
static inline $F turned_$K($F x, unsigned before) {
  $F z = affine_$K(x, 0.636619772f, 12582912.0f);
  $F n = z - 12582912.0f;
  $F r = fused_$K(n, fill_$K(-1.57079637f), x);
  r = fused_$K(n, fill_$K(4.37113883e-8f), r);
  r = fused_$K(n, fill_$K(1.71512451e-15f), r);
  reduce_large_$K(x, &r, &z);
  $F t = r * r;
  $F p = horner_$K(affine_$K(t, -1.95152959e-4f, 8.33216087e-3f), t, -0.166666546f);
  $F sine = pick_$K(x == 0.0f, x, fma_$K(p * t, r, r));  // zero keeps its sign
  $F q = horner_$K(affine_$K(t, 2.44331571e-5f, -1.38873162e-3f), t, 4.16666457e-2f);
  $F cosine = fma_$K(q * t, t, fma_$K(t, fill_$K(-0.5f), fill_$K(1.0f)));
  $U quarters = bits_$K(z) + before;
  $F y = pick_$K((quarters & 1u) == 1u, cosine, sine);
  return float_$K(bits_$K(y) ^ ((quarters & 2u) << 30));
}
""",
    "sin": """
static inline $F sin_$K($F x) { return turned_$K(x, 0u); }
""",
    "cos": """
static inline $F cos_$K($F x) { return turned_$K(x, 1u); }
""",
}
"""The functions by their names without a suffix."""
