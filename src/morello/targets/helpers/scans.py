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

_PLACE_RUN = """
// the place of the first {extremum} in a run, which is looked for in one block only
static inline int {name}(const {c} *x, long n) {{
  {c} best = x[0];
  long begin = 0;
  for (long i = 0; i < n; i += 256) {{
    {c} found = {search}(x + i, n - i < 256 ? n - i : 256, x[i]);
    if (!(found {no_better} best)) {{
      best = found;
      begin = i;{stop}
    }}
  }}
  const {c} *block = x + begin;
  int size = n - begin < 256 ? (int)(n - begin) : 256, place = size;
  for (int i = 0; i < size; ++i) {{  // without a branch, so that it becomes vectors
    int here = {here} ? i : size;
    place = here < place ? here : place;
  }}
  return (int)begin + place;
}}
"""
"""The place of an extremum that the function `search` finds, or of the first NaN."""

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


def place_runs(c: str, kind: str) -> dict[str, str]:
    """C for the places of extrema of a run, by `max_run_{kind}` and `min_run_{kind}`."""
    stop, here = "", "(block[i] == best)"
    if c == "float":
        stop = "\n      if (found != found) break;"
        here = "((block[i] == best) | (block[i] != block[i]))"
    return {
        f"arg{short}_run": _PLACE_RUN.format(
            name=f"arg{short}_run_{kind}", c=c, search=f"{short}_run_{kind}",
            extremum=f"{short}imum", no_better=no_better, stop=stop, here=here,
        )
        for short, no_better in (("max", "<="), ("min", ">="))
    }  # fmt: skip


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
