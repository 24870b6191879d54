"""Products with few columns: inner products of several rows and columns at once."""

from __future__ import annotations

from dataclasses import dataclass

from morello.targets.helpers.vectors import (
    full_width,
    scalar,
    shuffled,
    size,
    vector_helpers,
    vector_types,
)

COLUMNS = 4
"""The columns of a block, whose sums end in one register of four lanes."""
MOST_COLUMNS = 16
BUFFER_BYTES = 16384
"""The most bytes of b, of which columns are made beside each other in the nearest cache."""


@dataclass(frozen=True)
class _Factors:
    """How registers of `width` elements are multiplied, and their products added to sums.

    `add` is the statement that adds the product of {x} and {y} to {s}. `name` ends the names of
    helpers.
    """

    dtype: str
    width: int
    add: str = "{s} += {x} * {y};"
    name: str = ""

    @property
    def kind(self) -> str:
        return f"{self.dtype}x{self.width}"


def rows_at_once(width: int) -> int:
    """The rows of a block, by the floats of a register.

    Those of AVX2, with 8, are 16 registers: two times four sums leave some for b.
    """
    return 2 if width == 8 else 4


def column_helpers(isa: str, features: frozenset[str]) -> dict[str, str]:
    """`few_columns` and the like: c += a @ b for rows of a without gaps and up to `MOST_COLUMNS`
    columns.
    """
    w = full_width(isa, "f32")
    kinds = [_Factors("f32", w)]
    if "avx512_bf16" in features:
        add = f"{{s}} = dpbf16_f32x{w}({{s}}, (bf16x2x{w}){{x}}, (bf16x2x{w}){{y}});"
        kinds.append(_Factors("bf16", 2 * w, add, "_bf16_dp"))
    helpers = vector_types("f32", 4) | _totals(w)
    for factors in kinds:
        helpers |= _few_columns(isa, factors, "") | _few_columns(isa, factors, "_l2")
    return helpers


def _few_columns(isa: str, factors: _Factors, fetched: str) -> dict[str, str]:
    """The helpers of one kind of factors; with "_l2", rows of a are prefetched from memory.

    Prefetches are of what lies two blocks of rows further: prefetchers of a core begin anew with
    each row, and each page. They are into L2, or into L1 where rows are multiplied with more than
    two blocks of columns, which takes longer than their lines: up to 1.4 times as fast on a Zen 4.
    """
    name, element, w = fetched + factors.name, scalar(factors.dtype), factors.width
    further = "a + (r + 2 * rows) * a_m + i"
    into = f"blocks > 2 ? __builtin_prefetch({further}) : __builtin_prefetch({further}, 0, 2);"
    ahead, taken, given = (into, ", const int blocks", ", blocks") if fetched else ("", "", "")
    sums = f"f32x{full_width(isa, 'f32')}"
    rows, buffer = rows_at_once(full_width(isa, "f32")), BUFFER_BYTES // size(factors.dtype)
    helpers = vector_helpers(isa, factors.dtype, w)
    block, outer = f"columns_block{name}", f"few_columns{name}"
    helpers[block] = f"""
// rows of a times columns of b, where elements of both lie next to each other
static inline __attribute__((always_inline)) void {block}(const {element} *a, long a_m,
    const {element} *b, long b_n, float *c, long c_m, long c_n, long k, const int rows,
    const int columns{taken}) {{
  {sums} s[{rows}][{COLUMNS}];
  {factors.kind} y[{COLUMNS}];
  for (int r = 0; r < {rows}; ++r)
    for (int j = 0; j < {COLUMNS}; ++j) s[r][j] = ({sums}){{0}};
  long i = 0;
#pragma GCC unroll 1
  for (; i + {w} <= k; i += {w}) {{
{_step(factors, "load", "", ahead)}
  }}
{_rest(factors)}
  for (int r = 0; r < rows; ++r) {{
    f32x4 t = totals_{sums}(s[r][0], s[r][1], s[r][2], s[r][3]);
    for (int j = 0; j < columns; ++j) c[r * c_m + j * c_n] += t[j];
  }}
}}"""
    helpers[outer] = f"""
// c += a @ b: columns of b with gaps are copied first; rows of a stay in L1 for all columns
static inline __attribute__((always_inline)) void {outer}(const {element} *a, long a_m,
    const {element} *b, long b_k, long b_n, float *c, long c_m, long c_n, long m, const int n,
    const long k) {{
  const int blocks = (n + {COLUMNS - 1}) / {COLUMNS}, wide = (n + blocks - 1) / blocks;
  {element} columns[{buffer}] __attribute__((aligned(64)));
  if (b_k != 1) {{
    for (long i = 0; i < k; ++i)
      for (int j = 0; j < n; ++j) columns[j * k + i] = b[i * b_k + j * b_n];
    b = columns, b_n = k;
  }}
  long i = 0;
#pragma GCC unroll 1
  for (; i + {rows} <= m; i += {rows})
#pragma GCC unroll {MOST_COLUMNS // COLUMNS}
    for (int j = 0; j < n; j += wide)
      {block}(a + i * a_m, a_m, b + j * b_n, b_n, c + i * c_m + j * c_n, c_m, c_n, k,
          {rows}, n - j < wide ? n - j : wide{given});
#pragma GCC unroll 1
  for (; i < m; ++i)
#pragma GCC unroll {MOST_COLUMNS // COLUMNS}
    for (int j = 0; j < n; j += wide)
      {block}(a + i * a_m, a_m, b + j * b_n, b_n, c + i * c_m + j * c_n, c_m, c_n, k,
          1, n - j < wide ? n - j : wide{given});
}}"""
    return {name: text.strip() for name, text in helpers.items()}


