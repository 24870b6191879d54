"""Sums of products of packed groups by AMX, whose registers (tiles) hold 16 rows of 64 bytes.

A block of two by two tiles of sums is kept in registers, so that every tile of an operand that is
loaded serves two products. The rows of a that a block needs stay in the nearest cache if they fit,
while b streams from the next, which hides behind products. Each call loads configurations of the
registers for whole blocks and for those of fewer rows or columns, and releases the registers at
its end: the program around it may use AMX with another one. A tile with fewer groups, after whole
ones, is filled up with zeros: of both operands, as 0 times infinity is no 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

from morello.targets.helpers.vectors import scalar

SIDE = 16
"""The rows of a tile, and the packed groups or sums in each row."""
COLUMNS = 128
"""The fewest columns of b for which rows of a that begin inside of cache lines are copied."""
LONGEST = 512
"""The groups of k for which rows of a are copied at once: 64 KiB, on the stack."""

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

# The barriers are for GCC, whose intrinsics do not say what memory they read and write.
_CONFIGURE = """\
// Tiles 0 to 3 for sums in two by two blocks, 4 and 5 for a, one below the other, 6 and 7 for b.
static inline void configure_tiles(long rows, long columns, long groups) {
  const int m = rows < 16 ? rows : 16, below = rows > 16 && rows < 32 ? rows - 16 : 16;
  const int n = columns < 16 ? 4 * columns : 64;
  const int right = columns > 16 && columns < 32 ? 4 * (columns - 16) : 64;
  const int k = groups < 16 ? groups : 16;
  const struct { uint8_t palette, start, zeros[14]; uint16_t bytes[16]; uint8_t rows[16]; }
      tiles = {1, 0, {0}, {n, right, n, right, 4 * k, 4 * k, n, right},
          {m, m, below, below, m, below, k, k}};
  __asm__ volatile("" : : "r"(&tiles) : "memory");
  _tile_loadconfig(&tiles);
}"""

_RELEASE = """\
static inline void release_tiles(void) {
  _tile_release();
  __asm__ volatile("" : : : "memory");
}"""

_COPY = """\
// Rows of groups as tiles of 16 groups of 32 rows each; the last is filled up with zeros.
static inline void copy_tiles(uint32_t *tiles, const uint32_t *x, long step, long rows,
    long groups) {
  __asm__ volatile("" : : : "memory");
  for (long p = 0; p < groups; p += 16) {
    const __mmask16 some = groups - p < 16 ? (1 << (groups - p)) - 1 : 0xffff;
    for (long i = 0; i < rows; ++i)
      _mm512_store_si512(tiles + 32 * p + 16 * i,
          _mm512_maskz_loadu_epi32(some, x + i * step + p));
  }
  __asm__ volatile("" : : : "memory");
}"""

_SUM = Template("""\
// Adds products along 16 groups of k, of tiles of x 16 rows apart, and of y 16 columns apart.
static inline void ${name}_step(const uint32_t *x, long x_step, long x_below,
    const uint32_t *y, long y_step, long y_right, int below, int right) {
  _tile_loadd(4, x, 4 * x_step);
  _tile_loadd(6, y, 4 * y_step);
  if (below) _tile_loadd(5, x + x_below, 4 * x_step);
  if (right) _tile_loadd(7, y + y_right, 4 * y_step);
  $product(0, 4, 6);$note
  if (right) $product(1, 4, 7);
  if (below) $product(2, 5, 6);
  if (below && right) $product(3, 5, 7);
}

