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
