"""The sizes a dimension may be tiled to, and their coordinates.

A *smooth* size (2^a * 3^b) is divided by 2 or 3, which reaches all its divisors. Any
other size is first cut to a smooth tile, which leaves a remainder of any size.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

FACTORS = (2, 3)


def is_smooth(size: int) -> bool:
    return smooth_part(size) == size


def cuts(size: int, widths: frozenset[int] = frozenset()) -> tuple[int, ...]:
    """The tiles that a size may be cut to: any, to these widths; one not smooth, to others.

    A power of two: the largest below a small size; about an eighth of a large one, so
    that most of it is an even loop. And the smooth part, which leaves no remainder.
    """
    panels = {width for width in widths if width < size}
    if is_smooth(size):
        return tuple(sorted(panels))
    below = size if size <= 128 else size // 6
    part = smooth_part(size)
    tiles = {1 << below.bit_length() - 1} | ({part} if part >= 8 else set())
    return tuple(sorted(tiles | panels))


def smooth_part(size: int) -> int:
    """The largest smooth divisor."""
    part = 1
    for factor in FACTORS:
        while size % (part * factor) == 0:
            part *= factor
    return part


def steps(size: int, widths: frozenset[int] = frozenset()) -> list[tuple[int, ...]]:
    """All the sizes that one step of tiling leaves: the tile's, and the remainder's if any."""
    divisions = [(size // f,) for f in FACTORS if size % f == 0 and is_smooth(size)]
    return divisions + [(t, size % t) if size % t else (t,) for t in cuts(size, widths)]


class Sizes:
    """All sizes reachable from some, in order: a size's rank is its table coordinate.

    Sizes above one of `widths`, those of panels, may be cut to it, so that no panel has to
    be. `depth[size]` is the longest chain of steps down to 1.
    """

    def __init__(self, goal: Iterable[int], widths: Iterable[int] = ()) -> None:
        self.widths = frozenset(widths)
        reached: dict[int, int] = {1: 0}
        for size in goal:
            self._reach(size, reached)
        ordered = sorted(reached)
        self.values = np.array(ordered, np.int32)
        self.index: npt.NDArray[np.int16] = np.zeros(ordered[-1] + 1, np.int16)
        self.index[self.values] = np.arange(len(ordered))
        self.depth: npt.NDArray[np.int16] = np.zeros(ordered[-1] + 1, np.int16)
        self.depth[self.values] = [reached[s] for s in ordered]
        self.smooth = np.array([is_smooth(s) for s in ordered])

    def _reach(self, size: int, reached: dict[int, int]) -> int:
        if size not in reached:
            reached[size] = 1 + max(
                self._reach(part, reached) for step in steps(size, self.widths) for part in step
            )
        return reached[size]

    def is_smooth(self, column: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        result: npt.NDArray[np.bool_] = self.smooth[self.index[column]]
        return result
