"""Functions whose own arrays, as those of np.zeros, are traced: others are stored in them.

NumPy hands over what is done with traced arrays, but not that one is stored in an array of NumPy.
So a function that does this is run in a copy of its module's names, in which those of NumPy's
functions that make arrays stand for others.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

Making = Callable[[np.ndarray[Any, Any]], Any]
"""Makes a traced array of an array of NumPy."""

_FILLED = np.empty, np.eye, np.full, np.identity, np.ones, np.zeros
_CONVERTED = np.array, np.asarray, np.ascontiguousarray


def with_own_arrays(function: FunctionType, make: Making, kind: type) -> Callable[..., Any]:
    """A copy of a function, whose module's functions make traced arrays, of class `kind`."""
    known: dict[Any, Any] = {each: _filled(each, make) for each in _FILLED}
    known |= {each: _converted(each, kind) for each in _CONVERTED}
    given, names = function.__globals__, dict[str, Any]()
    module = _Module({each.__name__: other for each, other in known.items()})

    def copied(value: FunctionType) -> FunctionType:
        copy = FunctionType(
            value.__code__, names, value.__name__, value.__defaults__, value.__closure__
        )
        copy.__kwdefaults__ = value.__kwdefaults__
        return copy

    for name, value in given.items():
        if type(value) is FunctionType and value.__globals__ is given:
            value = copied(value)
        elif value is np:
            value = module
        elif type(value) in (type(np.empty), FunctionType):
            value = known.get(value, value)
        elif type(value) in (dict, list, set):
            value = value.copy()  # a cache keeps no traced arrays
        names[name] = value
    return copied(function)


class _Module(ModuleType):
    """NumPy with other functions of some names."""

    def __init__(self, others: dict[str, Any]) -> None:
        super().__init__(np.__name__)
        self.__dict__.update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _filled(function: Callable[..., Any], make: Making) -> Callable[..., Any]:
    """A function that makes arrays of known elements; those of np.empty are 0."""
    fill = np.zeros if function is np.empty else function
    return lambda *args, **keywords: make(fill(*args, **keywords))


def _converted(function: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """A function that makes an array of nested lists, or of an array, of which some are traced."""

    def joined(value: Any) -> Any:
        return np.stack([joined(each) for each in value]) if type(value) in (list, tuple) else value

    def has_traced(value: Any) -> bool:
        return any(map(has_traced, value)) if type(value) in (list, tuple) else type(value) is kind

    def convert(value: Any, dtype: Any = None, **keywords: Any) -> Any:
        if not has_traced(value):
            return function(value, dtype, **keywords)
        array = joined(value)
        if dtype is not None and array.dtype != dtype:
            array = array.astype(dtype)
        elif array is value and keywords.get("copy", function is np.array):
            array = array.copy()
        added = keywords.get("ndmin", int(function is np.ascontiguousarray)) - array.ndim
        return array[(None,) * added] if added > 0 else array

    return convert
