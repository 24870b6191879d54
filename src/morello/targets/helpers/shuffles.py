"""Blocks of memory rearranged in registers: transposes, and rows or halves interleaved.

Every one reads all it needs before it writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from morello.ir.primitives.convolutions import SHARING
from morello.targets.helpers.vectors import (
    full_width,
    masked_load,
    rounding_helpers,
    scalar,
    vector_helpers,
)

LANE_BYTES = 16  # x86 shuffles are cheap only within lanes of so many bytes

REPETITIONS = (2, 4, 8)
"""How often elements of a run are repeated in registers."""

_TRANSPOSES = {
    "avx512": ((4, 16), (4, 8), (4, 4), (2, 16), (2, 8), (1, 16)),
    "avx2": ((4, 8), (4, 4), (2, 16), (2, 8), (1, 16)),
    "neon": ((4, 4), (2, 8), (1, 16)),
}


def shuffle_helpers(isa: str) -> dict[str, str]:
    """All rearrangements that `isa` does well."""
    result: dict[str, str] = {}
    for bytes_, n in _TRANSPOSES[isa]:
        result |= _transpose(isa, bytes_, n) | _transpose_filters(bytes_, n)
    result |= _interleave2(isa, full_width(isa, "u16"))
    result |= _interleave4(isa, 16)
    if isa == "avx512":
        result |= _interleave4(isa, 64) | vector_helpers(isa, "u32", 16) | _PACK_RUN
        result |= _interleave_few(2) | _interleave_few(4)
    for bytes_ in (1, 2, 4):
        for times in REPETITIONS:
            result |= _repeat(isa, bytes_, times)
    w = full_width(isa, "f32")
    return result | _odd_even_bf16(isa, w) | _odd_even(isa, 4, w) | _odd_even(isa, 2, w)


def _shuffle(name: str, kind: str, indices: Sequence[int]) -> dict[str, str]:
    listed = ", ".join(map(str, indices))
    return {
        name: f"static inline {kind} {name}({kind} a, {kind} b) "
        f"{{ return __builtin_shufflevector(a, b, {listed}); }}"
    }


def every_second_helpers(isa: str, width: int) -> dict[str, str]:
    """Every second of neighbouring floats in memory; none after the last of them is read."""
    kind = f"f32x{width}"
    name, last = f"every_second_{kind}", width - 1
    indices = [*range(0, width, 2), *range(width + 1, 2 * width, 2)]
    listed = ", ".join(map(str, indices))
    text = (
        f"static inline {kind} {name}(const float *s) {{\n"
        f"  {kind} a = load_{kind}(s), b = load_{kind}(s + {last});\n"
        f"  return __builtin_shufflevector(a, b, {listed});\n}}"
    )
    return vector_helpers(isa, "f32", width) | {name: text}


def shared_groups_helpers(isa: str, width: int) -> dict[str, str]:
    """Sums of neighbouring `groups` of channels, at most a register, for the filters of each.

    The filters of a channel are next to each other, and those of the next one are `step` further.
    Products are summed first, so that the steps of a sum do not wait for each other.
    """
    kind, helpers = f"f32x{width}", vector_helpers(isa, "f32", width)

    def loaded(address: str) -> str:
        return f"(n < {width} ? load_part_{kind}({address}, n) : load_{kind}({address}))"

    for channels in SHARING:
        if channels < width:
            lines = f"  {kind} x = {loaded('image')};\n"
            for c in range(channels):
                lanes = ", ".join(str(i // channels * channels + c) for i in range(width))
                repeated = f"__builtin_shufflevector(x, x, {lanes})"
                start = f"{kind} products =" if c == 0 else "products +="
                lines += f"  {start} {repeated} * {loaded(f'filters + {c} * step')};\n"
            name = f"shared_groups_{channels}_{kind}"
            helpers[name] = (
                f"static inline {kind} {name}({kind} sums, const float *image, "
                f"const float *filters, long step, int groups) {{\n"
                f"  const int n = groups * {channels};\n{lines}  return sums + products;\n}}"
            )
    return helpers


def zip_helpers(kind: str, bytes_: int, width: int) -> dict[str, str]:
    """The lower, or upper, halves of every lane of a and b, interleaved."""
    lane = LANE_BYTES // bytes_
    result: dict[str, str] = {}
    for name, first in (("low", 0), ("high", lane // 2)):
        pairs = [
            (start + i, width + start + i)
            for start in range(first, width, lane)
            for i in range(lane // 2)
        ]
        result |= _shuffle(f"zip_{name}_{kind}", kind, [i for pair in pairs for i in pair])
    return result


def lane_helpers(kind: str, bytes_: int, width: int) -> dict[str, str]:
    """Every second lane of a, and then of b."""
    lane = LANE_BYTES // bytes_
    result: dict[str, str] = {}
    for name, first in (("even", 0), ("odd", lane)):
        starts = range(first, 2 * width, 2 * lane)
        result |= _shuffle(
            f"{name}_lanes_{kind}", kind, [s + i for s in starts for i in range(lane)]
        )
    return result


@dataclass(frozen=True)
class _Stage:
    """A stage of a transposition, which combines rows in pairs by two helpers.

    Each pair is the numbers of its rows, and those of the rows that the helpers give.
    """

    low: str
    high: str
    pairs: list[tuple[int, int, int, int]]


def _stages(n: int, lane: int) -> Iterator[_Stage]:
    """Lanes are transposed first, as if each were an element, then what is in them.

    So log2(n) stages rotate the bits of a row's number into those of the column. The number is
    (number of the lane) * lane + (row in the lane); that of the lane is rotated first.
    """
    lanes = n // lane
    for _ in range(lanes.bit_length() - 1):
        yield _Stage(
            "even_lanes",
            "odd_lanes",
            [
                (
                    2 * i * lane + r,
                    (2 * i + 1) * lane + r,
                    i * lane + r,
                    (i + lanes // 2) * lane + r,
                )
                for r in range(lane)
                for i in range(lanes // 2)
            ],
        )
    for _ in range(lane.bit_length() - 1):
        yield _Stage(
            "zip_low",
            "zip_high",
            [
                (g + i, g + i + lane // 2, g + 2 * i, g + 2 * i + 1)
                for g in range(0, n, lane)
                for i in range(lane // 2)
            ],
        )


def _transpose(isa: str, bytes_: int, n: int) -> dict[str, str]:
    """Transpose n x n elements in registers."""
    dtype = f"u{bytes_ * 8}"
    kind, element = f"{dtype}x{n}", f"uint{bytes_ * 8}_t"
    lane = LANE_BYTES // bytes_
    helpers = vector_helpers(isa, dtype, n) | zip_helpers(kind, bytes_, n)
    if n > lane:
        helpers |= lane_helpers(kind, bytes_, n)

    names = [f"a{i}" for i in range(n)]
    lines = [f"{kind} {row} = load_{kind}(s + {i} * src_stride);" for i, row in enumerate(names)]
    for letter, stage in zip(ascii_lowercase[1:], _stages(n, lane), strict=False):
        for x, y, low, high in stage.pairs:
            pair = f"{names[x]}, {names[y]}"
            lines.append(
                f"{kind} {letter}{low} = {stage.low}_{kind}({pair}), "
                f"{letter}{high} = {stage.high}_{kind}({pair});"
            )
        names = [f"{letter}{i}" for i in range(n)]
    lines += [f"store_{kind}(d + {i} * dst_stride, {row});" for i, row in enumerate(names)]
    name = f"transpose_{bytes_}_{n}"
    body = "\n  ".join(lines)
    helpers[name] = f"""\
