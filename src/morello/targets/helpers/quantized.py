"""Products with weights of 8 or 4 bits, in groups that have a scale each.

x is first rounded to integers, in a unit of its own for each block of 32 numbers. These are
multiplied by those of the weights, and added up exactly, block by block; the sums of blocks are
multiplied by the unit and the scale, and added up in f32. A unit is NaN where x is not finite.
"""

from __future__ import annotations

from itertools import product
from string import Template

from morello.ir.primitives.quantized import BLOCK, LEVELS, LONGEST, SMALLEST, ZERO
from morello.targets.helpers.vectors import (
    conversion_helpers,
    full_width,
    scalar,
    vector_helpers,
)

ROWS = 4
"""The most rows of x that are multiplied by weights at once."""

STREAMS = 4
"""The most rows of weights that are read at once.

They lie far apart, in as many equal parts of the matrix. Memory gives several streams twice the
bandwidth of a single one, as the hardware prefetches each.
"""

WEIGHTS = {"u8": BLOCK // 2, "i8": BLOCK}
"""The bytes of a block of weights, by their dtype: those of u8 are two numbers each."""
SCALES = ("f32", "f16", "bf16")

FETCHED = {"": "4096", "l2_": "2048, 0, 2"}
"""How weights are prefetched, by a part of names: so many bytes ahead, into L1 or into L2."""


def quantized_helpers(isa: str, features: frozenset[str]) -> dict[str, str]:
    """The products by weights and scales of each dtype, with `features` as in `product_helpers`."""
    result = {"block_unit": _UNIT, "rounded_i16": _ROUNDED}
    bytewise = "avx512_vnni" in features
    for weights in WEIGHTS:
        result |= _bytes_rounded(weights) if bytewise else _words_rounded()
        dot = _dot_of_bytes if bytewise else _dot_of_words
        for scales, way in product(SCALES, FETCHED):
            result |= dot(isa, weights, scales, way) | _product(weights, scales, way, bytewise)
    return result


_UNIT = f"""\
static inline float block_unit(const float *x) {{
  uint32_t largest = 0;
  for (int i = 0; i < {BLOCK}; ++i) {{
    uint32_t bits = (union {{ float value; uint32_t bits; }}){{x[i]}}.bits & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }}
  float value = (union {{ uint32_t bits; float value; }}){{largest}}.value;
  if (largest >= 0x7f800000) return value - value; // NaN
  return (value > {SMALLEST.hex()}f ? value : {SMALLEST.hex()}f) / {LEVELS}.0f;
}}"""

_ROUNDED = """\
static inline int16_t rounded_i16(float x) {
  // The sum's lower bits are those of the nearest integer.
  return (union { float value; uint32_t bits; }){x + 12582912.0f}.bits;
}"""


def _words_rounded() -> dict[str, str]:
    text = f"""\
static inline void round_words(const float *x, long k, int16_t *to, float *units) {{
  for (long b = 0; b < k / {BLOCK}; ++b) {{
    const float *from = x + {BLOCK} * b, per_unit = 1 / (units[b] = block_unit(from));
    for (int i = 0; i < {BLOCK}; ++i) to[{BLOCK} * b + i] = rounded_i16(from[i] * per_unit);
  }}
}}"""
    return {"round_words": text}


def _dot_of_words(isa: str, weights: str, scales: str, way: str) -> dict[str, str]:
    """Rows of x, as integers of 16 bits, times a row of weights, widened to 16 bits."""
    length = full_width(isa, "i16") if isa == "neon" else 16
    half = length // 2
    words, pairs, sums, floats = (
        f"i16x{length}", f"i16x2x{half}", f"i32x{half}", f"f32x{half}"
    )  # fmt: skip
    helpers = conversion_helpers(isa, weights, "i16", length)
    helpers |= vector_helpers(isa, "f32", half) | vector_helpers(isa, "i16", length)
    size = WEIGHTS[weights]
    lines, places = [], []
    for at in range(0, size, length):
        lines.append(f"w = load_{words}_{weights}(from + {at});")
        if weights == "u8":
            lines.append(f"const {words} y{at} = (w & 15) - {ZERO}, z{at} = (w >> 4) - {ZERO};")
            places += [(f"y{at}", at), (f"z{at}", at + size)]
        else:
            lines.append(f"const {words} y{at} = w;")
            places.append((f"y{at}", at))
    adds = [
        f"t = madd_{sums}(t, ({pairs}){name}, ({pairs})load_{words}(at + {place}));"
        for name, place in places
    ]
    unpack, add = "\n      ".join(lines), "\n        ".join(adds)
    scale = "scales[n * s_n + (b >> shift)]"
    scale = scale if scales == "f32" else f"cast_f32_{scales}({scale})"
    if scales != "f32":
        helpers |= conversion_helpers(isa, scales, "f32", half)
    name = f"dot_words_{way}{weights}_{scales}"
    helpers[name] = f"""\
static inline __attribute__((always_inline)) void {name}(const int rows, const int streams,
    const int16_t *x, const float *units, long k, const {scalar(weights)} *weights, long w_n,
    const {scalar(scales)} *scales, long s_n, int shift, float *out, long out_m, long out_n) {{
  {floats} s[{STREAMS}][{ROWS}];
  {_cleared(floats)}
  {words} w;
  for (long b = 0; b < k / {BLOCK}; ++b) {{
    for (int n = 0; n < streams; ++n) {{
      const {scalar(weights)} *from = weights + n * w_n + {size} * b;
      __builtin_prefetch(from + {FETCHED[way]});
      {unpack}
      const float scale = {scale};
      for (int r = 0; r < rows; ++r) {{
        const int16_t *at = x + r * k + {BLOCK} * b;
        {sums} t = {{0}};
        {add}
        s[n][r] += __builtin_convertvector(t, {floats}) * (scale * units[r * k / {BLOCK} + b]);
      }}
    }}
  }}
  for (int n = 0; n < streams; ++n) {{
    for (int r = 0; r < rows; ++r) {{
      float sum = 0;
      for (int i = 0; i < {half}; ++i) sum += s[n][r][i];
      out[r * out_m + n * out_n] = sum;
    }}
  }}
}}"""
    return helpers


def _cleared(floats: str) -> str:
    """Sets all sums s to 0 one by one: gcc calls memset for an initializer or a loop."""
    places = (f"s[{n}][{r}] = " for n in range(STREAMS) for r in range(ROWS))
    return f"{''.join(places)}({floats}){{0}};"


def _product(weights: str, scales: str, way: str, bytewise: bool) -> dict[str, str]:
    """Rounds rows of x, and multiplies them by all rows of weights."""
    name = f"quantized_{way}{weights}_{scales}"
    if bytewise:
        chunk = 64 * BLOCK // WEIGHTS[weights]
        count = 64 // WEIGHTS[weights]
        dot, given, group = "dot_bytes", "to, constants, units, chunks", "bytes, g, places, period"
        head = f"""\
  int8_t to[{2 * (LONGEST + ROWS * chunk)}] __attribute__((aligned(64)));
  int32_t constants[{(LONGEST // chunk + ROWS) * 16}] __attribute__((aligned(64)));
  float units[{(LONGEST // chunk + ROWS) * 16}] __attribute__((aligned(64)));
  int32_t places[{LONGEST // BLOCK // count * 16}] __attribute__((aligned(64)));
  const long chunks = (k + {chunk - 1}) / {chunk}, bytes = k / {BLOCK // WEIGHTS[weights]};
  const int shift = __builtin_ctzl(k / g / {BLOCK});
  const long period = {16 // count}l << shift; // the chunks that 16 groups are
  for (long i = 0; i < 16 * period && i < 16 * chunks; ++i) places[i] = i / {16 // count} >> shift;
  for (long r = 0; r < m; ++r) {{
    round_bytes_{weights}(x + r * x_m, k, to + r * chunks * {2 * chunk},
        constants + r * chunks * 16, units + r * chunks * 16);
  }}"""
    else:
        dot, given, group = "dot_words", "to, units, k", "shift"
        head = f"""\
  int16_t to[{LONGEST}] __attribute__((aligned(64)));
  float units[{LONGEST // BLOCK}];
  const int shift = __builtin_ctzl(k / g / {BLOCK});
  for (long r = 0; r < m; ++r) round_words(x + r * x_m, k, to + r * k, units + r * k / {BLOCK});"""
    cases = []
    for rows in range(1, ROWS + 1):
        streams = STREAMS if bytewise else STREAMS // rows  # there are but 16 registers
        parts = [(streams, "0", f"n / {streams}"), (1, f"n - n % {streams}", "n")]
        loops = [
            f"""\
    for (long i = {first}; i < {end}; ++i) {{
      {dot}_{way}{weights}_{scales}({rows}, {count}, {given},
          weights + i * w_n, n / {streams} * w_n, scales + i * s_n, n / {streams} * s_n, {group},
          out + i * out_n, out_m, n / {streams} * out_n);
    }}"""
            for count, first, end in parts[: 1 + (streams > 1)]
        ]
        cases.append("\n".join([f"  if (m == {rows}) {{", *loops, "  }"]))
    text = f"""\
static inline void {name}(const float *x, long x_m, const {scalar(weights)} *weights, long w_n,
    const {scalar(scales)} *scales, long s_n, float *out, long out_m, long out_n, long m, long n,
    long k, long g) {{
{head}
"""
    return {name: text + "\n".join([*cases, "}"])}


def _bytes_rounded(weights: str) -> dict[str, str]:
    """x as integers of 16 bits, of which the upper and lower bytes lie apart, both signed."""
    size = WEIGHTS[weights]
    count = 64 // size  # blocks in a chunk, which is a register of weights
    parts = BLOCK // size  # the registers of x for one of weights
    zero = ZERO if weights == "u8" else 128
    text = Template("""\
static inline void round_bytes_$weights(const float *x, long k, int8_t *to, int32_t *constants,
    float *units) {
  const long blocks = k / $block, chunks = (blocks + $last) / $count;
  const u8x4x16 zero = splat_u8x4x16($zero * 0x01010101u);
  for (long b = 0; b < $count * chunks; ++b) {
    int8_t *at = to + b / $count * $chunk + b % $count * $size;
    const float *from = x + $block * b;
    const float unit = b < blocks ? block_unit(from) : 0, per_unit = 1 / unit;
    for (int i = 0; i < $lanes; ++i) units[b * $lanes + i] = unit;
    for (int p = 0; p < $parts; ++p) {
      for (int i = 0; i < $size; ++i) {
        int16_t value = b < blocks ? rounded_i16(from[$size * p + i] * per_unit) : 0;
        at[64 * p + i] = (value + 128) >> 8;
        at[64 * ($parts + p) + i] = (int8_t)value;
      }
    }
  }
  for (long c = 0; c < chunks; ++c) {
    i32x16 high = {0}, low = {0};
    for (int p = 0; p < $parts; ++p) {
      high = dpbusd_i32x16(high, zero, (i8x4x16)load_i8x64(to + c * $chunk + 64 * p));
      low = dpbusd_i32x16(low, zero, (i8x4x16)load_i8x64(to + c * $chunk + 64 * ($parts + p)));
    }
    store_i32x16(constants + 16 * c, -((high << 8) + low));
  }
}""").substitute(
        weights=weights, block=BLOCK, count=count, last=count - 1, zero=zero, size=size,
        chunk=128 * parts, lanes=16 // count, parts=parts,
    )  # fmt: skip
    return {f"round_bytes_{weights}": text}


def _dot_of_bytes(isa: str, weights: str, scales: str, way: str) -> dict[str, str]:
    """Rows of x, as bytes, times a row of weights, as bytes without a sign."""
    name = f"dot_bytes_{way}{weights}_{scales}"
    parts = BLOCK // WEIGHTS[weights]
    helpers = vector_helpers(isa, "u16", 32) | vector_helpers(isa, "u8", 64)
    if scales != "f32":
        helpers |= conversion_helpers(isa, scales, "f32", 16)
    unpacked = (
        ["w & 15", "(u8x64)((u16x32)w >> 4) & 15"] if weights == "u8" else ["w ^ 0x80"]
    )  # fmt: skip
    unpack = [f"const u8x4x16 y{p} = (u8x4x16)({text});" for p, text in enumerate(unpacked)]
    adds = [
        f"{to} = dpbusd_i32x16({to}, y{p}, (i8x4x16)load_i8x64(at + {64 * (q * parts + p)}));"
        for q, to in enumerate(("high", "low"))
        for p in range(parts)
    ]
    load = "load_part_f32x16" if scales == "f32" else f"load_part_f32x16_{scales}"
    helpers[name] = Template("""\
static inline __attribute__((always_inline)) void $name(const int rows, const int streams,
    const int8_t *x, const int32_t *constants, const float *units, long chunks,
    const $weights *weights, long w_n, const $scales *scales, long s_n, long bytes, long g,
    const int32_t *places, long period, float *out, long out_m, long out_n) {
  f32x16 s[$streams][$rows];
  $cleared
  for (long first = 0, c = 0; first < g; first += 16) {
    f32x16 factors[$streams];
    for (int n = 0; n < streams; ++n) {
      factors[n] = $load(scales + n * s_n + first, g - first < 16 ? g - first : 16);
    }
    for (long p = 0; p < period && c < chunks; ++p, ++c) {
      const long left = bytes - 64 * c;
      const __m512i place = (__m512i)load_i32x16(places + 16 * p);
      for (int n = 0; n < streams; ++n) {
        const $weights *from = weights + n * w_n + 64 * c;
        __builtin_prefetch(from + $ahead);
        const u8x64 w = (u8x64)(left < 64 ? load_part_$kind(from, left) : load_$kind(from));
        $unpack
        const f32x16 scale = (f32x16)_mm512_permutexvar_ps(place, (__m512)factors[n]);
        for (int r = 0; r < rows; ++r) {
          const long row = r * chunks + c;
          const int8_t *at = x + row * $chunk;
          i32x16 high = {0}, low = load_i32x16(constants + 16 * row);
          $adds
          low += high << 8;
          s[n][r] += __builtin_convertvector(low, f32x16)
              * (scale * load_f32x16(units + 16 * row));
        }
      }
    }
  }
  for (int n = 0; n < streams; ++n) {
    for (int r = 0; r < rows; ++r) {
      out[r * out_m + n * out_n] =
          total_f32x16(s[n][r], (f32x16){0}, (f32x16){0}, (f32x16){0});
    }
  }
}""").substitute(
        name=name, rows=ROWS, streams=STREAMS, cleared=_cleared("f32x16"), load=load,
        kind=f"{weights}x64", chunk=128 * parts, weights=scalar(weights),
        scales=scalar(scales), ahead=FETCHED[way], unpack="\n        ".join(unpack),
        adds="\n          ".join(adds),
    )  # fmt: skip
    return helpers
