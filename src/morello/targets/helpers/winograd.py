"""Winograd's transforms of a run of channels, as C that needs no library.

Squares of pixels are turned into points, and points into tiles, along rows first and columns then.
Distances are in floats: of pixels along rows and columns, and of points. The letters are
those of `runs`.
"""

from __future__ import annotations

from morello.targets.helpers.math import expand


def winograd_helpers(width: int) -> dict[str, str]:
    """The transforms at one vector width, by name; they call what `run_helpers` has."""
    return expand(_LINES | _RUNS, width)


# One line of a square, whose elements are `s` apart, into `out`, whose elements are next to each
# other; see `TRANSFORMS`.
_LINES = {
    "winograd_input_line_2": """
static inline void winograd_input_line_2_$K(const $F *d, int s, $F *out) {
  out[0] = d[0] - d[2 * s];
  out[1] = d[s] + d[2 * s];
  out[2] = d[2 * s] - d[s];
  out[3] = d[s] - d[3 * s];
}
""",
    "winograd_output_line_2": """
static inline void winograd_output_line_2_$K(const $F *d, int s, $F *out) {
  out[0] = d[0] + d[s] + d[2 * s];
  out[1] = d[s] - d[2 * s] - d[3 * s];
}
""",
    "winograd_input_line_4": """
static inline void winograd_input_line_4_$K(const $F *d, int s, $F *out) {
  $F a = d[4 * s] - 4 * d[2 * s], b = d[3 * s] - 4 * d[s];
  $F c = d[4 * s] - d[2 * s], e = 2 * (d[3 * s] - d[s]);
  out[0] = 4 * d[0] - 5 * d[2 * s] + d[4 * s];
  out[1] = a + b;
  out[2] = a - b;
  out[3] = c + e;
  out[4] = c - e;
  out[5] = 4 * d[s] - 5 * d[3 * s] + d[5 * s];
}
""",
    "winograd_output_line_4": """
static inline void winograd_output_line_4_$K(const $F *d, int s, $F *out) {
  $F a = d[s] + d[2 * s], b = d[s] - d[2 * s];
  $F c = d[3 * s] + d[4 * s], e = d[3 * s] - d[4 * s];
  out[0] = d[0] + a + c;
  out[1] = b + 2 * e;
  out[2] = a + 4 * c;
  out[3] = b + 8 * e + d[5 * s];
}
""",
}

_INPUT = """
static inline void winograd_input_TILE_$K(const float *image, long row, long column, float *out,
                                          long point, long n) {
  for (long c = 0; c < n; c += $W) {
    $F d[SIDE * SIDE], e[SIDE * SIDE], line[SIDE];
    for (int p = 0; p < SIDE; ++p)
      for (int q = 0; q < SIDE; ++q) {
        const float *at = image + p * row + q * column + c;
        d[SIDE * p + q] = n - c < $W ? load_part_$K(at, n - c) : load_$K(at);
      }
    for (int p = 0; p < SIDE; ++p) winograd_input_line_TILE_$K(d + SIDE * p, 1, e + SIDE * p);
    for (int q = 0; q < SIDE; ++q) {
      winograd_input_line_TILE_$K(e + q, SIDE, line);
      for (int p = 0; p < SIDE; ++p) {
        float *at = out + (SIDE * p + q) * point + c;
        if (n - c < $W) store_part_$K(at, line[p], n - c);
        else store_$K(at, line[p]);
      }
    }
  }
}
"""

_OUTPUT = """
static inline void winograd_output_TILE_$K(const float *x, long point, float *out, long row,
                                           long column, long n) {
  for (long f = 0; f < n; f += $W) {
    $F d[SIDE * SIDE], e[SIDE * TILE], line[TILE];
    for (int t = 0; t < SIDE * SIDE; ++t) {
      const float *at = x + t * point + f;
      d[t] = n - f < $W ? load_part_$K(at, n - f) : load_$K(at);
    }
    for (int p = 0; p < SIDE; ++p) winograd_output_line_TILE_$K(d + SIDE * p, 1, e + TILE * p);
    for (int j = 0; j < TILE; ++j) {
      winograd_output_line_TILE_$K(e + j, TILE, line);
      for (int i = 0; i < TILE; ++i) {
        float *at = out + i * row + j * column + f;
        if (n - f < $W) store_part_$K(at, line[i], n - f);
        else store_$K(at, line[i]);
      }
    }
  }
}
"""


def _for_tile(text: str, tile: int) -> str:
    return text.replace("TILE", str(tile)).replace("SIDE", str(tile + 2))


_RUNS = {
    f"winograd_{name}_{tile}": _for_tile(text, tile)
    for name, text in (("input", _INPUT), ("output", _OUTPUT))
    for tile in (2, 4)
}
