"""Rows of the output of a depthwise filter with a stride of two, whose sums registers hold.

Each row of the image is read once for all rows of the output that it is part of, and two pixels
of the filter's row are multiplied with every second of the same pixels.
"""

from __future__ import annotations

from morello.targets.helpers.vectors import shuffled, vector_helpers

ROWS = 8
"""The most rows of the output."""


def depthwise_helpers(isa: str, width: int) -> dict[str, str]:
    """y rows of x sums, by filters of p by q pixels, without padding.

    Where registers can be loaded in part, x is any number, else a register or more: the last one
    overlaps the one before. No pixel of the image is read that is in no window.
    """
    kind, name = f"f32x{width}", f"depthwise_rows_by_two_f32x{width}"
    first = _loaded(isa, width, "s", "2 * n - last")
    second = _loaded(isa, width, f"s + {width} - last", f"2 * n - {width}")
    even, odd = range(0, 2 * width, 2), range(1, 2 * width, 2)
    alone = [*range(0, width, 2), *range(width + 1, 2 * width, 2)]
    store = f"store_{kind}(to, sums[i])"
    if isa == "avx512":
        store = f"n < {width} ? store_part_{kind}(to, sums[i], n) : {store}"
    text = f"""\
static inline __attribute__((always_inline)) void {name}(const float *image, long row,
    const float *filter, long filter_p, long filter_q, float *out, long out_row, int x, int y,
    int p, int q) {{
  const int n = x < {width} ? x : {width};
#pragma GCC unroll 1
  for (int begin = 0;; begin = begin + {2 * width} < x ? begin + {width} : x - {width}) {{
    {kind} sums[{ROWS}] = {{{{0}}}};
#pragma GCC unroll 32
    for (int r = 0; r < 2 * (y - 1) + p; ++r) {{
      __asm__ volatile("" : : : "memory"); // or the whole filter would be held in registers
#pragma GCC unroll 8
      for (int j = 0; j < q; j += 2) {{
        const float *s = image + r * row + 2 * begin + j;
        const int last = j + 1 == q;
        const {kind} a = {first};
        const {kind} b = {second};
        const {kind} v = last ? {shuffled("a", "b", alone)} : {shuffled("a", "b", even)};
        const {kind} w = {shuffled("a", "b", odd)};
#pragma GCC unroll {ROWS}
        for (int i = 0; i < y; ++i) {{
          if (r < 2 * i || r >= 2 * i + p) continue;
          const float *pixels = filter + (r - 2 * i) * filter_p + j * filter_q;
          sums[i] += v * pixels[0];
          if (!last) sums[i] += w * pixels[filter_q];
        }}
      }}
    }}
#pragma GCC unroll {ROWS}
    for (int i = 0; i < y; ++i) {{
      float *to = out + i * out_row + begin;
      {store};
    }}
    if (begin + {width} >= x) break;
  }}
}}"""
    return vector_helpers(isa, "f32", width) | {name: text}


def _loaded(isa: str, width: int, address: str, count: str) -> str:
    """C for a register, or for its first elements and zeros, where it can be loaded in part."""
    kind = f"f32x{width}"
    if isa != "avx512":
        return f"load_{kind}({address})"
    part = f"load_part_{kind}({address}, {count} > 0 ? {count} : 0)"
    return f"{count} < {width} ? {part} : load_{kind}({address})"
