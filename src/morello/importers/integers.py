"""Quotients, rests, shifts and masks of integers by known numbers, as kernels have none of these.

They are computed in 32 bits. Each function raises `GraphError` for integers that may not fit these,
and for numbers that it is not exact for.
"""

from __future__ import annotations

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.patterns.matching import constant, in_dtype, mapped
from morello.importers.ranges import in_32_bits, known_range, narrowed
from morello.importers.taking import NUMBERS

BITS = 32

MOST_DIVIDED = 1 << 20
"""The largest integers whose quotients f32 tells apart, with a few roundings to spare."""

_MOST_DIVISOR = MOST_DIVIDED >> 1
_HALF = BITS // 2


def divided(x: Node, by: int) -> tuple[Node, Node]:
    """Integers divided by a number and rounded down, and the rests, of 32 bits each."""
    if not 0 < abs(by) <= _MOST_DIVISOR:
        raise GraphError(f"integers are not divided by {by}.")
    narrow, within = _in_32_bits(x), known_range(x)
    if abs(by) == 1:
        quotient, rest = narrow, mapped("multiply", narrow, _number(0))
    elif within is not None and max(map(abs, within)) <= MOST_DIVIDED:
        quotient, rest = _small(narrow, by=abs(by))
    else:  # f32 rounds them: the quotient of the rest mends that of what was rounded
        first, large = _small(narrow, by=abs(by))
        more, rest = _small(large, by=abs(by))
        quotient = mapped("add", first, more)
    if by > 0:
        return quotient, rest
    some = in_dtype(mapped("greater", rest, _number(0)), NUMBERS)
    down = mapped("neg", mapped("add", quotient, some))
    return down, mapped("add", rest, mapped("multiply", some, _number(by)))


def divided_toward_zero(x: Node, by: int) -> tuple[Node, Node]:
    """Integers divided by a number without the fraction, and the rests, of the sign of x."""
    quotient, rest = divided(x, abs(by))
    within = known_range(x)
    if within is None or within[0] < 0:
        below = mapped("less", _in_32_bits(x), _number(0))
        rounded = mapped("logical_and", below, mapped("greater", rest, _number(0)))
        up = in_dtype(rounded, NUMBERS)
        quotient = mapped("add", quotient, up)
        rest = mapped("subtract", rest, mapped("multiply", up, _number(abs(by))))
    return quotient if by > 0 else mapped("neg", quotient), rest


def _small(x: Node, by: int) -> tuple[Node, Node]:
    """Integers divided by a number and rounded down, and the rests, if they are small.

    Half of 1 is added in f32, which keeps the quotient from an integer that it must not reach.
    """
    f32 = np.dtype(np.float32)
    half = mapped("add", in_dtype(x, f32), constant(0.5, f32))
    floor = mapped("floor", mapped("divide", half, constant(by, f32)))
    quotient = in_dtype(floor, NUMBERS)
    return quotient, mapped("subtract", x, mapped("multiply", quotient, _number(by)))


def shifted_right(x: Node, by: int) -> Node:
    """x >> by, where the sign is shifted in, of 32 bits."""
    if by < 0:
        raise GraphError(f"integers are not shifted by {by}.")
    x, by = _in_32_bits(x), min(by, BITS - 1)
    if by > _HALF:
        x, by = divided(x, 1 << _HALF)[0], by - _HALF
    return x if by == 0 else divided(x, 1 << by)[0]


def shifted_left(x: Node, by: int) -> Node:
    """x << by, of 32 bits, whose upper ones are lost; those of 64 bits have to fit."""
    if by < 0:
        raise GraphError(f"integers are not shifted by {by}.")

    def shifted(x: Node) -> Node:
        x = _in_32_bits(x)
        return x if by == 0 else mapped("multiply", x, _number(1 << by))

    result = shifted(x) if x.dtype.itemsize * 8 <= BITS else in_32_bits(shifted, x)
    if result is None:
        raise GraphError(f"integers that may need more than {BITS} bits.")
    return result


def masked(x: Node, mask: int) -> Node:
    """x & mask, of 32 bits, for a mask whose ones lie side by side."""
    x, bits = _in_32_bits(x), mask % (1 << BITS)
    if not -(1 << BITS - 1) <= mask < 1 << BITS - 1:
        raise GraphError(f"the mask {mask} has more than {BITS} bits.")
    if bits == 0:
        return mapped("multiply", x, _number(0))
    low = (bits & -bits).bit_length() - 1
    run = bits >> low
    if run & (run + 1):
        raise GraphError(f"the ones of the mask {mask} do not lie side by side.")
    high = low + run.bit_length()
    x = shifted_right(x, low)
    if high < BITS:
        above = shifted_left(shifted_right(x, high - low), high - low)
        x = mapped("subtract", x, above)
    return shifted_left(x, low)


def inverted(x: Node) -> Node:
    """~x, of 32 bits."""
    return mapped("subtract", mapped("neg", _in_32_bits(x)), _number(1))


def _in_32_bits(x: Node) -> Node:
    narrow = narrowed(x)
    if narrow is None:
        raise GraphError(f"integers that may need more than {BITS} bits.")
    return narrow


def _number(value: int) -> Node:
    """A constant of 32 bits, to which larger ones wrap around."""
    return constant(np.int64(value), NUMBERS)
