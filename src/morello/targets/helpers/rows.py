"""Copies of rows that are chosen by their numbers."""

from __future__ import annotations

ROWS = {
    "take_row": """
// Row number `id`, from the end if it is below 0, or the nearest of the rows if it is none.
static inline void take_row(void *out, const void *table, int64_t id, int64_t rows, int64_t step,
                            int64_t bytes) {
  id = id < 0 ? id + rows : id;
  id = id < 0 ? 0 : id < rows ? id : rows - 1;
  const char *row = (const char *)table + id * step;
  int64_t i = 0;
  for (; i + 16 <= bytes; i += 16) {
    __builtin_memcpy((char *)out + i, row + i, 16);
    __asm__("" : "+r"(i));  // no compiler turns the loop into a call of memcpy
  }
  for (; i < bytes; ++i) {
    ((char *)out)[i] = row[i];
    __asm__("" : "+r"(i));
  }
}
""",
}
"""The functions by their names; steps are in bytes."""
