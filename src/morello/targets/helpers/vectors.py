"""Vector types, and their loads, stores and conversions.

A helper dictionary maps a C identifier to its definition: a typedef, or one inline function.
Each dictionary is complete, and lists every identifier after those that its definition uses.

Almost all is in GNU vector extensions, so that few definitions cost a kernel the long
`immintrin.h`: those that need it are the ones with `_mm` in their text.
"""

from __future__ import annotations

from collections.abc import Iterable

_C_TYPES = {
    "u8": ("uint8_t", 1),
    "i8": ("int8_t", 1),
    "u16": ("uint16_t", 2),
    "i16": ("int16_t", 2),
    "bf16": ("uint16_t", 2),
    "f16": ("_Float16", 2),
    "u32": ("uint32_t", 4),
    "i32": ("int32_t", 4),
    "f32": ("float", 4),
    # Packed: neighbours along another dimension form one element.
    "bf16x2": ("uint32_t", 4),
    "i16x2": ("uint32_t", 4),
    "u8x4": ("uint32_t", 4),
    "i8x4": ("uint32_t", 4),
}
_REGISTER_BYTES = {"avx512": (16, 32, 64), "avx2": (16, 32), "neon": (16,)}

CONVERSIONS = (
    ("bf16", "f32"),
    ("f16", "f32"),
    ("f32", "bf16"),
    ("f32", "f16"),
    ("u8", "i16"),
    ("i8", "i16"),
    ("u8", "i32"),
    ("i8", "i32"),
    ("i16", "i32"),
    ("u16", "i32"),
    ("u8", "f32"),
    ("i8", "f32"),
    ("u16", "f32"),
    ("i16", "f32"),
    ("i32", "f32"),
    ("f32", "i32"),
    ("u32", "f32"),
    ("i32", "i16"),
    ("i32", "u16"),
    ("i32", "u8"),
    ("i32", "i8"),
    ("i32", "u32"),
    ("u32", "i32"),
)


def scalar(dtype: str) -> str:
    """The C type of one element."""
    return _C_TYPES[dtype][0]


def size(dtype: str) -> int:
    """The bytes of one element."""
    return _C_TYPES[dtype][1]


def full_width(isa: str, dtype: str) -> int:
    """The elements of the widest register."""
    return _REGISTER_BYTES[isa][-1] // size(dtype)


def shuffled(a: str, b: str, lanes: Iterable[int]) -> str:
    """C for a vector of these lanes of a and b; the lanes of b are numbered after those of a."""
    return f"__builtin_shufflevector({a}, {b}, {', '.join(map(str, lanes))})"


_MASKED_STORE = "static inline void store_part_{0}({1} *p, {0} v, int n) {{ {2}; }}"
_EXACT_STORE = """\
static inline void store_part_{0}({1} *p, {0} v, int n) {{
  if (__builtin_constant_p(n)) // a load of what lies behind would wait for a masked store
    for (int i = 0; i < n; ++i) p[i] = v[i];
  else
    {2};
}}"""
"""Stores of n elements: masked, or only if compilers do not know n."""


def vector_helpers(isa: str, dtype: str, width: int) -> dict[str, str]:
    """The vector `{dtype}x{width}`, to load, to store and to fill, whole or in part."""
    length = width * size(dtype)
    if length not in _REGISTER_BYTES[isa]:
        raise ValueError(f"{isa} has no registers of {width} {dtype}")
    kind, element = f"{dtype}x{width}", scalar(dtype)
    copies = ", ".join(["x"] * width)
    result = {
        **vector_types(dtype, width),
        f"load_{kind}": f"static inline {kind} load_{kind}(const {element} *p) "
        f"{{ return *(const {kind}_any *)p; }}",
        f"store_{kind}": f"static inline void store_{kind}({element} *p, {kind} v) "
        f"{{ *({kind}_any *)p = v; }}",
        f"splat_{kind}": f"static inline {kind} splat_{kind}({element} x) "
        f"{{ return ({kind}){{{copies}}}; }}",
    }
    if length == 64:
        load = masked_load(dtype, width)
        store = _masked_store(dtype, width, "v")
        stores = _EXACT_STORE if size(dtype) == 4 else _MASKED_STORE  # others were not timed
        result |= {
            f"load_part_{kind}": f"static inline {kind} load_part_{kind}(const {element} *p, "
            f"int n) {{ return ({kind}){load}; }}",
            f"store_part_{kind}": stores.format(kind, element, store),
        }
    return result


