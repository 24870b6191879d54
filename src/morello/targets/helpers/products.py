"""Products of registers, and inner products of two runs in memory.

A packed element is a group of neighbours along the reduction dimension. Sums of integers wrap,
and so are exact modulo the range of their type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from morello.ir.tensor import LINE_BYTES
from morello.targets.helpers.byte_rows import byte_row_helpers
from morello.targets.helpers.row_sums import HINTS, row_helpers
from morello.targets.helpers.tiles import tile_helpers
from morello.targets.helpers.vectors import (
    conversion_helpers,
    full_width,
    scalar,
    size,
    vector_helpers,
    vector_types,
)


def product_helpers(isa: str, features: frozenset[str]) -> dict[str, str]:
    """All products that `isa` has, with these features of a CPU ("avx512_bf16" and the like)."""
    result = _register_products(isa, features) | _totals(isa)
    for product in _inner_products(isa, features):
        result |= _inner_product(isa, product)
    for fetched in ("L1", "L2"):
        result |= _odd_even_product(isa, fetched)
    result |= row_helpers(isa, features)
    result |= tile_helpers(features)
    if "avx512_vnni" in features:
        result |= byte_row_helpers(isa)
        result["unbiased_columns"] = _UNBIAS
        result["unbiased_run"] = _UNBIAS_RUN
        result["unbias_i32x16"] = _UNBIAS_ROWS
        result["dot_i8_i8_i32"] = _DOT_I8_I8_I32_BY_DPBUSD
    result["dot_u8_i8_i16"] = _DOT_U8_I8_I16
    return result


# ---- products of registers


def _register_products(isa: str, features: frozenset[str]) -> dict[str, str]:
    w = full_width(isa, "i32")
    result: dict[str, str] = {}
    for dtype in ("f32", "i32", "u32", "bf16x2", "i16x2", "u8x4", "i8x4"):
        result |= vector_helpers(isa, dtype, w)
    result |= _mla_i32(w) | _madd_f32(w) | _madd_i32(isa, w)
    if isa == "avx512":
        result |= _half_madd(isa, w // 2)
    if isa != "neon":
        result |= _maddubs(isa, 2 * w)
    if "avx512_bf16" in features:
        result["dpbf16_f32x16"] = _DPBF16
    if "avx512_vnni" in features:
        result["dpbusd_i32x16"] = _DPBUSD
    return result


def _mla_i32(w: int) -> dict[str, str]:
    i32, u32 = f"i32x{w}", f"u32x{w}"
    name = f"mla_{i32}"
    return {
        name: f"""\
static inline {i32} {name}({i32} c, {i32} a, {i32} b) {{
  return ({i32})(({u32})c + ({u32})a * ({u32})b); // signed ones may not wrap
}}"""
    }


def _madd_f32(w: int) -> dict[str, str]:
    f32, pairs = f"f32x{w}", f"bf16x2x{w}"
    name = f"madd_{f32}"
    return {
        name: f"""\
static inline {f32} {name}({f32} c, {pairs} a, {pairs} b) {{
  c += ({f32})(a << 16) * ({f32})(b << 16);
  return c + ({f32})(a & 0xffff0000) * ({f32})(b & 0xffff0000);
}}"""
    }


def _madd_i32(isa: str, w: int) -> dict[str, str]:
    i32, u32, pairs = f"i32x{w}", f"u32x{w}", f"i16x2x{w}"
    name = f"madd_{i32}"
    head = f"static inline {i32} {name}({i32} c, {pairs} a, {pairs} b)"
    if isa != "neon":
        register, multiply = f"__m{w * 32}i", f"_mm{w * 32}_madd_epi16"
        text = f"""\
{head} {{
  return ({i32})(({u32})c + ({u32}){multiply}(({register})a, ({register})b));
}}"""
        return {name: text}
    text = f"""\
{head} {{
  i16x8 x = (i16x8)a, y = (i16x8)b;
  {i32} low = __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), {i32})
      * __builtin_convertvector(__builtin_shufflevector(y, y, 0, 1, 2, 3), {i32});
  {i32} high = __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), {i32})
      * __builtin_convertvector(__builtin_shufflevector(y, y, 4, 5, 6, 7), {i32});
  return ({i32})(({u32})c + (({u32})__builtin_shufflevector(low, high, 0, 2, 4, 6)
      + ({u32})__builtin_shufflevector(low, high, 1, 3, 5, 7)));
}}"""
    return vector_helpers(isa, "i16", 2 * w) | {name: text}


def _half_madd(isa: str, w: int) -> dict[str, str]:
    types = (vector_types(dtype, w) for dtype in ("i32", "u32", "i16x2"))
    return {name: text for own in types for name, text in own.items()} | _madd_i32(isa, w)


def _maddubs(isa: str, w: int) -> dict[str, str]:
    i16, u16, register = f"i16x{w}", f"u16x{w}", f"__m{w * 16}i"
    name = f"maddubs_{i16}"
    text = f"""\
