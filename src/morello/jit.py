"""Functions that Numba compiles, and keeps on disk where there is a place for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Compile a function of numbers and arrays."""
    made: Any
    try:
        made = njit(cache=True)(function)
    except RuntimeError:
        made = njit(function)
    result: _Function = made
    return result
