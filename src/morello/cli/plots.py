"""Plots as text: dots of braille where what is printed can have them, and else characters."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Final

WIDTH: Final = 60
"""The characters in a row of a plot."""

_BLANK = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bits of the dots of a braille character, by row and column."""

_PLAIN = "*"


def plot(
    points: Iterable[tuple[float, float]],
    height: int,
    top: str,
    bottom: str,
    ends: tuple[str, str],
    marked: Iterable[tuple[float, float]] = (),
    mark: str = "o",
) -> str:
    """A plot of points in a frame of so many rows, whose edges have texts.

    The coordinates of points, across and up, are from 0 to 1. Where those that are `marked` are,
    there is a `mark`.
    """
    cells = _braille(points, height) if _has_braille() else _plain(points, height)
    for row, column in _places(marked, height, WIDTH):
        cells[row][column] = mark
    rows = ("|" + "".join(row).rstrip() for row in cells)
    low = f"{bottom}; {ends[0]}{ends[1]:>{WIDTH - len(ends[0])}}"
    return "\n".join([top, *rows, "+" + "-" * WIDTH, low])


def _braille(points: Iterable[tuple[float, float]], height: int) -> list[list[str]]:
    bits = [[_BLANK] * WIDTH for _ in range(height)]
    down, across = len(_DOTS), len(_DOTS[0])
    for row, column in _places(points, height * down, WIDTH * across):
        bits[row // down][column // across] |= _DOTS[row % down][column % across]
    return [[chr(cell) if cell > _BLANK else " " for cell in row] for row in bits]


def _plain(points: Iterable[tuple[float, float]], height: int) -> list[list[str]]:
    cells = [[" "] * WIDTH for _ in range(height)]
    for row, column in _places(points, height, WIDTH):
        cells[row][column] = _PLAIN
    return cells


def _places(
    points: Iterable[tuple[float, float]], rows: int, columns: int
) -> Iterable[tuple[int, int]]:
    """The rows, from the top, and the columns of points in a grid."""
    for x, y in points:
        yield rows - 1 - _cell(y, rows), _cell(x, columns)


def _cell(part: float, count: int) -> int:
    return min(int(part * count), count - 1)


def parts(values: Sequence[float]) -> list[float]:
    """Where values lie between the least, 0, and the largest, 1."""
    low, high = min(values), max(values)
    return [(value - low) / ((high - low) or 1.0) for value in values]


def _has_braille() -> bool:
    """Whether standard output can have braille."""
    try:
        chr(_BLANK).encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
