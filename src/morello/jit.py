"""Functions that Numba compiles, and keeps on disk where there is a place for that."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from numba import njit

from morello.errors import of_an_interrupt

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Taken = ParamSpec("_Taken")
_Given = TypeVar("_Given")


def compiled(function: _Function) -> _Function:
    """Compile a function of numbers and arrays."""
    made: Any
    try:
        made = njit(cache=True)(function)
    except RuntimeError:
        made = njit(function)
    result: _Function = made
    return result


def interruptible(function: Callable[_Taken, _Given]) -> Callable[_Taken, _Given]:
    """A function that calls compiled ones, and raises `KeyboardInterrupt` when it is interrupted.

    An interrupt within a call of a compiled function may come out of it as a `SystemError`.
    """

    @wraps(function)
    def call(*args: _Taken.args, **keywords: _Taken.kwargs) -> _Given:
        try:
            return function(*args, **keywords)
        except SystemError as error:
            if of_an_interrupt(error):
                raise KeyboardInterrupt from error
            raise

    return call
