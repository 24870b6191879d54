"""Products of 5 to 16 rows with weights of 8 or 4 bits, 16 rows of which are read at once.

x is rounded as in `quantized`. A block of 16 rows of weights is transposed, so that a register has
four numbers of each row; it is multiplied by four numbers of a row of x at once. So the sums of a
block are in one register, one for each row of weights, to be multiplied by units and scales.
"""

from __future__ import annotations

from itertools import product
from string import Template

from morello.ir.primitives.quantized import BLOCK, ZERO
from morello.targets.helpers.quantized import SCALES, WEIGHTS
from morello.targets.helpers.vectors import conversion_helpers, scalar

SIDE = 16
"""The most rows of x, and the rows of weights that are multiplied at once."""
SLICE = 2048
"""The most numbers of a row of x that are rounded and multiplied before the next ones are."""
AHEAD = 1024
"""The bytes that weights are prefetched before they are read."""


def quantized_tiles() -> dict[str, str]:
    """The products by weights and scales of each dtype, for machines with products of bytes."""
    result = {"four_of_rows": _FOUR_OF_ROWS}
    for weights, scales in product(WEIGHTS, SCALES):
        result |= _rounded(weights)
        if scales != "f32":
            result |= conversion_helpers("avx512", scales, "f32", SIDE)
        result |= _scales_of_rows(scales) | _tile(weights, scales) | _whole(weights, scales)
    return result


_FOUR_OF_ROWS = """\
static inline __attribute__((always_inline)) void four_of_rows(const void *from, long step,
    __m512i *to) {
  // Four neighbours of each of 16 rows, `step` bytes apart, of 4 bytes each: to[i] has neighbour i.
  __m512i a[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const char *row = (const char *)from + i * step;
    a[i] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)row));
    a[i] = _mm512_inserti32x4(a[i], _mm_loadu_si128((const __m128i *)(row + 4 * step)), 1);
    a[i] = _mm512_inserti32x4(a[i], _mm_loadu_si128((const __m128i *)(row + 8 * step)), 2);
    a[i] = _mm512_inserti32x4(a[i], _mm_loadu_si128((const __m128i *)(row + 12 * step)), 3);
  }
  const __m512i b = _mm512_unpacklo_epi32(a[0], a[1]), c = _mm512_unpacklo_epi32(a[2], a[3]);
  const __m512i d = _mm512_unpackhi_epi32(a[0], a[1]), e = _mm512_unpackhi_epi32(a[2], a[3]);
  to[0] = _mm512_unpacklo_epi64(b, c);
  to[1] = _mm512_unpackhi_epi64(b, c);
  to[2] = _mm512_unpacklo_epi64(d, e);
  to[3] = _mm512_unpackhi_epi64(d, e);
}"""


def _rounded(weights: str) -> dict[str, str]:
    """Blocks of rows of x as integers, the upper bytes of a block before its lower ones."""
    zero = ZERO if weights == "u8" else 128
    name = f"round_rows_{weights}"
    text = f"""\
static inline void {name}(const float *x, long x_m, long m, long blocks, uint32_t *rounded,
    int32_t *constants, float *units) {{
  int8_t *to = (int8_t *)rounded;
  for (long b = 0; b < blocks; ++b) {{
    for (long r = 0; r < m; ++r) {{
      const float *from = x + r * x_m + {BLOCK} * b;
      const long block = b * m + r;
      const float per_unit = 1 / (units[block] = block_unit(from));
      int32_t sum = 0;
      for (int i = 0; i < {BLOCK}; ++i) {{
        const int16_t value = rounded_i16(from[i] * per_unit);
        sum += value;
        to[{2 * BLOCK} * block + i] = (value + 128) >> 8;
        to[{2 * BLOCK} * block + {BLOCK} + i] = (int8_t)value;
      }}
      constants[block] = -{zero} * sum;
    }}
  }}
}}"""
    return {name: text}


def _scales_of_rows(scales: str) -> dict[str, str]:
    """The scales of 16 rows of weights as f32, one register for each group."""
    load = "load_part_f32x16" if scales == "f32" else f"load_part_f32x16_{scales}"
    name = f"scales_of_rows_{scales}"
    text = f"""\
static inline void {name}(const {scalar(scales)} *scales, long s_n, long groups, f32x16 *to) {{
  f32x16 rows[{SIDE}];
  for (long g = 0; g < groups; g += 16) {{
    const long count = groups - g < 16 ? groups - g : 16;
    for (int r = 0; r < {SIDE}; ++r) rows[r] = {load}(scales + r * s_n + g, count);
    for (int i = 0; i < 16; i += 4) four_of_rows((float *)rows + i, 64, (__m512i *)(to + g + i));
  }}
}}"""
    return {name: text}


