"""An expression as a function of a framework's arrays, made of the framework's own functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from morello.base.errors import GraphError
from morello.frontends.text import CallSequence, NamedCall
from morello.frontends.values import Value

Functions = Mapping[str, Callable[..., Any]]
"""A framework's function for each of the language: its arguments are arrays, numbers and the like,
and its options those of the language.
"""

ARITHMETIC: Functions = {
    "add": operator.add,
    "divide": operator.truediv,
    "divide_vec": operator.truediv,
    "multiply": operator.mul,
    "neg": operator.neg,
    "subtract": operator.sub,
}
COMPARISONS: Functions = {
    "equal": operator.eq,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "not_equal": operator.ne,
}
"""Operators of Python, which both arrays and numbers have."""

VIEWS = {"expand_dims", "index", "reshape", "transpose"}
"""Functions that move no element, unless the result has to be row-major."""


def function_of(sequence: CallSequence, functions: Functions, framework: str) -> Callable[..., Any]:
    """The expression as straight-line Python, as somebody would write it for the framework.

    Its arguments are arrays for the inputs. Raises `GraphError` for a function that is not there.
    """
    names: dict[object, str] = {tensor: f"x{n}" for n, tensor in enumerate(sequence.inputs)}
    head = f"def expression({', '.join(names.values())}):"
    lines, scope = [head], {}
    for number, call in enumerate(sequence.calls):
        function = function_for(call, functions, framework)
        scope[f"f{number}"] = partial(function, **call.options) if call.options else function
        words = []
        for place, argument in enumerate(call.arguments):
            if isinstance(argument, Value):
                words.append(names.get(argument) or names[argument.tensor.array])
            else:
                words.append(f"c{number}_{place}")
                scope[words[-1]] = constant(call, argument)
        lines.append(f"    y{number} = f{number}({', '.join(words)})")
        names[call.result] = f"y{number}"
    lines.append(f"    return {names[sequence.result]}")
    exec("\n".join(lines), scope)
    function_of_arrays: Callable[..., Any] = scope["expression"]
    return function_of_arrays


def function_for(call: NamedCall, functions: Mapping[str, Any], framework: str) -> Any:
    """The function that computes a call; raises `GraphError` if there is none."""
    if call.function not in functions:
        raise GraphError(f"{call.function} is not raced against {framework}.")
    return functions[call.function]


def constant(call: NamedCall, argument: Any) -> Any:
    """An argument that is no array; a number beside arrays of integers is an integer."""
    arrays = [each for each in call.arguments if isinstance(each, Value)]
    whole = isinstance(argument, float) and not any(each.dtype.is_float for each in arrays)
    return int(argument) if whole else argument


def indexed(x: Any, at: tuple[Any, ...]) -> Any:
    """The part of an array that subscripts select."""
    return x[at]


def along(function: Callable[..., Any], **always: Any) -> Callable[..., Any]:
    """A function of NumPy or JAX along the last axis, or along others."""
    return lambda x, axis=-1, **options: function(x, axis=axis, **options, **always)


def comparisons(result_type: Callable[..., Any]) -> Functions:
    """The comparisons of NumPy or JAX, with results in the dtype of what is compared."""

    def truth(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda a, b: compare(a, b).astype(result_type(a, b))

    return {name: truth(compare) for name, compare in COMPARISONS.items()}


def each(value: int | tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The numbers of an option for each of so many dimensions."""
    return (value,) * rank if isinstance(value, int) else value


def ends(padding: int | tuple[int, ...], rank: int) -> list[tuple[int, int]]:
    """The padding before and after each of so many dimensions, as an option says it."""
    if isinstance(padding, int):
        return [(padding, padding)] * rank
    if len(padding) == rank:
        return [(both, both) for both in padding]
    return [*zip(padding[::2], padding[1::2], strict=True)]
