"""The functions that an expression can call, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from morello.frontends import copies, maps, pooling, products, reductions, views, winograd
from morello.frontends.values import Value
from morello.ir.functions import UNARY

FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    **{
        f.__name__: f
        for m in (products, maps, reductions, pooling, copies, views, winograd)
        for f in m.FUNCTIONS
    },
    **{name: maps.map_of_one(name) for name in sorted(UNARY) if name != "cast"},
}
"""Every callable function; operators are calls of add, matmul and so on."""

INTERNAL = frozenset({
    "divide_vec", "fill_highest", "fill_lowest", "fill_zero", "one_prefix", "softmax_complete",
    "softmax_denominator", "softmax_denominator_and_max", "softmax_denominator_and_max_from_parts",
    "softmax_denominator_and_unscaled", "softmax_denominator_and_unscaled_from_max",
    "winograd_input", "winograd_output",
})  # fmt: skip
"""Functions that are steps of others, callable so that every Spec has a text; never suggested."""

SUGGESTED = tuple(name for name in FUNCTIONS if name not in INTERNAL)
"""The functions for users to call, which errors list."""


@dataclass(frozen=True)
class Signature:
    """A function's parameters: the types of its arguments and options, and the required options.

    It may take `more` arguments of this type.
    """

    arguments: Mapping[str, Any]
    more: Any
    options: Mapping[str, Any]
    required: frozenset[str]
    usage: str


@cache
def signature(name: str) -> Signature:
    function = FUNCTIONS[name]
    hints = get_type_hints(function)
    arguments, options, required, words = {}, {}, set(), []
    more = None
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            more = kind
            words += ["a", "b", ".."]
            continue
        if parameter.kind is not parameter.KEYWORD_ONLY:
            arguments[parameter.name] = kind
            words.append(parameter.name)
            continue
        options[parameter.name] = kind
        if parameter.default is parameter.empty:
            required.add(parameter.name)
        missing = parameter.default in (parameter.empty, None)
        words.append(f"{parameter.name}={'..' if missing else parameter.default}")
    usage = f"{name}({', '.join(words)})"
    return Signature(arguments, more, options, frozenset(required), usage)