static inline {i16} {name}({i16} c, {i16} a, {i16} b) {{
  // Unsigned bytes of a by signed ones of b. A pair's sum saturates; the sum with c wraps.
  return ({i16})(({u16})c + ({u16})_mm{w * 16}_maddubs_epi16(({register})a, ({register})b));
}}"""
    return vector_helpers(isa, "i16", w) | vector_helpers(isa, "u16", w) | {name: text}


_DPBF16 = """\
static inline f32x16 dpbf16_f32x16(f32x16 c, bf16x2x16 a, bf16x2x16 b) {
  return (f32x16)_mm512_dpbf16_ps((__m512)c, (__m512bh)a, (__m512bh)b); // subnormals count as 0
}"""

_DPBUSD = """\
static inline i32x16 dpbusd_i32x16(i32x16 c, u8x4x16 a, i8x4x16 b) {
  return (i32x16)_mm512_dpbusd_epi32((__m512i)c, (__m512i)a, (__m512i)b);
}"""

_UNBIAS = """\
// -128 times the sums of columns of k groups, as many as `count`, whose rows are a step apart
static inline i32x16 unbiased_columns(const uint32_t *b, long step, long k, int count) {
  const u8x4x16 bias = splat_u8x4x16(0x80808080);
  i32x16 s[4] = {{0}};
  const long whole = k - k % 4;
  for (long i = 0; i < whole; i += 4)
    for (int j = 0; j < 4; ++j)
      s[j] = dpbusd_i32x16(s[j], bias, load_part_i8x4x16(b + (i + j) * step, count));
  for (long i = whole; i < k; ++i)
    s[0] = dpbusd_i32x16(s[0], bias, load_part_i8x4x16(b + i * step, count));
  const u32x16 sums = ((u32x16)s[0] + (u32x16)s[1]) + ((u32x16)s[2] + (u32x16)s[3]);
  return (i32x16)(0 - sums);
}
"""

_UNBIAS_RUN = """\
// The same of a single column, whose groups lie next to each other
static inline int32_t unbiased_run(const uint32_t *b, long k) {
  const u8x4x16 bias = splat_u8x4x16(0x80808080);
  i32x16 s = {0};
  for (long i = 0; i < k; i += 16)
    s = dpbusd_i32x16(s, bias, load_part_i8x4x16(b + i, k - i < 16 ? k - i : 16));
  return 0 - (uint32_t)total_i32x16(s, (i32x16){0}, (i32x16){0}, (i32x16){0});
}
"""

_UNBIAS_ROWS = """\
// The first row of c is computed, and the others are copies of it. Without panels, `panel` is 1;
// panels begin panel * b_n apart
static inline void unbias_i32x16(const void *groups, long b_k, long b_n, long panel, int32_t *c,
                                 long c_m, long c_n, long m, long k, long n) {
  const uint32_t *b = groups;
  for (long j = 0; j < n; j += 16) {
    const int count = n - j < 16 ? n - j : 16;
    i32x16 sums = {0};
    if (b_n == 1 || panel > 1 || (n == 1 && b_k != 1))
      sums = unbiased_columns(b + j / panel * panel * b_n + j % panel, b_k, k, count);
    else
      for (int i = 0; i < count; ++i) sums[i] = unbiased_run(b + (j + i) * b_n, k);
    if (c_n == 1)
      store_part_i32x16(c + j, sums, count);
    else
      for (int i = 0; i < count; ++i) c[(j + i) * c_n] = sums[i];
  }
  for (int32_t *row = c + c_m, *end = c + m * c_m; row != end; row += c_m)
    for (long j = 0; j < n; c_n == 1 ? (j += 16) : ++j) {
      const int count = n - j < 16 ? n - j : 16;
      if (c_n == 1)
        store_part_i32x16(row + j, load_part_i32x16(c + j, count), count);
      else
        row[j * c_n] = c[j * c_n];
    }
}
"""


# ---- inner products

# The prefetch distance for runs of bf16 that stream from memory; those of f32 gain nothing. With
# prefetches into L1, a Zen 5 is 5 to 25 % faster, and loses 3 % at most where runs are in a cache;
# but a Zen 4 is a third slower. Into L2, a Zen 4 is 9 to 25 % faster, but slower with twice the
# distance, or where runs are in a cache.
_AHEAD_BYTES = 4096


@dataclass(frozen=True)
class _InnerProduct:
    """An inner product of two runs: how registers of them are loaded and multiplied.

    Runs of `a` and `b` are loaded as `vector_a` and `vector_b`, `width` elements at a time.
    `add` is the statement that adds the product of {a} and {b} to {s}, in registers, and
    `element_product` the product of a[i] and b[i].
    """

    name: str
    a: str
    b: str
    vector_a: str
    vector_b: str
    width: int
    result: str
    add: str
    element_product: str
    accumulators: int = 4
    fetched: str = ""  # the cache that b is prefetched into


def _inner_products(isa: str, features: frozenset[str]) -> list[_InnerProduct]:
    w = full_width(isa, "f32")

    def floats(a: str, b: str) -> _InnerProduct:
        element_product = " * ".join(
            f"{name}[i]" if dtype == "f32" else f"cast_f32_{dtype}({name}[i])"
            for name, dtype in (("a", a), ("b", b))
        )
        add = "{s} += {a} * {b};"
        return _InnerProduct(f"dot_{a}_{b}", a, b, "f32", "f32", w, "f32", add, element_product)

    def integers(a: str, b: str) -> _InnerProduct:
        """Bytes are widened to 16 bits, since sums of two products of bytes would saturate."""
        add = f"{{s}} = madd_i32x{w}({{s}}, (i16x2x{w}){{a}}, (i16x2x{w}){{b}});"
        element_product = "(uint32_t)(a[i] * b[i])"
        name = f"dot_{a}_{b}_i32"
        return _InnerProduct(name, a, b, "i16", "i16", 2 * w, "i32", add, element_product)

    def packed(call: str, a: str, b: str) -> str:
        return f"{{s}} = {call}({{s}}, ({a}x{w}){{a}}, ({b}x{w}){{b}});"

    bf16 = replace(
        floats("bf16", "bf16"),
        vector_a="bf16",
        vector_b="bf16",
        width=2 * w,
        add=packed(f"madd_f32x{w}", "bf16x2", "bf16x2"),
        accumulators=8,
        fetched="L1",
    )
    i32 = replace(
        integers("i32", "i32"),
        name="dot_i32_i32",
        vector_a="i32",
        vector_b="i32",
        width=w,
        add=f"{{s}} = mla_i32x{w}({{s}}, {{a}}, {{b}});",
        element_product="(uint32_t)a[i] * (uint32_t)b[i]",
    )
    bytes_ = integers("u8", "i8")
    result = [
        floats("f32", "f32"),
        replace(floats("f32", "bf16"), fetched="L1"),
        floats("f16", "f16"),
        bf16,
        i32,
        integers("i16", "i16"),
    ]
    if "avx512_bf16" in features:
        add = packed("dpbf16_f32x16", "bf16x2", "bf16x2")
        result.append(replace(bf16, name="dot_bf16_bf16_dp", add=add, fetched=""))
        result.append(replace(bf16, name="dot_l2_bf16_bf16_dp", add=add, fetched="L2"))
    if "avx512_vnni" in features:
        add = packed("dpbusd_i32x16", "u8x4", "i8x4")
        return [*result, replace(bytes_, vector_a="u8", vector_b="i8", width=4 * w, add=add)]
    return [*result, bytes_, integers("i8", "i8")]


def _inner_product(isa: str, product: _InnerProduct) -> dict[str, str]:
    name, width, result = product.name, product.width, product.result
    head = _head(name, product.a, product.b, result)
    if isa == "neon" and result == "i32":
        # Every compiler vectorizes this with widening multiply-adds.
        text = f"""\
{head} {{
  uint32_t sum = 0;
  for (long i = 0; i < n; ++i) sum += {product.element_product};
  return sum;
}}"""
        return {name: text}
    helpers: dict[str, str] = {}
    loads = []
    for dtype, vector in ((product.a, product.vector_a), (product.b, product.vector_b)):
        if dtype == vector:
            helpers |= vector_helpers(isa, dtype, width)
            loads.append(f"{vector}x{width}")
        else:
            helpers |= conversion_helpers(isa, dtype, vector, width)
            loads.append(f"{vector}x{width}_{dtype}")

    def add(accumulator: int, offset: int = 0) -> str:
        place = f"i + {offset}" if offset else "i"
        a, b = (f"load_{load}({p} + {place})" for load, p in zip(loads, "ab", strict=True))
        return product.add.format(s=f"s{accumulator}", a=a, b=b)

    count = product.accumulators
    kind = f"{result}x{full_width(isa, result)}"
    zeros = ", ".join(f"s{j} = {{0}}" for j in range(count))
    ahead = _prefetch(count * width, size(product.b), product.fetched) if product.fetched else []
    converted = (product.a, product.b) != (product.vector_a, product.vector_b)
    order = _order(count) if isa == "avx512" and not converted else []
    steps = "\n    ".join([*ahead, *(add(j, j * width) for j in range(count)), *order])
    sums = [f"s{j}" if count == 4 else f"s{j} + s{j + 4}" for j in range(4)]
    total = f"total_{kind}({', '.join(sums)})"
    if isa == "avx512":
        a, b = (f"load_part_{load}({p} + i, n - i)" for load, p in zip(loads, "ab", strict=True))
        rest = f"""\
  if (i < n) {product.add.format(s="s0", a=a, b=b)}
  return {total};"""
    else:
        # Unsigned, as overflow of signed numbers is undefined in C.
        sum_type = scalar(result) if result == "f32" else "uint32_t"
        rest = f"""\
  {sum_type} sum = {total};