def conversion_helpers(isa: str, source: str, target: str, width: int) -> dict[str, str]:
    """Conversions from `source` to `target`: widening loads, or narrowing stores."""
    if (source, target) not in CONVERSIONS:
        raise ValueError(f"there is no conversion from {source} to {target}")
    if width * max(size(source), size(target)) not in _REGISTER_BYTES[isa]:
        raise ValueError(f"{isa} has no registers of {width} {source} and {target}")
    cast = f"cast_{target}_{source}"
    types: dict[str, str] = {}
    for dtype in (source, *_steps(source, target)):
        types |= vector_types(dtype, width)
    vectors = (
        _widening(isa, source, target, width)
        if size(source) <= size(target)
        else _narrowing(isa, source, target, width)
    )
    return types | vectors | {cast: _cast(source, target)}


def rounding_helpers(width: int) -> dict[str, str]:
    """`round_bf16_f32x{width}`: bf16 to nearest even, in the upper half of every lane."""
    real, bits = f"f32x{width}", f"u32x{width}"
    return {
        **vector_types("f32", width),
        **vector_types("u32", width),
        f"round_bf16_{real}": f"""\
static inline {bits} round_bf16_{real}({real} v) {{
  {bits} bits = ({bits})v, nan = ({bits})(v != v);
  {bits} rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return (~nan & rounded) | (nan & (bits | 0x400000)); // quiet, or it might become infinity
}}""",
    }


ROUNDED_BY_INSTRUCTION = {
    "store_bf16_f32x16": """\
static inline void store_bf16_f32x16(uint16_t *p, f32x16 v) {
  bf16x16 rounded = (bf16x16)_mm512_cvtneps_pbh((__m512)v);
  if (__builtin_expect(_mm512_fpclass_ps_mask((__m512)v, 0x20) != 0, 0)) // subnormal ones, now 0
    rounded = __builtin_convertvector(round_bf16_f32x16(v) >> 16, bf16x16);
  *(bf16x16_any *)p = rounded;
}""",
}
"""Helpers that replace those of AVX-512 on CPUs with an instruction that rounds to bf16."""


def _vector_name(dtype: str, width: int) -> str:
    """The C type of a vector. Four bytes get an underscore, as `u8x4` is a packed element."""
    return f"{dtype}_{width}" if width * size(dtype) == 4 else f"{dtype}x{width}"


def vector_types(dtype: str, width: int) -> dict[str, str]:
    """The type of a register, and its unaligned variant for memory."""
    kind, element = _vector_name(dtype, width), scalar(dtype)
    length = f"vector_size({width * size(dtype)})"
    return {
        kind: f"typedef {element} {kind} __attribute__(({length}));",
        f"{kind}_any": f"typedef {element} {kind}_any "
        f"__attribute__(({length}, aligned(1), may_alias));",
    }


def _widening(isa: str, source: str, target: str, width: int) -> dict[str, str]:
    narrow, wide = _vector_name(source, width), f"{target}x{width}"
    arguments = f"const {scalar(source)} *p"
    result: dict[str, str] = {}
    if source == "bf16":
        bits = f"u32x{width}"
        result |= vector_types("u32", width)
        widened = f"({wide})(__builtin_convertvector({{0}}, {bits}) << 16)"
    elif source == "f16" and isa != "neon":
        # GCC would convert the elements of a vector one by one.
        prefix, register = _intrinsic(width * 4), "__m256i" if width == 16 else "__m128i"
        widened = f"({wide}){prefix}_cvtph_ps(({register}){{0}})"
    else:
        widened = _converted("{0}", source, target, width)
    if source == "f16" and isa != "neon" and width == 4:
        loaded = "_mm_loadl_epi64((const __m128i *)p)"  # half a register
    else:
        loaded = f"*(const {narrow}_any *)p"
    name = f"load_{wide}_{source}"
    result[name] = (
        f"static inline {wide} {name}({arguments}) {{ return {widened.format(loaded)}; }}"
    )
    if width * size(target) == 64:
        part = f"load_part_{wide}_{source}"
        loaded = f"({narrow}){masked_load(source, width)}"
        result[part] = (
            f"static inline {wide} {part}({arguments}, int n) "
            f"{{ return {widened.format(loaded)}; }}"
        )
    return result