static inline void {name}(const void *src, long src_stride, void *dst, long dst_stride) {{
  const {element} *s = src;
  {element} *d = dst;
  {body}
}}"""
    return helpers


def _transpose_filters(bytes_: int, n: int) -> dict[str, str]:
    """Transpose n filters of n channels, each of `rows` x `columns` pixels, in blocks of n x n.

    Unrolled, so that every offset is a constant and blocks stay in registers.
    """
    kind, element = f"u{bytes_ * 8}x{n}", f"uint{bytes_ * 8}_t"
    name = f"transpose_filters_{bytes_}_{n}"
    return {
        name: f"""\
static inline void {name}(const void *src, long src_stride, void *dst, long channel, long row,
                          long column, int rows, int columns) {{
  const {element} *s = src;
  {element} *d = dst;
#pragma GCC unroll 25
  for (int i = 0; i < rows * columns; ++i) {{
    {element} block[{n * n}];
    transpose_{bytes_}_{n}(s + i * {n}, src_stride, block, {n});
#pragma GCC unroll {n}
    for (int j = 0; j < {n}; ++j) {{
      const int at = i * {n} + j, pixel = at % (rows * columns);
      store_{kind}(d + at / (rows * columns) * channel + pixel / columns * row
                   + pixel % columns * column, load_{kind}(block + j * {n}));
    }}
  }}
}}"""
    }


def _repeat(isa: str, bytes_: int, times: int) -> dict[str, str]:
    """Each element of a run of at least a register's results, repeated.

    The last register overlaps the one before it.
    """
    dtype, element = f"u{bytes_ * 8}", f"uint{bytes_ * 8}_t"
    wide = full_width(isa, dtype)
    step = wide // times
    if step < 2:
        return {}
    kind, name = f"{dtype}x{wide}", f"repeat{times}_{bytes_}"
    listed = ", ".join(str(lane // times) for lane in range(wide))
    helpers = vector_helpers(isa, dtype, wide)
    helpers[name] = f"""\
