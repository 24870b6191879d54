"""Rows in memory, times a scalar each, added to one row or to several."""

from __future__ import annotations

from dataclasses import dataclass

from morello.ir.tensor import LINE_BYTES
from morello.targets.helpers.vectors import (
    conversion_helpers,
    full_width,
    scalar,
    size,
    vector_helpers,
)

HINTS = {"L1": "", "L2": ", 0, 2"}
"""The further arguments of a prefetch into each cache."""


@dataclass(frozen=True)
class RowReading:
    """How row and block sums read rows: `rows` at once, prefetched or not.

    `fetched` is the cache that they are prefetched into, "L1" or "L2"; `ahead` the prefetch
    distance in bytes.
    """

    rows: int
    fetched: str = ""
    ahead: int = 0

    @property
    def name(self) -> str:
        """Its part of the names of kernels and their helpers."""
        return {"": "", "L1": "_ahead", "L2": "_l2"}[self.fetched]

    def registers(self, rows: str, width: int) -> int:
        """The accumulators, of `width` elements, that a row is added to before the next row."""
        return LINE_BYTES // (width * size(rows)) if self.fetched == "L2" else 16 // size(rows)

    def start(self, rows: str) -> list[str]:
        """C for the prefetch distance: beyond the end of the rows, it leads to rows that follow."""
        if not self.fetched:
            return []
        ahead, block = self.ahead // size(rows), f"{self.rows} * step"
        return [
            f"const long whole = {ahead} / n * {block}, rest = {ahead} % n;",
            f"const long ahead = whole + rest + (i + rest < n ? 0 : {block} - n);",
        ]

    def fetch(self, rows: str, offset: int = 0) -> list[str]:
        """C that prefetches `ahead` after a register of a row, if the register begins a line."""
        if not self.fetched or offset * size(rows) % LINE_BYTES:
            return []
        place = f"row + ahead + {offset}" if offset else "row + ahead"
        return [f"__builtin_prefetch({place}{HINTS[self.fetched]});"]


ROW_READINGS = (RowReading(8), RowReading(4, "L1", 1536), RowReading(8, "L2", 4096))
"""The ways to read rows that are added to one; the best depends on a core's instruction window.

With prefetches into L1, a Zen 5 reads rows that are converted at 84 % of the speed of a plain
sum, a Zen 4 at 56 %. With prefetches into L2, a line of each row at a time, a Zen 4 reads rows of
f32 from memory at 1.27 times the speed without, and from a cache at 0.8 times; rows of bf16 from
memory at 0.98 times if no other core reads, and at up to 1.2 times if others do.
"""
BLOCK_READINGS = (RowReading(8, "L1", 1536), RowReading(8, "L2", 1536))
"""The ways to read rows that are added to several others (block sums)."""


_NEXT_ROW = 'row += step; __asm__ volatile("" : "+r"(row));'
"""C that goes to the next row, so that no compiler keeps the addresses of all, which it spills.

Nor does it move the prefetches of all rows before their loads.
"""


def row_helpers(isa: str, features: frozenset[str]) -> dict[str, str]:
    """Sums of rows of all dtypes, by all ways to read them."""
    result: dict[str, str] = {}
    for scalars, rows in (("f32", "f32"), ("f32", "bf16"), ("bf16", "bf16"), ("f16", "f16")):
        for reading in ROW_READINGS:
            result |= _row_sums(isa, scalars, rows, reading)
    for rows in ("f32", "bf16"):
        for reading in BLOCK_READINGS:
            result |= _block_sums(isa, rows, reading)
    if "avx512_bf16" in features:
        result |= _pair_sums(ROW_READINGS[0])
    return result


