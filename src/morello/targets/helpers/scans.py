"""Scans of rows: at any stride, which is counted in elements, and by registers."""

from __future__ import annotations

from morello.targets.helpers.vectors import scalar, shuffled, vector_helpers, vector_types

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

_SUM_RUN = """
// the sums of all elements of a run up to each, a register at a time
static inline void cumsum_run_{kind}({c} *out, const {c} *x, long n) {{
  {work} before = {{0}}, zero = {{0}}, v, last;
  long i = 0;
  for (; i + {width} <= n; i += {width}) {{
    v = ({work})load_{kind}(x + i);
    {steps}
    v += before;
    store_{kind}(out + i, ({kind})v);
    before = {carried};
  }}
{rest}
}}
"""

_REST_BY_ELEMENTS = """\
  {sum} sum = before[0];
  for (; n - i > 0; ++i) out[i] = ({c})(sum += ({sum})x[i]);"""
"""Of i < n, gcc warns as if i overflowed, where no elements are left."""

_REST_BY_MASKS = """\
  if (i < n) {{
    v = ({work})load_part_{kind}(x + i, n - i);
    {steps}
    v += before;
    store_part_{kind}(out + i, ({kind})v, n - i);
  }}"""

_SUM_ROWS = """
// the sums of all of `count` rows up to each; a row's n elements lie beside each other
static inline void cumsum_rows_{kind}({c} *out, const {c} *x, long count, long to, long step,
                                      long n) {{
  for (long j = 0; j < n; ++j) {{
    __asm__("" : "+r"(x));  // no compiler turns the loop into a call of memcpy
    out[j] = x[j];
  }}
  for (long i = 1; i < count; ++i) {{
    const {c} *row = x + i * step, *above = out + (i - 1) * to;
    {c} *sums = out + i * to;
    long j = 0;
    for (; j + {width} <= n; j += {width})
      store_{kind}(sums + j,
          ({kind})(({work})load_{kind}(above + j) + ({work})load_{kind}(row + j)));
    for (; j < n; ++j) sums[j] = ({c})(({sum})above[j] + ({sum})row[j]);
  }}
}}
"""

_PLACE_STRIP = """
static inline __attribute__((always_inline)) void {name}_strip_{kind}(int32_t *out, const {c} *x,
    long count, long step, const int registers) {{
  {kind} best[{strip}];
  {places} place[{strip}];
  for (int r = 0; r < registers; ++r) {{
    best[r] = load_{kind}(x + r * {width});
    place[r] = ({places}){{0}};
  }}
  for (long i = 1; i < count; ++i) {{
    x += step;
    for (int r = 0; r < registers; ++r) {{
      const {kind} y = load_{kind}(x + r * {width});
      const {places} better = {better_of_strip};
      best[r] = ({kind})((({places})y & better) | (({places})best[r] & ~better));
      place[r] = (splat_{places}((int)i) & better) | (place[r] & ~better);
    }}
  }}
  for (int r = 0; r < registers; ++r) store_{places}(out + r * {width}, place[r]);
}}
"""

_PLACE_BLOCK = """
// rows are read from one end to the other, {together} at once, as prefetchers follow them
static inline void {name}_block_{kind}(int32_t *out, const {c} *x, long count, long step, long n) {{
  {c} most[{block}];
  for (long j = 0; j < n; ++j) {{
    most[j] = x[j];
    out[j] = 0;
  }}
  for (long i = 1; i < count; i += {together}) {{
    const {c} *rows = x + i * step;
    const int height = count - i < {together} ? (int)(count - i) : {together};
    for (long j = 0; j < n; j += {width}) {{
      {kind} best = load_{kind}(most + j);
      {places} place = load_{places}(out + j);
      for (int k = 0; k < height; ++k) {{
        const {kind} y = load_{kind}(rows + k * step + j);
        const {places} better = {better};
        best = ({kind})((({places})y & better) | (({places})best & ~better));
        place = (splat_{places}((int)i + k) & better) | (place & ~better);
      }}
      store_{kind}(most + j, best);
      store_{places}(out + j, place);
    }}
  }}
}}
"""

