"""Functions that Numba compiles, cached on disk where possible."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from numba import njit

from morello.base.errors import of_an_interrupt

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def compiled(function: _Function) -> _Function:
    """Compile a function of numbers and arrays."""
    jitted: Any
    try:
        jitted = njit(cache=True)(function)
    except RuntimeError:  # no folder can be written for the cache
        jitted = njit(function)
    else:
        _forgive_stale_indexes(jitted._cache._cache_file)
        _depend_on_callees(jitted)
    result: _Function = jitted
    return result


def _forgive_stale_indexes(file: Any) -> None:
    """Have an index that cannot be unpickled count as empty, so that it is written anew.

    An index names the types of arguments. After an upgrade they may be gone, and Numba looks
    only afterwards whether the index is of today's source.
    """
    load = file._load_index

    def load_index() -> dict[Any, Any]:
        try:
            index: dict[Any, Any] = load()
        except (AttributeError, ImportError):
            return {}
        return index

    file._load_index = load_index


def _depend_on_callees(jitted: Any) -> None:
    """Have the cache hold only for the sources of the compiled functions that this one may call.

    They are compiled into it, and Numba looks only at the source that the function itself is in.
    """
    file = jitted._cache._cache_file
    stamps = {file._source_stamp}
    for value in jitted.py_func.__globals__.values():
        cache: Any = getattr(value, "_cache", None)
        if hasattr(cache, "_cache_file"):
            stamps.update(cache._cache_file._source_stamp)
    file._source_stamp = tuple(sorted(stamps, key=repr))


def interruptible(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Wraps a function that calls compiled ones, so that interrupts raise `KeyboardInterrupt`.

    An interrupt within a compiled function may otherwise appear as a `SystemError`.
    """

    @wraps(function)
    def call(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
        try:
            return function(*args, **keywords)
        except SystemError as error:
            if of_an_interrupt(error):
                raise KeyboardInterrupt from error
            raise

    return call
