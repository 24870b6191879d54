"""The suffix in the names of the C helpers and kernels for a register."""

from __future__ import annotations

from morello.ir.dtype import DType


def kind_of(dtype: DType, width: int) -> str:
    """The suffix of the names of a register's helpers and kernels: its C type.

    For a single element it is the dtype instead, as several dtypes share a C type.
    """
    return dtype.name if width == 1 else f"{dtype}x{width}"
