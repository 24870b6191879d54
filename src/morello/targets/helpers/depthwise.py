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

    A row has a register of sums or more; the last one overlaps the one before. No pixel of the
    image is read that is in no window.
    """
    kind, name = f"f32x{width}", f"depthwise_rows_by_two_f32x{width}"
    even, odd = range(0, 2 * width, 2), range(1, 2 * width, 2)
    alone = [*range(0, width, 2), *range(width + 1, 2 * width, 2)]
    text = f"""\
static inline __attribute__((always_inline)) void {name}(const float *image, long row,
    const float *filter, long filter_p, long filter_q, float *out, long out_row, int x, int y,
    int p, int q) {{
#pragma GCC unroll 1
  for (int begin = 0, next; begin + {width} <= x; begin = next) {{
    next = begin + {width} == x ? x : begin + {2 * width} < x ? begin + {width} : x - {width};
    {kind} sums[{ROWS}] = {{{{0}}}};
#pragma GCC unroll 32
    for (int r = 0; r < 2 * (y - 1) + p; ++r) {{
      __asm__ volatile("" : : : "memory"); // or the whole filter would be held in registers
#pragma GCC unroll 8
      for (int j = 0; j < q; j += 2) {{
        const float *s = image + r * row + 2 * begin + j;
        const int last = j + 1 == q;
        const {kind} a = load_{kind}(s), b = load_{kind}(s + {width} - last);
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
    for (int i = 0; i < y; ++i) store_{kind}(out + i * out_row + begin, sums[i]);
  }}
}}"""
    return vector_helpers(isa, "f32", width) | {name: text}
