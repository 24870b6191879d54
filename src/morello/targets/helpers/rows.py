"""Copies of rows that are chosen by their numbers."""

from __future__ import annotations

_COPIES = "".join(
    f"""\
  for (; bytes >= {size}; bytes -= {size}, from += {size}, to += {size}) {{
    __builtin_memcpy(to, from, {size});
    __asm__("" : "+r"(from));  // no compiler turns the loop into a call of memcpy
  }}
"""
    for size in (64, 16, 4, 1)
)

ROWS = {
    "take_row": f"""
// Row number `id`, from the end if it is below 0, or the nearest of the rows if it is none.
static inline void take_row(void *out, const void *table, int64_t id, int64_t rows, int64_t step,
                            int64_t bytes) {{
  id = id < 0 ? id + rows : id;
  id = id < 0 ? 0 : id < rows ? id : rows - 1;
  const char *from = (const char *)table + id * step;
  char *to = out;
{_COPIES}}}
""",
}
"""The functions by their names; steps are in bytes."""
