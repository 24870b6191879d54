"""Rows of bytes, times a byte each, added to a row of sums: a row of a product of bytes."""

from __future__ import annotations

from morello.targets.helpers.shuffles import lane_helpers, zip_helpers
from morello.targets.helpers.vectors import vector_helpers

BLOCK = 64
"""The columns whose sums are in registers at once."""

_ROWS = """\
// Sums of k rows, a step apart, of up to 64 columns: groups of four are made of four rows in
// registers, where lane l of register r has those of columns 16 l + 4 r to 16 l + 4 r + 3
static inline __attribute__((always_inline)) void $name_block(
    const uint8_t *a, const int8_t *b, long step, int32_t *c, long k, int count) {
  u32x16 s[4] = {{0}}, t[4]$excess;
  for (long i = 0; i < k; i += 4) {
    u8x64 rows[4] = {{0}};
    uint32_t group = 0;
    for (int r = 0; r < 4 && i + r < k; ++r) {
      rows[r] = load_part_u8x64((const uint8_t *)b + (i + r) * step, count);
      group |= (uint32_t)a[i + r] << 8 * r;
    }
    const u16x32 x[] = {(u16x32)zip_low_u8x64(rows[0], rows[1]),
                        (u16x32)zip_high_u8x64(rows[0], rows[1])};
    const u16x32 y[] = {(u16x32)zip_low_u8x64(rows[2], rows[3]),
                        (u16x32)zip_high_u8x64(rows[2], rows[3])};
    for (int r = 0; r < 4; ++r) {
      const i8x4x16 groups = (i8x4x16)(r % 2 ? zip_high_u16x32(x[r / 2], y[r / 2])
                                             : zip_low_u16x32(x[r / 2], y[r / 2]));
      $sum
    }
  }
$less  for (int r = 0; r < 2; ++r) {
    t[r] = even_lanes_u32x16(s[2 * r], s[2 * r + 1]);
    t[r + 2] = odd_lanes_u32x16(s[2 * r], s[2 * r + 1]);
  }
  for (int r = 0; r < 2; ++r) {
    s[r] = even_lanes_u32x16(t[2 * r], t[2 * r + 1]);
    s[r + 2] = odd_lanes_u32x16(t[2 * r], t[2 * r + 1]);
  }
  for (int r = 0; 16 * r < count; ++r) {
    const int left = count - 16 * r < 16 ? count - 16 * r : 16;
    int32_t *to = c + 16 * r;
    store_part_i32x16(to, (i32x16)((u32x16)load_part_i32x16(to, left) + s[r]), left);
  }
}

static inline void $name(const uint8_t *a, const int8_t *b, long step, int32_t *c, long k, long n) {
  long j = 0;
  for (; j + 64 <= n; j += 64) $name_block(a, b + j, step, c + j, k, 64); // without masks
  if (j < n) $name_block(a, b + j, step, c + j, k, n - j);
}"""

_UNSIGNED = {
    "$excess": "",
    "$sum": "s[r] = (u32x16)dpbusd_i32x16((i32x16)s[r], splat_u8x4x16(group), groups);",
    "$less": "",
}
_SIGNED = {  # 128 is added to each factor, and what that adds is subtracted again
    "$excess": ", excess[4] = {{0}}",
    "$sum": """\
s[r] = (u32x16)dpbusd_i32x16((i32x16)s[r], splat_u8x4x16(group ^ 0x80808080), groups);
      excess[r] = (u32x16)dpbusd_i32x16((i32x16)excess[r], splat_u8x4x16(0x80808080), groups);""",
    "$less": "  for (int r = 0; r < 4; ++r) s[r] -= excess[r];\n",
}


def byte_row_helpers(isa: str) -> dict[str, str]:
    """The sums for unsigned and for signed factors."""
    helpers = {
        **vector_helpers(isa, "u8", 64), **vector_helpers(isa, "u16", 32),
        **vector_helpers(isa, "u32", 16), **vector_helpers(isa, "i32", 16),
        **zip_helpers("u8x64", 1, 64), **zip_helpers("u16x32", 2, 32),
        **lane_helpers("u32x16", 4, 16),
    }  # fmt: skip
    for factors, parts in (("u8", _UNSIGNED), ("i8", _SIGNED)):
        text = _ROWS
        for part, code in parts.items():
            text = text.replace(part, code)
        name = f"sum_rows_{factors}_i8"
        helpers[name] = text.replace("$name", name)
    return helpers