#ifdef __clang__
#pragma clang loop vectorize(disable) // short
#endif
  for (; i < n; ++i) sum += {product.element_product};
  return sum;"""
    helpers[name] = f"""\
{head} {{
  {kind} {zeros};
  long i = 0;
  for (; i + {count * width} <= n; i += {count * width}) {{
    {steps}
  }}
  for (; i + {width} <= n; i += {width}) {add(0)}
{rest}
}}"""
    return helpers


def _order(count: int) -> list[str]:
    """C that keeps the loads of an iteration before those of the next, for `count` accumulators.

    Clang unrolls short runs, and loads them in an order that no hardware prefetcher follows: runs
    of 128 to 1024 elements were read from memory at a third to a half of its speed. With 16
    registers it does not, and runs that are converted are read as fast in any order.
    """
    sums = ", ".join(f'"+v"(s{j})' for j in range(count))
    return [f'__asm__ volatile("" : {sums});']


def _prefetch(elements: int, bytes_: int, cache: str) -> list[str]:
    """C that prefetches so many elements of b, `_AHEAD_BYTES` after b[i]."""
    start = _AHEAD_BYTES // bytes_
    places = range(start, start + elements, LINE_BYTES // bytes_)
    return [f"__builtin_prefetch(b + i + {place}{HINTS[cache]});" for place in places]


def _head(name: str, a: str, b: str, result: str) -> str:
    return (
        f"static inline {scalar(result)} {name}(const {scalar(a)} *a, const {scalar(b)} *b, long n)"
    )


def _totals(isa: str) -> dict[str, str]:
    """The sum of all elements of four registers, which are repeatedly halved."""
    full = full_width(isa, "f32")
    result: dict[str, str] = {}
    for dtype, work in (("f32", "f32"), ("i32", "u32")):
        kind, name = f"{dtype}x{full}", f"total_{dtype}x{full}"
        cast = f"({work}x{full})" if work != dtype else ""
        lines = [f"{work}x{full} v{full} = ({cast}a + {cast}b) + ({cast}c + {cast}d);"]
        w = full
        while w > 4:
            low, high = (", ".join(map(str, range(i, i + w // 2))) for i in (0, w // 2))
            half = f"{work}x{w // 2}"
            result |= vector_helpers(isa, work, w // 2)
            lines.append(
                f"{half} v{w // 2} = __builtin_shufflevector(v{w}, v{w}, {low})\n"
                f"      + __builtin_shufflevector(v{w}, v{w}, {high});"
            )
            w //= 2
        body = "\n  ".join(lines)
        result[name] = f"""\