def _row_sums(isa: str, scalars: str, rows: str, reading: RowReading) -> dict[str, str]:
    """Rows of b, times a scalar each, are added to the row c. b is streamed, c is near."""
    count, w = reading.rows, full_width(isa, "f32")
    registers = reading.registers(rows, w)
    kind, name = f"f32x{w}", f"sum_rows{reading.name}_{scalars}_{rows}"
    load = f"load_{kind}" if rows == "f32" else f"load_{kind}_{rows}"
    helpers = vector_helpers(isa, "f32", w)
    for dtype in {scalars, rows} - {"f32"}:
        helpers |= conversion_helpers(isa, dtype, "f32", w)

    def number(text: str, dtype: str) -> str:
        return text if dtype == "f32" else f"cast_f32_{dtype}({text})"

    factors = ", ".join(f"a{j} = {number(f'a[{j}]', scalars)}" for j in range(count))
    products = " + ".join(f"a{j} * {number(f'b[{j} * step + i]', rows)}" for j in range(count))
    steps = reading.start(rows)
    first = [f"s{u} = load_{kind}(c + i + {u * w});" for u in range(registers)]
    for j in range(count):
        near = reading.fetched != "L2"
        steps.append(f"row = b + {j} * step + i;" if near or not j else _NEXT_ROW)
        for u in range(registers):  # prefetches between products: fewer are outstanding at once
            steps += reading.fetch(rows, u * w)
            steps.append(f"s{u} += a{j} * {load}(row + {u * w});")
    last = [f"store_{kind}(c + i + {u * w}, s{u});" for u in range(registers)]
    body = "\n    ".join([*first, *steps, *last])
    # of i < n, gcc warns as if i overflowed, where no elements are left
    helpers[name] = f"""\
static inline void {name}(const {scalar(scalars)} *a, const {scalar(rows)} *b, long step,
    float *c, long n) {{
  const float {factors};
  const {scalar(rows)} *row;
  {kind} {", ".join(f"s{u}" for u in range(registers))};
  long i = 0;
  for (; i + {registers * w} <= n; i += {registers * w}) {{
    {body}
  }}
  for (; n - i > 0; ++i) c[i] += {products};
}}"""
    return helpers


