"""Columns of numbers that grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_FIRST = 1024


class Column:
    """Numbers to which more are appended.

    `room` is the array that holds them, which is longer than the column and replaced as that grows.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.room: npt.NDArray[Any] = np.empty(_FIRST, dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def now(self) -> npt.NDArray[Any]:
        """The numbers so far."""
        return self.room[: self._count]

    def append(self, values: npt.ArrayLike, count: int) -> None:
        """Append `count` values, or one value so many times."""
        needed = self._count + count
        if needed > len(self.room):
            longer = np.empty(max(needed, 2 * len(self.room)), self.room.dtype)
            longer[: self._count] = self.now
            self.room = longer
        self.room[self._count : needed] = values
        self._count = needed