_PLACE_ROWS = """
// the place of the first {extremum} of each column, or of its first NaN, of `count` rows
static inline void {name}_rows_{kind}(int32_t *out, const {c} *x, long count, long step, long n) {{
  long j = 0, size;
  const int far = n > {wide} && count * step > {far};
  for (; far && j + {width} <= n; j += size) {{
    size = n - j < {block} ? (n - j) / {width} * {width} : {block};
    {name}_block_{kind}(out + j, x + j, count, step, size);
  }}
  for (; j + {wide} <= n; j += {wide}) {name}_strip_{kind}(out + j, x + j, count, step, {strip});
  for (; j < n; j += {width}) {{  // the last register overlaps the one before it
    const long at = j + {width} <= n ? j : n - {width};
    {name}_strip_{kind}(out + at, x + at, count, step, 1);
  }}
}}
"""
"""Rows have at least a register of elements beside each other."""

STRIP = 4
"""The registers of columns that are looked through at once."""

BLOCK, TOGETHER, FAR = 2048, 8, 1 << 18
"""The most columns, and the rows, that are read together of more than so many elements.

So many do not stay in a second-level cache; a few registers of each row are in another page each.
"""


def scan_helpers(isa: str, dtype: str, width: int) -> dict[str, str]:
    """Scans of f32 or i32 by registers: of a run, and of rows whose elements are in a run."""
    kind, places = f"{dtype}x{width}", f"i32x{width}"
    work, total = (kind, "float") if dtype == "f32" else (f"u32x{width}", "uint32_t")
    helpers = vector_helpers(isa, dtype, width) | vector_helpers(isa, "i32", width)
    helpers |= vector_types("u32", width)
    values = {
        "kind": kind, "c": scalar(dtype), "work": work, "sum": total, "places": places,
        "width": width, "strip": STRIP, "wide": STRIP * width,
        "block": BLOCK, "together": TOGETHER, "far": FAR,
        "steps": "\n    ".join(_sums_up_to_each(width)),
        "carried": shuffled("v", "v", [width - 1] * width),
    }  # fmt: skip
    rest = _REST_BY_MASKS if f"load_part_{kind}" in helpers else _REST_BY_ELEMENTS
    values["rest"] = rest.format(**values)
    helpers[f"cumsum_run_{kind}"] = _SUM_RUN.format(**values).strip()
    helpers[f"cumsum_rows_{kind}"] = _SUM_ROWS.format(**values).strip()
    for name, extremum, than, no_better in (
        ("argmax", "maximum", ">", "<="),
        ("argmin", "minimum", "<", ">="),
    ):
        own = {"name": name, "extremum": extremum}
        for suffix, best in (("", "best"), ("_of_strip", "best[r]")):
            better = f"~(y {no_better} {best}) & ({best} == {best})"
            own[f"better{suffix}"] = better if dtype == "f32" else f"y {than} {best}"
        helpers[f"{name}_strip_{kind}"] = _PLACE_STRIP.format(**values, **own).strip()
        helpers[f"{name}_block_{kind}"] = _PLACE_BLOCK.format(**values, **own).strip()
        helpers[f"{name}_rows_{kind}"] = _PLACE_ROWS.format(**values, **own).strip()
    return helpers


def _sums_up_to_each(width: int) -> list[str]:
    """C that adds to each element of v all elements before it.

    First within lanes of 16 bytes, as shuffles across lanes take several times as long.
    """
    lane, every = 4, range(width)
    lines = []
    for by in (1, 2):
        moved = [width + i - by if i % lane >= by else i for i in every]
        lines.append(f"v += {shuffled('zero', 'v', moved)};")
    by = lane
    while by < width:
        moved = [width + i - by if i >= by else i for i in every]
        lines.append(f"last = {shuffled('v', 'v', [i // lane * lane + lane - 1 for i in every])};")
        lines.append(f"v += {shuffled('zero', 'last', moved)};")
        by *= 2
    return lines
