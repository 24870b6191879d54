"""Stores past all caches, made of the stores of registers."""

from __future__ import annotations

import re
from collections.abc import Mapping

PAST = "bypass_"
"""The prefix of the names of such stores, in place of `store_`."""

_STORED = re.compile(r"\*\((\w+)_any \*\)p = (.*?);")
_BYTES = re.compile(r"vector_size\((\d+)\)")

_WHOLE = {16: "_mm_stream_si128", 32: "_mm256_stream_si256", 64: "_mm512_stream_si512"}
_QUARTER = {
    16: "v", 32: "_mm256_extracti128_si256(v, {0})", 64: "_mm512_extracti32x4_epi32(v, {0})",
}  # fmt: skip


def bypassing_helpers(helpers: Mapping[str, str]) -> dict[str, str]:
    """For each helper that stores a register as a whole, one that stores it past all caches."""
    result: dict[str, str] = {}
    for name, text in helpers.items():
        stored = _STORED.search(text)
        vector = _BYTES.search(helpers.get(stored[1], "")) if stored else None
        bytes_ = int(vector[1]) if vector else 0
        if bytes_ not in _WHOLE or not name.startswith("store_"):
            continue
        past = name.replace("store_", PAST, 1)
        result[f"{PAST}{bytes_}"] = _of_bytes(bytes_)
        call = rf"{PAST}{bytes_}(p, ({_register(bytes_)})(\2));"
        result[past] = _STORED.sub(call, text.replace(name, past))
    return result


def bypassing_rows(isa: str) -> dict[str, str]:
    """Rows that follow each other in memory, each from another place, past all caches."""
    return {**(_LINES_AVX512 if isa == "avx512" else _LINES_AVX2), f"{PAST}rows": _ROWS}


_LINES_AVX512 = {
    "copy_bytes": """\
static inline void copy_bytes(uint8_t *to, const uint8_t *from, long n) { // n < 64
  __mmask64 first = _bzhi_u64(~0ull, n);
  _mm512_mask_storeu_epi8(to, first, _mm512_maskz_loadu_epi8(first, from));
}""",
    f"{PAST}line": f"""\
static inline void {PAST}line(uint8_t *to, const uint8_t *from) {{
  _mm512_stream_si512((__m512i *)to, _mm512_loadu_si512(from));
}}""",
    f"{PAST}joined": f"""\
static inline void {PAST}joined(uint8_t *to, const uint8_t *from, long n, const uint8_t *next) {{
  __mmask64 first = _bzhi_u64(~0ull, n);
  __m512i line = _mm512_maskz_loadu_epi8(first, from);
  _mm512_stream_si512((__m512i *)to, _mm512_mask_loadu_epi8(line, ~first, next - n));
}}""",
}
"""Of aligned lines: one, and one whose first n bytes are from elsewhere than the rest."""

_LINES_AVX2 = {
    "copy_bytes": """\
static inline void copy_bytes(uint8_t *to, const uint8_t *from, long n) { // n < 64
  if (n & 32) __builtin_memcpy(to, from, 32), to += 32, from += 32; // no calls, as sizes are known
  if (n & 16) __builtin_memcpy(to, from, 16), to += 16, from += 16;
  if (n & 8) __builtin_memcpy(to, from, 8), to += 8, from += 8;
  if (n & 4) __builtin_memcpy(to, from, 4), to += 4, from += 4;
  if (n & 2) __builtin_memcpy(to, from, 2), to += 2, from += 2;
  if (n & 1) *to = *from;
}""",
    f"{PAST}line": f"""\
static inline void {PAST}line(uint8_t *to, const uint8_t *from) {{
  for (long i = 0; i < 64; i += 32)
    _mm256_stream_si256((__m256i *)(to + i), _mm256_loadu_si256((const __m256i *)(from + i)));
}}""",
    f"{PAST}joined": f"""\
static inline void {PAST}joined(uint8_t *to, const uint8_t *from, long n, const uint8_t *next) {{
  uint8_t line[64];
  copy_bytes(line, from, n);
  copy_bytes(line + n, next, 64 - n);
  {PAST}line(to, line);
}}""",
}

_ROWS = f"""\
static inline void {PAST}rows(void *dst, const void *src, long rows, long bytes, long stride) {{
  uint8_t *to = dst;
  const uint8_t *from = src;
  long at = -(uintptr_t)to % 64; // the next line, counted from the start of a row
  copy_bytes(to, from, at);
  for (long row = 1;; ++row, to += bytes, from += stride) {{
    for (; at + 64 <= bytes; at += 64) {PAST}line(to + at, from + at);
    if (row == rows) break;
    if (at < bytes) {{
      {PAST}joined(to + at, from + at, bytes - at, from + stride);
      at += 64;
    }}
    at -= bytes;
  }}
  copy_bytes(to + at, from + at, bytes - at);
}}"""
"""Each line is written at once, also one that has the end of a row and the start of the next."""


def _of_bytes(size: int) -> str:
    """Stores past caches have to be aligned: in pieces of 16 bytes, as most arrays are."""
    pieces = [_QUARTER[size].format(i) for i in range(size // 16)]
    lines = "".join(
        f"    _mm_stream_si128((__m128i *)p + {i}, {piece});\n" for i, piece in enumerate(pieces)
    )
    return f"""\
static inline void {PAST}{size}(void *p, {_register(size)} v) {{
  if ((uintptr_t)p % {size} == 0) {{
    {_WHOLE[size]}(({_register(size)} *)p, v);
  }} else if ((uintptr_t)p % 16 == 0) {{
{lines}  }} else {{
    __builtin_memcpy(p, &v, {size});
  }}
}}"""


def _register(size: int) -> str:
    return f"__m{8 * size}i"
