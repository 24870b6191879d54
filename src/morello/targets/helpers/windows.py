"""Sums and extrema of each few neighbours of a row: windows side by side, or short rows.

Registers of all rows of the windows are combined first, which needs no shuffles, and only then
neighbours, in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from morello.targets.helpers.math import math_helpers
from morello.targets.helpers.vectors import shuffled, vector_helpers

NEIGHBOURS = range(2, 9)
"""How many neighbours a window may have: as many registers are combined to one."""


def widths_down_from(width: int) -> Sequence[int]:
    """The floats of a register, and of halves of it, for rows of fewer windows."""
    return [n for n in (16, 8, 4) if n <= width]


def window_helpers(isa: str, width: int) -> dict[str, str]:
    """The folds of windows of `NEIGHBOURS` columns, x of them side by side, and of p rows.

    There are as many windows as a register has floats, or more; the last register of results
    overlaps the one before. No pixel is read that is in no window.
    """
    kind = f"f32x{width}"
    helpers = vector_helpers(isa, "f32", width) | math_helpers(width)
    helpers[f"plus_{kind}"] = (
        f"static inline {kind} plus_{kind}({kind} a, {kind} b) {{ return a + b; }}"
    )
    for count in NEIGHBOURS:
        text = _folded(count, width)
        for name, both in (("sum", "plus"), ("max", "max"), ("min", "min")):
            helpers[f"{name}_of_{count}_{kind}"] = text.replace("FOLD", name).replace("BOTH", both)
    return helpers


def _folded(count: int, width: int) -> str:
    """The fold of windows, in which FOLD is its name, and BOTH what combines two registers."""
    kind = f"f32x{width}"
    lines, result = _combined(count, width)
    body = "\n    ".join(lines)
    return f"""\
static inline __attribute__((always_inline)) void FOLD_of_{count}_{kind}(const float *image,
    long row, float *out, int x, int p) {{
#pragma GCC unroll 1
  for (int begin = 0, next; begin + {width} <= x; begin = next) {{
    next = begin + {width} == x ? x : begin + {2 * width} < x ? begin + {width} : x - {width};
    const float *s = image + {count}l * begin;
    {kind} v[{count}];
#pragma GCC unroll {count}
    for (int i = 0; i < {count}; ++i) v[i] = load_{kind}(s + i * {width});
#pragma GCC unroll {NEIGHBOURS[-1]}
    for (int r = 1; r < p; ++r)
#pragma GCC unroll {count}
      for (int i = 0; i < {count}; ++i)
        v[i] = BOTH_{kind}(v[i], load_{kind}(s + r * row + i * {width}));
    {body}
    store_{kind}(out + begin, {result});
  }}
}}"""


def _combined(count: int, width: int) -> tuple[Sequence[str], str]:
    """C that combines each `count` neighbours of the registers v, and that of the result."""
    lines: list[str] = []
    registers = [f"v[{i}]" for i in range(count)]

    def defined(value: str) -> str:
        lines.append(f"const f32x{width} t{len(lines)} = {value};")
        return f"t{len(lines) - 1}"

    def both(a: str, b: str) -> str:
        return defined(f"BOTH_f32x{width}({a}, {b})")

    even, odd = range(0, 2 * width, 2), range(1, 2 * width, 2)
    while len(registers) % 2 == 0:  # pairs of neighbours
        pairs = zip(registers[::2], registers[1::2], strict=True)
        registers = [both(shuffled(*pair, even), shuffled(*pair, odd)) for pair in pairs]
    first, *others = _each_in_turn(defined, registers, width) if registers[1:] else registers
    for other in others:
        first = both(first, other)
    return lines, first


def _each_in_turn(
    defined: Callable[[str], str], registers: Sequence[str], width: int
) -> Iterator[str]:
    """Registers of the first of every few elements, of the second, and so on.

    As many as there are registers: an odd number, so that each is in another lane of its register.
    """
    count = len(registers)
    for turn in range(count):
        places = range(turn, count * width, count)
        source = {place % width: place // width for place in places}
        value = registers[0]
        for index, register in enumerate(registers[1:], 1):
            lanes = (lane + width * (source[lane] == index) for lane in range(width))
            value = defined(shuffled(value, register, lanes))
        yield defined(shuffled(value, value, (place % width for place in places)))
