"""Element types, named as XLA names them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from morello.errors import SpecError


@dataclass(frozen=True, eq=False)
class DType:
    """An element type, one object each: its XLA name, size in bytes, and name in C and NumPy."""

    name: str
    bytes: int
    c: str
    numpy: str

    @property
    def np(self) -> np.dtype[np.generic]:
        """The NumPy dtype that arrays of this element type have."""
        return np.dtype(self.numpy)

    def __str__(self) -> str:
        return self.name


F32 = DType("f32", 4, "float", "float32")

DTYPES = {dtype.name: dtype for dtype in (F32,)}


def parse_dtype(name: str) -> DType:
    """The `DType` called `name`; raises `SpecError` naming the known ones."""
    try:
        return DTYPES[name]
    except KeyError:
        known = ", ".join(DTYPES)
        raise SpecError(f"unknown dtype {name!r}; the dtypes are: {known}.") from None
