"""Copies of rows that are chosen by their numbers."""

from __future__ import annotations

ROWS = {
    "take_row": """
// Row number `id`, from the end if it is below 0, or the nearest of the rows if it is none.
static inline void take_row(void *out, const void *table, int64_t id, int64_t rows, int64_t step,
                            int64_t bytes) {
  id = id < 0 ? id + rows : id;
  id = id < 0 ? 0 : id < rows ? id : rows - 1;
  const char *from = (const char *)table + id * step;
  char *to = out;
  for (; bytes >= 64; bytes -= 64, from += 64, to += 64) {
    __builtin_memcpy(to, from, 64);
    __asm__("" : "+r"(from));  // no compiler turns the loop into a call of memcpy
  }
  for (int64_t part = 32; part; part /= 2)
    if (bytes & part) {
      __builtin_memcpy(to, from, part);
      from += part, to += part;
    }
}
""",
}
"""The functions by their names; steps are in bytes."""
