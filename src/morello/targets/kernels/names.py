"""What the C helpers for a register are called after."""

from __future__ import annotations

from morello.ir.dtype import DType


def kind_of(dtype: DType, width: int) -> str:
    """What ends the names of a register's helpers and kernels; if of several, its C type.

    Not the C type of a single element, which several dtypes share.
    """
    return dtype.name if width == 1 else f"{dtype}x{width}"
