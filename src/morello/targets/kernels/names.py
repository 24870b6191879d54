"""C for a register: the suffix in the names of its helpers and kernels, and additions to it."""

from __future__ import annotations

from morello.ir.dtype import DType


def kind_of(dtype: DType, width: int) -> str:
    """The suffix of the names of a register's helpers and kernels: its C type.

    For a single element it is the dtype instead, as several dtypes share a C type.
    """
    return dtype.name if width == 1 else f"{dtype}x{width}"


def added(to: str, value: str, dtype: DType, width: int) -> str:
    """C that adds a value to a register."""
    if dtype.is_float:
        return f"{to} += {value};"
    return f"{to} = add_{kind_of(dtype, width)}({to}, {value});"
