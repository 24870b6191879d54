"""Pieces of text in the language that `frontends.text` parses, and how to join them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from morello.ir.dtype import DType

COMPARISON, SUM, PRODUCT, ATOM = range(4)
"""The precedence of the outermost operator of a text, lowest first."""


@dataclass(frozen=True)
class Text:
    """The text of a tensor: an expression that computes it, or its name.

    The inputs of the Spec are `external`.
    """

    text: str
    dtype: DType
    binds: int = ATOM
    external: bool = False

    def within(self, precedence: int) -> str:
        """The text, in parentheses if its own precedence is below this one."""
        return self.text if self.binds >= precedence else f"({self.text})"


@dataclass(frozen=True)
class Result:
    """The tensor that a primitive computes, whose dimensions have these `sizes`.

    The result of the `final` primitive is the output, whose type is `output`.
    """

    dtype: DType
    sizes: Mapping[str, int]
    output: str
    final: bool


Options = Sequence[tuple[str, str | int]]
"""The options of a call that differ from their defaults."""


def call(name: str, arguments: Sequence[Text], options: Options, dtype: DType) -> Text:
    words = [argument.text for argument in arguments]
    words += [f"{key}={value}" for key, value in options]
    return Text(f"{name}({', '.join(words)})", dtype)


def operator(symbol: str, left: Text, right: Text, dtype: DType) -> Text:
    """The text of an infix operator; comparisons, unlike others, are not chained."""
    binds = SUM if symbol in "+-" else PRODUCT if symbol in "@*/" else COMPARISON
    first = left.within(binds + (binds == COMPARISON))
    return Text(f"{first} {symbol} {right.within(binds + 1)}", dtype, binds)


def number(value: float) -> str:
    """A literal that is parsed as this number."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)


def oriented(argument: Text, dims: Sequence[str], wanted: Sequence[str]) -> Text:
    """A tensor of `dims`, transposed to `wanted` if these are the same dims."""
    if tuple(dims) == tuple(wanted) or set(dims) != set(wanted):
        return argument
    return Text(transpose(argument.text, [dims.index(d) for d in wanted]), argument.dtype)


def transpose(text: str, order: Sequence[int]) -> str:
    return f"transpose({text}{'' if len(order) == 2 else f', order={listed(order)}'})"


def listed(values: Sequence[int]) -> str:
    return "[" + ",".join(map(str, values)) + "]"
