"""Scans of rows at any stride, which is counted in elements."""

from __future__ import annotations

_PLACE = """
// the place of the first {extremum}; of the first NaN, if there is any
static inline int {name}_{dtype}(const {c} *x, int64_t n, int64_t step) {{
  {c} best = x[0];
  int place = 0;
  for (int64_t i = 1; i < n; ++i) {{
    {c} y = x[i * step];
    if (y {than} best{or_nan}) {{
      best = y;
      place = (int)i;
    }}
  }}
  return place;
}}
"""

_SUMS = """
// the sums of all elements up to each
static inline void cumsum_{dtype}({c} *out, const {c} *x, int64_t n, int64_t to, int64_t step) {{
  {sum} sum = 0;
  for (int64_t i = 0; i < n; ++i) {{
    sum += ({sum})x[i * step];
    out[i * to] = ({c})sum;
  }}
}}
"""

SCANS = {
    f"{name}_{dtype}": text.format(
        name=name, dtype=dtype, c=c, sum=total, extremum=extremum, than=than, or_nan=or_nan
    )
    for dtype, c, total, or_nan in (
        ("f32", "float", "float", " || (y != y && best == best)"),
        ("i32", "int32_t", "uint32_t", ""),
    )
    for name, text, extremum, than in (
        ("argmax", _PLACE, "maximum", ">"),
        ("argmin", _PLACE, "minimum", "<"),
        ("cumsum", _SUMS, "", ""),
    )
}
"""The functions by their names."""
