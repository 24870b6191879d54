"""Copies of rows, and of single elements, that are chosen by their numbers."""

from __future__ import annotations

from morello.ir.dtype import I32, I64

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
    **{
        f"take_elements_{index}": f"""
// As many elements, each of so many bytes, whose numbers are `ids`, as those of rows are.
static inline __attribute__((always_inline)) void take_elements_{index}(
    void *out, const void *table, const {index.c} *ids, int64_t count, int64_t rows,
    int64_t bytes) {{
  for (int64_t i = 0; i < count; ++i) {{
    int64_t id = ids[i];
    id = id < 0 ? id + rows : id;
    id = id < 0 ? 0 : id < rows ? id : rows - 1;
    __asm__("" : "+r"(id));  // single loads are faster than gathers
    __builtin_memcpy((char *)out + i * bytes, (const char *)table + id * bytes, bytes);
  }}
}}
"""
        for index in (I32, I64)
    },
}
"""The functions by their names; steps are in bytes."""
