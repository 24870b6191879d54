"""Arrays between guard bytes, which detect stray writes and spoil the results of stray reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

GUARD = 256
"""Guard bytes on either side."""


class Guarded:
    """An array with strides in bytes, inside memory that is filled with the byte `poison`."""

    def __init__(
        self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any],
        poison: int, shift: int,
    ) -> None:  # fmt: skip
        """The array begins `shift` elements past a cache line."""
        extent = dtype.itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        self._memory = np.full(2 * GUARD + 128 + extent, poison, np.uint8)
        start = GUARD + -(self._memory.ctypes.data + GUARD) % 64 + shift * dtype.itemsize
        self.view: Array = np.ndarray(shape, dtype, self._memory, start, strides)
        self._bytes = np.ndarray(
            (*shape, dtype.itemsize), np.uint8, self._memory, start, (*strides, 1)
        )
        self._poison, self._start, self._before = poison, start, self._memory.copy()

    def fill(self, values: Array) -> None:
        """Copy these values into the array."""
        self.view[...] = values
        self._before = self._memory.copy()

    def changed(self, *, output: bool = False) -> str:
        """Which bytes were written that should not have been, as text; empty if none.

        The elements of an `output` may be written, those of an input may not.
        """
        now = self._memory.copy()
        if output:
            elements = self._bytes.copy()
            self._bytes[...] = self._poison
            now = self._memory.copy()
            self._bytes[...] = elements
            self._before = np.full(now.shape, self._poison, np.uint8)
        places = np.flatnonzero(now != self._before)
        if not len(places):
            return ""
        return f"{len(places)} bytes, the first at byte {places[0] - self._start}"