def _narrowing(isa: str, source: str, target: str, width: int) -> dict[str, str]:
    narrow, wide = _vector_name(target, width), f"{source}x{width}"
    element = scalar(target)
    result: dict[str, str] = {}
    if target == "bf16":
        result |= rounding_helpers(width)
        narrowed = f"__builtin_convertvector(round_bf16_{wide}(v) >> 16, {narrow})"
    elif target in ("i16", "u16", "u8", "i8"):
        narrowed = _converted("v", source, target, width)  # wraps
    elif isa != "neon":
        narrowed = f"{_intrinsic(width * 4)}_cvtps_ph((__m{max(width * 32, 128)})v, 0)"
        if width > 4:
            narrowed = f"({narrow}){narrowed}"
    else:
        narrowed = f"__builtin_convertvector(v, {narrow})"
    if target == "f16" and isa != "neon" and width == 4:
        stored = f"_mm_storel_epi64((__m128i *)p, {narrowed})"  # half a register
    else:
        stored = f"*({narrow}_any *)p = {narrowed}"
    name = f"store_{target}_{wide}"
    result[name] = f"static inline void {name}({element} *p, {wide} v) {{ {stored}; }}"
    if width * size(source) == 64:
        part = f"store_part_{target}_{wide}"
        stored = _masked_store(target, width, narrowed)
        if target != "f16":
            # Not the masked store above: of a single element, clang 22 would store four bytes.
            kept = f"(__m512i)(round_bf16_{wide}(v) >> 16)" if target == "bf16" else "(__m512i)v"
            bits = 8 * size(target)
            stored = f"_mm512_mask_cvtepi32_storeu_epi{bits}(p, {_mask(width)}, {kept})"
        result[part] = f"static inline void {part}({element} *p, {wide} v, int n) {{ {stored}; }}"
    return result


def _steps(source: str, target: str) -> tuple[str, ...]:
    """The types that the elements of a vector are converted to, one after the other.

    Between one byte and four there are two, and between integers of 16 bits and floats, or GCC
    would convert the elements one by one.
    """
    if {size(source), size(target)} == {1, 4}:
        return ("i16", target)
    return ("i32", target) if source in ("u16", "i16") and target == "f32" else (target,)


def _converted(vector: str, source: str, target: str, width: int) -> str:
    """C for a vector whose elements are converted to another type."""
    for dtype in _steps(source, target):
        vector = f"__builtin_convertvector({vector}, {_vector_name(dtype, width)})"
    return vector


def _cast(source: str, target: str) -> str:
    head = f"static inline {scalar(target)} cast_{target}_{source}({scalar(source)} x)"
    if source == "bf16":
        value = "(union { uint32_t bits; float value; }){(uint32_t)x << 16}.value"
        return f"{head} {{ return {value}; }}"
    if target == "bf16":
        return f"""\
{head} {{
  uint32_t bits = (union {{ float value; uint32_t bits; }}){{x}}.bits;
  if (x != x) return bits >> 16 | 0x40; // quiet, or it might become infinity
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}}"""
    return f"{head} {{ return x; }}"


def _intrinsic(length: int) -> str:
    return "_mm" if length == 16 else f"_mm{length * 8}"


def _register(length: int) -> str:
    return f"__m{length * 8}i"


def _mask(width: int) -> str:
    """A mask of the first n bits, n from 0 to `width`; shifting a 1 would overflow at `width`."""
    bits = "_bzhi_u64(~0ull, n)" if width == 64 else "_bzhi_u32(~0u, n)"
    return f"(__mmask{width}){bits}"


def masked_load(dtype: str, width: int) -> str:
    """Load n elements at p, with zeros behind them. No others are read."""
    prefix = _intrinsic(width * size(dtype))
    return f"{prefix}_maskz_loadu_epi{size(dtype) * 8}({_mask(width)}, p)"


def _masked_store(dtype: str, width: int, value: str) -> str:
    length = width * size(dtype)
    return (
        f"{_intrinsic(length)}_mask_storeu_epi{size(dtype) * 8}"
        f"(p, {_mask(width)}, ({_register(length)}){value})"
    )
