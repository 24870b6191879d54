"""Rounding of one register to whole numbers, as templates like those of `math`."""

from __future__ import annotations

WHOLE = {
    # gcc's own functions might call a library. Adding 2**23 rounds to a whole number, half to even.
    "round": """
static inline $F round_$K($F x) {
#ifdef __clang__
  return __builtin_elementwise_roundeven(x);
#else
  $F shift = with_sign_$K(fill_$K(8388608.0f), x);
  return pick_$K(abs_$K(x) < 8388608.0f, with_sign_$K((x + shift) - shift, x), x);
#endif
}
""",
    "floor": """
static inline $F floor_$K($F x) {
#ifdef __clang__
  return __builtin_elementwise_floor(x);
#else
  $F y = round_$K(x);
  return with_sign_$K(pick_$K(y > x, y - 1.0f, y), x);
#endif
}
""",
    "ceil": """
static inline $F ceil_$K($F x) {
#ifdef __clang__
  return __builtin_elementwise_ceil(x);
#else
  $F y = round_$K(x);
  return with_sign_$K(pick_$K(y < x, y + 1.0f, y), x);
#endif
}
""",
}
"""The functions by their names without a suffix."""
