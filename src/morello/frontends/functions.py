"""The functions that an expression can call, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from morello.frontends import (
    copies,
    maps,
    movement,
    pooling,
    products,
    reductions,
    statistics,
    views,
    winograd,
)
from morello.frontends.values import Value
from morello.ir.functions import UNARY

_MODULES = products, maps, reductions, pooling, copies, views, movement, statistics, winograd

FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    **{f.__name__: f for m in _MODULES for f in m.FUNCTIONS},
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


_NO_ORDER = "no kernel sorts; max and argmax have the largest of each row"

ELSEWHERE: Mapping[str, str] = {
    "arange": "give the numbers as an input",
    "argsort": _NO_ORDER,
    "avg_pool2d": "it is called avg_pool",
    "batch_norm": "write (x - mean) * factor + term, with a number for each channel",
    "cat": "it is called concat",
    "concatenate": "it is called concat",
    "conv1d": "it is called conv",
    "conv2d": "it is called conv",
    "dot": "it is called matmul, or written a @ b",
    "embedding": "it is called take",
    "fft": "multiply by a matrix of sines and cosines",
    "gather": "take(x, ids) has rows by their numbers",
    "gelu_new": "it is called gelu_tanh",
    "max_pool2d": "it is called max_pool",
    "outer": "write expand_dims(a, axis=1) * b",
    "permute": "it is called transpose",
    "power": "it is called pow, or written x ** 2",
    "prod": "exp(sum(log(x))) multiplies positive numbers",
    "scaled_dot_product_attention": "it is called attention",
    "sort": _NO_ORDER,
    "split": "subscripts have parts, as x[:4] and x[4:]",
    "swapaxes": "it is called transpose",
    "swish": "it is called silu",
    "topk": _NO_ORDER,
    "unsqueeze": "it is called expand_dims",
    "zeros": "give it as an input",
}
"""Names of functions that frameworks have, and what to write here."""


@dataclass(frozen=True)
class Signature:
    """A function's parameters: the types of its arguments and options, and the required options.

    It takes at least so many arguments as `fewest`, and may take `more` of this type.
    """

    arguments: Mapping[str, Any]
    fewest: int
    more: Any
    options: Mapping[str, Any]
    required: frozenset[str]
    usage: str


@cache
def signature(name: str) -> Signature:
    function = FUNCTIONS[name]
    hints = get_type_hints(function)
    arguments, options, required, words = {}, {}, set(), []
    more, fewest = None, 0
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            more = kind
            words += ["a", "b", ".."]
            continue
        if parameter.kind is not parameter.KEYWORD_ONLY:
            arguments[parameter.name] = kind
            fewest += parameter.default is parameter.empty
            words.append(parameter.name)
            continue
        options[parameter.name] = kind
        if parameter.default is parameter.empty:
            required.add(parameter.name)
        missing = parameter.default in (parameter.empty, None)
        words.append(f"{parameter.name}={'..' if missing else parameter.default}")
    usage = f"{name}({', '.join(words)})"
    return Signature(arguments, fewest, more, options, frozenset(required), usage)
