"""Loops over a contiguous run of floats in cache, as C that needs no library.

A run may have any length, and nothing outside it is accessed: a rest that does not fill a
register is loaded and stored in part. Sums and extrema use several accumulators, to hide the
latency of each operation. The `m` of an exp(x - m) must be no less than any x, except NaN: then
a softmax of these equals NumPy's exp(x - max) / sum in every special case. A row with NaN or
+inf becomes NaN, and so does one of only -inf; otherwise -inf becomes 0.

As in `math`, `$F` is the type of floats, `$I` of integers, and `$K` ends the names; `$W` is
the number of floats in a register.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Template

from morello.targets.helpers.math import expand, math_helpers
from morello.targets.helpers.scans import place_runs
from morello.targets.helpers.vectors import conversion_helpers, scalar

ROW = 4
"""The most registers of a row that is kept in them."""


def run_helpers(width: int) -> dict[str, str]:
    """All loops at one vector width, and the helpers that they call, by name."""
    moves = _WHOLE | (_PARTS if width > 1 else _NO_PARTS)
    if width == 16:
        moves |= _PARTS_AVX512
    runs = {name: _without_unrolling(text) for name, text in _RUNS.items()}
    texts = moves | _folds(width) | runs
    return math_helpers(1) | math_helpers(width) | expand(texts, width)


def converted_runs(isa: str, source: str, width: int) -> dict[str, str]:
    """Sums of a run of numbers of 16 bits, or of squares, in f32 from when they are loaded.

    Extrema are found by comparing bits.
    """
    kind = f"f32x{width}_{source}"
    helpers = conversion_helpers(isa, source, "f32", width)
    in_part = f"load_part_{kind}" in helpers
    for name, term in _TERMS.items():
        text = _without_unrolling(_sum_run(name, term, source=source, in_part=in_part))
        (helpers[f"{name}_{kind}"],) = expand({name: text}, width).values()
    for name, values in _EXTREMA.items():
        helpers[f"{name}_{source}"] = Template(_EXTREMUM_RUN).substitute(
            values, name=name, source=source, element=scalar(source), infinity=_INFINITY[source]
        )
    return helpers


_TERMS = {"sum_run": "v", "sum_squares_run": "v * v"}
"""The summand of each element v of a run, in C, by the name of the sum."""


def _without_unrolling(text: str) -> str:
    """Clang would unroll loops of known length completely, and run out of registers."""
    return re.sub(r"^( *)(?=for \(; i)", r"#pragma GCC unroll 1\n\1", text, flags=re.M)


def _folds(width: int) -> dict[str, str]:
    """Horizontal sum and extrema: combine a register with itself rotated by half, etc."""
    return {
        name: "\n".join(
            [
                f"static inline float {name}_$K($F v) {{",
                *(f"  v = {combine.format(rotated)};" for rotated in _rotations(width)),
                "  return v;" if width == 1 else "  return v[0];",
                "}",
            ]
        )
        for name, combine in (
            ("sum_of", "v + {}"),
            ("largest_of", "larger_$K(v, {})"),
            ("smallest_of", "smaller_$K(v, {})"),
        )
    }


def _rotations(width: int) -> Iterator[str]:
    by = width // 2
    while by:
        lanes = ", ".join(str((lane + by) % width) for lane in range(width))
        yield f"__builtin_shufflevector(v, v, {lanes})"
        by //= 2


# ---- loads and stores of registers, whole and in part

_WHOLE = {
    "load": """
static inline $F load_$K(const float *p) { return *(const $A *)p; }
""",
    "store": """
static inline void store_$K(float *p, $F v) { *($A *)p = v; }
""",
}

_PARTS = {
    "first": """
// all ones in the first n lanes
static inline $I first_$K(long n) {
  $I lane = {0};
  for (int i = 0; i < $W; ++i) lane[i] = i;
  return lane < (int)n;
}
""",
    # Loops over all lanes, so that no compiler turns them into calls of memcpy.
    "load_part": """
static inline $F load_part_$K(const float *p, int n) {
  $F v = {0};
  for (int i = 0; i < $W; ++i) v[i] = p[i < n ? i : 0];
  return pick_$K(first_$K(n), v, fill_$K(0.0f));
}
""",
    "store_part": """
static inline void store_part_$K(float *p, $F v, int n) {
  for (int i = 0; i < $W; ++i)
    if (i < n) p[i] = v[i];
}
""",
    "load_before": """
// the n floats at p, and then those of `rest`
static inline $F load_before_$K(const float *p, int n, $F rest) {
  return pick_$K(first_$K(n), load_part_$K(p, n), rest);
}
""",
}

_PARTS_AVX512 = {
    "load_part": """
