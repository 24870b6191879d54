"""Sums and extrema of several short runs at once: a register of results, one of each run.

A run by itself ends with a register that is combined with itself, which takes longer than a short
run. Registers of several runs are combined pair by pair, lanes of one beside those of the other,
which takes two shuffles for each run.
"""

from __future__ import annotations

from collections.abc import Iterator

from morello.targets.helpers.math import expand

_FOLDS = {
    "sum_of_rows": ("fill_$K(0.0f)", "load_part_$K({p}, n - i)", "{s} + {v}"),
    "sum_squares_of_rows": ("fill_$K(0.0f)", "load_part_$K({p}, n - i)", "{s} + {v} * {v}"),
    "max_of_rows": (
        "fill_$K(-__builtin_inff())", "load_before_$K({p}, n - i, s[r])", "max_$K({v}, {s})",
    ),
    "min_of_rows": (
        "fill_$K(__builtin_inff())", "load_before_$K({p}, n - i, s[r])", "min_$K({v}, {s})",
    ),
}  # fmt: skip
"""The start of a fold, the load of a part of a register, and a step, by the name of the fold."""


def row_folds(width: int) -> dict[str, str]:
    """The folds of as many runs as a register has floats, by name; `step` is from run to run."""
    texts = {name: _fold(name, width) for name in _FOLDS}
    return expand(texts, width)


def _fold(name: str, width: int) -> str:
    start, part, step = _FOLDS[name]
    row = "x + r * step + i"
    first, rest = (step.format(s="s[r]", v="v") for _ in range(2))
    both = step.replace("{v} * {v}", "{v}").format(s="low", v="high")
    return f"""
static inline __attribute__((always_inline)) $F {name}_$K(const float *x, long step, long n) {{
  $F s[$W];
#pragma GCC unroll $W
  for (int r = 0; r < $W; ++r) s[r] = {start};
  long i = 0;
#pragma GCC unroll 1
  for (; i + $W <= n; i += $W)
#pragma GCC unroll $W
    for (int r = 0; r < $W; ++r) {{
      const $F v = load_$K({row});
      s[r] = {first};
    }}
  if (i < n)
#pragma GCC unroll $W
    for (int r = 0; r < $W; ++r) {{
      const $F v = {part.format(p=row)};
      s[r] = {rest};
    }}
{"".join(_halved(width, both))}\
  return s[0];
}}
"""


def _halved(width: int, both: str) -> Iterator[str]:
    """C that combines pairs of registers until there is one, whose lanes are in order.

    With lanes of a run in groups of `size`, the lower halves of two registers' groups are beside
    each other, and so are the upper ones.
    """
    size = width
    while size > 1:
        half = size // 2
        low = [
            g + o + r * width for g in range(0, width, size) for r in (0, 1) for o in range(half)
        ]
        high = [lane + half for lane in low]
        pairs = (
            f"__builtin_shufflevector(s[r], s[r + {half}], {', '.join(map(str, lanes))})"
            for lanes in (low, high)
        )
        yield f"""\
#pragma GCC unroll {half}
  for (int r = 0; r < {half}; ++r) {{
    const $F low = {next(pairs)};
    const $F high = {next(pairs)};
    s[r] = {both};
  }}
"""
        size = half