def _tile(weights: str, scales: str) -> dict[str, str]:
    """Rows of x times 16 rows of weights, added to what the results are, unless it is the first."""
    size = WEIGHTS[weights]
    if weights == "u8":
        unpack = """\
four_of_rows(from, w_n, w);
    for (int i = 0; i < 4; ++i) {
      y[i + 4] = (u8x4x16)((u8x64)((u16x32)w[i] >> 4) & 15);
      y[i] = (u8x4x16)((u8x64)w[i] & 15);
    }"""
    else:
        unpack = """\
four_of_rows(from, w_n, w);
    four_of_rows(from + 16, w_n, w + 4);
    for (int i = 0; i < 8; ++i) y[i] = (u8x4x16)((u8x64)w[i] ^ 0x80);"""
    fetched = SIDE * size // 64  # lines, which are as many as each block has
    name = f"quantized_tile_{weights}_{scales}"
    text = Template("""\
static inline __attribute__((always_inline)) void $name(const long m, const uint32_t *x,
    const int32_t *constants, const float *units, const $weights *weights, long w_n,
    const f32x16 *scales, long blocks, long shift, long first, float *out, long out_m) {
  f32x16 s[$side];
#pragma GCC unroll $side
  for (int r = 0; r < m; ++r) s[r] = first ? (f32x16){0} : load_f32x16(out + r * out_m);
  for (long b = 0; b < blocks; ++b) {
    const $weights *from = weights + $size * b;
    const long ahead = $size * b + $ahead, rest = ahead - $size * blocks;
    const $weights *next = weights + (rest < 0 ? ahead : rest + $side * w_n);
    for (int i = 0; i < $fetched; ++i) {
      __builtin_prefetch(next + (b % $turns * $fetched + i) * w_n);
    }
    __m512i w[8];
    u8x4x16 y[8];
    $unpack
    const f32x16 scale = scales[b >> shift];
#pragma GCC unroll $side
    for (int r = 0; r < m; ++r) {
      const long block = b * m + r;
      const uint32_t *at = x + $words * block;
      i32x16 high = {0}, low = splat_i32x16(constants[block]);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        high = dpbusd_i32x16(high, y[i], (i8x4x16)splat_u8x4x16(at[i]));
        low = dpbusd_i32x16(low, y[i], (i8x4x16)splat_u8x4x16(at[i + 8]));
      }
      low += high << 8;
      s[r] += __builtin_convertvector(low, f32x16) * (scale * splat_f32x16(units[block]));
    }
  }
#pragma GCC unroll $side
  for (int r = 0; r < m; ++r) store_f32x16(out + r * out_m, s[r]);
}""").substitute(
        name=name, weights=scalar(weights), side=SIDE, size=size, ahead=AHEAD, words=2 * BLOCK // 4,
        fetched=fetched, turns=SIDE // fetched, unpack=unpack,
    )  # fmt: skip
    return {name: text}


def _whole(weights: str, scales: str) -> dict[str, str]:
    """Rows of x times all rows of weights, slice by slice of x."""
    name = f"quantized_tiles_{weights}_{scales}"
    most = SLICE // BLOCK
    text = f"""\
static inline __attribute__((always_inline)) void {name}(const float *x, long x_m,
    const {scalar(weights)} *weights, long w_n, const {scalar(scales)} *scales, long s_n,
    float *out, long out_m, const long m, long n, long k, long g) {{
  uint32_t to[{SLICE // 2} * {SIDE}] __attribute__((aligned(64)));
  int32_t constants[{most} * {SIDE}];
  float units[{most} * {SIDE}];
  f32x16 factors[{most}];
  const long shift = __builtin_ctzl(k / g / {BLOCK});
  for (long first = 0; first < k / {BLOCK}; first += {most}) {{
    const long left = k / {BLOCK} - first, blocks = left < {most} ? left : {most};
    const long group = first >> shift, groups = ((first + blocks - 1) >> shift) - group + 1;
    round_rows_{weights}(x + {BLOCK} * first, x_m, m, blocks, to, constants, units);
    for (long i = 0; i < n; i += {SIDE}) {{
      scales_of_rows_{scales}(scales + i * s_n + group, s_n, groups, factors);
      quantized_tile_{weights}_{scales}(m, to, constants, units,
          weights + i * w_n + {WEIGHTS[weights]} * first, w_n, factors, blocks, shift, first == 0,
          out + i, out_m);
    }}
  }}
}}"""
    return {name: text}