static inline f32x16 load_part_f32x16(const float *p, int n) {
#ifdef __AVX512F__
  return (f32x16)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#else
  f32x16 v = {0};
  for (int i = 0; i < 16; ++i) v[i] = p[i < n ? i : 0];
  return pick_f32x16(first_f32x16(n), v, fill_f32x16(0.0f));
#endif
}
""",
    "store_part": """
static inline void store_part_f32x16(float *p, f32x16 v, int n) {
#ifdef __AVX512F__
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
#else
  for (int i = 0; i < 16; ++i)
    if (i < n) p[i] = v[i];
#endif
}
""",
    # Of a masked load that is picked from, clang may make one that expands memory: 70 cycles.
    "load_before": """
static inline f32x16 load_before_f32x16(const float *p, int n, f32x16 rest) {
#ifdef __AVX512F__
  return (f32x16)_mm512_mask_loadu_ps((__m512)rest, (__mmask16)((1u << n) - 1), p);
#else
  return pick_f32x16(first_f32x16(n), load_part_f32x16(p, n), rest);
#endif
}
""",
}

# A scalar has no parts; these are never called.
_NO_PARTS = {
    "first": """
static inline int first_f32(long n) { return n > 0; }
""",
    "load_part": """
static inline float load_part_f32(const float *p, int n) { return n > 0 ? *p : 0.0f; }
""",
    "load_before": """
static inline float load_before_f32(const float *p, int n, float rest) { return n > 0 ? *p : rest; }
""",
    "store_part": """
static inline void store_part_f32(float *p, float v, int n) {
  if (n > 0) *p = v;
}
""",
}

# ---- the loops

# Floats are in the order of their bits as integers, those below 0 in the opposite order.
_EXTREMUM_RUN = """\
static inline float ${name}_$source(const $element *x, long n, float m) {
  const __attribute__((may_alias)) int16_t *all = (const void *)x;
  int16_t best = $worst, most = 0;
  for (long i = 0; i < n; ++i) {
    int16_t bits = all[i], magnitude = bits & 0x7fff, key = bits ^ ((bits >> 15) & 0x7fff);
    best = key $better best ? key : best;
    most = magnitude > most ? magnitude : most;
  }
  if (most > $infinity) return __builtin_nanf("");
  union { int16_t bits; $element value; } found = {best ^ ((best >> 15) & 0x7fff)};
  float top = cast_f32_$source(found.value);
  return top $better m ? top : m;
}"""


def _sum_by_instruction(name: str, factor: str) -> str:
    return f"""\