def _pair_sums(reading: RowReading) -> dict[str, str]:
    """Rows of bf16, as `_row_sums`: two are interleaved, and an instruction multiplies both."""
    blocks = reading.registers("bf16", 16) // 2
    helpers = {
        **vector_helpers("avx512", "f32", 16),
        **vector_helpers("avx512", "bf16", 32),
        **vector_helpers("avx512", "bf16x2", 16),
    }
    for half, start in (("first", 0), ("last", 16)):
        listed = ", ".join(f"{i}, {32 + i}" for i in range(start, start + 16))
        helpers[f"{half}_pairs_bf16x32"] = (
            f"static inline bf16x2x16 {half}_pairs_bf16x32(bf16x32 x, bf16x32 y) "
            f"{{ return (bf16x2x16)__builtin_shufflevector(x, y, {listed}); }}"
        )

    def products(pair: int, block: int = 0) -> str:
        return " ".join(
            f"s{2 * block + u} = "
            f"dpbf16_f32x16(s{2 * block + u}, a{pair}, {half}_pairs_bf16x32(x, y));"
            for u, half in enumerate(("first", "last"))
        )

    steps = [f"s{u} = load_f32x16(c + i + {16 * u});" for u in range(2 * blocks)]
    rest = ["s0 = load_part_f32x16(c + i, low);", "s1 = load_part_f32x16(c + i + 16, high);"]
    for pair in range(reading.rows // 2):
        go_on = f"row = b + {2 * pair} * step + i;"
        steps.append(go_on)
        for block in range(blocks):
            place = f" + {32 * block}" if block else ""
            steps.append(f"x = load_bf16x32(row{place}), y = load_bf16x32(row + step{place});")
            steps.append(products(pair, block))
        rest.append(go_on)
        loads = (f"load_part_bf16x32({row}, low + high)" for row in ("row", "row + step"))
        rest += ["x = {}, y = {};".format(*loads), products(pair)]
    steps += [f"store_f32x16(c + i + {16 * u}, s{u});" for u in range(2 * blocks)]
    rest += ["store_part_f32x16(c + i, s0, low);", "store_part_f32x16(c + i + 16, s1, high);"]
    factors = ", ".join(
        f"a{j // 2} = splat_bf16x2x16((uint32_t)a[{j + 1}] << 16 | a[{j}])"
        for j in range(0, reading.rows, 2)
    )
    end = "\n    "
    helpers["sum_pairs_bf16"] = f"""\
static inline void sum_pairs_bf16(const uint16_t *a, const uint16_t *b, long step,
    float *c, long n) {{
  const bf16x2x16 {factors};
  const uint16_t *row;
  bf16x32 x, y;
  f32x16 {", ".join(f"s{u}" for u in range(2 * blocks))};
  long i = 0;
  for (; i + {32 * blocks} <= n; i += {32 * blocks}) {{
    {end.join(steps)}
  }}
  for (; i < n; i += 32) {{
    const int left = n - i < 32 ? n - i : 32, low = left < 16 ? left : 16, high = left - low;
    {end.join(rest)}
  }}
}}"""
    return helpers


def _block_sums(isa: str, rows: str, reading: RowReading) -> dict[str, str]:
    """Rows of b, which are streamed, are added to m rows of c, times a scalar for each of these.

    Column i of a row of c lies i * `c_next` elements after its start, if a register begins there.
    The last columns fill no register: they are loaded and stored under masks, or one by one.
    """
    w = full_width(isa, "f32")
    kind, name = f"f32x{w}", f"sum_block{reading.name}_f32_{rows}"
    load = f"load_{kind}" if rows == "f32" else f"load_{kind}_{rows}"
    helpers = vector_helpers(isa, "f32", w)
    if rows != "f32":
        helpers |= conversion_helpers(isa, rows, "f32", w)
    loads = []
    for j in range(reading.rows):
        loads += [f"row = b + {j} * step + i;", *reading.fetch(rows)]
        loads.append(f"const {kind} b{j} = {load}(row);")
    even, odd = (" + ".join(f"x[{j}] * b{j}" for j in range(i, reading.rows, 2)) for i in (0, 1))
    body = "\n    ".join([*reading.start(rows), *loads])
    last, add = _last_columns(w, rows, reading, f"({even}) + ({odd})")
    rest = "\n    ".join(last)
    helpers[name] = f"""\
static inline void {name}(const float *a, long a_step, const {scalar(rows)} *b, long step,
    float *c, long c_step, long c_next, long m, long n) {{
  const {scalar(rows)} *row;
  long i = 0;
  for (; i + {w} <= n; i += {w}) {{
    {body}
    const float *x = a;
    float *to = c + i * c_next;
    for (long r = 0; r < m; ++r) {{
      __asm__("" : "+r"(x), "+r"(to));  // no index register, which would split each multiply-add
      store_{kind}(to, (load_{kind}(to) + {even}) + ({odd}));
      x += a_step;
      to += c_step;
    }}
  }}
  if (i < n) {{
    {rest}
    for (long r = 0; r < m; ++r) {{
      const float *x = a + r * a_step;
      float *y = c + r * c_step + i * c_next;
      {add}
    }}
  }}
}}"""
    return helpers


def _last_columns(w: int, rows: str, reading: RowReading, sums: str) -> tuple[list[str], str]:
    """C that loads the last columns of b, fewer than `w`, and adds `sums` of them to a row of c.

    These are of b0, b1, ..., under masks; without masks, columns are added one by one.
    """
    kind, counted = f"f32x{w}", range(reading.rows)
    if w * size("f32") == LINE_BYTES:
        part = f"load_part_{kind}" if rows == "f32" else f"load_part_{kind}_{rows}"
        loads = [f"const {kind} b{j} = {part}(b + {j} * step + i, n - i);" for j in counted]
        return loads, f"store_part_{kind}(y, load_part_{kind}(y, n - i) + {sums}, n - i);"
    column = "b[{} * step + i + e]" if rows == "f32" else f"cast_f32_{rows}(b[{{}} * step + i + e])"
    products = " + ".join(f"x[{j}] * {column.format(j)}" for j in counted)
    return [], f"for (long e = 0; e < n - i; ++e) y[e] += {products};"
