"""Sums of products of packed groups by AMX, whose registers (tiles) hold 16 rows of 64 bytes.

A block of two by two tiles of sums is kept in registers, so that every tile of an operand that is
loaded serves two products. Each call loads the configuration of the registers, and another one for
a last block of fewer rows, and releases them at its end: the program around it may use AMX with
another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

from morello.targets.helpers.vectors import scalar

SIDE = 16
"""The rows of a tile, and the packed groups or sums in each row."""

_ASK = """\
// Linux lets a process use AMX once it has asked (ARCH_REQ_XCOMP_PERM); more often does no harm.
static inline void ask_for_tiles(void) {
  static char asked;
  if (__atomic_load_n(&asked, __ATOMIC_RELAXED)) return;
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "0"(158l), "D"(0x1023l), "S"(18l)
      : "rcx", "r11", "memory");
  __atomic_store_n(&asked, 1, __ATOMIC_RELAXED);
}"""

_SUM = Template("""\
static inline void $name(const uint32_t *a, long a_step, const uint32_t *b, long b_step,
    $total *c, long c_step, long m, long n, long k) {
  struct { uint8_t palette, start, zeros[14]; uint16_t bytes[16]; uint8_t rows[16]; }
      tiles = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
  ask_for_tiles();
  for (long i = 0; i < m; i += 32) {
    if (i == 0 || m - i < 32) {
      if (m - i < 16) tiles.rows[0] = tiles.rows[1] = tiles.rows[4] = m - i;
      else if (m - i < 32 && m - i > 16) tiles.rows[2] = tiles.rows[3] = tiles.rows[5] = m - i - 16;
      _tile_loadconfig(&tiles);
    }
    for (long j = 0; j < n; j += 32) {
      const int below = i + 16 < m, right = j + 16 < n;
      const uint32_t *x = a + i * a_step, *y = b + j;
      $total *z = c + i * c_step + j;
      _tile_loadd(0, z, 4 * c_step);
      if (right) _tile_loadd(1, z + 16, 4 * c_step);
      if (below) _tile_loadd(2, z + 16 * c_step, 4 * c_step);
      if (below && right) _tile_loadd(3, z + 16 * c_step + 16, 4 * c_step);
      for (long p = 0; p < k; p += 16) {
        _tile_loadd(4, x + p, 4 * a_step);
        _tile_loadd(6, y + p * b_step, 4 * b_step);
        if (below) _tile_loadd(5, x + 16 * a_step + p, 4 * a_step);
        if (right) _tile_loadd(7, y + p * b_step + 16, 4 * b_step);
        $product(0, 4, 6);$note
        if (right) $product(1, 4, 7);
        if (below) $product(2, 5, 6);
        if (below && right) $product(3, 5, 7);
      }
      _tile_stored(0, z, 4 * c_step);
      if (right) _tile_stored(1, z + 16, 4 * c_step);
      if (below) _tile_stored(2, z + 16 * c_step, 4 * c_step);
      if (below && right) _tile_stored(3, z + 16 * c_step + 16, 4 * c_step);
    }
  }
  _tile_release();
}""")


@dataclass(frozen=True)
class TileProduct:
    """An intrinsic function that adds products of packed `a` and `b` to sums in `total`.

    `name` is the function of C for blocks of tiles; types are those of elements, by their names.
    """

    name: str
    a: str
    b: str
    total: str
    intrinsic: str
    note: str = ""

    @property
    def text(self) -> str:
        """The function in C."""
        return _SUM.substitute(
            name=self.name, total=scalar(self.total), product=self.intrinsic, note=self.note
        )


BF16_TILES = (
    TileProduct(
        "sum_tiles_bf16", "bf16x2", "bf16x2", "f32", "_tile_dpbf16ps", " // subnormals count as 0"
    ),
)
BYTE_TILES = (
    TileProduct("sum_tiles_u8_i8", "u8x4", "i8x4", "i32", "_tile_dpbusd"),
    TileProduct("sum_tiles_i8", "i8x4", "i8x4", "i32", "_tile_dpbssd"),
    TileProduct("sum_tiles_u8", "u8x4", "u8x4", "i32", "_tile_dpbuud"),
    TileProduct("sum_tiles_i8_u8", "i8x4", "u8x4", "i32", "_tile_dpbsud"),
)
"""Sums of products of bytes wrap."""


def tile_helpers(features: frozenset[str]) -> dict[str, str]:
    """The products of tiles that a CPU with these features has."""
    products = BF16_TILES * ("amx_bf16" in features) + BYTE_TILES * ("amx_int8" in features)
    if not products:
        return {}
    return {"ask_for_tiles": _ASK} | {product.name: product.text for product in products}
