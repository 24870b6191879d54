"""Logarithms of one register, as templates like those of `math`.

x is 2**n m, with m from sqrt(1/2) to sqrt(2), and so log(x) = n ln(2) + log(m). With f = m - 1,
log(m) is f - f**2 / 2 + f**3 P(f), which is exact for m = 1. ln(2) is split in two parts, of
which the first times n is exact.
"""

from __future__ import annotations

LOGARITHMS = {
    "exponent_bits": """
// n << 23, where x is 2**n times a number from sqrt(1/2) to sqrt(2)
static inline $U exponent_bits_$K($F x) { return (bits_$K(x) - 0x3f3504f3u) & 0xff800000u; }
""",
    "exponent": """
// n, of n << 23
static inline $F exponent_$K($U bits) {
  return float_$K(($U)(($I)bits >> 23) + 0x4b400000u) - 12582912.0f;
}
""",
    "log_series": """
// log(1 + f) - f, for 1 + f from sqrt(1/2) to sqrt(2)
static inline $F log_series_$K($F f) {
  $F p = affine_$K(f, -0.0763643906f, 0.127622172f);
  p = horner_$K(p, f, -0.131596103f);
  p = horner_$K(p, f, 0.1420158f);
  p = horner_$K(p, f, -0.166234091f);
  p = horner_$K(p, f, 0.200012416f);
  p = horner_$K(p, f, -0.250008196f);
  p = horner_$K(p, f, 0.333333313f);
  return horner_$K(p, f, -0.5f) * f * f;
}
""",
    "log_scaled": """
// log((1 + f) 2**n)
static inline $F log_scaled_$K($F f, $F n) {
  $F rest = add_scaled_$K(log_series_$K(f), n, -0.000212194440f);
  return add_scaled_$K(f + rest, n, 0.693359375f);
}
""",
    "log_limits": """
// y, the logarithm of a positive and finite x, or the logarithm of any other x
static inline $F log_limits_$K($F x, $F y) {
  $F limit = pick_$K(x < 0.0f, fill_$K(__builtin_nanf("")), fill_$K(-__builtin_inff()));
  return pick_$K(x < __builtin_inff(), pick_$K(x > 0.0f, y, limit), x);
}
""",
    "without_subnormals": """
// x, times 2**23 if it is subnormal
static inline $F without_subnormals_$K($F x) {
  return pick_$K(x < 1.17549435e-38f, x * 8388608.0f, x);
}
""",
    "log_exponent": """
// n, where x is 2**n times a number from sqrt(1/2) to sqrt(2); `bits` are those of a normal x
static inline $F log_exponent_$K($F x, $U bits) {
  return exponent_$K(bits) - pick_$K(x < 1.17549435e-38f, fill_$K(23.0f), fill_$K(0.0f));
}
""",
    "log": """
static inline $F log_$K($F x) {
  $F normal = without_subnormals_$K(x);
  $U bits = exponent_bits_$K(normal);
  $F f = float_$K(bits_$K(normal) - bits) - 1.0f;
  return log_limits_$K(x, log_scaled_$K(f, log_exponent_$K(x, bits)));
}
""",
    "log2": """
static inline $F log2_$K($F x) {
  $F normal = without_subnormals_$K(x);
  $U bits = exponent_bits_$K(normal);
  $F f = float_$K(bits_$K(normal) - bits) - 1.0f;
  $F y = add_scaled_$K(log_exponent_$K(x, bits), f + log_series_$K(f), 1.44269504f);
  return log_limits_$K(x, y);
}
""",
    "log1p": """
// 1 + x is rounded to u, and what that loses is added to f
static inline $F log1p_$K($F x) {
  $F u = x + 1.0f, lost = x - (u - 1.0f);
  $U bits = exponent_bits_$K(u);
  $F f = float_$K(bits_$K(u) - bits) - 1.0f;
  lost = pick_$K(x < 16777216.0f, lost * float_$K(0x3f800000u - bits), fill_$K(0.0f));
  return log_limits_$K(u, log_scaled_$K(f + lost, exponent_$K(bits)));
}
""",
    "softplus": """
static inline $F softplus_$K($F x) {
  return relu_$K(x) + log1p_$K(exp_low_$K(-abs_$K(x)));
}
""",
}
"""The functions, and the helpers that they call, by their names without a suffix."""