// Row i of a and of c is i * a_step and i * c_step elements after the first, row p of b p * b_step;
// 16 columns of b from j on, a multiple of 16, begin j * b_next elements after those of column 0.
static inline void $name(const uint32_t *a, long a_step, const uint32_t *b, long b_step,
    long b_next, $total *c, long c_step, long m, long n, long k, int adds) {
  _Alignas(64) uint32_t panel[32 * $longest + 32 * 16];
  _Alignas(64) uint32_t b_rest[2 * 16 * 16] = {0};
  ask_for_tiles();
  // rows that begin inside of lines are copied to whole ones, if enough columns use them
  const int copies = ((uintptr_t)a | 4 * a_step) % 64 && k >= 16 && n >= $columns;
  const long tile = k < 16 ? k : 16, most = copies ? $longest : k;
  // whole tiles along k, and the rest after the last of them; other rests are calls of their own
  for (long p0 = 0, p1, rest; p0 < k; p0 = p1 + rest) {
    p1 = p0 + (k - p0 < most ? k - p0 : most) / tile * tile;
    rest = k - p1 < tile ? k - p1 : 0;
    uint32_t *const a_rest = copies ? panel + 32 * (p1 - p0) : panel;
    for (long i0 = 0, i1; i0 < m; i0 = i1) {
      i1 = m - i0 < 32 ? m : m / 32 * 32;
      for (long j0 = 0, j1; j0 < n; j0 = j1) {
        j1 = n - j0 < 32 ? n : n / 32 * 32;
        const long rows = i1 - i0 < 32 ? i1 - i0 : 32, columns = j1 - j0 < 32 ? j1 - j0 : 32;
        const int below = rows > 16, right = columns > 16, loads = adds || p0 > 0;
        const long soon = loads ? 0 : (rows * tile + p1 - p0 - 1) / (p1 - p0);
        configure_tiles(rows, columns, tile);
        for (long i = i0; i < i1; i += 32) {
          const uint32_t *x = a + i * a_step + p0;
          long x_step = a_step, x_next = 16, x_below = 16 * a_step;
          if (rest) copy_tiles(a_rest, x + p1 - p0, a_step, rows, rest);
          if (copies) {
            copy_tiles(panel, x, a_step, rows, p1 - p0);
            x = panel, x_step = 16, x_next = 32 * 16, x_below = 16 * 16;
          }
          for (long j = j0; j < j1; j += 32) {
            const uint32_t *y = b + p0 * b_step + j * b_next;
            $total *z = c + i * c_step + j;
            if (rest) {
              const uint32_t *w = y + (p1 - p0) * b_step;
              copy_tiles(b_rest, w, b_step, rest, right ? 16 : columns);
              if (right) copy_tiles(b_rest + 16 * 16, w + 16 * b_next, b_step, rest, columns - 16);
            }
            _tile_zero(0);
            _tile_zero(1);
            _tile_zero(2);
            _tile_zero(3);
            if (loads) _tile_loadd(0, z, 4 * c_step);
            if (loads && right) _tile_loadd(1, z + 16, 4 * c_step);
            if (loads && below) _tile_loadd(2, z + 16 * c_step, 4 * c_step);
            if (loads && below && right) _tile_loadd(3, z + 16 * c_step + 16, 4 * c_step);
            long fetched = 0;
            for (long p = 0; p < p1 - p0; p += 16) {
              for (const long end = fetched + soon; fetched < end && fetched < rows; ++fetched) {
                __builtin_prefetch(z + fetched * c_step);
                if (right) __builtin_prefetch(z + fetched * c_step + 16);
              }
              ${name}_step(x + p / 16 * x_next, x_step, x_below,
                  y + p * b_step, b_step, 16 * b_next, below, right);
            }
            if (rest) ${name}_step(a_rest, 16, 16 * 16, b_rest, 16, 16 * 16, below, right);
            _tile_stored(0, z, 4 * c_step);
            if (right) _tile_stored(1, z + 16, 4 * c_step);
            if (below) _tile_stored(2, z + 16 * c_step, 4 * c_step);
            if (below && right) _tile_stored(3, z + 16 * c_step + 16, 4 * c_step);
          }
        }
      }
    }
  }
  release_tiles();
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
            name=self.name,
            total=scalar(self.total),
            product=self.intrinsic,
            note=self.note,
            longest=LONGEST,
            columns=COLUMNS,
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
    around = {
        "ask_for_tiles": _ASK, "configure_tiles": _CONFIGURE, "release_tiles": _RELEASE,
        "copy_tiles": _COPY,
    }  # fmt: skip
    return around | {product.name: product.text for product in products}
