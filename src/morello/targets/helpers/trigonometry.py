"""Sine, cosine and angles of one register, as templates like those of `math`.

x = n pi/2 + r with |r| <= pi/4, so that x is n quarters of a turn and a rest. Up to 2**17, pi/2 in
three parts suffices: the first times n is exactly subtracted from x, and the others are rounded
once each. For larger numbers, the bits of 2/pi from the place on where they matter, times the
24 bits of x, give n modulo 4 and the rest (M. Payne and R. Hanek, 1983).

An angle is that of the smaller of two sides to the larger one, at most pi/4, which a polynomial
gives, added to 0, pi/2 or pi, or subtracted from it.
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
"""The reduction of a single number from 2**17 on."""

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
"""The reduction of such numbers in a register, in which there are seldom any."""

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
    "atan2": """
static inline $F atan2_$K($F y, $F x) {
  $F height = abs_$K(y), width = abs_$K(x);
  $F small = smaller_$K(height, width), large = max_$K(height, width);  // NaN if either is
  $F q = pick_$K(small == large, truth_$K(large > 0.0f), small / large);  // 0 and inf as well
  $F s = q * q;
  $F p = affine_$K(s, 0.00292068673f, -0.0163679067f);
  p = horner_$K(p, s, 0.0432118289f);
  p = horner_$K(p, s, -0.0755221173f);
  p = horner_$K(p, s, 0.106660038f);
  p = horner_$K(p, s, -0.142110556f);
  p = horner_$K(p, s, 0.199937731f);
  p = horner_$K(p, s, -0.333331525f);
  $F r = fma_$K(p * s, q, q);
  $I steep = height > width, left = ($I)bits_$K(x) < 0;
  $F turn = pick_$K(left, fill_$K(3.14159274f), fill_$K(0.0f));
  turn = pick_$K(steep, fill_$K(1.57079637f), turn);
  r = add_scaled_$K(pick_$K(steep ^ left, -r, r), turn, -2.78275354e-8f);  // pi is a bit less
  return with_sign_$K(turn + r, y);
}
""",
}
"""The functions by their names without a suffix."""