static inline void {name}(const void *src, void *dst, long n) {{
  typedef {element} part
      __attribute__((vector_size({step * bytes_}), aligned({bytes_}), may_alias));
  const {element} *s = src;
  {element} *d = dst;
  for (long i = 0; i < n; i += {step}) {{
    const long at = i + {step} <= n ? i : n - {step};
    const part v = *(const part *)(s + at);
    store_{kind}(d + at * {times}, __builtin_shufflevector(v, v, {listed}));
  }}
}}"""
    return helpers


def _interleave2(isa: str, n: int) -> dict[str, str]:
    kind = f"u16x{n}"
    name = f"interleave2_{n}"
    helpers = vector_helpers(isa, "u16", n)
    for half in range(2):
        pairs = [(i, n + i) for i in range(half * n // 2, (half + 1) * n // 2)]
        helpers |= _shuffle(
            f"zip_{('first', 'second')[half]}_{kind}", kind, [i for pair in pairs for i in pair]
        )
    helpers[name] = f"""\
static inline void {name}(const uint16_t *a, const uint16_t *b, uint16_t *dst) {{
  {kind} x = load_{kind}(a), y = load_{kind}(b);
  store_{kind}(dst, zip_first_{kind}(x, y));
  store_{kind}(dst + {n}, zip_second_{kind}(x, y));
}}"""
    return helpers | _parts(2, n)


def _interleave4(isa: str, n: int) -> dict[str, str]:
    """Interleave bytes into pairs and those into groups of four, lane by lane."""
    kind, pairs = f"u8x{n}", f"u16x{n // 2}"
    name = f"interleave4_{n}"
    helpers = (
        vector_helpers(isa, "u8", n)
        | vector_helpers(isa, "u16", n // 2)
        | zip_helpers(kind, 1, n)
        | zip_helpers(pairs, 2, n // 2)
    )
    lines = [f"{kind} v{row} = load_{kind}({row});" for row in "abcd"]
    lines += [
        f"{pairs} {x}{y}_{half} = ({pairs})zip_{half}_{kind}(v{x}, v{y});"
        for x, y in ("ab", "cd")
        for half in ("low", "high")
    ]
    names = [f"q{i}" for i in range(4)]
    lines += [
        f"{pairs} q{2 * i + j} = zip_{half}_{pairs}(ab_{part}, cd_{part});"
        for i, part in enumerate(("low", "high"))
        for j, half in enumerate(("low", "high"))
    ]
    if n > LANE_BYTES:
        # Lane l of q_i is the result's lane 4 l + i: a transpose of lanes.
        helpers |= lane_helpers(pairs, 2, n // 2)
        for old, new in (("q", "r"), ("r", "t")):
            lines += [
                f"{pairs} {new}{i + 2 * j} = {parity}_lanes_{pairs}"
                f"({old}{2 * i}, {old}{2 * i + 1});"
                for i in range(2)
                for j, parity in enumerate(("even", "odd"))
            ]
        names = [f"t{i}" for i in range(4)]
    lines += [f"store_{kind}(dst + {i * n}, ({kind}){q});" for i, q in enumerate(names)]
    body = "\n  ".join(lines)
    helpers[name] = f"""\