static inline {scalar(dtype)} {name}({kind} a, {kind} b, {kind} c, {kind} d) {{
  {body}
  return (v4[0] + v4[2]) + (v4[1] + v4[3]);
}}"""
    return result


def _odd_even_product(isa: str, fetched: str) -> dict[str, str]:
    """An inner product without shuffles: every lane of b holds an even element and an odd one."""
    w = full_width(isa, "f32")
    f32, u32 = f"f32x{w}", f"u32x{w}"
    name = "dot_l2_oddeven_f32_bf16" if fetched == "L2" else "dot_oddeven_f32_bf16"

    def add(block: int) -> str:
        even, odd = f"s{2 * block % 8}", f"s{2 * block % 8 + 1}"
        start = f" + {2 * w * block}" if block else ""
        return f"""\
    pairs = *(const {u32}_any *)(b + i{start});
    {even} += load_{f32}(a + i{start}) * ({f32})(pairs << 16);
    {odd} += load_{f32}(a + i + {2 * w * block + w}) * ({f32})(pairs & 0xffff0000);"""

    ahead = [f"    {line}" for line in _prefetch(8 * w, 2, fetched)]
    steps = "\n".join([*ahead, *map(add, range(4))])
    zeros = ", ".join(f"s{j} = {{0}}" for j in range(8))
    return {
        name: f"""\
{_head(name, "f32", "bf16", "f32")} {{
  {f32} {zeros};
  {u32} pairs;
  long i = 0;
  for (; i + {8 * w} <= n; i += {8 * w}) {{
{steps}
  }}
  for (; i < n; i += {2 * w}) {{
{add(0)}
  }}
  return total_{f32}(s0 + s4, s1 + s5, s2 + s6, s3 + s7);
}}"""
    }


# Adding 128 makes the bytes of a unsigned; 128 times the sum of b is then subtracted again.
_DOT_I8_I8_I32_BY_DPBUSD = """\
static inline int32_t dot_i8_i8_i32(const int8_t *a, const int8_t *b, long n) {
  const u8x4x16 flip = splat_u8x4x16(0x80808080);
  i32x16 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, excess = {0}, excess1 = {0};
  i8x4x16 y;
  long i = 0;
  for (; i + 256 <= n; i += 256) {
    y = (i8x4x16)load_i8x64(b + i);
    s0 = dpbusd_i32x16(s0, (u8x4x16)load_i8x64(a + i) ^ flip, y);
    excess = dpbusd_i32x16(excess, flip, y);
    y = (i8x4x16)load_i8x64(b + i + 64);
    s1 = dpbusd_i32x16(s1, (u8x4x16)load_i8x64(a + i + 64) ^ flip, y);
    excess1 = dpbusd_i32x16(excess1, flip, y);
    y = (i8x4x16)load_i8x64(b + i + 128);
    s2 = dpbusd_i32x16(s2, (u8x4x16)load_i8x64(a + i + 128) ^ flip, y);
    excess = dpbusd_i32x16(excess, flip, y);
    y = (i8x4x16)load_i8x64(b + i + 192);
    s3 = dpbusd_i32x16(s3, (u8x4x16)load_i8x64(a + i + 192) ^ flip, y);
    excess1 = dpbusd_i32x16(excess1, flip, y);
  }
  for (; i < n; i += 64) {
    int left = n - i < 64 ? n - i : 64;
    y = (i8x4x16)load_part_i8x64(b + i, left);
    s0 = dpbusd_i32x16(s0, (u8x4x16)load_part_i8x64(a + i, left) ^ flip, y);
    excess = dpbusd_i32x16(excess, flip, y);
  }
  uint32_t sum = total_i32x16(s0, s1, s2, s3);
  return sum - (uint32_t)total_i32x16(excess, excess1, (i32x16){0}, (i32x16){0});
}"""

_DOT_U8_I8_I16 = f"""\
{_head("dot_u8_i8_i16", "u8", "i8", "i16")} {{
  return dot_u8_i8_i32(a, b, n); // exact modulo 2^32, and so modulo 2^16
}}"""
