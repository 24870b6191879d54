"""Rows that are combined with the rows of a table of their numbers; steps are in elements."""

from __future__ import annotations

_COMBINE = """
// for each row that is given, its combination with row number ids[i] of the table, unless there is
// no such row
static inline void combine_{kind}_{dtype}_{index}(
    {c} *table, const {ids} *ids, const {c} *rows, int64_t n, int64_t given, int64_t length,
    int64_t to, int64_t id_step, int64_t row_step) {{
  for (int64_t e = 0; e < given; ++e) {{
    int64_t id = ids[e * id_step];
    if (id < 0 || id >= n) continue;
    {c} *sum = table + id * to;
    const {c} *row = rows + e * row_step;
    for (int64_t j = 0; j < length; ++j) sum[j] = {combined};
  }}
}}
"""

_SCATTER = """
// the table, and for each row that is given its combination with row number ids[i] of the table,
// unless there is no such row
static inline void scatter_{kind}_{dtype}_{index}(
    {c} *out, const {c} *table, const {ids} *ids, const {c} *rows, int64_t n, int64_t given,
    int64_t length, int64_t to, int64_t from, int64_t id_step, int64_t row_step) {{
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < length; ++j) out[i * to + j] = table[i * from + j];
  combine_{kind}_{dtype}_{index}(out, ids, rows, n, given, length, to, id_step, row_step);
}}
"""

_EXTREMUM = "row[j] {than} sum[j]{or_nan} ? row[j] : sum[j]"

SCATTERING = {
    f"{name}_{kind}_{dtype}_{index}": text.format(
        kind=kind, dtype=dtype, index=index, c=c, ids=ids, combined=combined
    )
    for dtype, c, added, or_nan in (
        ("f32", "float", "sum[j] + row[j]", " || row[j] != row[j]"),
        ("i32", "int32_t", "(int32_t)((uint32_t)sum[j] + (uint32_t)row[j])", ""),
    )
    for kind, combined in (
        ("last", "row[j]"),
        ("sum", added),
        ("max", _EXTREMUM.format(than=">", or_nan=or_nan)),
        ("min", _EXTREMUM.format(than="<", or_nan=or_nan)),
    )
    for index, ids in (("i32", "int32_t"), ("i64", "int64_t"))
    for name, text in (("combine", _COMBINE), ("scatter", _SCATTER))
}
"""The functions by their names."""