static inline float {name}_f32x16_bf16(const uint16_t *x, long n) {{
  __m512 s[8];
  for (int j = 0; j < 8; ++j) s[j] = _mm512_setzero_ps();
  long i = 0;
#pragma GCC unroll 1
  for (; i + 256 <= n; i += 256)
    for (int j = 0; j < 8; ++j) {{
      const __m512i v = _mm512_loadu_si512(x + i + 32 * j);
      s[j] = _mm512_dpbf16_ps(s[j], (__m512bh)v, (__m512bh){factor});
    }}
#pragma GCC unroll 1
  for (; i < n; i += 32) {{
    const __mmask32 first = n - i < 32 ? (1u << (n - i)) - 1 : ~0u;
    const __m512i v = _mm512_maskz_loadu_epi16(first, x + i);
    s[0] = _mm512_dpbf16_ps(s[0], (__m512bh)v, (__m512bh){factor});
  }}
  for (int j = 4; j > 0; j /= 2)
    for (int k = 0; k < j; ++k) s[k] = _mm512_add_ps(s[k], s[k + j]);
  return sum_of_f32x16((f32x16)s[0]);
}}"""


SUMMED_BY_INSTRUCTION = {
    f"{name}_f32x16_bf16": _sum_by_instruction(name, factor)
    for name, factor in (("sum_run", "_mm512_set1_epi16(0x3f80)"), ("sum_squares_run", "v"))
}
"""Helpers that replace those of AVX-512 on CPUs with an instruction that sums products of bf16."""

_EXTREMA = {
    "max_run": {"worst": "-32767 - 1", "better": ">"},
    "min_run": {"worst": "32767", "better": "<"},
}
"""The result that any number is better than, and the comparison, by the name of the run."""

_INFINITY = {"bf16": "0x7f80", "f16": "0x7c00"}
"""The bits of infinity; those of NaN are larger."""

_SUM_RUN = """
static inline float ${name}_${K}$suffix(const $element *x, ${given}long n) {
  $F s[8] = {0};
  long i = 0;
  for (; i + 8 * $W <= n; i += 8 * $W)
    for (int j = 0; j < 8; ++j) {
      $F v = load_${K}$suffix(x + i + j * $W)$less;
      s[j] += $term;
    }
  for (; i + $W <= n; i += $W) {
    $F v = load_${K}$suffix(x + i)$less;
    s[0] += $term;
  }
$rest
  return sum_of_$K(((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])));
}
"""
_REST_IN_PART = """\
  if (i < n) {
    $F v = $part;
    s[1] += $term;
  }"""
_REST_BY_ELEMENTS = """\
  for (; i < n; ++i) {
    float v = cast_f32$suffix(x[i]);
    s[1][0] += $term;
  }"""


def _sum_run(
    name: str, term: str, *, center: str = "", source: str = "", in_part: bool = True
) -> str:
    """The sum of a term of each element v of a run, or of v less a center.

    Elements of a `source` dtype are converted; where registers of these cannot be loaded in part,
    the last ones are added one by one.
    """
    suffix = f"_{source}" if source else ""
    part = f"load_part_${{K}}{suffix}(x + i, n - i)"
    if center:
        part = f"pick_$K(first_$K(n - i), {part} - {center}, fill_$K(0.0f))"
    values = {
        "name": name, "term": term, "suffix": suffix, "element": scalar(source or "f32"),
        "given": f"float {center}, " if center else "", "less": f" - {center}" if center else "",
        "part": part,
    }  # fmt: skip
    rest = Template(_REST_IN_PART if in_part else _REST_BY_ELEMENTS).safe_substitute(values)
    return Template(_SUM_RUN).safe_substitute(values, rest=rest)


# Comparing a with itself and b with itself compiles to one comparison, of a with b. NaN is
# detected beside the maximum, not on its critical path.
_MAX_RUN = """
static inline float max_run_$K(const float *x, long n, float m) {
  $F top[8], nan[4] = {0};
  for (int j = 0; j < 8; ++j) top[j] = fill_$K(m);
  long i = 0;
  for (; i + 8 * $W <= n; i += 8 * $W)
    for (int j = 0; j < 4; ++j) {
      $F a = load_$K(x + i + j * $W), b = load_$K(x + i + (j + 4) * $W);
      top[j] = larger_$K(a, top[j]);
      top[j + 4] = larger_$K(b, top[j + 4]);
      nan[j] = pick_$K((a != a) | (b != b), fill_$K(__builtin_nanf("")), nan[j]);
    }
  for (; i + $W <= n; i += $W) {
    $F a = load_$K(x + i);
    top[0] = larger_$K(a, top[0]);
    nan[0] = pick_$K(a != a, a, nan[0]);
  }
  if (i < n) {
    $F a = load_before_$K(x + i, n - i, top[0]);
    top[0] = larger_$K(a, top[0]);
    nan[0] = pick_$K(a != a, a, nan[0]);
  }
  for (int j = 4; j > 0; j /= 2)
    for (int k = 0; k < j; ++k) top[k] = larger_$K(top[k], top[k + j]);
  float largest = largest_of_$K(top[0]), poison = sum_of_$K((nan[0] + nan[1]) + (nan[2] + nan[3]));
  return poison != poison ? poison : largest;
}
"""

_RUNS = {
    "max_run": _MAX_RUN,
    "min_run": _MAX_RUN.replace("max_run", "min_run").replace("larg", "small"),
    **{name: _sum_run(name, term) for name, term in _TERMS.items()},
    "deviations_run": _sum_run("deviations_run", "v * v", center="m"),
    "exp_sum_run": """
static inline float exp_sum_run_$K(const float *x, float m, long n) {
  $F s[4] = {0}, e[4];
  long i = 0;
  for (; i + 4 * $W <= n; i += 4 * $W) {
    for (int j = 0; j < 4; ++j) e[j] = load_$K(x + i + j * $W) - m;
    exp_low_4_$K(e);
    for (int j = 0; j < 4; ++j) s[j] += e[j];
  }
  for (; i + $W <= n; i += $W) s[0] += exp_low_$K(load_$K(x + i) - m);
  if (i < n) {
    $F rest = exp_low_$K(load_part_$K(x + i, n - i) - m);
    s[1] += pick_$K(first_$K(n - i), rest, fill_$K(0.0f));
  }
  return sum_of_$K((s[0] + s[1]) + (s[2] + s[3]));
}
""",
    "exp_store_run": """
static inline float exp_store_run_$K(const float *x, float m, float *out, long n) {
  $F s[4] = {0}, e[4];
  long i = 0;
  for (; i + 4 * $W <= n; i += 4 * $W) {
    for (int j = 0; j < 4; ++j) e[j] = load_$K(x + i + j * $W) - m;
    exp_low_4_$K(e);
    for (int j = 0; j < 4; ++j) store_$K(out + i + j * $W, e[j]);
    for (int j = 0; j < 4; ++j) s[j] += e[j];
  }
  for (; i + $W <= n; i += $W) {
    e[0] = exp_low_$K(load_$K(x + i) - m);
    store_$K(out + i, e[0]);
    s[0] += e[0];
  }
  if (i < n) {
    $F rest = exp_low_$K(load_part_$K(x + i, n - i) - m);
    store_part_$K(out + i, rest, n - i);
    s[1] += pick_$K(first_$K(n - i), rest, fill_$K(0.0f));
  }
  return sum_of_$K((s[0] + s[1]) + (s[2] + s[3]));
}
""",
    "softmax_complete_run": """