static inline void {name}(const uint8_t *a, const uint8_t *b, const uint8_t *c,
                          const uint8_t *d, uint8_t *dst) {{
  {body}
}}"""
    flip = f"flip_u8x{4 * n}"
    helpers[flip] = f"""\
static inline void {flip}(void *groups) {{ // signed bytes become unsigned ones, 128 larger
  {kind}_any *v = groups;
  for (int i = 0; i < 4; ++i) v[i] ^= 0x80;
}}"""
    return helpers | _parts(4, n)


def _parts(lanes: int, n: int) -> dict[str, str]:
    """Interleaving of fewer rows, with zeros in place of the others, and a single such group."""
    kind, rows, group = f"uint{32 // lanes}_t", f"interleave_part{lanes}_{n}", f"group_part{lanes}"
    others = ", ".join(f"rows > {i} ? src + {i} * step : none" for i in range(1, lanes))
    return {
        rows: f"""\
static inline void {rows}(const {kind} *src, long step, int rows, {kind} *dst) {{
  static const {kind} none[{n}];
  interleave{lanes}_{n}(src, {others}, dst);
}}""",
        group: f"""\
static inline uint32_t {group}(const {kind} *src, long step, int rows) {{
  uint32_t bits = 0;
  for (int i = 0; i < rows; ++i) bits |= (uint32_t)src[i * step] << {32 // lanes} * i;
  return bits;
}}""",
    }


def _interleave_few(lanes: int) -> dict[str, str]:
    """Up to 16 groups of elements of neighbouring rows, with zeros in place of missing rows."""
    dtype = f"u{32 // lanes}"
    name, load, element = f"interleave_few{lanes}", f"load_few_{dtype}", scalar(dtype)
    zipped = ", ".join(f"{i}, {16 + i}" for i in range(16))
    helpers: dict[str, str] = {}
    for kind, width in (("u8", 16), ("u8", 32), ("u16", 16), ("u16", 32), ("i32", 16)):
        helpers |= vector_helpers("avx512", kind, width)
    for kind in ("u8", "u16"):
        helpers[f"zip_{kind}x16"] = (
            f"static inline {kind}x32 zip_{kind}x16({kind}x16 a, {kind}x16 b) "
            f"{{ return __builtin_shufflevector(a, b, {zipped}); }}"
        )
    helpers[load] = (
        f"static inline {dtype}x16 {load}(const {element} *p, int n) "
        f"{{ return ({dtype}x16){masked_load(dtype, 16)}; }}"
    )
    rows = [
        f"const {dtype}x16 {row} = rows > {i} ? {load}(src + {i} * step, n) : none;"
        for i, row in enumerate("abcd"[:lanes])
    ]
    body = "\n  ".join(rows)
    groups = "zip_u16x16(a, b)"
    if lanes == 4:
        groups = "zip_u16x16((u16x16)zip_u8x16(a, b), (u16x16)zip_u8x16(c, d))"
    helpers[name] = f"""\
static inline void {name}(const {element} *src, long step, int rows, int n, int flip, void *dst) {{
  const {dtype}x16 none = {{0}};
  {body}
  store_part_i32x16(dst, (i32x16){groups} ^ flip, n);
}}"""
    return helpers


_PACK_RUN = {
    "pack_run": """\
// Whole groups of 4 bytes, and one of the `last` bytes and zeros; some of their bits are flipped.
static inline void pack_run(const void *src, void *dst, long groups, long last, uint32_t flip) {
  const uint8_t *s = src;
  uint8_t *d = dst;
  const long n = (groups - 1) * 4 + last, whole = n / 64 * 64;
  for (long i = 0; i < whole; i += 64)
    store_u8x64(d + i, load_u8x64(s + i) ^ (u8x64)splat_u32x16(flip));
  if (whole < groups * 4) {
    const u32x16 rest = (u32x16)load_part_u8x64(s + whole, n - whole) ^ flip;
    store_part_u32x16((uint32_t *)(d + whole), rest, groups - whole / 4);
  }
}"""
}


# ---- the odd-even layout: of every 2 w elements, those at even places and then the others


def _odd_even_bf16(isa: str, w: int) -> dict[str, str]:
    """A pair of bf16 is a 32-bit lane, and each bf16 is the upper half of a float."""
    real, bits = f"f32x{w}", f"u32x{w}"
    split, join = f"deinterleave_f32_bf16_{w}", f"interleave_bf16_f32_{w}"
    return {
        **vector_helpers(isa, "f32", w),
        **rounding_helpers(w),
        **vector_helpers(isa, "u32", w),
        split: f"""\
static inline void {split}(const uint16_t *src, float *dst) {{
  {bits} pairs = *(const {bits}_any *)src;
  store_{real}(dst, ({real})(pairs << 16));
  store_{real}(dst + {w}, ({real})(pairs & 0xffff0000));
}}""",
        join: f"""\
static inline void {join}(const float *src, uint16_t *dst) {{
  {bits} even = round_bf16_{real}(load_{real}(src));
  {bits} odd = round_bf16_{real}(load_{real}(src + {w}));
  *({bits}_any *)dst = even >> 16 | (odd & 0xffff0000);
}}""",
    }


def _odd_even(isa: str, bytes_: int, w: int) -> dict[str, str]:
    """Odd-even blocks of any elements of `bytes_`, without conversion, into and out of them."""
    dtype = f"u{bytes_ * 8}"
    both = 2 * w * bytes_
    names = f"deinterleave_{bytes_}_{w}", f"interleave_{bytes_}_{w}"
    even = list(range(0, 2 * w, 2))
    odd = list(range(1, 2 * w, 2))
    mixed = [i for pair in zip(range(w), range(w, 2 * w), strict=True) for i in pair]
    if both <= full_width(isa, "u8"):  # one register holds them all
        kind = f"{dtype}x{2 * w}"
        helpers = vector_helpers(isa, dtype, 2 * w)
        for name, indices in zip(names, (even + odd, mixed), strict=True):
            listed = ", ".join(map(str, indices))
            helpers[name] = f"""\
static inline void {name}(const void *src, void *dst) {{
  {kind} v = load_{kind}(src);
  store_{kind}(dst, __builtin_shufflevector(v, v, {listed}));
}}"""
        return helpers
    kind, element = f"{dtype}x{w}", f"uint{bytes_ * 8}_t"
    helpers = vector_helpers(isa, dtype, w)
    for name, (first, second) in zip(names, ((even, odd), (mixed[:w], mixed[w:])), strict=True):
        halves = f"first_{name}", f"second_{name}"
        helpers |= _shuffle(halves[0], kind, first) | _shuffle(halves[1], kind, second)
        helpers[name] = f"""\
static inline void {name}(const void *src, void *dst) {{
  const {element} *s = src;
  {element} *d = dst;
  {kind} a = load_{kind}(s), b = load_{kind}(s + {w});
  store_{kind}(d, {halves[0]}(a, b));
  store_{kind}(d + {w}, {halves[1]}(a, b));
}}"""
    return helpers


def odd_even_helpers(dtype: str) -> dict[str, str]:
    """Copies of up to a block of any size, by elements; its odd ones begin at `half`."""
    c = scalar(dtype)
    names = f"deinterleave_{dtype}", f"interleave_{dtype}"
    places = ("d[i / 2 + i % 2 * half] = s[i]", "d[i] = s[i / 2 + i % 2 * half]")
    return {
        name: f"""\
static inline void {name}(const {c} *s, {c} *d, long half, long n) {{
  for (long i = 0; i < n; ++i) {place};
}}"""
        for name, place in zip(names, places, strict=True)
    }