def _step(factors: _Factors, load: str, part: str, ahead: str = "") -> str:
    """Products of one register of each row and each column."""
    kind = factors.kind
    ahead = ahead and f"\n      {ahead}"
    return f"""\
    for (int j = 0; j < columns; ++j) y[j] = {load}_{kind}(b + j * b_n + i{part});
    for (int r = 0; r < rows; ++r) {{
      {kind} x = {load}_{kind}(a + r * a_m + i{part});{ahead}
      for (int j = 0; j < columns; ++j) {factors.add.format(s="s[r][j]", x="x", y="y[j]")}
    }}"""


def _rest(factors: _Factors) -> str:
    """C for the remainder of k: a masked load, or scalar multiply-adds in the first lane."""
    if factors.width * size(factors.dtype) == 64:
        return f"  if (i < k) {{\n{_step(factors, 'load_part', ', k - i')}\n  }}"
    return """\
  for (; i < k; ++i)
    for (int r = 0; r < rows; ++r)
      for (int j = 0; j < columns; ++j) s[r][j][0] += a[r * a_m + i] * b[j * b_n + i];"""


def _totals(w: int) -> dict[str, str]:
    """Helpers that sum each of four registers, into the lanes of one."""
    kind = f"f32x{w}"

    def pairs(a: str, b: str, first: int, lanes: tuple[int, ...]) -> str:
        """A shuffle that takes these lanes of every four of a, and, from 4 on, of b."""
        chosen = (
            start + first + lane % 4 + (w if lane >= 4 else 0)
            for start in range(0, w, 4)
            for lane in lanes
        )
        return shuffled(a, b, chosen)

    def added(a: str, b: str, lanes: tuple[int, ...]) -> str:
        return f"{pairs(a, b, 0, lanes)} + {pairs(a, b, 2, lanes)}"

    lines = [
        f"{kind} ab = {added('a', 'b', (0, 4, 1, 5))};",
        f"{kind} cd = {added('c', 'd', (0, 4, 1, 5))};",
        f"{kind} v{w} = {added('ab', 'cd', (0, 1, 4, 5))};",
    ]
    types = vector_types("f32", w)
    half = w // 2
    while half >= 4:
        types |= vector_types("f32", half)
        low, high = (
            shuffled(f"v{2 * half}", f"v{2 * half}", range(i, i + half)) for i in (0, half)
        )
        lines.append(f"f32x{half} v{half} = {low} + {high};")
        half //= 2
    body = "\n  ".join([*lines, "return v4;"])
    head = f"static inline f32x4 totals_{kind}({kind} a, {kind} b, {kind} c, {kind} d)"
    return types | {f"totals_{kind}": f"{head} {{\n  {body}\n}}"}