static inline void softmax_complete_run_$K(const float *x, float m, float d, float *out, long n) {
  float s = 1.0f / d;
  long i = 0;
  for (; i + 4 * $W <= n; i += 4 * $W) {
    $F e[4];
    for (int j = 0; j < 4; ++j) e[j] = load_$K(x + i + j * $W) - m;
    exp_low_4_$K(e);
    for (int j = 0; j < 4; ++j) store_$K(out + i + j * $W, e[j] * s);
  }
  for (; i + $W <= n; i += $W) store_$K(out + i, exp_low_$K(load_$K(x + i) - m) * s);
  if (i < n) store_part_$K(out + i, exp_low_$K(load_part_$K(x + i, n - i) - m) * s, n - i);
}
""",
    # Whoever calls it knows n, so that loops are unrolled, and a row stays in registers. Lanes
    # beyond its end count as -inf.
    "softmax_run": """
static inline void softmax_run_$K(const float *x, float *out, long n) {
  $F v[$ROW], lowest = fill_$K(-__builtin_inff()), top = lowest, s = {0};
#pragma GCC unroll $ROW
  for (int j = 0; j < $ROW; ++j) {
    const long left = n - j * $W;
    v[j] = lowest;
    if (left >= $W) v[j] = load_$K(x + j * $W);
    else if (left > 0) v[j] = load_before_$K(x + j * $W, left, lowest);
    top = larger_$K(v[j], top);
  }
  const float m = largest_of_$K(top);
#pragma GCC unroll $ROW
  for (int j = 0; j < $ROW; ++j)
    if (j * $W < n) {
      v[j] = exp_low_$K(v[j] - m);
      s += v[j];
    }
  const float scale = 1.0f / sum_of_$K(s);
#pragma GCC unroll $ROW
  for (int j = 0; j < $ROW; ++j) {
    const long left = n - j * $W;
    if (left >= $W) store_$K(out + j * $W, v[j] * scale);
    else if (left > 0) store_part_$K(out + j * $W, v[j] * scale, left);
  }
}
""".replace("$ROW", str(ROW)),
    # The last register of columns overlaps the one before it.
    "softmax_columns": """
static inline void softmax_columns_$K(const float *x, float *out, long count, long step, long to,
                                      long n) {
  for (long j = 0; j < n; j += $W) {
    const long at = j + $W <= n ? j : n - $W;
    $F top = load_$K(x + at), s = {0};
    for (long i = 1; i < count; ++i) top = larger_$K(load_$K(x + i * step + at), top);
    for (long i = 0; i < count; ++i) {
      const $F e = exp_low_$K(load_$K(x + i * step + at) - top);
      store_$K(out + i * to + at, e);
      s += e;
    }
    s = 1.0f / s;
    for (long i = 0; i < count; ++i) store_$K(out + i * to + at, load_$K(out + i * to + at) * s);
  }
}
""",
    "scale_run": """
static inline void scale_run_$K(float *x, float s, long n) {
  long i = 0;
  for (; i + 4 * $W <= n; i += 4 * $W)
    for (int j = 0; j < 4; ++j) store_$K(x + i + j * $W, load_$K(x + i + j * $W) * s);
  for (; i + $W <= n; i += $W) store_$K(x + i, load_$K(x + i) * s);
  if (i < n) store_part_$K(x + i, load_part_$K(x + i, n - i) * s, n - i);
}
""",
    "merge_run": """
static inline void merge_run_$K(const float *tops, const float *totals, long n, float *m,
                                float *d) {
  float top = max_run_$K(tops, n, *m);
  if (top == -__builtin_inff()) return;  // nothing to add, and -inf - -inf is NaN
  float sum = *d * exp_f32(*m - top);
  for (long i = 0; i < n; ++i) sum += totals[i] * exp_f32(tops[i] - top);
  *m = top;
  *d = sum;
}
""",
    "online_run": """
static inline void online_run_$K(const float *x, long n, float *m, float *d) {
  for (long i = 0; i < n; i += 1024) {
    long size = n - i < 1024 ? n - i : 1024;  // read twice, the second time from L1
    float top = max_run_$K(x + i, size, *m);
    if (top == -__builtin_inff()) continue;  // nothing to add, and -inf - -inf is NaN
    *d = *d * exp_f32(*m - top) + exp_sum_run_$K(x + i, top, size);
    *m = top;
  }
}
""",
    **place_runs("float", "$K"),
}
