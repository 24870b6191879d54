"""Columns of numbers that grow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.engine.loops import LOOPS

_FIRST = 1024


class Columns:
    """Columns of one length, to which more rows are appended.

    `room` has the arrays that hold them, which are longer than the columns and replaced as those
    grow. They may be those of a struct in C.
    """

    def __init__(self, dtypes: Mapping[str, npt.DTypeLike], struct: str = "") -> None:
        self._name, self._struct = struct, b""
        self.room: dict[str, npt.NDArray[Any]] = {
            name: np.empty(_FIRST, dtype) for name, dtype in dtypes.items()
        }
        self._capacity = _FIRST
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """A column so far."""
        return self.room[name][: self._count]

    @property
    def struct(self) -> bytes:
        """The struct of the arrays, until others hold the columns."""
        if not self._struct:
            self._struct = LOOPS.struct(self._name, tuple(self.room.values()))
        return self._struct

    def make_room(self, count: int) -> None:
        """Make room for so many more rows."""
        needed = self._count + count
        if needed <= self._capacity:
            return
        self._capacity, self._struct = max(needed, 2 * self._capacity), b""
        for name, array in self.room.items():
            self.room[name] = np.empty(self._capacity, array.dtype)
            self.room[name][: self._count] = array[: self._count]

    def lengthen(self, count: int) -> None:
        """Append so many rows, which were written to the room that was made for them."""
        self._count += count
